package drive_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/campaignd/campaignd/adapters/instruments"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/events/memlog"
	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/projections/campaign"
)

// teller is a cycler that works on each command for three days, and says every six hours how far it is.
// Its ledger is lost with its program: it finds a run by the handle alone.
type teller struct {
	*device
	began  map[string]time.Time // by command; the device's own knowledge
	told   map[string]bool      // commands of which it has said something
	silent map[string]bool      // experiments of which it says nothing
	found  []string             // the handles by which it was asked
}

const cycling = 72 * time.Hour

func newTeller() *teller {
	c := &teller{device: newDevice("cycler 4"), began: make(map[string]time.Time), told: make(map[string]bool), silent: make(map[string]bool)}
	c.recall = func(cmd instruments.Command) instruments.Fate {
		if c.found = append(c.found, cmd.Handle); cmd.Handle == "" {
			return instruments.FateUnknown
		}
		return instruments.FateRunning
	}
	c.start = func(cmd instruments.Command) error {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.began[cmd.ID] = time.Now()
		return nil
	}
	return c
}

// since is when a command began, zero before, and whether something was said of it.
func (c *teller) since(cmd instruments.Command) (began time.Time, told bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.began[cmd.ID], c.told[cmd.ID]
}

func (c *teller) Sign(ctx context.Context, cmd instruments.Command) (events.Sign, error) {
	began, told := c.since(cmd)
	for began.IsZero() || c.silent[cmd.Experiment] {
		if !pausedFor(ctx, time.Second) {
			return events.Sign{}, ctx.Err()
		}
		began, told = c.since(cmd)
	}
	if told && !pausedFor(ctx, 6*time.Hour) {
		return events.Sign{}, ctx.Err()
	}
	c.mu.Lock()
	c.told[cmd.ID] = true
	c.mu.Unlock()
	done := float64(time.Since(began)) / float64(cycling)
	return events.Sign{
		Handle: "run of " + cmd.Experiment, Fraction: &done, Text: fmt.Sprintf("cycle %d of 72", int(72*done)),
		NextBy: (7 * time.Hour).Seconds(),
	}, nil
}

func (c *teller) Signals() bool { return true }

func (c *teller) Await(ctx context.Context, cmd instruments.Command) (instruments.Outcome, error) {
	began, _ := c.since(cmd)
	if !pausedFor(ctx, time.Until(began.Add(cycling))) {
		return instruments.Outcome{}, ctx.Err()
	}
	m := measured(12)
	m.Measurement.Actual = cmd.Parameters
	c.mu.Lock()
	defer c.mu.Unlock()
	m.Measurement.Objective = definition.Quantity{Name: "value", Value: 11 + float64(len(c.began))}
	return m, nil
}

func pausedFor(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}

func cycled(t *testing.T) []events.Event {
	all, _ := cycledBy(t, false)
	return all
}

// cycledBy is the history of a campaign of three experiments of three days each at a cycler, with
// stall_after: 10m. campaignd is killed during the first, and the cycler says nothing of the second.
func cycledBy(t *testing.T, simulated bool) (all []events.Event, found []string) {
	synctest.Test(t, func(t *testing.T) {
		def := pipedCampaign(t, 3)
		def.Instrument.StallAfter = definition.Duration(10 * time.Minute)
		def.Instrument.GiveUpAfter = definition.Duration(200 * time.Hour)
		c := newTeller()
		c.description.Simulated = simulated
		c.silent["e2"] = true
		log := memlog.New()
		first := attend(t, log, def, c)
		time.Sleep(30*time.Hour + 10*time.Minute)
		first.end()
		<-first.over
		second := attend(t, log, def, c)
		must.Do(t, <-second.over)
		all, found = history(t, log), c.found
	})
	return all, found
}

// Law: a device that works for days is not said to be silent while it tells how far it is, as long
// as it promises; one that tells nothing is. After a crash it is found again by its own handle,
// though its ledger is gone, and nobody is asked.
func TestCyclerOfThreeDays(t *testing.T) {
	for _, simulated := range []bool{false, true} {
		t.Run(fmt.Sprintf("simulated %t", simulated), func(t *testing.T) { cyclesForThreeDays(t, simulated) })
	}
}

func cyclesForThreeDays(t *testing.T, simulated bool) {
	all, found := cycledBy(t, simulated)
	if strings.Join(found, ",") != "run of e1" {
		t.Errorf("it was asked by %q", found)
	}
	signs, stalled := make(map[string]int), make(map[string]int)
	for _, e := range all {
		switch p := must.Get(events.Decode(e))(t).(type) {
		case *events.InstrumentSignalled:
			signs[p.Experiment]++
		case *events.InstrumentStalled:
			stalled[p.Experiment]++
		case *events.ExperimentUnresolved:
			t.Errorf("%s was left to a person: %s", p.Experiment, p.Cause)
		}
	}
	if fmt.Sprint(stalled) != "map[e2:1]" || signs["e1"] < 10 || signs["e1"] > 14 || signs["e2"] > 0 || signs["e3"] < 10 {
		t.Errorf("signs %v, said to be silent: %v", signs, stalled)
	}
	s := pipedState(t, refill(t, all))
	if s.Count(campaign.Measured) != 3 {
		t.Errorf("%d of 3 were measured", s.Count(campaign.Measured))
	}
	if report := audit(t, all); len(report.Mismatches) > 0 {
		t.Errorf("audit: %+v", report.Mismatches)
	}
}
