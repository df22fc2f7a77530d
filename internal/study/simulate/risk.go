package simulate

import (
	"context"
	"math"
	"slices"

	humansim "github.com/campaignd/campaignd/adapters/humans/simulated"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/policies/search"
	"github.com/campaignd/campaignd/projections/preference"
	"github.com/campaignd/campaignd/projections/space"
)

// RiskWeight is ρ: how much utility a unit of noise costs in risk-adjusted
// values (Sinaga et al. 2026, §6). It is a number, utility in the objective's
// unit for each square of that unit.
const RiskWeight = 10

// Risk is the state of a campaign of anchored experts after a comparison: their judgment is noisy
// far from their anchors (Sinaga et al. 2026, §6). Utility is the objective, in its unit, with the
// sign for which more is better.
type Risk struct {
	// Queried is the noise of the pair that was compared: the variance of the
	// judgment of one option, mean over the options, in the square of the
	// objective's unit.
	Queried float64 `json:"queried"`
	// Adjusted is the true risk-adjusted value f(x) − ρ·σ²(x) at the
	// composition x of the space where the model expects the greatest one; nil
	// before there is a model.
	Adjusted *float64 `json:"adjusted,omitempty"`
	// Best is the greatest true f(x) − ρ·σ²(x) among the compositions compared
	// so far.
	Best float64 `json:"best"`
}

// Anchored reports whether a definition's experts compare by anchors.
func Anchored(def definition.Campaign) bool {
	return !def.Measures() && slices.ContainsFunc(def.Experts, anchored)
}

// anchored reports whether an expert is simulated with a judgment that is noisy
// away from their anchors.
func anchored(e definition.Expert) bool {
	if e.Channel.Name != humansim.Name {
		return false
	}
	settings, err := humansim.SettingsOf(e)
	return err == nil && settings.Anchored
}

// noises returns the noise of each anchored expert: the true noise of their answers, not a model's
// estimate.
func noises(def definition.Campaign) (map[string]humansim.Noise, error) {
	all := map[string]humansim.Noise{}
	for _, e := range def.Experts {
		if !anchored(e) {
			continue
		}
		noise, err := humansim.NoiseOf(e, def)
		if err != nil {
			return nil, err
		}
		all[e.Name] = noise
	}
	return all, nil
}

// utility is a value of the objective, with the sign for which more is better.
// Noise is taken off it, so that the sign must be right for either goal.
func (t Truth) utility(value float64) float64 {
	return -t.Sought.Sign() * value
}

// riskAdjusted returns f(x) − ρ·σ²(x) at a composition, as it truly is.
func (f *follower) riskAdjusted(expert string, p definition.Point) (value, noise float64, err error) {
	if value, err = f.truth.Value(p); err != nil {
		return 0, 0, err
	}
	noise, err = f.noises[expert](p)
	return f.truth.utility(value) - RiskWeight*noise, noise, err
}

// lookAtRisk returns the true risk-adjusted value of the composition that the models expect to be
// best: mean over the anchored experts, NaN without a model. The model's expectation chooses the
// composition, the truth judges it.
func (f *follower) lookAtRisk(ctx context.Context) (float64, error) {
	view, err := f.core.View(ctx)
	if err != nil {
		return math.NaN(), err
	}
	sum, n := 0.0, 0
	for i, m := range view.Preferences {
		if m == nil || m.Utility == nil || f.noises[m.Expert] == nil || view.PreferenceErrors[i] != nil {
			continue
		}
		p, err := riskBest(ctx, m, f.core.Space(), f.core.State().Definition.Seed)
		if err != nil {
			return math.NaN(), err
		}
		value, _, err := f.riskAdjusted(m.Expert, p)
		if err != nil {
			return math.NaN(), err
		}
		sum, n = sum+value, n+1
	}
	return sum / float64(n), nil
}

// riskBest returns argmax μ(x) − ρ·σ²(x) over the space, by the model of an
// expert.
func riskBest(
	ctx context.Context, m *preference.Model, sp *space.Space, seed uint64,
) (definition.Point, error) {
	u := m.Utility
	posterior, err := u.Posterior(ctx, seed) // as the campaign itself computes preferences
	if err != nil {
		return nil, err
	}
	q, dim := posterior.NewPredictor(), posterior.Dim()
	dm := make([]float64, dim)
	ds := make([]float64, dim)
	dn := make([]float64, dim)
	result, err := search.Minimize(ctx, sp, func(x, grad []float64) float64 {
		if grad == nil {
			mean, _ := q.Posterior(x)
			return RiskWeight*u.Noise(x, nil) - mean
		}
		mean, _ := q.PosteriorGrad(x, dm, ds)
		noise := u.Noise(x, dn)
		for j := range grad {
			grad[j] = RiskWeight*dn[j] - dm[j]
		}
		return RiskWeight*noise - mean
	}, seed, u.Duels.X, nil)
	return result.Point, err
}

// risk is the Risk after a comparison. before is that of the comparison before, nil for the first;
// an expert without anchors has none.
func (f *follower) risk(i int, expert string, options []events.Option, before *Risk) (*Risk, error) {
	if f.noises[expert] == nil {
		return nil, nil
	}
	r := &Risk{Best: math.Inf(-1)}
	if before != nil {
		r.Best = before.Best
	}
	for _, o := range options {
		value, noise, err := f.riskAdjusted(expert, o.Parameters)
		if err != nil {
			return nil, err
		}
		r.Best = max(r.Best, value)
		r.Queried += noise / float64(len(options))
	}
	if n := len(f.adjusted); n > 0 {
		if value := f.adjusted[min(i, n-1)]; !math.IsNaN(value) {
			r.Adjusted = &value
		}
	}
	return r, nil
}

// RiskSummary is the result of an arm of anchored experts on a task; see [Risk].
type RiskSummary struct {
	// Adjusted and Best are those of the last comparison, Queried the mean over
	// all comparisons after the initial ones.
	Adjusted, Best, Queried Mean
	// AdjustedDifference and QueriedDifference are the differences to the baseline, seed by seed:
	// greater adjusted values are better, less noise is. Nil for the baseline itself, and if one of
	// the two has none: its experts are not anchored, or its rule models no utility.
	AdjustedDifference, QueriedDifference *Interval
	// Curves over the comparisons.
	AdjustedCurve, BestCurve, QueriedCurve []Mean

	adjusted, queried []float64 // by seed
}

// adjusted, best and queried are NaN without a risk, or while nothing is known: mean leaves those
// out.
func (r *Risk) adjusted() float64 {
	if r == nil || r.Adjusted == nil {
		return math.NaN()
	}
	return *r.Adjusted
}

// best is NaN without a risk: such steps are left out of means.
func (r *Risk) best() float64 {
	if r == nil {
		return math.NaN()
	}
	return r.Best
}

// queried likewise.
func (r *Risk) queried() float64 {
	if r == nil {
		return math.NaN()
	}
	return r.Queried
}

// summarizeRisk averages over the campaigns of an arm. The noise of initial
// comparisons is left out, since the policy did not choose them.
func summarizeRisk(results []*Result, initial, steps int) *RiskSummary {
	out := &RiskSummary{
		AdjustedCurve: curve(results, steps, func(s Step) float64 { return s.Risk.adjusted() }),
		BestCurve:     curve(results, steps, func(s Step) float64 { return s.Risk.best() }),
		QueriedCurve:  curve(results, steps, func(s Step) float64 { return s.Risk.queried() }),
	}
	var best []float64
	for _, r := range results {
		var queried []float64
		for _, step := range r.Trajectory[min(initial, len(r.Trajectory)):] {
			queried = append(queried, step.Risk.queried())
		}
		out.queried = append(out.queried, mean(queried).Mean)
		out.adjusted = append(out.adjusted, last(r).Risk.adjusted())
		best = append(best, last(r).Risk.best())
	}
	out.Adjusted = mean(out.adjusted)
	out.Best = mean(best)
	out.Queried = mean(out.queried)
	return out
}

// compare finds the differences to the baseline. The seeds of the two are in
// the same order.
func (r *RiskSummary) compare(base *RiskSummary) {
	if r == nil || base == nil {
		return
	}
	difference := func(a, b []float64) *Interval {
		list := make([]float64, len(a))
		for i := range a {
			list[i] = a[i] - b[i]
		}
		if mean(list).N == 0 { // a rule without a model of the utility expects nothing
			return nil
		}
		return interval(list)
	}
	r.AdjustedDifference = difference(r.adjusted, base.adjusted)
	r.QueriedDifference = difference(r.queried, base.queried)
}
