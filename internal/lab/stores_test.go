package lab_test

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/campaignd/campaignd/adapters/instruments"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/files/builtin"
	"github.com/campaignd/campaignd/internal/files/campaignfile"
	"github.com/campaignd/campaignd/internal/files/registry"
	"github.com/campaignd/campaignd/internal/ground/problem"
	"github.com/campaignd/campaignd/internal/lab"
	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/projections/campaign"
)

// until waits for a condition, for as long as a slow machine may need.
func until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for began := time.Now(); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Since(began) > 30*time.Second {
			t.Fatalf("still not so: %s", what)
		}
	}
}

func note(text string) engine.Request {
	return engine.Request{Actor: "person:ada", Note: &engine.Note{Text: text}}
}

// Law: a store that another process holds is shown and written through that process, and is
// the lab's once that has let go of it. What was to be run and could not be is run then.
func TestHeldByAnother(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	options := lab.LocalOptions{Registry: builtin.Registry()}
	h := must.Get(lab.OpenLocal(t.Context(), filepath.Join(folder, "bench.campaign"), options))(t)
	file := must.Get(campaignfile.Parse(options.Registry, "bench.yaml", []byte(byHand)))(t)
	if err := h.Define(t.Context(), events.CampaignDefined{Definition: file.Definition}, engine.Request{Actor: "person:bo"}); err != nil {
		t.Fatal(err)
	}
	other := must.Get(h.Serve())(t)

	l := open(t, folder)
	c := must.Get(l.Campaign("bench"))(t)
	if _, err := c.Submit(t.Context(), note("through the other")); err != nil {
		t.Error(err)
	}
	if err := c.Start(t.Context(), engine.Request{Actor: "person:bo"}); problem.CodeOf(err) != problem.Unavailable {
		t.Errorf("started beside the other process: %v", err)
	}
	other.Close()
	must.Do(t, h.Close())
	until(t, "the lab writes to the store itself", func() bool {
		_, err := c.Submit(t.Context(), note("our own"))
		return err == nil
	})
	until(t, "the lab runs what was to be run", func() bool { return c.Standing().Run.PID != 0 })
	var notes []string
	c.Read(func(core *engine.Core) {
		for _, n := range core.State().Notes {
			notes = append(notes, n.Text)
		}
	})
	if strings.Join(notes, ", ") != "through the other, our own" {
		t.Errorf("the notes are %q", notes)
	}
}

// Law: what other commands make in the folder appears, and is not run unasked, not even after
// a restart.
func TestNewStoreAppears(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	l := open(t, folder)
	h, err := lab.OpenLocal(t.Context(), filepath.Join(folder, "later.campaign"), lab.LocalOptions{Registry: builtin.Registry()})
	if err != nil {
		t.Fatal(err)
	}
	file, err := l.Parse(t.Context(), "later.yaml", []byte(strings.Replace(byHand, "bench", "later", 1)))
	if err != nil {
		t.Fatal(err)
	}
	if err := h.Define(t.Context(), events.CampaignDefined{Definition: file.Definition}, engine.Request{Actor: "person:bo"}); err != nil {
		t.Fatal(err)
	}
	must.Do(t, h.Close())
	until(t, "the campaign is listed", func() bool { return len(l.Campaigns()) == 1 })
	l.Close()
	l = open(t, folder)
	time.Sleep(100 * time.Millisecond) // what it would take to begin
	c := must.Get(l.Campaign("later"))(t)
	if c.Standing().Run.PID != 0 || c.Sequence() != 1 {
		t.Errorf("it is run, and has %d events", c.Sequence())
	}
}

// pump is a device that one campaign at a time may drive.
type pump struct{}

func (pump) Describe(context.Context) (instruments.Description, error) {
	return instruments.Description{Name: "pump", Identity: "pump 7", Capacity: 1}, nil
}
func (pump) Start(context.Context, instruments.Command) error { return nil }
func (pump) Await(ctx context.Context, cmd instruments.Command) (instruments.Outcome, error) {
	x, _ := cmd.Parameters["x"].Float()
	return instruments.Outcome{Status: instruments.Measured, Measurement: &events.Measurement{
		Actual: cmd.Parameters, Objective: definition.Quantity{Name: "flow", Value: x},
	}}, nil
}
func (pump) Cancel(context.Context, instruments.Command) error { return nil }

type pumpSettings struct{}

func (*pumpSettings) Complete(*definition.Campaign)                                  {}
func (*pumpSettings) Check(*definition.Campaign, definition.Path) []definition.Fault { return nil }
func (*pumpSettings) Words(*definition.Campaign) string                              { return "a pump" }

// Law: two campaigns with one device drive it one after the other: the second waits, says for
// what, and begins when the first lets go of it.
func TestInTurn(t *testing.T) {
	private(t)
	reg := registryWith(instruments.Driver{
		Name:     "pump",
		Settings: func() definition.Settings { return new(pumpSettings) },
		Open: func(context.Context, definition.Campaign, instruments.Environment) (instruments.Instrument, error) {
			return pump{}, nil
		},
	})
	l := must.Get(lab.Open(t.Context(), lab.Options{Folder: t.TempDir(), Registry: reg, Log: t.Logf}))(t)
	t.Cleanup(l.Close)
	begin := func(name string, experiments int) *lab.Campaign {
		return define(t, l, fmt.Sprintf(`
name: %s
parameters: [{name: x, min: 0, max: 1}]
objective: {name: flow, goal: maximize}
initial: {experiments: 1}
budget: {experiments: %d}
policy: sobol
instrument: {pump: {}}
`, name, experiments))
	}
	first := begin("first", 1000000)
	must.Get(first.Submit(t.Context(), engine.Request{Actor: "person:ada", Pause: &events.CampaignPaused{}}))(t)
	second := begin("second", 2)
	until(t, "the second says that it waits", func() bool {
		trouble := second.Standing().Trouble
		return trouble != nil && strings.Contains(trouble.Error(), "pump 7")
	})
	must.Do(t, first.Halt(engine.Request{Actor: "person:bo"}))
	until(t, "the second has ended", func() bool { return second.Standing().Status == campaign.Completed })
}

func registryWith(driver instruments.Driver) registry.Registry {
	reg := builtin.Registry()
	reg.Instruments = append(reg.Instruments, driver)
	return reg
}

// Law: a suggestion that is worked out by hand, what people write meanwhile, and the run that
// somebody starts do not get into each other's way: everything is recorded, nothing is refused.
func TestSuggestedMeanwhile(t *testing.T) {
	private(t)
	l := open(t, t.TempDir())
	file := must.Get(l.Parse(t.Context(), "bench.yaml", []byte(byHand)))(t)
	c, err := l.Begin(t.Context(), file, engine.Request{Actor: "person:ada"}) // nobody runs it
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
	defer cancel()
	var all errgroup.Group
	const writers, notes = 3, 10
	for w := range writers {
		all.Go(func() error {
			for i := range notes {
				if _, err := c.Submit(ctx, note(fmt.Sprintf("writer %d, note %d", w, i))); err != nil {
					return err
				}
			}
			return nil
		})
		all.Go(func() error {
			suggested, err := c.Suggest(ctx)
			if err == nil && suggested.Experiment == nil {
				err = fmt.Errorf("nothing is suggested: %+v", suggested)
			}
			return err
		})
	}
	all.Go(func() error { return c.Start(ctx, engine.Request{Actor: "person:bo"}) })
	must.Do(t, all.Wait())
	core := must.Get(c.Load(ctx))(t)
	if got := len(core.State().Notes); got != writers*notes {
		t.Errorf("%d notes are recorded, want %d", got, writers*notes)
	}
	if got := len(core.State().Experiments); got != 1 {
		t.Errorf("%d experiments are wanted at once, want 1", got)
	}
}
