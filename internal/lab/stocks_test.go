package lab_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/campaignd/campaignd/adapters/instruments"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/files/builtin"
	"github.com/campaignd/campaignd/internal/files/registry"
	"github.com/campaignd/campaignd/internal/ground/problem"
	"github.com/campaignd/campaignd/internal/lab"
	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/internal/tests/pgtest"
)

// rack is the record of the tips that the robots of a lab have taken up.
type rack struct {
	mu   sync.Mutex
	used []string
}

// tipper is a robot of a campaign.
type tipper struct {
	rack *rack
	name string
}

func (r *tipper) Describe(context.Context) (instruments.Description, error) {
	return instruments.Description{Name: "tipper", Identity: "of " + r.name, Capacity: 1}, nil
}

func (r *tipper) Start(_ context.Context, cmd instruments.Command) error {
	r.rack.mu.Lock()
	defer r.rack.mu.Unlock()
	for _, d := range cmd.Drawn {
		r.rack.used = append(r.rack.used, d.Labels...)
	}
	return nil
}

func (*tipper) Await(_ context.Context, cmd instruments.Command) (instruments.Outcome, error) {
	return instruments.Outcome{Status: instruments.Measured, Measurement: &events.Measurement{
		Actual: cmd.Parameters, Objective: definition.Quantity{Name: "flow", Value: 1},
	}}, nil
}

func (*tipper) Cancel(context.Context, instruments.Command) error { return nil }

// tipping is a registry with a robot for each campaign at one rack.
func tipping(r *rack) registry.Registry {
	reg := builtin.Registry()
	reg.Instruments = append(reg.Instruments, instruments.Driver{
		Name:     "tipper",
		Settings: func() definition.Settings { return new(sharedSettings) },
		Open: func(_ context.Context, def definition.Campaign, _ instruments.Environment) (instruments.Instrument, error) {
			return &tipper{r, def.Name}, nil
		},
	})
	return reg
}

// tipped is a campaign of so many experiments with a tip each.
func tipped(name string, experiments int) string {
	return strings.Replace(pumping(name, experiments), "{pump: {}}",
		"{tipper: {}, draws: {tips: 1}}\nstocks: {tips: {lab: rack}}", 1)
}

// Law: of two campaigns that share a rack each tip goes to one, also the last; the other waits, says
// for which experiment and what helps, and goes on with a person's count: in a folder, and between
// processes that share a database.
func TestSharedStock(t *testing.T) {
	for _, place := range []string{"folder", "database"} {
		t.Run(place, func(t *testing.T) {
			t.Parallel()
			r := new(rack)
			o := lab.Options{Folder: t.TempDir(), Registry: tipping(r), Log: t.Logf}
			if place == "database" {
				o.Database = pgtest.URL(t)
			}
			text := "stocks: {rack: {labels: A1-E1, low: 1}}\n"
			must.Do(t, os.WriteFile(filepath.Join(o.Folder, "lab.yaml"), []byte(text), 0o600))
			l := must.Get(lab.Open(t.Context(), o))(t)
			t.Cleanup(l.Close)
			counting := l // the process that hears of the count
			if o.Database != "" {
				o.Watches = true
				counting = must.Get(lab.Open(t.Context(), o))(t)
				t.Cleanup(counting.Close)
			}
			both := []*lab.Campaign{define(t, l, tipped("first", 4)), define(t, l, tipped("second", 4))}
			short := "cannot be begun: it needs 1 of tips, and none is left"
			eventually(t, "both wait for a tip, or one has ended", func() bool {
				return !slices.ContainsFunc(both, func(c *lab.Campaign) bool {
					s := c.Standing()
					return s.Status != "completed" && !strings.Contains(s.WaitingFor, short)
				})
			})
			s := both[1].Standing()
			if s.Status == "completed" {
				s = both[0].Standing()
			}
			if s.Run.Remedies == nil || s.Run.Remedies[0].Action != problem.CountLab || s.Run.Remedies[0].Subject != "rack" {
				t.Errorf("what helps is %v", s.Run.Remedies)
			}
			ada := engine.Request{Actor: "person:ada"}
			must.Do(t, counting.Count(engine.Count{Stock: "rack", Labels: "A2-D2", Lot: "7"}, ada.Identified("k")))
			must.Do(t, counting.Count(engine.Count{Stock: "rack", Labels: "A2-D2", Lot: "7"}, ada.Identified("k"))) // sent again
			eventually(t, "both have ended", func() bool {
				return both[0].Standing().Status == "completed" && both[1].Standing().Status == "completed"
			})
			slices.Sort(r.used)
			if want := []string{"A1", "A2", "B1", "B2", "C1", "C2", "D1", "E1"}; !slices.Equal(r.used, want) {
				t.Errorf("the tips %v were used, want %v", r.used, want)
			}
			left := must.Get(l.Stocks())(t)
			if len(left) != 1 || fmt.Sprintf("%v %v %s %s", left[0].Labels, left[0].Low, left[0].CountedBy, left[0].Lot) != "[D2] 1 person:ada 7" {
				t.Errorf("left is %+v", left)
			}
		})
	}
}
