package drive_test

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/campaignd/campaignd/adapters/instruments"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/events/memlog"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/projections/campaign"
)

func stocked(t *testing.T) []events.Event {
	all, _ := stockedBy(t)
	return all
}

// stockedBy is the history of a campaign whose robot takes two tips and some solvent for each
// experiment, and what it was given. It is killed with campaignd during the first and cannot tell
// what became of it; for the third there is no second tip.
func stockedBy(t *testing.T) (all []events.Event, given []instruments.Command) {
	synctest.Test(t, func(t *testing.T) {
		def := pipedCampaign(t, 4)
		def.Instrument.GiveUpAfter = definition.Duration(200 * time.Hour)
		def.Instrument.Draws = map[string]definition.Draw{"solvent": "2 + x1 mL", "tips": "2"}
		def.Stocks = map[string]definition.Stock{"solvent": {Amount: "100 mL"}, "tips": {Labels: "A1-E1"}}
		robot := newTeller()
		robot.silent = map[string]bool{"e1": true, "e2": true, "e3": true, "e4": true}
		begin := robot.start
		robot.start = func(cmd instruments.Command) error {
			given = append(given, cmd)
			return begin(cmd)
		}
		log := memlog.New()
		first := attend(t, log, def, robot)
		time.Sleep(time.Hour)
		first.end()
		<-first.over
		second := attend(t, log, def, robot)
		ask := func(r engine.Request) {
			t.Helper()
			time.Sleep(100 * time.Hour)
			synctest.Wait()
			must.Do(t, second.ask(t, r))
		}
		ask(engine.Request{Resolve: &engine.Resolve{Experiment: "e1", Resolution: events.ResolvedFailed, Reason: "a tip lies on the deck"}})
		ask(engine.Request{Count: &engine.Count{Stock: "tips", Labels: "E1, A2-D2", Lot: "2206-17", Reason: "a new column"}})
		ask(engine.Request{Count: &engine.Count{Stock: "solvent", Amount: "60 mL"}})
		must.Do(t, <-second.over)
		all = history(t, log)
	})
	return all, given
}

// Law: no tip is handed out twice, whatever became of the command that it was handed out with: not
// to the experiment after one that was killed in the middle, as a robot's own count would. What the
// robot is told stands in the log. An experiment for which a stock does not suffice waits, and
// costs nothing.
func TestNothingIsHandedOutTwice(t *testing.T) {
	all, given := stockedBy(t)
	var tips []string
	for _, cmd := range given {
		for _, d := range cmd.Drawn {
			tips = append(tips, d.Labels...)
		}
	}
	if want := []string{"A1", "B1", "C1", "D1", "E1", "A2", "B2", "C2"}; !slices.Equal(tips, want) {
		t.Errorf("the robot was given the tips %v, want %v", tips, want)
	}
	log := refill(t, all)
	s := pipedState(t, log)
	if len(s.Experiments) != 4 || s.Count(campaign.Measured) != 3 || s.Count(campaign.Failed) != 1 {
		t.Errorf("of %d experiments %d are measured", len(s.Experiments), s.Count(campaign.Measured))
	}
	if left := s.Stock("tips").Labels; !slices.Equal(left, []string{"D2"}) {
		t.Errorf("the tips %v are left", left)
	}
	audited(t, log, s.Name)
}
