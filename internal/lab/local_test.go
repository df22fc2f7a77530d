package lab

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/campaignd/campaignd/adapters/instruments"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/attest/decisions"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/engine/control"
	"github.com/campaignd/campaignd/internal/engine/drive"
	"github.com/campaignd/campaignd/internal/files/builtin"
	"github.com/campaignd/campaignd/internal/files/campaignfile"
	"github.com/campaignd/campaignd/internal/files/registry"
	"github.com/campaignd/campaignd/internal/ground/lock"
	"github.com/campaignd/campaignd/internal/ground/problem"
	"github.com/campaignd/campaignd/internal/lab/equip"
	"github.com/campaignd/campaignd/internal/tests/must"
)

// pump is a device that measures only once it is let: it can be watched meanwhile.
type pump struct {
	identity string
	open     chan struct{} // closed: measure
	started  atomic.Int32  // commands that it was sent
}

func (p *pump) Describe(context.Context) (instruments.Description, error) {
	return instruments.Description{Name: "pump", Identity: p.identity, Capacity: 1}, nil
}

func (p *pump) Start(context.Context, instruments.Command) error {
	p.started.Add(1)
	return nil
}

func (p *pump) Await(ctx context.Context, cmd instruments.Command) (instruments.Outcome, error) {
	select {
	case <-p.open:
	case <-ctx.Done():
		return instruments.Outcome{}, ctx.Err()
	}
	x, _ := cmd.Parameters["x"].Float()
	return instruments.Outcome{
		Status: instruments.Measured,
		Measurement: &events.Measurement{
			Actual:    cmd.Parameters,
			Objective: definition.Quantity{Name: "flow", Value: x * x},
		},
	}, nil
}

func (p *pump) Cancel(context.Context, instruments.Command) error { return nil }

// pumpSettings are none.
type pumpSettings struct{}

func (*pumpSettings) Complete(*definition.Campaign)                                  {}
func (*pumpSettings) Check(*definition.Campaign, definition.Path) []definition.Fault { return nil }
func (*pumpSettings) Words(*definition.Campaign) string                              { return "a pump" }

// fixture is a store whose campaigns measure with pumps, by name.
type fixture struct {
	*Local
	t        *testing.T
	registry registry.Registry
	pumps    map[string]*pump
	opened   map[*Run]*equip.Equipment
}

func open(t *testing.T) *fixture {
	t.Helper()
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	t.Setenv(lock.Variable, t.TempDir())
	f := &fixture{t: t, registry: builtin.Registry(), pumps: make(map[string]*pump), opened: make(map[*Run]*equip.Equipment)}
	f.registry.Instruments = append(f.registry.Instruments, instruments.Driver{
		Name:     "pump",
		Settings: func() definition.Settings { return new(pumpSettings) },
		Open: func(_ context.Context, def definition.Campaign, _ instruments.Environment) (instruments.Instrument, error) {
			return f.pumps[def.Name], nil
		},
	})
	h, err := OpenLocal(t.Context(), filepath.Join(t.TempDir(), "lab.campaign"), LocalOptions{Registry: f.registry})
	if err != nil {
		t.Fatal(err)
	}
	f.Local = h
	t.Cleanup(func() { h.Close() })
	return f
}

// define begins a campaign of three experiments with a pump of its own.
func (f *fixture) define(name, identity string) {
	f.t.Helper()
	f.pumps[name] = &pump{identity: identity, open: make(chan struct{})}
	file := must.Get(campaignfile.Parse(f.registry, name+".yaml", fmt.Appendf(nil, `
name: %s
parameters: [{name: x, min: 0, max: 1}]
objective: {name: flow, goal: maximize}
initial: {experiments: 3}
budget: {experiments: 3}
policy: sobol
instrument: {pump: {}}
`, name)))(f.t)
	if err := f.Define(f.t.Context(), events.CampaignDefined{Definition: file.Definition}, engine.Request{Actor: "person:ada"}); err != nil {
		f.t.Fatal(err)
	}
}

// start opens a campaign's equipment and makes it ready.
func (f *fixture) start(name string, hooks Hooks) (*Run, error) {
	f.t.Helper()
	core := must.Get(f.Load(f.t.Context(), name))(f.t)
	environment := instruments.Environment{Logf: f.t.Logf}
	equipment := must.Get(equip.Open(f.t.Context(), f.registry, *core.State().Definition, environment))(f.t)
	f.t.Cleanup(func() { equipment.Close() })
	c, err := f.Start(f.t.Context(), name, equipment, hooks)
	if err != nil {
		return nil, err
	}
	f.opened[c] = equipment
	return c, nil
}

// close lets go of a campaign and its equipment, as a program does after a run.
func (f *fixture) close(c *Run) {
	f.t.Helper()
	c.Close()
	if err := f.opened[c].Close(); err != nil {
		f.t.Error(err)
	}
}

func note(text string) engine.Request {
	return engine.Request{Actor: "person:ada", Note: &engine.Note{Text: text}}
}

// Law: campaigns of a store are run side by side in one process; each takes its own
// requests, and those of a campaign that nobody runs are recorded too.
func TestSideBySide(t *testing.T) {
	f := open(t)
	f.define("left", "pump 1")
	f.define("right", "pump 2")
	f.define("idle", "pump 3")
	var wg sync.WaitGroup
	waiting := make(chan string, 100)
	for _, name := range []string{"left", "right"} {
		c := must.Get(f.start(name, Hooks{Observe: func(_ *engine.Core, wait engine.Wait) {
			if wait.For != "" {
				waiting <- name
			}
		}}))(t)
		wg.Go(func() {
			if err := c.Run(t.Context()); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		})
	}
	for seen := map[string]bool{}; len(seen) < 2; { // both are under way at the same time
		seen[<-waiting] = true
	}
	status := f.Status()
	if len(status.Campaigns) != 2 || status.Campaigns[0].Campaign != "left" || status.Campaigns[1].Campaign != "right" {
		t.Errorf("the status names %+v", status.Campaigns)
	}
	for _, c := range status.Campaigns {
		if c.WaitingFor == "" || c.Since.IsZero() {
			t.Errorf("%s waits for %q since %v", c.Campaign, c.WaitingFor, c.Since)
		}
	}
	for _, name := range []string{"left", "right", "idle"} {
		stored, err := f.Submit(t.Context(), name, note("for "+name))
		if err != nil || len(stored) != 1 || stored[0].Campaign != name {
			t.Errorf("a note about %s: %v, %v", name, stored, err)
		}
	}
	if _, err := f.Submit(t.Context(), "nowhere", note("?")); !errors.Is(err, problem.NoCampaign) {
		t.Errorf("a note about no campaign: %v", err)
	}
	close(f.pumps["right"].open)
	close(f.pumps["left"].open)
	wg.Wait()

	if running := f.Status().Campaigns; len(running) > 0 {
		t.Errorf("after the end %+v are run", running)
	}
	for _, name := range []string{"left", "right"} {
		report, err := decisions.Audit(t.Context(), f.registry, f.Log(), name, events.Build{}, nil)
		if err != nil || len(report.Mismatches) > 0 {
			t.Errorf("%s: %v, %v", name, report.Mismatches, err)
		}
		core := must.Get(f.Load(t.Context(), name))(t)
		if s := core.State(); !s.Status.Ended() || s.Spent() != 3 {
			t.Errorf("%s ended: %v, after %d experiments", name, s.Status.Ended(), s.Spent())
		}
	}
}

// Law: a campaign is run once at a time, and can be run again afterwards.
func TestRunOnce(t *testing.T) {
	f := open(t)
	f.define("only", "pump 1")
	c := must.Get(f.start("only", Hooks{}))(t)
	if _, err := f.start("only", Hooks{}); !errors.Is(err, problem.NotNow) {
		t.Errorf("started a second time: %v", err)
	}
	c.Close()
	f.close(c) // twice does no harm
	if _, err := f.Submit(t.Context(), "only", note("between")); err != nil {
		t.Errorf("a note between two runs: %v", err)
	}
	if _, err := f.start("only", Hooks{}); err != nil {
		t.Errorf("started again: %v", err)
	}
}

// Law: of two campaigns in one process a device serves one, and the other is told which.
func TestOneDriverInAProcess(t *testing.T) {
	f := open(t)
	f.define("first", "pump 7")
	f.define("second", "pump 7")
	must.Get(f.start("first", Hooks{}))(t)
	_, err := f.start("second", Hooks{})
	var held *lock.HeldError
	if !errors.As(err, &held) || held.Holder.Campaign != "first" {
		t.Errorf("the second campaign on pump 7: %v", err)
	}
	if running := f.Status().Campaigns; len(running) != 1 {
		t.Errorf("%+v are run", running)
	}
}

// Law: a request that is acknowledged is in the log, once, and one that is told the run
// has ended is not, whenever a run begins or ends meanwhile.
func TestRequestsAcrossRuns(t *testing.T) {
	f := open(t)
	f.define("busy", "pump 1")
	stop := make(chan struct{})
	recorded := make(chan []string)
	var refused []string
	go func() {
		var acknowledged []string
		for i := 0; ; i++ {
			select {
			case <-stop:
				recorded <- acknowledged
				return
			default:
			}
			text := fmt.Sprintf("note %d", i)
			switch _, err := f.Submit(context.Background(), "busy", note(text)); {
			case err == nil:
				acknowledged = append(acknowledged, text)
			case errors.Is(err, events.ErrClosed): // certainly not recorded
				refused = append(refused, text)
			case errors.Is(err, drive.ErrOver), errors.Is(err, context.DeadlineExceeded): // nobody knows
			default:
				t.Errorf("%s: %v", text, err)
			}
		}
	}()
	for range 10 {
		c := must.Get(f.start("busy", Hooks{}))(t)
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		if err := c.Run(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the run ended with %v", err)
		}
		cancel()
		f.close(c)
	}
	close(stop)
	acknowledged := <-recorded
	counts := make(map[string]int)
	for e := range must.Each(t, events.ReadCampaign(t.Context(), f.Log(), "busy", 0)) {
		payload := must.Get(events.Decode(e))(t)
		if n, ok := payload.(*events.NoteAdded); ok {
			counts[n.Text]++
		}
	}
	if len(acknowledged) == 0 {
		t.Error("no note was acknowledged")
	}
	for _, text := range acknowledged {
		if counts[text] != 1 {
			t.Errorf("%s was acknowledged and is in the log %d times", text, counts[text])
		}
	}
	for _, text := range refused {
		if counts[text] != 0 {
			t.Errorf("%s was not to be recorded and is in the log", text)
		}
	}
}

// Law: the handler serves a store on any listener.
func TestHandler(t *testing.T) {
	f := open(t)
	f.define("only", "pump 1")
	must.Get(f.start("only", Hooks{}))(t)
	server := httptest.NewServer(control.Handler(f.Service()))
	defer server.Close()
	answer := must.Get(server.Client().Get(server.URL + "/v1/status"))(t)
	defer answer.Body.Close()
	text := must.Get(io.ReadAll(answer.Body))(t)
	if !strings.Contains(string(text), `"campaign":"only"`) {
		t.Errorf("the status is %s", text)
	}
}

// Law: what a definition names and this program does not have is said, with what it has.
func TestWhatIsNotThere(t *testing.T) {
	f := open(t)
	f.define("only", "pump 1")
	core, err := f.Load(t.Context(), "only")
	if err != nil {
		t.Fatal(err)
	}
	_, err = equip.Open(t.Context(), builtin.Registry(), *core.State().Definition, instruments.Environment{})
	if !errors.Is(err, problem.Invalid) || !strings.Contains(err.Error(), `no driver "pump"`) {
		t.Errorf("opened by a program without pumps: %v", err)
	}
}

// doubtful is a store that another process may have taken.
type doubtful struct{ events.Store }

func (doubtful) Sure() error { return events.ErrInUse }

// Law: who may have lost a store to another process sends the instrument nothing.
func TestNothingIsSentInDoubt(t *testing.T) {
	f := open(t)
	f.define("c", "serial 1")
	f.log = doubtful{f.log}
	run := must.Get(f.start("c", Hooks{}))(t)
	defer f.close(run)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	done := make(chan struct{})
	go func() { defer close(done); _ = run.Run(ctx) }()
	for e := range must.Each(t, f.Log().Follow(ctx, 0)) {
		if e.Kind == events.KindCampaignPaused {
			break
		}
	}
	if ctx.Err() != nil {
		t.Error("the campaign goes on as if nothing were")
	}
	cancel()
	<-done
	if n := f.pumps["c"].started.Load(); n != 0 {
		t.Errorf("the instrument was sent %d commands", n)
	}
}
