package policies_test

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/events/memlog"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/files/builtin"
	"github.com/campaignd/campaignd/internal/files/campaignfile"
	"github.com/campaignd/campaignd/internal/study/studytest"
	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/policies"
	"github.com/campaignd/campaignd/policies/policytest"
	"github.com/campaignd/campaignd/policies/seek"
	"github.com/campaignd/campaignd/projections/quantity"
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
	f := must.Get(campaignfile.Parse(builtin.Registry(), "electrolyte.yaml", []byte(text)))(t)
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
	must.Get(studytest.Simulate(t.Context(), log, def))(t)
	policy := policyOf(t, def)
	for view, seed := range viewsOf(t, log, engine.NewCore(builtin.Registry())) {
		look(view, policytest.Run(t, policy, view, seed))
	}
	audited(t, log, def)
}

// beyond is the probability that a quantity is beyond a bound where it was observed, in the
// numbers that its model works in.
func beyond(m *quantity.Model, x []float64, bound float64, above bool) float64 {
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
				conductivity, viscosity := v.Objective(), v.Models.Of("viscosity")
				if def.Objective.Formula != "" {
					conductivity = v.Models.Of("conductivity")
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
		v.Models[1].Model = nil
		without, err := policy.Decide(context.WithoutCancel(t.Context()), v, d.Seed)
		if checked = true; err != nil || d.Rule != policies.RuleTarget || without.Rule == policies.RuleTarget {
			t.Errorf("it is to %s by %q, and by %q without a model of the viscosity: %v", d.Action, d.Rule, without.Rule, err)
		}
	})
	if !checked {
		t.Error("nothing was decided")
	}
}

// covered is the area that points in two dimensions, both to be great, cover beyond a
// reference.
func covered(points [][2]float64, reference []float64) (area float64) {
	points = slices.Clone(points)
	slices.SortFunc(points, func(p, q [2]float64) int { return cmp.Compare(q[0], p[0]) }) // the greatest first
	floor := reference[1]
	for _, p := range points {
		if p[0] > reference[0] && p[1] > floor {
			area += (p[0] - reference[0]) * (p[1] - floor)
			floor = p[1]
		}
	}
	return area
}

// Law: a trade-off completes as soon as the latest experiments have increased the
// hypervolume of posterior means by less than the share that is asked for, all of it by
// the models of that turn and beyond its reference, and not before.
func TestFrontThatHardlyGrows(t *testing.T) {
	const window = 5
	for _, share := range []float64{0.03, 1} {
		def := electrolyte(t, 30, both+fmt.Sprintf(`{tradeoff: [{maximize: conductivity}, {minimize: viscosity}]}
stop: {hypervolume: {window: %d, improvement: %g}}`, window, share))
		def.Initial.Experiments = ptr(8)
		ended := hardlyGrows(t, def, window, share)
		if len(ended) != 1 {
			t.Errorf("%v: it ends after %v experiments", share, ended)
		}
	}
}

// hardlyGrows checks each decision of a campaign that completes once its front hardly
// grows, and returns how many experiments there were where one did.
func hardlyGrows(t *testing.T, def definition.Campaign, window int, share float64) (ended []int) {
	t.Helper()
	tooFew := false
	eachView(t, def, func(v policies.View, d policies.Decision) {
		problem := must.Get(seek.NewProblem(v.Campaign, v.Space, v.Models))(t)
		standing := must.Get(problem.Standing())(t)
		var points [][2]float64
		for _, x := range v.Objective().X {
			conductivity, _ := v.Objective().Posterior(x)
			viscosity, _ := v.Models[1].Model.Posterior(x)
			c, w := v.Objective().Scale(), v.Models[1].Model.Scale()
			points = append(points, [2]float64{c.Center + c.Spread*conductivity, -(w.Center + w.Spread*viscosity)})
		}
		without := covered(points[:max(0, len(points)-window)], standing.Reference)
		growth := covered(points, standing.Reference)/without - 1
		want := len(points) >= 2*window && growth < share
		tooFew = tooFew || len(points) < 2*window && growth < share
		if got := d.Rule == policies.RuleConverged; got != want {
			t.Errorf("%d experiments, the last ones increase it by %v: it is to %s by %q", len(points), growth, d.Action, d.Rule)
		}
		if d.Rule == policies.RuleConverged {
			ended = append(ended, len(points))
			says := fmt.Sprintf("The last %d experiments increased the hypervolume of the front by %.2g %%, less than %g %%.", window, 100*growth, 100*share)
			if d.Reason != says {
				t.Errorf("%q, want %q", d.Reason, says)
			}
		}
	})
	if !tooFew && share == 1 {
		t.Error("the front never grew so little among the first experiments")
	}
	return ended
}

// Law: a trade-off completes as soon as three experiments in a row were expected to gain
// less than the share that is asked for, by the decisions to run them; an amendment
// begins anew.
func TestLittleToGain(t *testing.T) {
	def := electrolyte(t, 30, both+`{tradeoff: [{maximize: conductivity}, {minimize: viscosity}]}
stop: {gain: 1%}`)
	policy := policyOf(t, def)
	var gains []float64
	ended := 0
	eachView(t, def, func(v policies.View, d policies.Decision) {
		last := gains[max(0, len(gains)-3):]
		want := len(last) == 3 && slices.Max(last) < 0.01
		if got := d.Rule == policies.RuleConverged; got != want {
			t.Errorf("after gains of %v it is to %s by %q", last, d.Action, d.Rule)
		}
		if d.Action == events.ActionRun && d.Tradeoff.Gain != nil {
			gains = append(gains, *d.Tradeoff.Gain)
			return
		}
		ended++
		amended := *v.Campaign
		amended.Gains = amended.Gains[1:]
		v.Campaign = &amended
		if again, err := policy.Decide(t.Context(), v, d.Seed); err != nil || again.Action != events.ActionRun {
			t.Errorf("after two it is to %s, %v", again.Action, err)
		}
	})
	if ended != 1 || len(gains) < 4 {
		t.Errorf("%d decisions end the campaign, after gains of %v", ended, gains)
	}
}
