package faults

import (
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/campaignd/campaignd/events/pglog"
	"github.com/campaignd/campaignd/internal/tests/pgtest"
)

// trial is a cluster, with hosts at work on it.
type trial struct {
	testing.TB
	*pgtest.Cluster
	random  *rand.Rand
	program string // that hosts run
	options string // of their addresses
	dir     string // of journals
	hosts   []*process
}

// process is a host that was started.
type process struct {
	host
	cmd     *exec.Cmd
	life    io.Closer
	journal reading
	paused  bool // at some time: its stall says nothing
}

// setting says what a trial is made on.
type setting struct {
	program      string // that hosts run
	asynchronous bool
}

const hosts = 3

// newTrial starts a cluster and hosts.
func newTrial(t testing.TB, seed uint64, s setting) *trial {
	t.Helper()
	r := &trial{
		TB: t, Cluster: pgtest.NewCluster(t, pgtest.Options{Standbys: 2, Asynchronous: s.asynchronous}),
		random: rand.New(rand.NewPCG(seed, 0)), program: s.program, dir: t.TempDir(),
	}
	if s.asynchronous {
		r.options = "single=yes"
	}
	for i := range hosts {
		r.startHost(ownStore(i))
	}
	return r
}

func ownStore(host int) string { return fmt.Sprint("own", host) }

// startHost starts a host that takes hold of a store. It ends with the test at
// the latest.
func (r *trial) startHost(own string) *process {
	r.Helper()
	n := len(r.hosts)
	name := fmt.Sprint("h", n)
	p := &process{host: host{
		Name: name, Address: r.AddressFrom(r, name, r.options), Journal: filepath.Join(r.dir, name),
		Own: own, Follow: ownStore((n + 1) % hosts), Seed: r.random.Uint64(),
	}}
	p.journal.path = p.Journal
	text, err := json.Marshal(p.host)
	r.must(err)
	r.must(os.WriteFile(p.Journal, nil, 0o644))
	p.cmd = exec.Command(r.program)
	p.cmd.Env = append(os.Environ(), hostVariable+"="+string(text))
	p.life = r.start(p.Name, p.cmd)
	r.hosts = append(r.hosts, p)
	return p
}

// start starts a program, which is asked to end by the end of its standard input,
// and ends with the test at the latest.
func (r *trial) start(name string, cmd *exec.Cmd) (life io.Closer) {
	r.Helper()
	out, err := os.Create(r.out(name))
	r.must(err)
	cmd.Stdout, cmd.Stderr = out, out
	life, err = cmd.StdinPipe()
	r.must(err)
	r.must(cmd.Start())
	_ = out.Close()
	r.Cleanup(func() {
		if cmd.ProcessState == nil { // the trial was given up
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		}
		if content, _ := os.ReadFile(out.Name()); r.Failed() && len(content) > 0 {
			r.Logf("%s: %s", name, content[max(0, len(content)-4000):])
		}
	})
	return life
}

// out is the file of what a program says.
func (r *trial) out(name string) string { return filepath.Join(r.dir, name+".out") }

// stopHosts has the hosts end what they do, and waits until they have.
func (r *trial) stopHosts() {
	r.Helper()
	for _, p := range r.hosts {
		r.must(p.life.Close())
	}
	for _, p := range r.hosts {
		if err := p.cmd.Wait(); err != nil {
			r.Errorf("host %s: %v", p.Name, err)
		}
		r.must(p.journal.more())
	}
}

func (r *trial) must(err error) {
	r.Helper()
	if err != nil {
		r.Fatal(err)
	}
}

// between waits for a random time.
func (r *trial) between(least, most time.Duration) {
	time.Sleep(least + time.Duration(r.random.Int64N(int64(most-least))))
}

// one returns a host, drawn.
func (r *trial) one() *process { return r.hosts[r.random.IntN(len(r.hosts))] }

// some calls f with some of a few, at least one, in any order.
func some[T any](r *trial, from []T, f func(T)) {
	from = slices.Clone(from)
	r.random.Shuffle(len(from), func(i, j int) { from[i], from[j] = from[j], from[i] })
	for _, x := range from[:1+r.random.IntN(len(from))] {
		f(x)
	}
}

// goOnTime is how long a writer may take to get on again after a fault, before
// the trial says that it hangs. It is not a promise: what it took is in the table.
const goOnTime = time.Minute

// goOn waits until each writer has had something acknowledged after a moment, or
// was fenced.
func (r *trial) goOn(after time.Time) {
	r.Helper()
	var waits []string
	for began := time.Now(); time.Since(began) < goOnTime; time.Sleep(100 * time.Millisecond) {
		waits = nil
		for _, p := range r.hosts {
			r.must(p.journal.more())
			var on [writers]bool
			for _, e := range slices.Backward(p.journal.entries) {
				if e.What == fenced || e.What == failed && e.Batch == "" || e.What == acknowledged && e.At.After(after) {
					on[e.Writer] = true
				}
			}
			for i := range on {
				if !on[i] {
					waits = append(waits, fmt.Sprintf("%s/%d", p.Name, i))
				}
			}
		}
		if len(waits) == 0 {
			return
		}
	}
	r.Fatalf("writers did not get on again: %s", strings.Join(waits, ", "))
}

// result is what a trial has come to.
type result struct {
	verdict
	stored          int
	settled, resent int64
	stall           time.Duration // the longest in which a host had nothing acknowledged
	promotion       time.Duration // the longest of these after a standby was promoted
	verified        string        // what the log says of its stores, if not that they are sound
}

// judge compares what hosts were told with what the primary has in the end.
func (r *trial) judge() result {
	r.Helper()
	journals := make(map[string][]entry)
	var result result
	for _, p := range r.hosts {
		journals[p.Name] = p.journal.entries
		var last time.Time
		for _, e := range p.journal.entries {
			switch e.What {
			case acknowledged:
				if !last.IsZero() && !p.paused {
					result.stall = max(result.stall, e.At.Sub(last))
					if after := later(last, r.Promoted); !r.Promoted.IsZero() && e.At.After(after) {
						result.promotion = max(result.promotion, e.At.Sub(after))
					}
				}
				last = e.At
			case ended:
				result.settled, result.resent = result.settled+e.Settled, result.resent+e.Resent
			}
		}
	}
	stored := rows(r, r.Primary)
	for _, rows := range stored {
		result.stored += len(rows)
	}
	result.verdict = *check(journals, stored)
	result.verified = r.verify(stored)
	return result
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// verify has the log check the trees of the stores, and says what it finds.
func (r *trial) verify(stored map[string][]row) string {
	r.Helper()
	db, err := pglog.Connect(r.Context(), r.Address(r.options))
	if err != nil {
		return err.Error()
	}
	defer func() { _ = db.Close() }()
	var found []string
	for store, rows := range stored {
		log, err := db.Open(r.Context(), store, pglog.Options{ReadOnly: true})
		if err != nil {
			found = append(found, err.Error())
			continue
		}
		report, err := log.Verify(r.Context())
		if err != nil || !report.Sound() || int(report.Events) != len(rows) {
			found = append(found, fmt.Sprintf("%s has %d events: %+v, %v", store, len(rows), report, err))
		}
	}
	return strings.Join(found, "; ")
}

// run makes a trial of a fault. Where loses is set, what is lost is expected, and
// so is that logs stop.
func run(t testing.TB, f fault, seed uint64, s setting, loses bool) result {
	t.Helper()
	r := newTrial(t, seed, s)
	r.goOn(time.Time{})
	for _, p := range r.hosts {
		if trouble, err := os.ReadFile(r.out(p.Name)); err != nil || len(trouble) > 0 {
			r.Errorf("host %s had trouble before there was any: %s, %v", p.Name, trouble, err)
		}
	}
	r.between(time.Second, 2*time.Second)
	f.make(r)
	if loses {
		time.Sleep(2 * time.Second)
		for _, p := range r.hosts { // what they wait for may never come
			r.must(p.cmd.Process.Kill())
			_ = p.cmd.Wait()
			r.must(p.journal.more())
		}
		return r.judge()
	}
	r.goOn(time.Now())
	r.between(time.Second, 2*time.Second)
	r.stopHosts()
	return r.judge()
}

// signal sends a signal to a host.
func (r *trial) signal(p *process, s syscall.Signal) {
	r.Helper()
	r.must(p.cmd.Process.Signal(s))
}
