// Command campaignd drives closed-loop lab campaigns together with human
// experts, and can prove afterwards why it did everything it did.
package main

import (
	"github.com/campaignd/campaignd/cmd/campaignd/app"
	"github.com/campaignd/campaignd/internal/files/builtin"
)

func main() { app.Main(builtin.Registry()) }
