package seek

import (
	"slices"

	"github.com/campaignd/campaignd/internal/num/composite"
	"github.com/campaignd/campaignd/internal/num/ehvi"
	"github.com/campaignd/campaignd/internal/num/gp"
)

// Improvement is the noisy expected improvement of a trade-off's hypervolume on the experiments
// measured and under way, under the constraints:
//
//	(1/S)·Σ_s EHVI_s(x)·P_s(x),
//
// P_s the probability that the constraints are kept, given the values of all quantities in
// member s. Bounds on one objective are part of EHVI, exactly. It is a workspace: one goroutine
// uses it at a time.
type Improvement struct {
	problem *Problem
	noisy   *ehvi.Noisy
	kept    *kept // nil where all constraints are bounds on objectives
	apart   []composite.Function
	order   []int // which model each quantity of the improvement has, −1 for none
	seed    uint64
}

// Improvement returns the improvement on the experiments measured and under way.
func (p *Problem) Improvement(
	s *Standing, underWay [][]float64, members int, seed uint64,
) (*Improvement, error) {
	t := ehvi.Tradeoff{UnderWay: underWay, Members: members, Seed: seed}
	for _, m := range s.Measured {
		t.Measured = append(t.Measured, m.X)
	}
	out := &Improvement{problem: p, seed: seed}
	for k, a := range p.Aims {
		t.Objectives = append(t.Objectives, p.objective(k, a, s))
		out.order = append(out.order, a.Model)
	}
	for i, c := range p.required {
		if _, _, on := p.bound(c); !on {
			out.apart = append(out.apart, p.problem.Constraints[i])
		}
	}
	if len(out.apart) > 0 {
		for k, m := range p.Models {
			if !slices.Contains(out.order, k) {
				t.Further = append(t.Further, m.Conditioned())
				out.order = append(out.order, k)
			}
		}
		t.Feasible = p.feasible(out.apart, out.order)
	}
	var err error
	if out.noisy, err = ehvi.NewNoisy(t); err != nil {
		return nil, err
	}
	return out, out.prepare()
}

// First returns the improvement on the first members alone, with a workspace of its
// own.
func (i *Improvement) First(members int) (*Improvement, error) {
	out := *i
	out.noisy = i.noisy.First(members)
	return &out, out.prepare()
}

// Members returns the number of members.
func (i *Improvement) Members() int { return i.noisy.Members() }

// Log returns the logarithm of the improvement at a point of the unit cube, and fills
// grad, unless nil, with its gradient. It is −Inf where constraints cannot be kept.
func (i *Improvement) Log(x, grad []float64) float64 {
	switch {
	case i.kept == nil && grad == nil:
		return i.noisy.Log(x)
	case i.kept == nil:
		return i.noisy.LogGrad(x, grad)
	case grad == nil:
		i.kept.set(i.problem, x, false)
		return i.noisy.LogWeighed(x, i.kept.logs)
	}
	i.kept.set(i.problem, x, true)
	value := i.noisy.LogWeighedGrad(x, i.kept.logs, grad, i.kept.shares)
	i.kept.addGrad(i.problem, grad)
	return value
}

// kept are the members' probabilities that constraints are kept.
type kept struct {
	mixture      *composite.Mixture
	predictors   []*gp.ConditionedPredictor // of the problem's models
	at           composite.Posterior
	gradient     composite.Gradient
	logs, shares []float64 // of each member
	dSD          [][]float64
	part         []float64
}

// prepare makes the workspace of the constraints.
func (i *Improvement) prepare() error {
	if i.kept = nil; len(i.apart) == 0 {
		return nil
	}
	p, members := i.problem, i.noisy.Members()
	of := p.problem
	// Points are a sequence of their own: they have to be independent of the members'
	// values.
	of.Objective = nil
	of.Constraints = i.apart
	of.Seed = i.seed ^ 0x6d697874757265
	mixture, err := composite.New(of, members)
	if err != nil {
		return err
	}
	i.kept = &kept{
		mixture: mixture, predictors: make([]*gp.ConditionedPredictor, len(p.Models)), at: p.posterior(),
		logs: make([]float64, members), shares: make([]float64, members),
		dSD: make([][]float64, len(p.Models)), part: make([]float64, p.space.Dim()),
	}
	for q, k := range i.order {
		if k >= 0 {
			i.kept.predictors[k] = i.noisy.Given(q).NewPredictor()
			i.kept.dSD[k] = make([]float64, p.space.Dim())
		}
	}
	return nil
}

// set reads the models at a point, with slopes if they are requested.
func (w *kept) set(p *Problem, x []float64, slopes bool) {
	p.ParametersAt(w.at.Parameters, x)
	for k, of := range w.predictors {
		if slopes {
			w.at.Means[k], w.at.SDs[k] = of.MeansGrad(x, w.dSD[k])
		} else {
			w.at.Means[k], w.at.SDs[k] = of.Means(x)
		}
		w.at.SDs[k] = max(w.at.SDs[k], leastSD*p.spreadOf(k))
	}
	w.mixture.LogKept(w.at, w.logs)
}

// addGrad adds the shares' sum of the slopes of the members' logarithms.
func (w *kept) addGrad(p *Problem, grad []float64) {
	w.mixture.LogKeptGrad(w.at, w.shares, &w.gradient)
	for k, of := range w.predictors {
		of.WeighedGrad(w.part, w.gradient.Means[k])
		for j := range grad {
			grad[j] += w.part[j] + float64(w.gradient.SDs[k]*w.dSD[k][j])
		}
	}
	p.AddGrad(grad, w.gradient.Parameters, 1)
}

// feasible reports whether a draw keeps some constraints: values are standardized ones of the
// quantities, whose models are in an order, −1 for one that has none.
func (p *Problem) feasible(constraints []composite.Function, order []int) func(x, values []float64) bool {
	arguments := make([]float64, len(p.Quantities)+p.problem.Parameters)
	return func(x, values []float64) bool {
		p.ParametersAt(arguments[len(p.Quantities):], x)
		for i, v := range values {
			if k := order[i]; k >= 0 {
				arguments[k] = p.problem.Quantities[k].Value(v)
			}
		}
		for _, c := range constraints {
			if !(c.Value(arguments) <= 0) {
				return false
			}
		}
		return true
	}
}
