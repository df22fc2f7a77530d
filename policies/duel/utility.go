package duel

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/num/acquisition"
	"github.com/campaignd/campaignd/internal/num/pref"
	"github.com/campaignd/campaignd/policies"
	"github.com/campaignd/campaignd/policies/search"
	"github.com/campaignd/campaignd/projections/preference"
)

// proposeUtility chooses a pair by an acquisition of the modeled utility: EUBO
// and RAEUBO search for both points at once, the others for one, to be compared
// with the last winner. The pair is random where the expert has compared
// nothing yet, or has withdrawn every answer. Scores are of the utility; the
// probability that the first wins counts the noise of judgment at both points.
func (r *Rule) proposeUtility(ctx context.Context, in Input) (Proposal, error) {
	u := in.Model.Utility
	if u.Duels.Len() == 0 {
		return r.proposeRandom(in)
	}
	posterior, err := u.Posterior(ctx, in.Seed)
	if err != nil {
		return Proposal{}, err
	}
	done := settledPairs(in)
	var first, second search.Result
	var instead bool
	switch r.name {
	case EUBOName:
		first, second, instead, err = r.open(ctx, in, posterior, 0, done)
	case RAEUBOName:
		first, second, instead, err = r.open(ctx, in, posterior, r.alpha, done)
	default:
		first, second, instead, err = r.one(ctx, in, posterior, done)
	}
	if err != nil {
		return Proposal{}, err
	}
	if slices.Equal(first.X, second.X) { // what can be made comes in steps, and both were snapped to one
		key, err := in.Space.Key(first.Point)
		if err != nil {
			return Proposal{}, err
		}
		other := func(_ definition.Point, of string) bool { return of != key }
		if second, err = r.another(in, other); err != nil {
			return Proposal{}, err
		}
	}
	p := Proposal{Reason: reasons[r.name]}
	if instead {
		p.Reason += " " + answeredAlready
	}
	for _, c := range []struct {
		name string
		r    search.Result
	}{{First, first}, {Second, second}} {
		mean, sd := posterior.Posterior(c.r.X)
		candidate := events.Candidate{Name: c.name, Parameters: c.r.Point, Score: &events.Score{
			Mean: mean, SD: sd,
		}}
		if !math.IsNaN(c.r.Value) {
			value := c.r.Value
			candidate.Acquisition = &value
		}
		p.Candidates = append(p.Candidates, candidate)
	}
	win := posterior.WinProbability(u.Link, first.X, second.X, u.Noise(first.X, nil), u.Noise(second.X, nil))
	p.Reason += fmt.Sprintf(" The first is expected to win with probability %.2f.", win)
	return p, nil
}

var reasons = map[string]string{
	EUBOName:   "The pair whose better one is expected to be best.",
	RAEUBOName: "The pair whose better one is expected to be best, where the expert's judgment is reliable.",
	EIName:     "The greatest expected improvement, with the last winner.",
	UCBName:    "The best upper confidence bound, with the last winner.",
	ANPEIName:  "The greatest expected improvement less the noise of judgment, with the last winner.",
	RAHBOName:  "The best upper confidence bound less the noise of judgment, with the last winner.",
}

// answeredAlready is added to the reason where the pair is not the rule's own
// choice.
const answeredAlready = "The rule alone would repeat a comparison that has been answered often enough."

// open searches for the best pair that is not settled. instead is set if the best of all pairs
// is settled and this is another. If every pair that it finds is settled it returns the best
// one nevertheless. The first search is without a bar: a bar makes the acquisition jump, which
// a smooth search likes less.
func (r *Rule) open(
	ctx context.Context, in Input, posterior *pref.Posterior, alpha float64, done *settled,
) (first, second search.Result, instead bool, err error) {
	first, second, err = r.pair(ctx, in, posterior, alpha, new(settled))
	if err != nil || !done.has(first.X, second.X) {
		return first, second, false, err
	}
	a, b, err := r.pair(ctx, in, posterior, alpha, done)
	if ctx.Err() != nil {
		return a, b, false, err
	}
	if err != nil || done.has(a.X, b.X) {
		return first, second, false, nil
	}
	return a, b, true, nil
}

// pair searches for the pair with the greatest RAEUBO (Sinaga et al. 2026, Eq.
// 11) that is not in but; α = 0 is EUBO. The noise of judgment counts as in the
// equation, so a pair where the expert judges unreliably is worth less. With V
// the variance of u(x) − u(y), dV/dx is the gradient of Var u(x) − 2 Cov, since
// Var u(y) does not depend on x; likewise for y.
func (r *Rule) pair(
	ctx context.Context, in Input, posterior *pref.Posterior, alpha float64, but *settled,
) (first, second search.Result, err error) {
	u, dim := in.Model.Utility, posterior.Dim()
	q, g := posterior.NewPredictor(), pref.NewPairGrad(dim)
	noiseX, noiseY := make([]float64, dim), make([]float64, dim)
	f := func(x, y, gradX, gradY []float64) float64 {
		if but.has(x, y) {
			return math.Inf(1)
		}
		if gradX == nil {
			m := q.Pair(x, y)
			value, _ := acquisition.RAEUBO(
				m.MeanX,
				m.MeanY,
				m.VarX,
				m.VarY,
				m.Cov,
				u.Noise(x, nil),
				u.Noise(y, nil),
				alpha,
			)
			return -value
		}
		m := q.PairGrad(x, y, g)
		value, part := acquisition.RAEUBO(
			m.MeanX,
			m.MeanY,
			m.VarX,
			m.VarY,
			m.Cov,
			u.Noise(x, noiseX),
			u.Noise(y, noiseY),
			alpha,
		)
		// The acquisition depends on the variance of the difference through its
		// root; at variance 0, where both points are one, the slope is left
		// out.
		slope := 0.0 // in the variance of the difference
		if _, variance := m.Difference(); variance > 0 {
			slope = part.SD / (2 * math.Sqrt(variance))
		}
		for j := range dim {
			gradX[j] = -(part.Mean1*g.MeanX[j] + slope*(g.VarX[j]-2*g.CovX[j]) + part.Noise1*noiseX[j])
			gradY[j] = -(part.Mean2*g.MeanY[j] + slope*(g.VarY[j]-2*g.CovY[j]) + part.Noise2*noiseY[j])
		}
		return -value
	}
	// The worth of a single point: an optimistic utility less the noise. The search begins at
	// pairs of good points, see search.MinimizePair.
	screen := func(x []float64) float64 {
		mean, sd := q.Posterior(x)
		return -(mean + sd - alpha*u.Noise(x, nil))
	}
	return search.MinimizePair(ctx, in.Space, f, screen, in.Seed, u.Duels.X)
}

// one searches for one point; the other one is the last winner. instead is set if the rule's
// own pair is settled and this is another. Where all pairs that are tried are settled it
// returns the rule's own.
func (r *Rule) one(
	ctx context.Context, in Input, posterior *pref.Posterior, done *settled,
) (first, second search.Result, instead bool, err error) {
	u, dim := in.Model.Utility, posterior.Dim()
	q := posterior.NewPredictor()
	// The incumbent of expected improvement is the best mean among the compared compositions,
	// not over the space, which would leave nothing to improve.
	best := math.Inf(-1)
	for _, x := range u.Duels.X {
		mean, _ := q.Posterior(x)
		best = math.Max(best, mean)
	}
	dm := make([]float64, dim)
	ds := make([]float64, dim)
	dn := make([]float64, dim)
	value := func(dst []float64, mean, sd, noise float64, dm, ds, dn []float64) float64 {
		switch r.name {
		case EIName:
			return acquisition.UtilityLogEI(dst, mean, sd, best, dm, ds)
		case UCBName:
			return acquisition.RAHBO(dst, mean, sd, noise, r.beta, 0, dm, ds, dn)
		case ANPEIName:
			return acquisition.ANPEI(dst, mean, sd, noise, best, r.gamma, dm, ds, dn)
		}
		return acquisition.RAHBO(dst, mean, sd, noise, r.eta, r.gamma, dm, ds, dn)
	}
	f := func(x, grad []float64) float64 {
		if grad == nil {
			mean, sd := q.Posterior(x)
			return -value(nil, mean, sd, u.Noise(x, nil), nil, nil, nil)
		}
		mean, sd := q.PosteriorGrad(x, dm, ds)
		v := value(grad, mean, sd, u.Noise(x, dn), dm, ds, dn)
		for j := range grad {
			grad[j] = -grad[j]
		}
		return -v
	}
	winner, err := r.lastWinner(in)
	if err != nil {
		return first, second, false, err
	}
	key, err := in.Space.Key(winner.Point)
	if err != nil {
		return first, second, false, err
	}
	// The winner itself is not a new point.
	taken := map[string]bool{key: true}
	for len(taken) <= openTries {
		found, err := search.Minimize(ctx, in.Space, f, in.Seed, u.Duels.X, taken)
		if errors.Is(err, search.ErrExhausted) && first.X != nil {
			break // every pair of the list is settled
		}
		if err != nil {
			return first, second, false, err
		}
		same, err := in.Space.Key(found.Point)
		if err != nil {
			return first, second, false, err
		}
		if first.X != nil && taken[same] { // not a list, and the best one again
			break
		}
		taken[same] = true
		for _, but := range []*settled{{finite: done.finite}, done} {
			rival, err := r.rival(in, posterior, found, winner, same, key, but)
			if errors.Is(err, search.ErrExhausted) && first.X != nil {
				continue
			}
			if err != nil {
				return first, second, false, err
			}
			if !done.has(found.X, rival.X) {
				return found, rival, first.X != nil, nil
			}
			if first.X == nil { // the rule's own choice
				first, second = found, rival
			}
		}
	}
	return first, second, false, nil
}

// openTries is the number of points tried in turn if the pairs with the best ones are settled.
const openTries = 16

// rival returns the composition that the first is compared with: the last
// winner, or the best of the others where the winner is the first itself, is
// too near, or their pair is settled. same and key are the keys of the two. It
// is found in three steps: the winner, the best of the others, and a random
// one.
func (r *Rule) rival(
	in Input, posterior *pref.Posterior, first, winner search.Result, same, key string, but *settled,
) (search.Result, error) {
	// The members of a list are distinct, however close.
	near := func(x []float64) bool { return !but.finite && search.Near(first.X, x) }
	if key != same && !near(winner.X) && !but.has(first.X, winner.X) {
		return winner, nil
	}
	barred := func(x []float64, of string) bool {
		return of == same || of == key || near(x) || but.has(first.X, x)
	}
	rest, err := r.bestCompared(in, posterior, func(point definition.Point, of string) bool {
		x, err := in.Space.Encode(point)
		return err == nil && !barred(x, of) && in.Space.Contains(point) == nil
	})
	if err != nil || rest.Point != nil {
		return rest, err
	}
	// All the others have been excluded since, or are settled.
	return r.another(in, func(point definition.Point, of string) bool {
		x, err := in.Space.Encode(point)
		return err == nil && of != same && of != key && !but.has(first.X, x)
	})
}

// lastWinner returns the winner of the expert's latest comparison that may still be suggested:
// an exclusion or an amendment may have ruled out the latest. Without such a winner it is a
// random composition.
func (r *Rule) lastWinner(in Input) (search.Result, error) {
	for _, c := range slices.Backward(in.Model.Comparisons) {
		if point := c.Options[c.Order[0]]; in.Space.Contains(point) == nil {
			x, err := in.Space.Encode(point)
			return search.Result{Point: point, X: x, Value: math.NaN()}, err
		}
	}
	return r.another(in, func(definition.Point, string) bool { return true })
}

// another returns a random composition among those that a condition on it and
// its key admits; search.ErrExhausted where no draw is admitted. Its value is
// NaN: it was not chosen by an acquisition.
func (r *Rule) another(
	in Input, admitted func(point definition.Point, key string) bool,
) (search.Result, error) {
	points, err := in.Space.Sample(tries, in.Seed)
	if err != nil {
		return search.Result{}, err
	}
	for _, point := range points {
		if key, err := in.Space.Key(point); err == nil && admitted(point, key) {
			x, err := in.Space.Encode(point)
			return search.Result{Point: point, X: x, Value: math.NaN()}, err
		}
	}
	return search.Result{}, search.ErrExhausted
}

// bestCompared returns the composition of the greatest posterior mean among those compared so
// far that a condition on it and its key admits; without one, a result that has no point.
func (r *Rule) bestCompared(
	in Input, posterior *pref.Posterior, admitted func(point definition.Point, key string) bool,
) (search.Result, error) {
	best := search.Result{Value: math.NaN()}
	greatest := math.Inf(-1)
	err := eachCompared(in.Model, func(point definition.Point) error {
		key, err := in.Space.Key(point)
		if err != nil || !admitted(point, key) {
			return err
		}
		x, err := in.Space.Encode(point)
		if err != nil {
			return err
		}
		if mean, _ := posterior.Posterior(x); mean > greatest {
			greatest = mean
			best.Point = point
			best.X = x
		}
		return nil
	})
	return best, err
}

// eachCompared visits every option of every comparison.
func eachCompared(m *preference.Model, visit func(definition.Point) error) error {
	for _, c := range m.Comparisons {
		for _, point := range c.Options {
			if err := visit(point); err != nil {
				return err
			}
		}
	}
	return nil
}

// bestUtility is the compared composition with the greatest posterior mean of the utility. Only
// a compared composition is named as best: elsewhere the model would extrapolate.
func (r *Rule) bestUtility(ctx context.Context, in Input) (best policies.Best, ok bool, err error) {
	// A draw is not a summary: for the hallucination believer too this is the posterior of one
	// seed, the campaign's.
	posterior, err := in.Model.Utility.Posterior(ctx, r.def.Seed)
	if err != nil {
		return policies.Best{}, false, err
	}
	top, err := r.bestCompared(in, posterior, func(definition.Point, string) bool { return true })
	if err != nil || top.Point == nil {
		return policies.Best{}, false, err
	}
	mean, _ := posterior.Posterior(top.X)
	return policies.Best{Expert: in.Expert, Parameters: top.Point, Utility: mean}, true, nil
}
