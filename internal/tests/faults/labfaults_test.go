package faults

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/campaignd/campaignd/internal/tests/built"
	"github.com/campaignd/campaignd/internal/tests/pgtest"
)

// labFault is a fault in the life of a lab.
type labFault struct {
	name string
	make func(*labTrial)
}

// labFaults are all of them. To kill is to kill with SIGKILL.
var labFaults = []labFault{
	{"killworker", func(r *labTrial) {
		w := r.driver()
		r.kill(w)
		r.takenOver()
		r.startProcess(w.name)
	}},
	// A worker sleeps, others go on with its campaigns, and it wakes.
	{"pauseworker", func(r *labTrial) {
		w := r.driver()
		r.must(w.cmd.Process.Signal(syscall.SIGSTOP))
		time.Sleep(8 * time.Second)
		r.must(w.cmd.Process.Signal(syscall.SIGCONT))
	}},
	// A worker hears nothing of the database, and the database nothing of it. What was
	// sent meanwhile arrives later.
	{"partitionworker", func(r *labTrial) {
		w := r.driver()
		var lines []*pgtest.Line
		for _, s := range r.Servers {
			lines = append(lines, r.Line(r, w.name, s))
		}
		for _, line := range lines {
			line.Hold()
		}
		time.Sleep(8 * time.Second)
		for _, line := range lines {
			line.Pass()
		}
	}},
	{"killserver", func(r *labTrial) {
		s := r.alive(false)[r.random.IntN(servers)]
		r.kill(s)
		r.between(time.Second, 2*time.Second)
		r.startProcess(s.name)
	}},
	{"killboth", func(r *labTrial) {
		w, s := r.driver(), r.alive(false)[r.random.IntN(servers)]
		r.kill(w, s)
		r.startProcess(s.name)
		r.takenOver()
		r.startProcess(w.name)
	}},
	// In order, which others need not wait for.
	{"drain", func(r *labTrial) {
		w := r.driver()
		r.drain(w)
		r.between(time.Second, 2*time.Second)
		r.startProcess(w.name)
	}},
	{"killprimary", ofDatabase("killprimary")},
	{"partition", ofDatabase("partition")},
	{"silence", ofDatabase("silence")},
	{"standbysaway", ofDatabase("standbysaway")},
}

// ofDatabase is a fault of the database log's trials, in which a standby becomes the
// primary.
func ofDatabase(name string) func(*labTrial) {
	return func(r *labTrial) {
		for _, f := range faults {
			if f.name == name {
				f.make(r.trial)
			}
		}
	}
}

// takenOver waits until all campaigns of killed workers have been.
func (r *labTrial) takenOver() {
	r.Helper()
	for began := time.Now(); time.Since(began) < goOnTime; time.Sleep(200 * time.Millisecond) {
		if len(r.takeovers(r.rows())) == r.interrupted() {
			return
		}
	}
	r.Error("campaigns of a killed worker are not gone on with")
}

// interrupted is how many campaigns kills have interrupted.
func (r *labTrial) interrupted() (n int) {
	for _, k := range r.kills {
		n += len(k.stores)
	}
	return n
}

// takeovers are the times from each kill to the first event by another process in
// each campaign that it interrupted.
func (r *labTrial) takeovers(stored map[string][]labRow) (found []time.Duration) {
	for _, k := range r.kills {
		for _, store := range k.stores {
			for _, row := range stored[store] {
				if row.at.After(k.at) && row.writer != k.role {
					found = append(found, row.at.Sub(k.at))
					break
				}
			}
		}
	}
	return found
}

// labResult is what a trial of a lab has come to.
type labResult struct {
	labVerdict
	takeover  []time.Duration
	promotion []time.Duration // until a campaign had an event after a standby was promoted
	stall     time.Duration   // the longest in which a campaign had no event, until it was stopped
	decisions int             // made again
	found     string          // by the log's own checks and the program's audit
}

// runLab makes a trial of a fault. A control is not asked for more than what its
// people were told until it is killed.
func runLab(t testing.TB, f labFault, seed uint64, program string, control bool) labResult {
	t.Helper()
	r := newLabTrial(t, seed, program)
	if !control {
		r.goOnAll()
	}
	r.between(2*time.Second, 3*time.Second)
	f.make(r)
	if !control {
		r.goOnAll()
	}
	r.between(2*time.Second, 3*time.Second)
	if control {
		r.home()
		r.people.Wait()
		r.kill(append(r.alive(true), r.alive(false)...)...)
	}
	stopped := time.Now()
	if !control {
		r.finish()
	}
	stored, acts := r.rows(), make(map[string][]labAct)
	for _, name := range r.campaigns {
		acts[name] = r.acts(name)
	}
	result := labResult{labVerdict: *judgeLab(stored, acts, r.answers), takeover: r.takeovers(stored)}
	for _, rows := range stored {
		i := slices.IndexFunc(rows, func(row labRow) bool { return row.at.After(r.Promoted) })
		if !r.Promoted.IsZero() && i >= 0 {
			result.promotion = append(result.promotion, rows[i].at.Sub(r.Promoted))
		}
	}
	if control {
		return result
	}
	for _, rows := range stored {
		for i := range rows[1:] {
			if rows[i+1].at.Before(stopped) {
				result.stall = max(result.stall, rows[i+1].at.Sub(rows[i].at))
			}
		}
	}
	plain := make(map[string][]row)
	for store, rows := range stored {
		plain[store] = make([]row, len(rows))
	}
	var found []string
	if said := r.verify(plain); said != "" {
		found = append(found, said)
	}
	for _, name := range r.campaigns {
		n, said := r.audit(name)
		if result.decisions += n; said != "" {
			found = append(found, said)
		}
	}
	result.found = strings.Join(found, "; ")
	return result
}

// usualLab are the faults of a plain `go test`.
var usualLab = []string{"killboth"}

// Law: whatever becomes of workers, of servers and of the database, each campaign goes on,
// driven by one process at a time, to its end; each command is performed once at most, and
// has a fate; what a person was told is recorded, once, and nothing that was refused; the
// logs verify, and an audit makes every decision again.
func TestLab(t *testing.T) {
	if testing.Short() {
		t.Skip("it starts servers and kills them")
	}
	t.Parallel()
	var names []string
	for _, f := range labFaults {
		names = append(names, f.name)
	}
	n, chosen, seed := asked(t, usualLab, names)
	program := built.Program(t)
	all := make(map[string][]labResult)
	for i := range n {
		name := chosen[i%len(chosen)]
		at := slices.IndexFunc(labFaults, func(f labFault) bool { return f.name == name })
		if at < 0 {
			t.Fatalf("there is no fault %q of a lab", name)
		}
		t.Run(fmt.Sprintf("%s/%d", name, i), func(t *testing.T) {
			result := runLab(t, labFaults[at], seed+uint64(i), program, false)
			all[name] = append(all[name], result)
			t.Logf("%d events, %d acts, %d decisions; %d acknowledged, %d refused, %d unanswered; %d takeovers after %v; "+
				"%d fates unknown; stalled for %v", result.events, result.acts, result.decisions, result.acknowledged,
				result.refused, result.unanswered, result.takeovers, result.takeover, result.unknown, result.stall)
			if !result.sound() {
				t.Errorf("%+v", result.labVerdict)
			}
			if result.found != "" {
				t.Error(result.found)
			}
		})
	}
	t.Logf("what was measured:\n%s", labTable(chosen, all))
}

// product builds campaignd with parts of the log taken away.
func product(t *testing.T, rules ...[]edit) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "campaignd")
	args := append([]string{"build", "-o", program}, overlaid(t, rules...)...)
	build := exec.Command("go", append(args, "github.com/campaignd/campaignd/cmd/campaignd")...)
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return program
}

// labTable says what trials of a lab have come to, by fault.
func labTable(names []string, all map[string][]labResult) string {
	var out strings.Builder
	w := tabwriter.NewWriter(&out, 0, 0, 2, ' ', tabwriter.AlignRight)
	for _, column := range []string{
		"fault", "trials", "events", "acts", "twice", "no fate", "acknowledged", "lost", "refused", "but stored", "gaps",
		"two drivers", "unknown", "unfounded", "decisions", "takeovers", "median", "max (s)", "after promotion", "max (s)", "stall median", "max (s)",
	} {
		_, _ = fmt.Fprint(w, column, "\t")
	}
	_, _ = fmt.Fprintln(w)
	line := func(name string, results []labResult) {
		var sum labResult
		var stalls []time.Duration
		for _, r := range results {
			sum.events += r.events
			sum.acts += r.acts
			sum.twice += r.twice
			sum.open += r.open
			sum.acknowledged += r.acknowledged
			sum.lost += r.lost
			sum.refused += r.refused
			sum.stored += r.stored
			sum.disorder += r.disorder
			sum.drivers += r.drivers
			sum.unknown += r.unknown
			sum.unfounded += r.unfounded
			sum.decisions += r.decisions
			sum.takeovers += r.takeovers
			sum.takeover = append(sum.takeover, r.takeover...)
			sum.promotion = append(sum.promotion, r.promotion...)
			stalls = append(stalls, r.stall)
		}
		_, _ = fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%s\t%s\t%s\t\n", name, len(results),
			sum.events, sum.acts, sum.twice, sum.open, sum.acknowledged, sum.lost, sum.refused, sum.stored, sum.disorder,
			sum.drivers, sum.unknown, sum.unfounded, sum.decisions, sum.takeovers, spread(sum.takeover), spread(sum.promotion),
			spread(stalls))
	}
	var every []labResult
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

// spread is the median and the longest of times, in two columns.
func spread(all []time.Duration) string {
	if len(all) == 0 {
		return "–\t–"
	}
	slices.Sort(all)
	return fmt.Sprintf("%.1f\t%.1f", all[len(all)/2].Seconds(), all[len(all)-1].Seconds())
}

// Law: the trials of a lab find two processes that drive one campaign: those of a
// control, whose leases end too early and whose log has no fence, must be found.
func TestLabControl(t *testing.T) {
	if os.Getenv("CAMPAIGND_FAULTS") == "" {
		t.Skip("it is made with the many trials: set CAMPAIGND_FAULTS")
	}
	program := product(t, leases)
	const tries = 3
	for i := range uint64(tries) {
		result := runLab(t, labFault{"none", func(*labTrial) { time.Sleep(5 * time.Second) }}, i, program, true)
		t.Logf("%d events, %d takeovers; two drivers, seen %d times: %s", result.events, result.takeovers, result.drivers,
			strings.Join(result.details, "; "))
		if result.drivers > 0 {
			return
		}
	}
	t.Fatalf("two drivers were not seen in %d trials, of what must have them: this run proves nothing", tries)
}
