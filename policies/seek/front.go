package seek

import (
	"errors"
	"math"
	"slices"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/num/composite"
	"github.com/campaignd/campaignd/internal/num/ehvi"
	"github.com/campaignd/campaignd/internal/num/formula"
	"github.com/campaignd/campaignd/internal/num/pareto"
	"github.com/campaignd/campaignd/projections/quantity"
)

// Measured is an experiment that a model of the problem learns from.
type Measured struct {
	Experiment string
	Point      definition.Point
	X          []float64 // of the unit cube
}

// Measured are the results that the models of the problem learn from, in order: of
// some a quantity may be missing.
func (p *Problem) Measured() (all []Measured) {
	for _, m := range p.Models {
		for i, o := range m.Observations {
			same := func(t Measured) bool { return t.Experiment == o.Experiment }
			if m.IsResult(i) && !slices.ContainsFunc(all, same) {
				all = append(all, Measured{o.Experiment, o.Point, m.X[i]})
			}
		}
	}
	slices.SortFunc(all, func(a, b Measured) int {
		return events.ExperimentNumber(a.Experiment) - events.ExperimentNumber(b.Experiment)
	})
	return all
}

// Standing is the present state of a trade-off, by the posterior means at the measured
// compositions. Scores are the objectives as their models have them, so logarithms where a
// quantity has that scale, and all MAXIMIZED: a minimized objective is negated.
type Standing struct {
	Measured []Measured
	Scores   [][]float64
	// Feasible is, of each, the probability that the constraints are kept.
	Feasible []float64
	// Reference are the worst scores of interest: those that are given, otherwise
	// inferred (see [pareto.Reference]).
	Reference []float64
	// Front are the indices of those on the front beyond the reference, among
	// those that are rather feasible than not.
	Front       []int
	Hypervolume float64
}

// ratherFeasible is the probability from which on a composition belongs to the
// front.
const ratherFeasible = 0.5

// score turns a value in the user's unit into a score.
func (a Aim) score(value float64, log bool) float64 {
	if log {
		value = math.Log(value)
	}
	return -a.Sign() * value
}

// Value turns a score into a value in the user's unit.
func (p *Problem) Value(aim int, score float64) float64 {
	a := p.Aims[aim]
	y := -a.Sign() * score
	if a.Model >= 0 && p.Models[a.Model].Scale().Log {
		return math.Exp(y)
	}
	return y
}

// Unsigned is a score as its model has it, of a quantity that is minimized too.
func (p *Problem) unsigned(aim int, score float64) float64 { return -p.Aims[aim].Sign() * score }

// Standing returns where the trade-off stands.
func (p *Problem) Standing() (*Standing, error) {
	s := &Standing{Measured: p.Measured()}
	w, err := p.NewPredictor()
	if err != nil {
		return nil, err
	}
	var all, counting [][]float64
	level := p.level(s)
	for _, t := range s.Measured {
		feasible := 1.0
		if p.Requires() {
			w.set(t.X, false)
			feasible = w.mixture.Predict(w.at).Feasible
		} else {
			w.setMeans(t.X)
		}
		scores := p.scores(w)
		for k, score := range level {
			scores[k] = score
		}
		s.Scores, s.Feasible = append(s.Scores, scores), append(s.Feasible, feasible)
		if slices.ContainsFunc(scores, func(y float64) bool { return !finite(y) }) {
			continue
		}
		if all = append(all, scores); feasible >= ratherFeasible {
			counting = append(counting, scores)
		}
	}
	if len(s.Measured) == 0 && slices.ContainsFunc(p.Models, (*quantity.Model).HasOutside) {
		return nil, errors.New("nothing that was measured lies within the space as it is now")
	}
	if len(all) == 0 {
		return nil, errors.New("an objective that follows from the parameters has no value at any composition that was measured")
	}
	if len(counting) == 0 {
		counting = all
	}
	s.Reference = pareto.Reference(counting, p.worst(), p.least())
	p.belowCaps(s.Reference, all)
	s.Front, s.Hypervolume = s.front(len(s.Measured))
	return s, nil
}

// belowCaps moves an inferred reference until something lies between it and a bound against the
// objective's direction. The reference then lies beyond the bound if no measurement keeps it:
// then all within a range of the measurements counts.
func (p *Problem) belowCaps(reference []float64, measured [][]float64) {
	least := p.least()
	for k, a := range p.Aims {
		bound, ok := p.strictest(a, false)
		if !ok {
			continue
		}
		scale := p.Models[a.Model].Scale()
		if limit := a.score(bound, scale.Log); !(reference[k] < limit) {
			low, high := math.Inf(1), math.Inf(-1)
			for _, scores := range measured {
				low, high = min(low, scores[k]), max(high, scores[k])
			}
			length := max(high-low, least[k])
			if length == 0 {
				length = math.Abs(scale.Spread)
			}
			reference[k] = limit - length
		}
	}
}

// scores are the posterior means of the objectives where the predictor was set.
func (p *Problem) scores(w *Predictor) []float64 {
	scores := make([]float64, len(p.Aims))
	for k, a := range p.Aims {
		if a.Model < 0 {
			scores[k] = a.score(p.follows(a, w.at.Parameters), false)
			continue
		}
		scale := p.Models[a.Model].Scale()
		scores[k] = -a.Sign() * (scale.Center + float64(scale.Spread*w.at.Means[a.Model][0]))
	}
	return scores
}

// worst are the given worst scores, NaN where none is: those of the objectives,
// and bounds on them in their own direction.
func (p *Problem) worst() []float64 {
	worst := make([]float64, len(p.Aims))
	for k, a := range p.Aims {
		worst[k] = math.NaN()
		log := a.Model >= 0 && p.Models[a.Model].Scale().Log
		if a.Worst != nil {
			worst[k] = a.score(*a.Worst, log)
		}
		if bound, ok := p.strictest(a, true); ok {
			worst[k] = max(a.score(bound, log), orLeast(worst[k]))
		}
	}
	return worst
}

// orLeast returns x, or −∞ for NaN.
func orLeast(x float64) float64 {
	if math.IsNaN(x) {
		return math.Inf(-1)
	}
	return x
}

// level returns the scores of the modelled objectives that are constant. Their models have a
// spread that no measurement shows: with it nine of twelve compositions would be on a front
// that one objective alone decides. Without an objective that varies it is empty: everything is
// still to be found.
func (p *Problem) level(s *Standing) map[int]float64 {
	level, constant := make(map[int]float64), 0
	for k, a := range p.Aims {
		value, ok := p.constant(k, s)
		if !ok {
			continue
		}
		if constant++; a.Model >= 0 {
			level[k] = a.score(value, p.Models[a.Model].Scale().Log)
		}
	}
	if p.Spreads || constant == len(p.Aims) {
		return nil
	}
	return level
}

// constant returns the value of an objective that is the same at all compositions
// that were measured, of two at least.
func (p *Problem) constant(k int, s *Standing) (value float64, ok bool) {
	if len(s.distinct()) < 2 {
		return 0, false
	}
	for _, m := range s.Measured {
		at, known := p.valueAt(k, m)
		if known && ok && at != value {
			return 0, false
		}
		if known {
			value, ok = at, true
		}
	}
	return value, ok
}

// valueAt is the value of an objective that was measured, or follows from the
// parameters; false where it is missing.
func (p *Problem) valueAt(k int, m Measured) (value float64, ok bool) {
	a := p.Aims[k]
	if a.Model < 0 {
		parameters := make([]float64, p.problem.Parameters)
		p.ParametersAt(parameters, m.X)
		return p.follows(a, parameters), true
	}
	of := p.Models[a.Model].Observations
	i := slices.IndexFunc(of, func(o quantity.Observation) bool { return o.Experiment == m.Experiment })
	if i < 0 {
		return 0, false
	}
	return of[i].Value, true
}

// least are the standard deviations of the noise, below which ranges say nothing.
func (p *Problem) least() []float64 {
	least := make([]float64, len(p.Aims))
	for k, a := range p.Aims {
		if a.Model >= 0 {
			m := p.Models[a.Model]
			least[k] = math.Abs(m.Scale().Spread) * math.Sqrt(m.Fit.Noise)
		}
	}
	return least
}

// Before is the hypervolume without the latest experiments, beyond the same
// reference.
func (s *Standing) Before(latest int) float64 {
	_, covered := s.front(len(s.Measured) - latest)
	return covered
}

// Against is the standing of some of the experiments, beyond another reference.
func (s *Standing) Against(reference []float64, counts func(experiment string) bool) *Standing {
	some := &Standing{Reference: reference}
	for i, m := range s.Measured {
		if counts(m.Experiment) {
			some.Measured = append(some.Measured, m)
			some.Scores = append(some.Scores, s.Scores[i])
			some.Feasible = append(some.Feasible, s.Feasible[i])
		}
	}
	some.Front, some.Hypervolume = some.front(len(some.Measured))
	return some
}

// front returns the front of the first n, and the hypervolume it covers.
func (s *Standing) front(n int) (front []int, covered float64) {
	var points [][]float64
	var which []int
	for i, score := range s.Scores[:n] {
		finite := !slices.ContainsFunc(score, func(y float64) bool { return !finite(y) })
		if finite && s.Feasible[i] >= ratherFeasible && pareto.Beyond(score, s.Reference) {
			points, which = append(points, score), append(which, i)
		}
	}
	for _, i := range pareto.NonDominated(points) {
		front = append(front, which[i])
	}
	return front, pareto.Hypervolume(points, s.Reference)
}

// Recorded is the standing as a decision records it.
func (p *Problem) Recorded(s *Standing) *events.Tradeoff {
	t := &events.Tradeoff{Hypervolume: s.Hypervolume}
	for k, r := range s.Reference {
		t.Reference = append(t.Reference, p.Value(k, r))
	}
	for _, i := range s.Front {
		t.Front = append(t.Front, s.Measured[i].Experiment)
	}
	return t
}

// bound is a judged constraint that bounds one measured objective of the
// trade-off alone.
func (p *Problem) bound(constraint int) (aim int, bound formula.Range, ok bool) {
	relation, err := formula.RelationOf(p.constraints[constraint].Require)
	if err != nil {
		return 0, bound, false
	}
	name, bound, ok := relation.Bound()
	aim = slices.IndexFunc(p.Aims, func(a Aim) bool { return a.Name == name && a.Model >= 0 })
	return aim, bound, ok && aim >= 0
}

// strictest is the strictest bound on an objective, in the user's unit: in its own direction,
// or against it. A quantity modelled by its logarithm is never 0 or less, and has no bound
// there.
func (p *Problem) strictest(of Aim, own bool) (value float64, ok bool) {
	for _, c := range p.required {
		aim, bound, on := p.bound(c)
		if !on || p.Aims[aim].Name != of.Name {
			continue
		}
		at := bound.Lower
		if own == (of.Goal == definition.Minimize) {
			at = bound.Upper
		}
		if !finite(at) || p.Models[of.Model].Scale().Log && at <= 0 {
			continue
		}
		if !ok || own && of.Better(at, value) || !own && of.Better(value, at) {
			value, ok = at, true
		}
	}
	return value, ok
}

// objective returns an objective of a trade-off in the form of its improvement: in the
// standardized values of its model.
func (p *Problem) objective(k int, a Aim, s *Standing) ehvi.Objective {
	reference := p.unsigned(k, s.Reference[k])
	if a.Model < 0 {
		return ehvi.Objective{
			Known: p.known(a, s), Minimized: a.Goal == definition.Minimize, Reference: reference / p.spread(k, s),
		}
	}
	m := p.Models[a.Model]
	scale := m.Scale()
	if score, level := p.level(s)[k]; level {
		value := p.unsigned(k, score) / math.Abs(scale.Spread)
		known := func(_, grad []float64) float64 { clear(grad); return value }
		return ehvi.Objective{
			Known: known, Minimized: a.Goal == definition.Minimize, Reference: reference / math.Abs(scale.Spread),
		}
	}
	standardized := func(y float64) float64 { return (y - scale.Center) / scale.Spread }
	o := ehvi.Objective{
		Model:     m.Conditioned(),
		Minimized: (a.Goal == definition.Minimize) == (scale.Spread > 0),
		Reference: standardized(reference),
	}
	if bound, ok := p.strictest(a, false); ok {
		o.Bounded, o.Bound = true, m.Standardized(bound)
	}
	return o
}

// Volume is the hypervolume, in the units of the scores, that is 1 in those of
// [Problem.Improvement].
func (p *Problem) Volume(s *Standing) float64 {
	volume := 1.0
	for k, a := range p.Aims {
		if a.Model < 0 {
			volume *= p.spread(k, s)
			continue
		}
		volume *= math.Abs(p.Models[a.Model].Scale().Spread)
	}
	return volume
}

// spread is the range of an objective that follows from the parameters, over the measured
// compositions; 1 if it is constant there.
func (p *Problem) spread(k int, s *Standing) float64 {
	least, most := math.Inf(1), math.Inf(-1)
	for _, score := range s.Scores {
		if finite(score[k]) {
			least, most = min(least, score[k]), max(most, score[k])
		}
	}
	if !(most > least) || !finite(most-least) {
		return 1
	}
	return most - least
}

// beyondInterest is the distance of an objective without a value behind the reference, in
// ranges.
const beyondInterest = 100

// known is an objective that follows from the parameters, in units of its range, as
// a function of the unit cube. Where it has no finite value it is of no interest.
func (p *Problem) known(a Aim, s *Standing) func(x, grad []float64) float64 {
	k := slices.IndexFunc(p.Aims, func(b Aim) bool { return a.Name == b.Name })
	spread := p.spread(k, s)
	of := composite.Known(a.function, len(p.Quantities), p.problem.Parameters)
	parameters, slopes := make([]float64, p.problem.Parameters), make([]float64, p.problem.Parameters)
	none := p.unsigned(k, s.Reference[k])/spread - float64(beyondInterest*p.unsigned(k, 1))
	return func(x, grad []float64) float64 {
		p.ParametersAt(parameters, x)
		clear(grad)
		if grad == nil {
			if value := of(parameters, nil) / spread; finite(value) {
				return value
			}
			return none
		}
		value := of(parameters, slopes) / spread
		if !finite(value) {
			return none
		}
		for i, v := range slopes {
			if !finite(v) { // as that of a root at 0
				slopes[i] = 0
			}
		}
		p.AddGrad(grad, slopes, 1/spread)
		return value
	}
}

// Lengthscales are the shortest of any model in each coordinate.
func (p *Problem) Lengthscales() []float64 {
	shortest := slices.Repeat([]float64{math.Inf(1)}, p.space.Dim())
	for _, m := range p.Models {
		for j, l := range m.Kernel().Lengthscales() {
			shortest[j] = min(shortest[j], l)
		}
	}
	return shortest
}
