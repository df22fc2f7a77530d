package step

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/policies"
	"github.com/campaignd/campaignd/policies/next"
	"github.com/campaignd/campaignd/policies/search"
	"github.com/campaignd/campaignd/projections/campaign"
	"github.com/campaignd/campaignd/projections/quantity"
)

// A candidate must keep away, besides the excluded regions, from:
//
//   - Experiments under way, but for those that an exclusion has put outside the space since.
//     The objective model expects their results (Desautels et al. 2014): their mean stays, the
//     uncertainty around them goes, so that the next candidate is worth an experiment next to
//     them. A barrier keeps it from being the very same composition.
//   - Experiments that are measured, but whose objective is still to arrive: the same, for its
//     model. If it is another quantity that arrives later, see awaiting.
//   - Compositions that only ever failed: the same barrier. The same holds for those in whose
//     place another composition, outside the space, was made: a device that goes too far does
//     so again.
//   - Where experiments fail: −ln P(x) of the feasibility model is added to the
//     acquisition. To −log EI that is exactly constrained expected improvement
//     (Gardner et al. 2014, Eq. 5). To a confidence bound or a draw it is a barrier
//     in standard deviations of the objective: a composition that fails two
//     times in three must promise one more.

// barrierReach times √d is the distance in the unit cube at which the barrier
// around a composition has fallen to 0.93, and soon to nothing.
const barrierReach = 0.02

// barrierFloor bounds a barrier at −ln of it, so that it stays a number.
const barrierFloor = 1e-9

// avoidance holds the experiments and compositions that candidates keep away from.
type avoidance struct {
	// pending and failed are the keys of the compositions under way, and of
	// those that only ever failed; points are all of them in the unit cube.
	pending, failed map[string]bool
	points          [][]float64
	// underWay are the points of pending ones alone.
	underWay [][]float64
	// awaited are measured experiments with quantities, other than the objective, that are
	// still to arrive.
	awaited []awaited
}

// awaited is a point of the unit cube at which quantities are still to arrive.
type awaited struct {
	x          []float64
	quantities []string
}

// avoided returns the experiments and compositions that candidates keep away from. Without a
// feasibility model failures are avoided in another way, see pessimistic. A composition that
// was measured at least once does not count as failed, even if it failed at other times.
func avoided(v policies.View) (avoidance, error) {
	a := avoidance{pending: make(map[string]bool), failed: make(map[string]bool)}
	measured, err := keys(v, isMeasured)
	if err != nil {
		return a, err
	}
	for i := range v.Campaign.Experiments {
		x := &v.Campaign.Experiments[i]
		withoutResult := x.Astray || x.Status == campaign.Infeasible || x.Status == campaign.Failed &&
			v.Feasibility != nil
		if x.Status == campaign.Measured {
			if err := a.await(v, x); err != nil {
				return a, err
			}
			if !x.Astray {
				continue
			}
		}
		if !x.Status.Open() && (!withoutResult || x.Excluded) {
			continue
		}
		key, err := v.Space.Key(x.Parameters)
		if err != nil {
			return a, err
		}
		if !v.Version2 && !v.Space.Belongs(x.Parameters) { // nothing is suggested there, or improved on
			continue
		}
		if a.pending[key] || a.failed[key] && withoutResult || withoutResult && measured[key] {
			continue
		}
		u, err := v.Space.Encode(x.Parameters)
		if err != nil {
			return a, err
		}
		if !a.failed[key] {
			a.points = append(a.points, u)
		}
		if withoutResult {
			a.failed[key] = true
			continue
		}
		a.pending[key] = true
		a.underWay = append(a.underWay, u)
	}
	return a, nil
}

// isMeasured reports whether an experiment has a result: a failed one is to be avoided even if
// it gave values, and so is an experiment that went astray.
func isMeasured(x *campaign.Experiment) bool { return x.Status == campaign.Measured && !x.Astray }

// await notes the quantities of a measured experiment that are still to arrive. If one of them
// is the objective, or a quantity that it is computed from, the objective's model lacks the
// experiment, and counts it as under way. Models of the other quantities have it, and do not
// expect it again.
func (a *avoidance) await(v policies.View, x *campaign.Experiment) error {
	late := v.Campaign.Awaited(x)
	if late == nil || x.Outside != "" {
		return nil
	}
	u, err := v.Space.Encode(x.Measurement.Actual)
	if err != nil {
		return err
	}
	if !v.Campaign.AwaitsSought(x) {
		var names []string
		for _, l := range late {
			names = append(names, l.Quantity)
		}
		a.awaited = append(a.awaited, awaited{u, names})
		return nil
	}
	key, err := v.Space.Key(x.Parameters)
	if err != nil {
		return err
	}
	a.pending[key] = true
	a.points = append(a.points, u)
	a.underWay = append(a.underWay, u)
	return nil
}

// awaiting are the points at which one of some quantities is still to arrive,
// besides those that are under way.
func (a *avoidance) awaiting(quantities []string) (points [][]float64) {
	for _, w := range a.awaited {
		if slices.ContainsFunc(w.quantities, func(name string) bool { return slices.Contains(quantities, name) }) {
			points = append(points, w.x)
		}
	}
	return points
}

// Find returns the composition to measure at which an acquisition is smallest: it respects
// feasibility and keeps away from compositions that are under way or only ever failed. starts
// are searched from besides the measured compositions.
//
// A list of candidates needs no barrier: compositions to avoid are left out by
// their keys.
func (s *Step) Find(
	ctx context.Context, f next.Acquisition, which Search, starts ...[]float64,
) (search.Result, error) {
	f, screen := s.withCost(s.withFeasibility(f)), s.withCost(s.withFeasibility(s.screen(which)))
	a := s.avoid
	if len(a.points) == 0 {
		return s.minimize(ctx, f, screen, which, s.tried, starts)
	}
	if _, finite := s.searched().Finite(); finite {
		r, err := s.minimize(ctx, f, screen, which, union(s.tried, a.pending, a.failed), starts)
		if errors.Is(err, search.ErrExhausted) { // what failed may be tried again before nothing is
			return s.minimize(ctx, f, screen, which, union(s.tried, a.pending), starts)
		}
		return r, err
	}
	// Where compositions come in steps, the search may end next to one that is
	// to be avoided and be snapped onto it: a wider barrier sends it further
	// away.
	reach := barrierReach * math.Sqrt(float64(s.View.Space.Dim()))
	for width := reach; ; width *= 2 {
		around := barrier(a.points, width)
		r, err := s.minimize(ctx, sum(f, around), sum(screen, around), which, s.tried, starts)
		if err != nil || a.clear(r.X, reach/2) {
			return r, err
		}
		if width > 1 {
			return s.elsewhere(f, which, r)
		}
	}
}

// withFeasibility adds the feasibility model's penalty to an acquisition; nil stays nil.
func (s *Step) withFeasibility(f next.Acquisition) next.Acquisition {
	if f == nil || s.View.Feasibility == nil {
		return f
	}
	return sum(f, s.View.Feasibility.NegLogFeasibility())
}

// clear reports whether a point is at least so far from all that is avoided.
func (a avoidance) clear(x []float64, distance float64) bool {
	for _, c := range a.points {
		squares := 0.0
		for j := range c {
			squares += (x[j] - c[j]) * (x[j] - c[j])
		}
		if squares < distance*distance {
			return false
		}
	}
	return true
}

// fewSamples is the number of compositions drawn if a search finds none outside the avoided
// ones.
const fewSamples = 64

// elsewhere is the last resort in a space with hardly a composition that is not avoided: the
// best of some that are not, or else the given one. The one given may be under way already; it
// is measured once more rather than nothing.
func (s *Step) elsewhere(f next.Acquisition, which Search, otherwise search.Result) (search.Result, error) {
	points, err := s.sample(fewSamples, s.seed+uint64(which))
	if err != nil {
		return search.Result{}, err
	}
	best := search.Result{Value: math.Inf(1)}
	for _, p := range points {
		key, err := s.View.Space.Key(p)
		if err != nil {
			return search.Result{}, err
		}
		x, err := s.View.Space.Encode(p)
		if err != nil {
			return search.Result{}, err
		}
		if value := f(x, nil); !s.avoid.pending[key] && !s.avoid.failed[key] && value < best.Value {
			best = search.Result{Point: p, X: x, Value: value}
		}
	}
	if best.Point == nil {
		return otherwise, nil
	}
	return best, nil
}

// barrier is −Σ ln(1 − (1 − floor)·exp(−½‖x − c‖²/width²)) over the given
// points c: as a factor on an improvement it takes everything at c and nothing
// far away. It is smooth, so that searches by gradients go around it; the floor
// keeps it finite at c itself.
func barrier(points [][]float64, width float64) next.Acquisition {
	return func(x, grad []float64) float64 {
		clear(grad)
		total := 0.0
		for _, c := range points {
			squares := 0.0
			for j := range c {
				squares += (x[j] - c[j]) * (x[j] - c[j])
			}
			e := (1 - barrierFloor) * math.Exp(-0.5*squares/(width*width))
			total -= math.Log1p(-e)
			if grad != nil {
				slope := -e / (1 - e) / (width * width)
				for j := range c {
					grad[j] += slope * (x[j] - c[j])
				}
			}
		}
		return total
	}
}

// sum is f + g, nil where f is. It reuses a buffer, and is for one goroutine.
func sum(f, g next.Acquisition) next.Acquisition {
	if f == nil {
		return nil
	}
	var second []float64
	return func(x, grad []float64) float64 {
		if grad == nil {
			return f(x, nil) + g(x, nil)
		}
		second = append(second[:0], grad...)
		value := f(x, grad) + g(x, second)
		for j := range grad {
			grad[j] += second[j]
		}
		return value
	}
}

// union leaves the sets as they are.
func union(sets ...map[string]bool) map[string]bool {
	all := make(map[string]bool)
	for _, set := range sets {
		for key := range set {
			all[key] = true
		}
	}
	return all
}

// likelihood says in a decision how likely its experiment is to give a result,
// where that is in question.
func (s *Step) likelihood(d policies.Decision) (policies.Decision, error) {
	model, c := s.View.Feasibility, d.Candidate()
	if model == nil || c == nil || d.Action != events.ActionRun {
		return d, nil
	}
	x, err := s.View.Space.Encode(c.Parameters)
	if err != nil {
		return d, err
	}
	if p := model.Probability(x); p < 0.9 {
		d.Reason += fmt.Sprintf(
			" It gives a result with probability %.2f, judging by %d experiments that could not be done and %d that failed.",
			p,
			model.Infeasible,
			model.Failed,
		)
	}
	return d, nil
}

// pessimistic returns the objective model with each composition that only ever failed taken to
// be as bad as the worst result: a failure is not an observation of the objective, but
// suggesting it again would be no use. Campaigns without a feasibility model do this; with one,
// the objective learns nothing that was not measured.
func pessimistic(ctx context.Context, v policies.View) (*quantity.Model, error) {
	if v.Feasibility != nil {
		return v.Objective(), nil
	}
	seen, err := keys(v, isMeasured)
	if err != nil {
		return nil, err
	}
	var failed [][]float64
	for i := range v.Campaign.Experiments {
		x := &v.Campaign.Experiments[i]
		if x.Status != campaign.Failed && x.Status != campaign.Infeasible || x.Excluded {
			continue
		}
		key, err := v.Space.Key(x.Parameters)
		if err != nil {
			return nil, err
		}
		if seen[key] {
			continue
		}
		seen[key] = true // once is enough
		u, err := v.Space.Encode(x.Parameters)
		if err != nil {
			return nil, err
		}
		failed = append(failed, u)
	}
	return v.Objective().FantasizeWorst(ctx, failed)
}
