package lab_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/campaignd/campaignd/adapters/instruments"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/files/builtin"
	"github.com/campaignd/campaignd/internal/files/registry"
	"github.com/campaignd/campaignd/internal/lab"
	"github.com/campaignd/campaignd/internal/lab/stocks"
	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/internal/tests/pgtest"
)

// oven is the only oven of a lab, as a camera in front of it sees it.
type oven struct {
	mu    sync.Mutex
	in    map[string]bool
	most  int
	order []string      // the campaigns whose batches were in it
	hold  chan struct{} // unloading waits until it is closed; nil: not
}

// arm is a robot of a campaign, which loads the oven and unloads it.
type arm struct {
	oven *oven
	name string
}

func (*arm) Describe(context.Context) (instruments.Description, error) {
	return instruments.Description{Name: "arm", Simulated: true, Capacity: 4}, nil
}

func (a *arm) Start(_ context.Context, cmd instruments.Command) error {
	a.oven.mu.Lock()
	defer a.oven.mu.Unlock()
	if cmd.Stage == "load" {
		a.oven.in[cmd.Campaign+cmd.Batch] = true
		a.oven.order = append(a.oven.order, cmd.Campaign)
		a.oven.most = max(a.oven.most, len(a.oven.in))
	}
	return nil
}

func (a *arm) Await(ctx context.Context, cmd instruments.Command) (instruments.Outcome, error) {
	if cmd.Stage == "unload" {
		if a.oven.hold != nil {
			select {
			case <-a.oven.hold:
			case <-ctx.Done():
				return instruments.Outcome{}, ctx.Err()
			}
		}
		a.oven.mu.Lock()
		defer a.oven.mu.Unlock()
		delete(a.oven.in, cmd.Campaign+cmd.Batch)
		return instruments.Outcome{Status: instruments.Measured, Measurement: &events.Measurement{
			Actual: cmd.Parameters, Objective: definition.Quantity{Name: "flow", Value: 1},
		}}, nil
	}
	return instruments.Outcome{Status: instruments.Done}, nil
}

func (*arm) Cancel(context.Context, instruments.Command) error { return nil }

func armed(o *oven) registry.Registry {
	reg := builtin.Registry()
	reg.Instruments = append(reg.Instruments, instruments.Driver{
		Name:     "arm",
		Settings: func() definition.Settings { return new(sharedSettings) },
		Open: func(_ context.Context, def definition.Campaign, _ instruments.Environment) (instruments.Instrument, error) {
			return &arm{o, def.Name}, nil
		},
	})
	return reg
}

// baked is a campaign whose batches go into the lab's oven, two of them under way at once.
func baked(name string, experiments int) string {
	return strings.Replace(pumping(name, experiments), "instrument: {pump: {}}", `
parallel: 2
instruments: {arm: {arm: {}}}
places: [{lab: oven}]
procedure:
  load: {on: arm, holds: oven}
  unload: {on: arm, after: load, frees: oven, gives: [flow]}
`, 1)
}

// Law: an oven of the lab never has more batches in it than it has room for, whichever campaigns they are
// of; a campaign that waits says for whom; each has its turn, and the lab's log holds no fault: in a folder,
// and between processes that share a database.
func TestSharedPlace(t *testing.T) {
	for _, place := range []string{"folder", "database"} {
		t.Run(place, func(t *testing.T) {
			t.Parallel()
			oven := &oven{in: make(map[string]bool), hold: make(chan struct{})}
			o := lab.Options{Folder: t.TempDir(), Registry: armed(oven), Log: t.Logf}
			if place == "database" {
				o.Database = pgtest.URL(t)
			}
			must.Do(t, os.WriteFile(filepath.Join(o.Folder, "lab.yaml"), []byte("places: [press, {name: oven, room: 1}]\n"), 0o600))
			l := must.Get(lab.Open(t.Context(), o))(t)
			t.Cleanup(l.Close)
			first := define(t, l, baked("first", 3))
			eventually(t, "the first is in the oven", func() bool { return len(must.Get(l.Places())(t)[1].In) == 1 })
			second := define(t, l, baked("second", 3))
			eventually(t, "the second waits for it", func() bool {
				return strings.Contains(second.Standing().WaitingFor, "oven of the lab, where b1 of first is")
			})
			close(oven.hold)
			eventually(t, "both have ended", func() bool {
				return first.Standing().Status == "completed" && second.Standing().Status == "completed"
			})
			eventually(t, "the oven is empty", func() bool {
				places := must.Get(l.Places())(t)
				return len(places) == 2 && places[0].Name == "press" && len(places[1].In) == 0
			})
			if oven.most != 1 || len(oven.order) != 6 || len(oven.in) != 0 || oven.order[1] != "second" {
				t.Errorf("batches of %v were in the oven, at most %d at once, and %d are", oven.order, oven.most, len(oven.in))
			}
		})
	}
}

// Law: a batch whose campaign goes on no more has its place until a person has looked; others wait.
func TestAbandonedPlace(t *testing.T) {
	oven := &oven{in: make(map[string]bool)}
	folder := t.TempDir()
	o := lab.Options{Folder: folder, Registry: armed(oven), Log: t.Logf}
	must.Do(t, os.WriteFile(filepath.Join(folder, "lab.yaml"), []byte("places: [oven]\n"), 0o600))
	l := must.Get(lab.Open(t.Context(), o))(t)
	t.Cleanup(l.Close)
	lost := lab.StocksOf(l).Store("lost.campaign").Campaign("lost")
	must.Do(t, lost.Occupy("oven", "K3JD", "b1"))
	c := define(t, l, baked("first", 1))
	eventually(t, "it waits", func() bool {
		return strings.Contains(c.Standing().WaitingFor, "oven of the lab, where b1 of lost is, for load of b1")
	})
	must.Do(t, l.Free(stocks.Free{Place: "oven", Campaign: "lost", Batch: "b1"}, engine.Request{Actor: "person:ada"}))
	eventually(t, "it has ended", func() bool { return c.Standing().Status == "completed" })
	if len(oven.order) != 1 {
		t.Errorf("batches of %v were in the oven", oven.order)
	}
}
