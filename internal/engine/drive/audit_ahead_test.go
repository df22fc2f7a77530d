package drive_test

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/attest/decisions"
	"github.com/campaignd/campaignd/internal/files/builtin"
)

// Law: an audit says the same on any number of cores, of an honest log, of one with forged fits and decisions,
// and of one that breaks off in a contradiction.
func TestAuditOnManyCores(t *testing.T) {
	log, _ := simulate(t, electrolyte(t, 3, 7))
	honest := history(t, log)
	forged := slices.Clone(honest)
	decision := find(t, forged, events.KindDecisionMade, "", -1)
	forged[decision] = edit(t, forged[decision], "reason", "because")
	fit := find(t, forged, events.KindModelFitted, "", -1)
	forged[fit] = edit(t, forged[fit], "seed", "5")
	broken := slices.Clone(honest)
	measured := find(t, broken, events.KindExperimentMeasured, "", -1)
	broken[measured] = edit(t, broken[measured], "experiment", "e99")
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	for name, c := range map[string]struct {
		all        []events.Event
		mismatches bool
	}{"honest": {honest, false}, "forged": {forged, true}, "broken": {broken, true}} {
		t.Run(name, func(t *testing.T) {
			var want decisions.Report
			for _, cores := range []int{1, 2, 5} {
				runtime.GOMAXPROCS(cores)
				report, err := decisions.Audit(t.Context(), builtin.Registry(), refill(t, c.all), c.all[0].Campaign, events.Build{}, nil)
				if err != nil || len(report.Mismatches) > 0 != c.mismatches || report.Fits == 0 {
					t.Fatalf("on %d cores: %+v %v", cores, report, err)
				}
				if cores == 1 {
					want = report
				}
				if diff := cmp.Diff(want, report); diff != "" {
					t.Errorf("on %d cores it is another: %s", cores, diff)
				}
			}
			runtime.GOMAXPROCS(2)
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			if _, err := decisions.Audit(ctx, builtin.Registry(), refill(t, c.all), c.all[0].Campaign, events.Build{}, nil); !errors.Is(err, context.Canceled) {
				t.Errorf("called off, it says %v", err)
			}
		})
	}
}
