// Package draws makes the generators of property tests draw the same in each run: a test that
// passed once passes again, on each machine. A test package with generators imports it for that:
//
//	import _ "github.com/campaignd/campaignd/internal/tests/draws"
//
// CAMPAIGND_DRAWS is another seed: .ci/run sets a fresh one in each run, and prints it; -rapid.seed
// overrides both. A failure with a fresh seed becomes a case of its own.
//
// Tests that are long for their breadth run whole only with CAMPAIGND_DRAWS: `go test ./...` runs
// on any machine, also on a busy one.
package draws

import (
	"cmp"
	"errors"
	"flag"
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	_ "pgregory.net/rapid" // whose flag is set
)

// fewChecks is the number of trials of a property without breadth: its library's default is 100.
const fewChecks = "30"

func init() {
	if err := flag.Set("rapid.seed", cmp.Or(os.Getenv("CAMPAIGND_DRAWS"), "34")); err != nil {
		panic("CAMPAIGND_DRAWS: " + err.Error())
	}
	if Whole() {
		return
	}
	if err := flag.Set("rapid.checks", fewChecks); err != nil {
		panic(err)
	}
}

// Whole reports whether tests go through all of their cases, and not through a share of them that
// is the same in each run.
func Whole() bool { return os.Getenv("CAMPAIGND_DRAWS") != "" }

// Turn reports whether it is the turn of the n-th case of a test that is long even for a run through
// all cases: each run has another share of them, by its seed.
func Turn(n, runs int) bool {
	seed, err := strconv.Atoi(os.Getenv("CAMPAIGND_DRAWS"))
	return err != nil || (n+seed)%runs == 0
}

// Waiting has so many of a package's parallel tests run at a time, for those that mostly wait: the
// first number in a plain run, and the second where CAMPAIGND_DRAWS is set, if to nothing. `.ci/run`
// has many packages wait beside each other, and tests of instruments there, eight at a time, found
// faults in sound ones. It is for TestMain.
func Waiting(plain, all int) {
	n := plain
	if _, set := os.LookupEnv("CAMPAIGND_DRAWS"); set {
		n = all
	}
	if err := flag.Set("test.parallel", strconv.Itoa(n)); err != nil {
		panic(err)
	}
}

// Apart gives the package a folder of its own that the variables name, so that notes and locks of the
// user's are left alone. It is for TestMain, which removes the folder at its end.
func Apart(variables ...string) (remove func()) {
	own, err := os.MkdirTemp("", "")
	for _, name := range variables {
		err = errors.Join(err, os.Setenv(name, own))
	}
	if err != nil {
		panic(err)
	}
	return func() { _ = os.RemoveAll(own) }
}

// Bounds of the work on an input: how much may be allocated for it, and how long it may take
// without allocating, also on a busy machine. A key of 3 MB was once compared with every known
// name, which allocated 15 GB.
const (
	mostAllocated = 2 << 30
	patience      = time.Minute
)

// Answers fails on a fuzzed input for which read works without a bound. It runs read in its own
// goroutine, which must not end the test.
func Answers(t testing.TB, read func()) {
	t.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	done := make(chan struct{})
	go func() {
		defer close(done)
		read()
	}()
	select {
	case <-done:
	case <-time.After(patience):
		t.Fatal("it never answers")
	}
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > mostAllocated {
		t.Fatalf("%d MB are allocated for it, more than %d", n>>20, mostAllocated>>20)
	}
}

// LongKeys returns inputs of a YAML reader with keys and words longer than any name.
func LongKeys() (all [][]byte) {
	for _, n := range []int{300_000, 3_000_000} {
		long := strings.Repeat("k", n)
		for _, text := range []string{long + ": 1", "name: " + long, "{" + long + ": {" + long + ": 1}}", "? '" + long + "'\n: 1",
			"a: &" + long + " 1\nb: *" + long, "- " + long} {
			all = append(all, []byte(text))
		}
	}
	return all
}
