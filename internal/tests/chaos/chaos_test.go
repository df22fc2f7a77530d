package chaos

import (
	"context"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/campaignd/campaignd/adapters/instruments"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/engine/drive"
	"github.com/campaignd/campaignd/internal/files/builtin"
	"github.com/campaignd/campaignd/internal/tests/must"
)

var only = flag.Uint64("chaos.seed", 0, "the one seed to live through")

// Law: whatever people and devices do, the laws of the package documentation
// hold. Without more, each method lives through a few worlds;
//
//	CAMPAIGND_CHAOS=1h go test ./internal/tests/chaos -run Worlds -timeout 0
//
// lives through as many as fit, and -chaos.seed through a single one again, with its log.
func TestWorlds(t *testing.T) {
	methods := builtin.Registry().Methods.Methods()
	live := func(t *testing.T, seed uint64) {
		world := Draw(seed, methods[seed%uint64(len(methods))])
		synctest.Test(t, func(t *testing.T) {
			judge(t, world.Live(t.Context()))
		})
	}
	if *only != 0 {
		live(t, *only)
		return
	}
	worlds, until := 2*len(methods), time.Time{}
	if testing.Short() {
		worlds = len(methods)
	}
	if d, err := time.ParseDuration(os.Getenv("CAMPAIGND_CHAOS")); err == nil {
		until = time.Now().Add(d)
	}
	n, failed := 0, 0
	for n < worlds || time.Now().Before(until) && failed < 20 {
		n++
		if !t.Run(fmt.Sprint(n), func(t *testing.T) { live(t, uint64(n)) }) {
			failed++
		}
	}
	t.Logf("%d worlds", n)
}

// judge reports the faults of a life.
func judge(t *testing.T, life *Life) {
	t.Helper()
	if *only != 0 {
		for e := range life.book.Read(t.Context(), 0) {
			t.Logf("%d %s %s %s cause=%s %.300s", e.Sequence, e.Time.Format("02 15:04:05"), e.Kind, e.Actor, e.Cause, e.Data)
		}
	}
	for _, fault := range life.Judge(t.Context()) {
		t.Errorf("%.2000s", fault)
	}
	if t.Failed() || *only != 0 {
		t.Logf("%v: %d lives, %d events", life.world, life.lives, life.book.read)
	}
}

// calm is a world in which everybody is as a simulation would have them.
func calm(t *testing.T) World {
	t.Helper()
	sobol, _ := builtin.Registry().Methods.Method("sobol")
	w := Draw(1, sobol)
	w.Device, w.ByHand, w.Kills, w.Operator = Temperament{Capacity: 1}, false, 0, Absent
	return w
}

// The judge is judged: each breach of a law, made by hand, is found.
func TestJudge(t *testing.T) {
	ctx := context.Background()
	for name, test := range map[string]struct {
		breach func(*Life)
		want   string
	}{
		"nothing": {func(*Life) {}, ""},
		"an act without its intent": {func(l *Life) {
			l.device.Start(ctx, instruments.Command{ID: "sobol/chaos/e99"})
		}, "before the log knew"},
		"an act twice": {func(l *Life) {
			clear(l.device.memory)
			l.device.Start(ctx, instruments.Command{ID: "sobol/chaos/e1"})
		}, "acted on 2 times"},
		"an act while a fate is unknown": {func(l *Life) {
			l.book.state["sobol/chaos/e1"] += " " + string(events.KindExperimentUnresolved)
			l.book.forgotten["sobol/chaos/e1"] = l.book.dispatched["sobol/chaos/e2"] - 1
			clear(l.device.memory)
			l.device.Start(ctx, instruments.Command{ID: "sobol/chaos/e2"})
		}, "nobody knew what became of [sobol/chaos/e1]"},
		"a tip is handed out twice": {func(l *Life) {
			drawn := []events.Drawn{{Stock: "tips", Labels: []string{"a1"}}}
			l.device.Start(ctx, instruments.Command{ID: "sobol/chaos/e98", Drawn: drawn})
			l.device.Start(ctx, instruments.Command{ID: "sobol/chaos/e99", Drawn: drawn})
		}, "tips a1 was handed out for sobol/chaos/e98 and for sobol/chaos/e99"},
		"a result is lost": {func(l *Life) {
			l.device.reports = append(l.device.reports, report{"sobol/chaos/e1", "91.2345678", time.Now()})
		}, "a result was reported and is lost"},
		"a request is lost":    {func(l *Life) { l.taken = append(l.taken, "the door was open") }, "a request was acknowledged and is lost"},
		"live is not replayed": {func(l *Life) { l.core = engine.NewCore(builtin.Registry()) }, "replayed, the state is another"},
		"one more than the budget": {func(l *Life) {
			core, _ := engine.Load(ctx, builtin.Registry(), l.book, "sobol")
			s := core.State()
			further := &events.ExperimentRequested{Experiment: events.ExperimentID(len(s.Experiments) + 1),
				Parameters: s.Experiments[0].Parameters, Origin: events.OriginPolicy, Replicate: 1}
			e := must.Get(events.New("sobol", further))(t)
			must.Get(l.book.Append(ctx, "sobol", s.Sequence, e))(t)
		}, "of a budget of"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				life := calm(t).Live(t.Context())
				test.breach(life)
				faults := strings.Join(life.Judge(t.Context()), "\n")
				if test.want == "" && faults != "" || !strings.Contains(faults, test.want) {
					t.Errorf("the judge says %q, not %q", faults, test.want)
				}
			})
		})
	}
}

// Law: a result that arrives while the program asks a device that was lost what it is, is recorded at
// once: not only when the device has answered.
func TestResultWhileTheDeviceIsAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := calm(t)
		w.Device.Forgets = true
		l := &Life{world: w, book: newBook(w.Definition.Name), store: make(chan struct{}, 1), covered: newCoverage()}
		l.device = newDevice(w, l.book)
		defined := events.CampaignDefined{Definition: w.Definition, Instance: "chaos"}
		must.Do(t, engine.Define(t.Context(), l.book, defined, "person:op", time.Now(), ""))
		held := &lease{life: l}
		runner := l.program(&fuse{book: l.book, left: -1})
		runner.Instrument = l.device.instrument()
		runner.Lock = func(string, instruments.Description) (drive.Lease, error) { return held, nil }
		must.Do(t, runner.Start(t.Context()))
		ended := make(chan error, 1)
		ctx, end := context.WithCancel(t.Context())
		go func() { ended <- runner.Run(ctx) }()
		synctest.Wait() // e1 is under way
		ready := l.device.memory["sobol/chaos/e1"].ready
		time.Sleep(time.Until(ready.Add(-20 * time.Second)))
		held.lost.Store(true) // the campaign is paused
		time.Sleep(time.Until(ready.Add(-time.Second / 2)))
		synctest.Wait()
		l.device.off = ready // it is asked again a second later
		resumed := make(chan error, 1)
		go func() {
			resume := engine.Request{Actor: "person:op", Resume: &events.CampaignResumed{}}
			_, err := runner.Submit(t.Context(), resume)
			resumed <- err
		}()
		time.Sleep(time.Until(ready.Add(time.Second / 4)))
		synctest.Wait()
		if n := len(l.device.reports); n != 1 || !l.book.holds(l.device.reports[0].mark) || len(resumed) > 0 {
			t.Errorf("of %d results it is not recorded, or the device has answered", n)
		}
		if err := <-resumed; err != nil {
			t.Error(err)
		}
		end()
		<-ended
	})
}
