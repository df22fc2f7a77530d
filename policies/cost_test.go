package policies_test

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/files/builtin"
	"github.com/campaignd/campaignd/internal/ground/format"
	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/policies"
	"github.com/campaignd/campaignd/policies/seek"
	"github.com/campaignd/campaignd/policies/turn"
)

// salted is what an experiment of the tests costs: 1 + 5 lipf6.
func salted(p definition.Point) float64 {
	lipf6, _ := p["lipf6"].Float()
	return 1 + 5*lipf6
}

// Law: an experiment is chosen by the logarithm of what it is worth less α times that of what it
// costs, α being the share of the budget of cost that is left, ½ without one. None is chosen that
// costs more than is left; where none is found the campaign completes. What a trade-off gains is
// what it gains whatever it costs.
func TestCostOfExperiments(t *testing.T) {
	for name, c := range map[string]struct {
		budget, objective string
		tradeoff          bool
	}{
		"one value":        {", cost: 50", `{maximize: conductivity}`, false},
		"a trade-off":      {", cost: 50", `{tradeoff: [{maximize: conductivity}, {minimize: viscosity}]}`, true},
		"without a budget": {"", `{maximize: conductivity}`, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			further := strings.Replace(both, "}", c.budget+"}\ncost: {of: 1 + 5*lipf6, unit: h}", 1) + c.objective
			def := electrolyte(t, 24, further)
			if c.budget == "" {
				def.Budget.Experiments = 7
			}
			rule := must.Get(builtin.Registry().Methods.Searched(def.Policy))(t)
			runs, ended := 0, ""
			eachView(t, def, func(v policies.View, d policies.Decision) {
				spent := 0.0
				for _, x := range v.Campaign.Experiments {
					spent += salted(x.Parameters)
				}
				left, alpha := 50-spent, 1-spent/50
				if c.budget == "" {
					left, alpha = math.Inf(1), 0.5
				}
				if d.Action != events.ActionRun {
					ended = d.Rule + ": " + d.Reason
					if cheapest := 2.0; c.budget != "" && left > cheapest*1.01 {
						t.Errorf("it ends where %v is left, and there are experiments that cost %v", left, cheapest)
					}
					return
				}
				runs++
				candidate := d.Candidate()
				cost := salted(candidate.Parameters)
				if cost > left {
					t.Errorf("it costs %v, and %v is left", cost, left)
				}
				if candidate.Cost == nil || math.Abs(candidate.Cost.Mean-cost) > 1e-9 || candidate.Cost.Unit != "h" ||
					!strings.Contains(d.Reason, "It costs "+format.Quantity(cost, "h")+", after "+format.Short(spent)) {
					t.Errorf("it costs %v: %+v, %q", cost, candidate.Cost, d.Reason)
				}
				if math.Log(cost) > math.Log(left)-1e-3 {
					return // at the limit
				}
				negLog := *candidate.Acquisition - alpha*math.Log(cost)
				if c.tradeoff {
					if gain := math.Log(*d.Tradeoff.Gain) + negLog; !(math.Abs(gain-volume(t, v, d)) < 1e-9) {
						t.Errorf("it gains %v", *d.Tradeoff.Gain)
					}
					return
				}
				if d.Rule == policies.RuleRestart {
					return // by another model
				}
				x := must.Get(v.Space.Encode(candidate.Parameters))(t)
				worth := must.Get(rule.Acquisition(v.Objective(), unaidedSeed(def, v)))(t)
				if want := worth(x, nil); math.Abs(want-negLog) > 1e-9 {
					t.Errorf("−ln of what it is worth is %v, want %v, where α is %v", negLog, want, alpha)
				}
			})
			wantEnd := policies.RuleBudget + ": Of the budget of 50 h, "
			if c.budget == "" {
				wantEnd = policies.RuleBudget + ": All 7 experiments"
			}
			if runs < 3 || !strings.HasPrefix(ended, wantEnd) {
				t.Errorf("after %d it ends by %s", runs, ended)
			}
		})
	}
}

// unaidedSeed is that of the draws of a turn.
func unaidedSeed(def definition.Campaign, v policies.View) uint64 {
	return rand.New(rand.NewPCG(def.Seed, uint64(turn.Experiments(v.Campaign)))).Uint64()
}

// volume is ln of the hypervolume that is 1 in the units of the improvement, as a share of
// what the front covers.
func volume(t *testing.T, v policies.View, d policies.Decision) float64 {
	t.Helper()
	p := must.Get(seek.NewProblem(v.Campaign, v.Space, v.Models))(t)
	s := must.Get(p.Standing())(t)
	return math.Log(p.Volume(s) / d.Tradeoff.Hypervolume)
}

// Law: where the cost is a measured quantity it is what its model expects, the mean of a
// quantity whose logarithm is normal; what an experiment has cost is what was measured.
func TestMeasuredCost(t *testing.T) {
	further := strings.Replace(both, "}", ", cost: 60}\ncost: viscosity", 1) + `{maximize: conductivity}`
	def := electrolyte(t, 24, further)
	runs, ended := 0, ""
	eachView(t, def, func(v policies.View, d policies.Decision) {
		spent := 0.0
		for i := range v.Campaign.Experiments {
			q, _ := v.Campaign.Quantity(&v.Campaign.Experiments[i], "viscosity")
			spent += q.Value
		}
		if c := v.Campaign.Cost(); math.Abs(c.Spent-spent) > 1e-9 || c.Budget != 60 || c.Unit != "mPa·s" {
			t.Errorf("%+v is spent, want %v", c, spent)
		}
		if d.Action != events.ActionRun {
			ended = d.Reason
			return
		}
		runs++
		candidate := d.Candidate()
		x := must.Get(v.Space.Encode(candidate.Parameters))(t)
		m := v.Models.Of("viscosity")
		mean, sd := m.Posterior(x)
		scale := m.Scale()
		mean, sd = scale.Center+scale.Spread*mean, scale.Spread*sd
		if want := math.Exp(mean + sd*sd/2); math.Abs(candidate.Cost.Mean-want) > 1e-9*want || want > 60-spent {
			t.Errorf("it is expected to cost %v, want %v of %v", candidate.Cost.Mean, want, 60-spent)
		}
		if !strings.Contains(d.Reason, "It is expected to cost ") {
			t.Errorf("its reason is %q", d.Reason)
		}
	})
	if runs < 3 || !strings.Contains(ended, "60 mPa·s") {
		t.Errorf("after %d: %s", runs, ended)
	}
}

// Law: points of a design are taken as they come, as long as something is left of the budget of
// cost.
func TestCostOfDesigns(t *testing.T) {
	def := electrolyte(t, 24, strings.Replace(both, "}", ", cost: 40}\npolicy: sobol\ncost: {of: 1 + 5*lipf6, unit: h}", 1)+`{maximize: conductivity}`)
	spent, last := 0.0, 0.0
	eachView(t, def, func(v policies.View, d policies.Decision) {
		if d.Action == events.ActionRun {
			return
		}
		for _, x := range v.Campaign.Experiments {
			last = salted(x.Parameters)
			spent += last
		}
		if !strings.HasPrefix(d.Reason, "The budget of 40 h is spent: the experiments cost ") || d.Completed.Reason != events.CompletedBudget {
			t.Errorf("it ends by %q", d.Reason)
		}
	})
	if !(spent >= 40 && spent-last < 40) {
		t.Errorf("%v is spent, %v of it by the last one", spent, last)
	}
}
