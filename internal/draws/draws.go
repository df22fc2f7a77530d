// Package draws has the generators of property tests draw the same in each run: what
// passed once passes again, on each machine. A test package that draws imports it for
// that:
//
//	import _ "github.com/campaignd/campaignd/internal/draws"
//
// CAMPAIGND_DRAWS is another seed, as .ci/run gives a fresh one in each run, and prints
// it; -rapid.seed comes before both. What a fresh seed finds becomes a case of its own.
package draws

import (
	"cmp"
	"flag"
	"os"

	_ "pgregory.net/rapid" // whose flag is set
)

func init() {
	if err := flag.Set("rapid.seed", cmp.Or(os.Getenv("CAMPAIGND_DRAWS"), "34")); err != nil {
		panic("CAMPAIGND_DRAWS: " + err.Error())
	}
}
