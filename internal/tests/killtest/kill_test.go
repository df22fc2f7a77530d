//go:build unix

package killtest

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/tests/built"
	"github.com/campaignd/campaignd/internal/tests/draws"
	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/internal/tests/testinstrument"
)

func TestMain(m *testing.M) {
	signInIfAsked()
	testinstrument.RunIfAsked()
	draws.Waiting(4, 1)
	code := m.Run()
	built.Remove()
	os.Exit(code)
}

// victim is what a kill ends.
type victim string

const (
	program    victim = "campaignd"
	instrument victim = "instrument"
	both       victim = "both"
	memory     victim = "memory" // of the instrument, with it and perhaps with both
)

// scenario is a kind of campaign to be killed.
type scenario struct {
	name string
	// bench is the instrument, a process of its own; nil stands for the
	// simulated instrument inside campaignd.
	bench *testinstrument.Options
	// victims are drawn from, each as often as it stands here.
	victims []victim
	// deep puts the store so deep that its socket has to live elsewhere.
	deep bool
	// share is how many of 100 kills it gets.
	share int
}

var scenarios = []scenario{
	{name: "simulated instrument", victims: []victim{program}, deep: true, share: 15},
	{name: "instrument that resumes", bench: &testinstrument.Options{Resume: true}, victims: []victim{program, both, both, instrument}, share: 15},
	{name: "durable ledger", bench: &testinstrument.Options{Real: true, Resume: true, Durable: true}, victims: []victim{program, both, both, instrument}, share: 20},
	{name: "instrument that forgets", bench: &testinstrument.Options{}, victims: []victim{program, both, both, instrument}, share: 15},
	{name: "ledger lost", bench: &testinstrument.Options{Real: true}, victims: []victim{both, memory, memory}, share: 15},
	{name: "ledger written late", bench: &testinstrument.Options{Real: true, Memory: testinstrument.Late}, victims: []victim{program, both, instrument}, share: 10},
	{name: "no ledger", bench: &testinstrument.Options{Real: true, Memory: testinstrument.None}, victims: []victim{program, both, instrument}, share: 10},
}

const (
	// latency of a measurement: long enough to be killed in, and for what
	// campaignd does itself to remain most of a run.
	latency = 25 * time.Millisecond
	// campaignSeeds is how many different campaigns each scenario has.
	campaignSeeds = 3
	// longest is how long any one life of the program may take.
	longest = time.Minute
)

// Law: whenever campaignd, its instrument or both are killed, however often,
// and started again: no acknowledged event is lost, no position is skipped, no
// experiment is performed twice, no tip is used twice, and the campaign does and finds what the
// undisturbed one does. Only what the instrument truly cannot know is left to a
// person, and what it says it never began although the command was sent, unless it
// declares that its ledger is durable: then nothing is left to anybody. The memory of an instrument may be lost, be an older one, or come too late.
func TestKilled(t *testing.T) {
	kills, seed := setting(t, "CAMPAIGND_KILLS", 10), setting(t, "CAMPAIGND_KILLS_SEED", 1)
	t.Logf("%d kills, seed %d", kills, seed)
	binary := built.Program(t)
	hits := &tally{counts: make(map[string]map[victim]int)}
	t.Run("campaigns", func(t *testing.T) {
		shares := 0
		for i, sc := range scenarios {
			quota := kills*(shares+sc.share)/100 - kills*shares/100
			shares += sc.share
			t.Run(sc.name, func(t *testing.T) {
				t.Parallel()
				s := &suite{scenario: sc, binary: binary, hits: hits, rng: rand.New(rand.NewPCG(uint64(seed), uint64(i))), left: quota}
				s.run(t)
			})
		}
	})
	t.Logf("what the kills hit, by the newest event in the log:\n%s", hits)
	if !t.Failed() && hits.total() != kills {
		t.Errorf("%d kills were made, %d were wanted", hits.total(), kills)
	}
}

// setting reads a whole number from the environment.
func setting(t *testing.T, variable string, standard int) int {
	value := os.Getenv(variable)
	if value == "" {
		return standard
	}
	n, err := strconv.Atoi(value)
	if err != nil || n < 0 {
		t.Fatalf("%s=%q is not a whole number", variable, value)
	}
	return n
}

// suite kills the campaigns of a scenario, one after the other.
type suite struct {
	scenario
	binary string
	hits   *tally
	rng    *rand.Rand
	left   int // kills that are still to be made
}

func (s *suite) run(t *testing.T) {
	type undisturbed struct {
		history []events.Event
		took    time.Duration
	}
	references := make(map[int]undisturbed)
	total, settled, campaigns := s.left, 0, 0
	for ; s.left > 0 && !t.Failed(); campaigns++ {
		seed := 1 + campaigns%campaignSeeds
		reference, ok := references[seed]
		if !ok {
			c := s.newCampaign(t, seed)
			began := time.Now()
			c.live(t, false)
			reference = undisturbed{c.history, time.Since(began)}
			c.check(t, reference.history)
			references[seed] = reference
		}
		c := s.newCampaign(t, seed)
		c.span, c.events = reference.took, len(reference.history)
		for !c.finished {
			c.live(t, s.left > 0)
		}
		if s.left > 0 && s.rng.IntN(4) == 0 {
			c.live(t, true) // the store of a finished campaign just answers
		}
		c.live(t, false)
		c.check(t, reference.history)
		settled += count(c.history, events.KindExperimentResolved)
	}
	t.Logf("%d kills in %d campaigns, of about %v each undisturbed; %d experiments were settled by a person",
		total, campaigns, references[1].took.Round(time.Millisecond), settled)
}

// folder is a new folder with a short path, unlike one that is named after its test: the socket of a
// program has room for some hundred bytes.
func folder(t *testing.T) string {
	t.Helper()
	dir := must.Get(os.MkdirTemp("", "k"))(t)
	t.Cleanup(func() { must.Do(t, os.RemoveAll(dir)) })
	return dir
}

// newCampaign writes the campaign file into a new folder.
func (s *suite) newCampaign(t *testing.T, seed int) *campaignRun {
	t.Helper()
	dir := folder(t)
	c := &campaignRun{suite: s, dir: dir, file: filepath.Join(dir, "killed.yaml"), store: filepath.Join(dir, "killed.campaign")}
	if s.deep {
		c.store = filepath.Join(dir, strings.Repeat("deep", 25), "killed.campaign")
	}
	c.bench = filepath.Join(dir, "bench")
	for _, d := range []string{filepath.Dir(c.store), filepath.Join(c.bench, livesName), filepath.Join(dir, "tmp")} {
		must.Do(t, os.MkdirAll(d, 0o777))
	}
	text := must.Get(campaignFile(s.scenario, seed, c.bench))(t)
	must.Do(t, os.WriteFile(c.file, text, 0o666))
	t.Cleanup(func() { c.bury(t) })
	return c
}

// moment is when a kill comes. It may lie beyond the end of the run.
type moment struct {
	after time.Duration // since the last kill or the start
	event int           // if not 0: instead, as soon as the log has so many events
}

// draw draws the next moment: two of five at any time of a whole run and a
// little after, two right behind an event that is still to come, which hits what
// takes next to no time, and one while the program is hardly up.
func (c *campaignRun) draw() moment {
	span := c.span * 11 / 10
	switch n := c.rng.IntN(5); {
	case n == 0:
		span = c.span / 8
	case n <= 2 && len(c.history) < c.events:
		return moment{event: len(c.history) + 1 + c.rng.IntN(c.events-len(c.history))}
	}
	return moment{after: time.Duration(c.rng.Int64N(int64(span) + 1))}
}

// live runs the program once: to its end, or until it is killed.
func (c *campaignRun) live(t *testing.T, kill bool) {
	t.Helper()
	if c.scenario.bench != nil {
		c.keepLedger(t)
	}
	l := c.start(t)
	defer l.end()
	next := func() <-chan time.Time { return l.at(c.draw()) }
	var moment <-chan time.Time
	if kill {
		moment = next()
	}
	// The person at the bench, who is not disturbed by kills.
	var settling sync.WaitGroup
	defer settling.Wait()
	looks := time.NewTicker(50 * time.Millisecond)
	defer looks.Stop()
	busy := make(chan struct{}, 1)
	limit := time.After(longest)
	for {
		select {
		case <-moment:
			who := c.victims[c.rng.IntN(len(c.victims))]
			if who == instrument || who == memory && c.rng.IntN(3) == 0 {
				killed := killInstrument(t, c.bench) > 0
				if who == memory {
					c.loseMemory(t)
				}
				if killed {
					l.unseated = l.unseated || l.phase() == startUp
					c.left--
					c.hits.add(l.phase(), who)
				}
				if moment = next(); c.left == 0 {
					moment = nil
				}
				continue
			}
			first := c.rng.IntN(2) == 0
			if who != program && first {
				killInstrument(t, c.bench)
			}
			killed := l.kill()
			if who != program && !first {
				killInstrument(t, c.bench)
			}
			if who == memory {
				killInstrument(t, c.bench) // one that was being started
				c.loseMemory(t)
			}
			l.unseated = l.unseated || who != program
			settling.Wait()
			if !killed { // it had just ended by itself
				c.ended(t, l)
				return
			}
			before := len(c.history)
			c.inspect(t, l)
			c.left--
			c.hits.add(phase(c.history, before), who)
			if c.rng.IntN(2) == 0 { // else they are told by the next life
				c.settle(t, unresolved(c.history))
			}
			return
		case <-l.exited:
			settling.Wait()
			c.ended(t, l)
			return
		case <-looks.C:
			select {
			case busy <- struct{}{}:
				settling.Go(func() {
					c.settle(t, l.unresolved())
					<-busy
				})
			default:
			}
		case <-limit:
			t.Fatalf("the program did not end within %v; its log ends with %s\n%s", longest, l.phase(), l.words())
		}
	}
}

// ended checks a life that ended by itself. It has no reason to but the end of
// the campaign, and an instrument that was killed before it had said what it is.
func (c *campaignRun) ended(t *testing.T, l *life) {
	t.Helper()
	<-l.exited
	code := l.cmd.ProcessState.ExitCode()
	switch refused := strings.Contains(l.words(), "the instrument does not describe itself"); {
	case code == 0:
		c.finished, c.summary = true, l.answer()
	case code == 1 && refused && l.unseated:
	default:
		t.Fatalf("the program ended with the exit code %d:\n%s", code, l.words())
	}
	c.inspect(t, l)
}

// startUp is the phase before a life has recorded anything.
const startUp = "start-up, before the first append"

// phase says what a kill hit, by the log that it left, which held before
// events when the program was started.
func phase(history []events.Event, before int) string {
	switch {
	case len(history) == 0:
		return "start-up, no event yet"
	case history[len(history)-1].Kind == events.KindCampaignCompleted && len(history) == before:
		return "finished campaign opened again"
	case len(history) == before:
		return startUp
	}
	return string(history[len(history)-1].Kind)
}

// tally counts what kills hit.
type tally struct {
	mu     sync.Mutex
	counts map[string]map[victim]int
}

func (h *tally) add(phase string, who victim) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.counts[phase] == nil {
		h.counts[phase] = make(map[victim]int)
	}
	h.counts[phase][who]++
}

func (h *tally) total() (n int) {
	for _, by := range h.counts {
		for _, k := range by {
			n += k
		}
	}
	return n
}

func (h *tally) String() string {
	var b strings.Builder
	sum := func(by map[victim]int) int { return by[program] + by[both] + by[instrument] + by[memory] }
	row := func(what string, by map[victim]int) {
		fmt.Fprintf(&b, "%-34s %5d %10d %5d %11d %7d\n", what, sum(by), by[program], by[both], by[instrument], by[memory])
	}
	fmt.Fprintf(&b, "%-34s %5s %10s %5s %11s %7s\n", "", "kills", program, both, instrument, memory)
	phases := slices.Collect(maps.Keys(h.counts))
	slices.SortFunc(phases, func(x, y string) int {
		return cmp.Or(cmp.Compare(sum(h.counts[y]), sum(h.counts[x])), cmp.Compare(x, y))
	})
	all := make(map[victim]int)
	for _, p := range phases {
		row(p, h.counts[p])
		for who, n := range h.counts[p] {
			all[who] += n
		}
	}
	row("all", all)
	return b.String()
}
