package policies_test

import (
	"context"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/events/memlog"
	"github.com/campaignd/campaignd/internal/builtin"
	"github.com/campaignd/campaignd/internal/campaignfile"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/study/studytest"
	"github.com/campaignd/campaignd/policies"
	"github.com/campaignd/campaignd/policies/policytest"
	"github.com/campaignd/campaignd/projections/objective"
)

// electrolyte is a campaign file on the electrolyte, with what else it says.
func electrolyte(t *testing.T, experiments int, further string) definition.Campaign {
	t.Helper()
	text := fmt.Sprintf(`name: electrolyte
parameters:
  - {name: lipf6, unit: mol/kg, min: 0.2, max: 2.1}
  - {name: ec, unit: kg/kg, min: 0.30, max: 0.52}
  - {name: dmc, min: 0, max: 1}
initial: {experiments: 4}
budget: {experiments: %d%s
instrument: {simulated: {task: electrolyte, noise: 0.1, noises: {viscosity: 0.05}}}
`, experiments, further)
	f, err := campaignfile.Parse(builtin.Registry(), "electrolyte.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return f.Definition
}

// both are the quantities of the electrolyte, and that one of them is sought.
const both = `}
quantities:
  - {name: conductivity, unit: mS/cm, noise: 0.1}
  - {name: viscosity, unit: mPa·s, scale: log}
objective: `

// eachView simulates a campaign, holds its policy to the laws of policies, and
// hands on each view with the decision that is made of it.
func eachView(t *testing.T, def definition.Campaign, look func(v policies.View, d policies.Decision)) {
	t.Helper()
	log := memlog.New()
	if _, err := studytest.Simulate(t.Context(), log, def); err != nil {
		t.Fatal(err)
	}
	policy := policyOf(t, def)
	for view, seed := range viewsOf(t, log, engine.NewCore(builtin.Registry())) {
		look(view, policytest.Run(t, policy, view, seed))
	}
	audited(t, log, def)
}

// beyond is the probability that a quantity is beyond a bound where it was observed, in the
// numbers that its model works in.
func beyond(m *objective.Model, x []float64, bound float64, above bool) float64 {
	mean, sd := m.Posterior(x)
	scale := m.Scale()
	if scale.Log {
		bound = math.Log(bound)
	}
	z := (scale.Center + scale.Spread*mean - bound) / math.Abs(scale.Spread*sd)
	if !above {
		z = -z
	}
	return 0.5 * math.Erfc(-z/math.Sqrt2)
}

// Law: a target of several bounds completes a campaign as soon as one measured
// composition keeps all of them with a probability of 0.9, by the models, and not
// before; whatever is sought.
func TestTargetOfBounds(t *testing.T) {
	for name, c := range map[string]struct {
		further string
		bound   float64 // of the conductivity
	}{
		"one quantity": {`}
objective: {name: conductivity, unit: mS/cm, goal: maximize, noise: 0.1}
stop: {target: conductivity >= 11.35}`, 11.35},
		"a formula": {both + `{maximize: conductivity / sqrt(viscosity)}
stop: {target: [conductivity >= 11.35, viscosity <= 1.9]}`, 11.35},
		"a trade-off": {both + `{tradeoff: [{maximize: conductivity}, {minimize: viscosity}]}
stop: {target: [conductivity >= 11.1, viscosity <= 1.9]}`, 11.1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			def := electrolyte(t, 16, c.further)
			ends, views := 0, 0
			eachView(t, def, func(v policies.View, d policies.Decision) {
				views++
				conductivity, viscosity := v.Objective, v.Outcomes.Of("viscosity")
				if def.Objective.Formula != "" {
					conductivity = v.Outcomes.Of("conductivity")
				}
				best, which := 0.0, ""
				for i, x := range conductivity.X {
					p := beyond(conductivity, x, c.bound, true)
					if viscosity != nil {
						p *= beyond(viscosity, x, 1.9, false)
					}
					if p > best {
						best, which = p, conductivity.Observations[i].Experiment
					}
				}
				reached := d.Rule == policies.RuleTarget
				if reached != (best >= 0.9) {
					t.Errorf("%s has a probability of %v, and it is to %s by %q: %s", which, best, d.Action, d.Rule, d.Reason)
				}
				if reached {
					ends++
					if !strings.Contains(d.Reason, which+" keeps conductivity >= ") || d.Completed.Reason != events.CompletedTarget {
						t.Errorf("%s reaches it: %q (%s)", which, d.Reason, d.Completed.Reason)
					}
				}
			})
			if ends != 1 || views < 2 {
				t.Errorf("%d of %d decisions end the campaign", ends, views)
			}
		})
	}
}

// Law: nothing reaches a target while a quantity in it has no model.
func TestTargetNeedsModels(t *testing.T) {
	def := electrolyte(t, 16, both+`{maximize: conductivity}
stop: {target: [conductivity >= 0.1, viscosity <= 100]}`)
	policy := policyOf(t, def)
	checked := false
	eachView(t, def, func(v policies.View, d policies.Decision) {
		v.Outcomes[0].Model = nil
		without, err := policy.Decide(context.WithoutCancel(t.Context()), v, d.Seed)
		if checked = true; err != nil || d.Rule != policies.RuleTarget || without.Rule == policies.RuleTarget {
			t.Errorf("it is to %s by %q, and by %q without a model of the viscosity: %v", d.Action, d.Rule, without.Rule, err)
		}
	})
	if !checked {
		t.Error("nothing was decided")
	}
}
