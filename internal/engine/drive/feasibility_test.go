package drive_test

import (
	"context"
	"strings"
	"testing"

	"github.com/campaignd/campaignd/adapters/instruments/simulated"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/events/memlog"
	"github.com/campaignd/campaignd/internal/attest/decisions"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/files/builtin"
	"github.com/campaignd/campaignd/internal/study/studytest"
	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/policies/next"
	"github.com/campaignd/campaignd/projections/campaign"
)

// throughPauses runs a campaign to its end, going on whenever it pauses, and
// audits it.
func throughPauses(t *testing.T, def definition.Campaign) (*memlog.Log, *engine.Core, int) {
	t.Helper()
	log := memlog.New()
	for pauses := 0; ; pauses++ {
		r := must.Get(studytest.Runner(t.Context(), log, def, nil))(t)
		ctx, stop := context.WithCancel(t.Context())
		r.Observe = func(core *engine.Core, _ engine.Wait) {
			if core.State().Status == campaign.Paused {
				stop()
			}
		}
		err := r.Run(ctx)
		stop()
		if err == nil {
			report, err := decisions.Audit(t.Context(), builtin.Registry(), log, def.Name, events.Build{}, nil)
			if err != nil || len(report.Mismatches) > 0 {
				t.Fatalf("audit: %+v %v", report.Mismatches, err)
			}
			return log, r.Core(), pauses
		}
		must.Do(t, submit(t, log, r, engine.Request{Resume: &events.CampaignResumed{}}))
	}
}

// Law: that half of a space cannot be made is learnt: of 30 experiments at most
// ten find it out, hardly any in the second half, and the best of the other half
// is found. The log says why a risk was taken.
func TestHalfIsInfeasible(t *testing.T) {
	for seed := uint64(1); seed <= 3; seed++ {
		def := electrolyte(t, seed, 30, unaided, func(def *definition.Campaign) {
			def.Policy.Next = next.LCB{Beta: ptr(2.0)}.Choice()
			studytest.Simulated(def, func(s *simulated.Settings) { s.FailureRate, s.Noise = 0, 0 })
			studytest.Simulated(def, func(s *simulated.Settings) {
				s.Infeasible = []definition.Region{{Name: "too thick", Where: map[string]definition.RegionSide{"lipf6": {Min: ptr(1.28)}}}}
			})
		})
		log, core, pauses := throughPauses(t, def)
		wasted, late := 0, 0
		for i, x := range core.State().Experiments {
			if x.Status == campaign.Infeasible {
				wasted++
				if i >= 15 {
					late++
				}
			}
		}
		explained := false
		for _, e := range history(t, log) {
			explained = explained || e.Kind == events.KindDecisionMade && strings.Contains(string(e.Data), "It gives a result with probability 0.")
		}
		t.Logf("seed %d: %d of 30 were infeasible, %d of the last 15, %d pauses, regret %.3f", seed, wasted, late, pauses, regret(t, core))
		if wasted > 10 || late > 3 || regret(t, core) > 0.2 || !explained {
			t.Errorf("seed %d: %d of 30 were infeasible, %d of the last 15; regret %v; explained: %v", seed, wasted, late, regret(t, core), explained)
		}
	}
}

// Law: failures that have nothing to do with the composition do not keep a
// campaign from the best, even where they struck there, and nothing that failed
// is tried again.
func TestRandomFailuresDoNotParalyse(t *testing.T) {
	for seed := uint64(1); seed <= 3; seed++ {
		def := electrolyte(t, seed, 30, unaided, func(def *definition.Campaign) {
			def.Policy.Next = next.LCB{Beta: ptr(2.0)}.Choice()
			studytest.Simulated(def, func(s *simulated.Settings) { s.FailureRate, s.Noise = 0.1, 0 })
		})
		_, core, _ := throughPauses(t, def)
		failed := make(map[string]string)
		for _, x := range core.State().Experiments {
			key := must.Get(core.Space().Key(x.Parameters))(t)
			if first := failed[key]; first != "" {
				t.Errorf("seed %d: %s tries again what failed as %s", seed, x.ID, first)
			}
			if x.Status == campaign.Failed {
				failed[key] = x.ID
			}
		}
		t.Logf("seed %d: %d of 30 failed, regret %.3f", seed, len(failed), regret(t, core))
		if len(failed) == 0 || regret(t, core) > 0.1 {
			t.Errorf("seed %d: %d failed, the regret is %v", seed, len(failed), regret(t, core))
		}
	}
}
