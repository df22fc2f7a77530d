// Package draws has the generators of property tests draw the same in each run: what
// passed once passes again, on each machine. A test package that draws imports it for
// that:
//
//	import _ "github.com/campaignd/campaignd/internal/draws"
//
// CAMPAIGND_DRAWS is another seed, and then more is drawn: .ci/run gives a fresh one in
// each run, and prints it. The flags -rapid.seed and -rapid.checks come before it. What a
// fresh seed finds becomes a case of its own.
package draws

import (
	"flag"
	"os"

	_ "pgregory.net/rapid" // whose flags are set
)

func init() {
	seed, checks := os.Getenv("CAMPAIGND_DRAWS"), "100"
	if seed == "" {
		seed, checks = "34", "30"
	}
	for name, value := range map[string]string{"rapid.seed": seed, "rapid.checks": checks} {
		if err := flag.Set(name, value); err != nil {
			panic("CAMPAIGND_DRAWS: " + err.Error())
		}
	}
}
