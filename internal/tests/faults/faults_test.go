package faults

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/campaignd/campaignd/internal/tests/draws"
)

// usual are the faults of a plain `go test`: of the database and of a writer.
var usual = []string{"killprimary", "pausewriter"}

// asked is what the environment asks for: how many trials of which faults, and
// their seed. Without it there is one of each of the usual ones.
func asked(t *testing.T, usual, all []string) (n int, chosen []string, seed uint64) {
	t.Helper()
	n, chosen, seed = len(usual), usual, 1
	if text := os.Getenv("CAMPAIGND_FAULTS"); text != "" {
		var err error
		if n, err = strconv.Atoi(text); err != nil || n < 1 {
			t.Fatalf("CAMPAIGND_FAULTS=%s: it is a number of trials", text)
		}
		chosen, seed = all, rand.Uint64()
	}
	if text := os.Getenv("CAMPAIGND_FAULTS_ONLY"); text != "" {
		chosen = strings.Split(text, ",")
	}
	if text := os.Getenv("CAMPAIGND_FAULTS_SEED"); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatalf("CAMPAIGND_FAULTS_SEED=%s: it is a number", text)
		}
	}
	t.Logf("CAMPAIGND_FAULTS_SEED=%d", seed)
	return n, chosen, seed
}

// Law: whatever is killed, stopped, paused or cut off, what was acknowledged is
// stored, once and in its place; what was refused is not; what a reader was shown
// stays; the trees verify; and all get on again.
func TestFaults(t *testing.T) {
	t.Parallel()
	var names []string
	for _, f := range faults {
		names = append(names, f.name)
	}
	chosen := usual
	if draws.Whole() {
		chosen = append(chosen, "hold", "terminate")
	}
	n, chosen, seed := asked(t, chosen, names)
	program := self(t)
	all := make(map[string][]result)
	for i := range n {
		f := named(t, chosen[i%len(chosen)])
		t.Run(fmt.Sprintf("%s/%d", f.name, i), func(t *testing.T) {
			result := run(t, f, seed+uint64(i), setting{program: program}, false)
			all[f.name] = append(all[f.name], result)
			t.Logf("%d acknowledged, %d uncertain, %d fenced, %d settled, %d sent again, stalled for %v, after promotion %v",
				result.acknowledged, result.uncertain, result.fenced, result.settled, result.resent, result.stall, result.promotion)
			if !result.sound() {
				t.Errorf("%+v", result)
			}
			if result.verified != "" {
				t.Errorf("the log does not verify: %s", result.verified)
			}
			if f.name == "pausewriter" && result.fenced == 0 {
				t.Error("a writer that was overtaken in its sleep was not fenced")
			}
		})
	}
	t.Logf("what was measured:\n%s", table(chosen, all))
}

func named(t *testing.T, name string) fault {
	t.Helper()
	i := slices.IndexFunc(faults, func(f fault) bool { return f.name == name })
	if i < 0 {
		t.Fatalf("there is no fault %q", name)
	}
	return faults[i]
}

// table says what trials have come to, by fault.
func table(names []string, all map[string][]result) string {
	var out strings.Builder
	w := tabwriter.NewWriter(&out, 0, 0, 2, ' ', tabwriter.AlignRight)
	for _, column := range []string{
		"fault", "trials", "acknowledged", "lost", "dup+gaps", "refused but stored", "seen but gone", "logs stopped",
		"settled", "sent again", "uncertain", "fenced", "stall median", "max (s)", "after promotion", "max (s)",
	} {
		_, _ = fmt.Fprint(w, column, "\t")
	}
	_, _ = fmt.Fprintln(w)
	line := func(name string, results []result) {
		var sum result
		var stalls, promotions []time.Duration
		for _, r := range results {
			sum.acknowledged += r.acknowledged
			sum.lost += r.lost
			sum.disorder += r.disorder
			sum.refusedStored += r.refusedStored
			sum.gone += r.gone
			sum.stopped += r.stopped
			sum.settled += r.settled
			sum.resent += r.resent
			sum.uncertain += r.uncertain
			sum.fenced += r.fenced
			stalls = append(stalls, r.stall)
			if r.promotion > 0 {
				promotions = append(promotions, r.promotion)
			}
		}
		_, _ = fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%s\t%s\t\n",
			name, len(results), sum.acknowledged, sum.lost, sum.disorder, sum.refusedStored, sum.gone, sum.stopped,
			sum.settled, sum.resent, sum.uncertain, sum.fenced,
			spread(stalls), spread(promotions))
	}
	var every []result
	for _, name := range names {
		if results := all[name]; len(results) > 0 {
			line(name, results)
			every = append(every, results...)
		}
	}
	if len(every) > 0 {
		line("all", every)
	}
	_ = w.Flush()
	return out.String()
}
