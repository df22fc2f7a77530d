package outcomes

import (
	"context"
	"math"
	"slices"

	humansim "github.com/campaignd/campaignd/adapters/humans/simulated"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/files/builtin"
	"github.com/campaignd/campaignd/internal/files/campaignfile"
	"github.com/campaignd/campaignd/internal/num/qmc"
	"github.com/campaignd/campaignd/internal/study"
)

// Taste is what outcomes of a task are worth to an expert, with the least and the
// greatest utility that there is in the space, as far as points spread over it show.
type Taste struct {
	Worths       []humansim.Worth
	Least, Great float64
}

// spread is how many points stand for the space.
const spread = 1 << 14

// Taste returns an expert's: each objective is worth next to nothing at what nine in
// ten points of the space are better than, next to all at what one in ten is better
// than, with the weights in the order of the objectives.
func (t Task) Taste(weights ...float64) (Taste, error) {
	sobol, err := qmc.New(len(t.Problem.Parameters))
	if err != nil {
		return Taste{}, err
	}
	points := sobol.Points(spread)
	all := make([][]float64, len(points))
	for i, u := range points {
		if all[i], err = t.Problem.Values(t.Problem.At(u)); err != nil {
			return Taste{}, err
		}
	}
	taste := Taste{Least: math.Inf(1), Great: math.Inf(-1)}
	for k, o := range t.Problem.Objectives {
		values := make([]float64, len(all))
		for i := range all {
			values[i] = all[i][k]
		}
		slices.Sort(values)
		from, to := values[len(values)/10], values[len(values)*9/10]
		if o.Goal == definition.Minimize {
			from, to = to, from
		}
		taste.Worths = append(taste.Worths, humansim.Worth{Quantity: o.Name, From: from, To: to, Weight: &weights[k]})
	}
	for _, values := range all {
		u := t.utility(taste, values)
		taste.Least, taste.Great = min(taste.Least, u), max(taste.Great, u)
	}
	return taste, nil
}

// utility is what values of the objectives are worth.
func (t Task) utility(taste Taste, values []float64) float64 {
	var o events.Outcome
	for k, x := range t.Problem.Objectives {
		o.Quantities = append(o.Quantities, definition.Quantity{Name: x.Name, Value: values[k]})
	}
	return humansim.Utility(taste.Worths, o)
}

// Prefer runs a campaign of a task that seeks what an expert with a taste prefers, by
// a policy, from an initial design of its own seed. It returns after each
// experiment by how much the best noiseless utility so far falls short of the
// greatest, as a share of the range of utilities.
func (t Task) Prefer(
	ctx context.Context, seed, experiments int, taste Taste, policy definition.Policy,
) (regret []float64, err error) {
	def := t.Definition(seed, nil)
	over := make([]string, len(t.Problem.Objectives))
	for k, o := range t.Problem.Objectives {
		over[k] = o.Name
		def.Quantities[k].Better = definition.BetterHigher
		if o.Goal == definition.Minimize {
			def.Quantities[k].Better = definition.BetterLower
		}
	}
	def.Objective = definition.Objective{Preference: &definition.Preference{Over: over}}
	def.Policy, def.Budget.Experiments = policy, experiments
	initial := t.Initial
	def.Initial = definition.Initial{Design: definition.DesignSobol, Experiments: &initial}
	def.Experts = []definition.Expert{{
		Name: "ada", Channel: humansim.Choose(humansim.Settings{Utility: taste.Worths}),
	}}
	def = campaignfile.Complete(builtin.Registry(), def)
	reviewers, err := study.Reviewers(def)
	if err != nil {
		return nil, err
	}
	device := &device{task: t, seed: seed}
	if _, err := t.run(ctx, def, device, reviewers); err != nil {
		return nil, err
	}
	best := math.Inf(-1)
	for _, values := range device.values {
		best = max(best, t.utility(taste, values))
		regret = append(regret, (taste.Great-best)/(taste.Great-taste.Least))
	}
	return regret, nil
}
