package drive_test

import (
	"flag"
	"testing"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/study/studytest"
	"github.com/campaignd/campaignd/internal/study/tasks"
	"github.com/campaignd/campaignd/internal/tests/draws"
	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/projections/campaign"
)

var alarmSeeds = flag.Uint64("seeds", 4, "how many campaigns of each kind are searched for false alarms, where all are")

// Law: where every measurement is right, few are doubted: a false alarm costs an
// experiment. docs/results-journal.md has more seeds: CAMPAIGND_DRAWS=1 and -args -seeds 30.
func TestFalseAlarmsAreRare(t *testing.T) {
	seeds := *alarmSeeds
	if !draws.Whole() {
		seeds = 2
	}
	for _, c := range []struct {
		task        string
		noise       float64
		experiments int
		most        float64 // doubted, as a share of the measurements
	}{
		{"electrolyte", 0.27, 25, 0.01}, {"electrolyte", 0.27, 50, 0.01}, {"ackley4", 0, 40, 0.03}, {"holder2", 0, 40, 0.03},
		{"hartmann4", 0, 40, 0.03}, {"rosenbrock3", 0, 40, 0.04}, {"branin", 0, 30, 0.05},
	} {
		measured, doubted, overturned := 0, 0, 0
		for seed := uint64(1001); seed < 1001+seeds; seed++ {
			def := must.Get(studytest.Define(c.task, seed, c.experiments, func(def *definition.Campaign) {
				if c.noise > 0 {
					studytest.WithNoise(c.noise)(def)
				}
			}))(t)
			_, core := simulate(t, def)
			for _, x := range core.State().Experiments {
				if x.Status == campaign.Measured {
					measured++
				}
				if x.Flag != nil {
					doubted++
					if x.Flag.Verdict == events.VerdictOverturned {
						overturned++
					}
				}
			}
		}
		task, _ := tasks.Lookup(c.task)
		t.Logf("%-12s %d parameters, %d experiments: %d of %d measurements were doubted, %d wrongly left out",
			c.task, len(task.Parameters), c.experiments, doubted, measured, overturned)
		if float64(doubted) > c.most*float64(measured) || overturned > 0 {
			t.Errorf("%s: %d of %d measurements were doubted, %d left out", c.task, doubted, measured, overturned)
		}
	}
}
