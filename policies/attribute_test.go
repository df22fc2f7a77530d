package policies_test

import (
	"fmt"
	"testing"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/events/memlog"
	"github.com/campaignd/campaignd/internal/study/studytest"
	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/internal/view"
	"github.com/campaignd/campaignd/policies/coexbo"
)

// Law: what is explained is what is shown. Base and Shapley values of the mean, the
// standard deviation and the bound add up to what the decision says of the
// candidate, wherever it lies: also where a result is awaited nearby, in a
// mixture, and where the objective is minimized.
func TestAttributionsAddUp(t *testing.T) {
	for _, task := range []string{"branin", "electrolyte", "mixture4"} {
		for _, parallel := range []int{1, 2} {
			t.Run(fmt.Sprintf("%s/%d", task, parallel), func(t *testing.T) {
				t.Parallel()
				def, err := studytest.Define(task, 4, 9, studytest.WithExpert(2), func(def *definition.Campaign) {
					def.Policy.Trust = coexbo.CoExBO{}.Choice()
					def.Policy.Handover = coexbo.Choose{Gate: ptr(false)}.Choice()
					def.Initial.Comparisons, def.Parallel = ptr(12), parallel
				})
				if err != nil {
					t.Fatal(err)
				}
				log := memlog.New()
				must.Get(studytest.Simulate(t.Context(), log, def))(t)
				explained := 0
				for e := range must.Each(t, log.Read(t.Context(), 0)) {
					payload, _ := events.Decode(e)
					d, ok := payload.(*events.DecisionMade)
					if !ok || d.Attributions == nil || len(d.Attributions.Shapley) == 0 {
						continue
					}
					explained++
					shares := view.Shares(&def, d)
					if len(shares) != 6 || !view.AddUp(shares) {
						for _, s := range shares {
							t.Errorf("%s: the %s of the %s candidate: %v in all, the model says %v", d.Decision, s.Quantity, s.Candidate, s.Total, *s.Model)
						}
					}
				}
				if explained == 0 {
					t.Error("nothing was explained")
				}
			})
		}
	}
}
