package seek

import (
	"cmp"
	"encoding/binary"
	"math"
	"slices"

	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/num/composite"
	"github.com/campaignd/campaignd/internal/num/pareto"
)

// divisions are those of the simplex of weights, by the number of objectives: 32
// weights of two, 36 of three, 35 of four.
var divisions = map[int]int{2: 31, 3: 7, 4: 4}

// Weights are those of the searches for the front that the models expect, evenly over the
// simplex (Das and Dennis 1998, §2). Those of one objective alone come first, since the others
// are measured by their results.
func Weights(objectives int) (weights [][]float64) {
	n := divisions[objectives]
	var add func(before []int, left int)
	add = func(before []int, left int) {
		if len(before) == objectives-1 {
			w := make([]float64, objectives)
			for k, v := range append(slices.Clone(before), left) {
				w[k] = float64(v) / float64(n)
			}
			weights = append(weights, w)
			return
		}
		for v := left; v >= 0; v-- {
			add(append(slices.Clone(before), v), left-v)
		}
	}
	add(nil, n)
	slices.SortStableFunc(weights, func(a, b []float64) int {
		return cmp.Compare(math.Floor(slices.Max(b)), math.Floor(slices.Max(a)))
	})
	return weights
}

const (
	sharp     = 50.0 // of the smooth maximum, in units of the objectives' ranges
	augmented = 0.05 // of the sum of all objectives, so that none is worse than it has to be
	rather    = 0.55 // the probability to be feasible below which there is a price, so that ½ is kept
	price     = 2.0  // of −ln of that probability
)

// Scalarizer makes one function of the objectives' posterior means for each
// weighing: the weighted distance from the best values, by the objective in which it
// is greatest (Chebyshev; Miettinen 1999, §3.4), to be MINIMIZED. It is a workspace.
type Scalarizer struct {
	problem    *Problem
	predictor  *Predictor
	known      []func(at, grad []float64) float64 // of each objective that follows from the parameters
	negLogKept func(x, grad []float64) float64    // nil where nothing is required
	// best and least are the scores' bounds over the front as far as it is known, and
	// spread the range in between.
	best, least, spread []float64

	slopes  [][]float64 // of each score
	byParam []float64
	part    []float64
	memory  map[string]seen
}

// seen holds the scores and the price found at a point.
type seen struct {
	scores []float64
	price  float64
}

// NewScalarizer returns a workspace. Distances are measured from the best values on
// the front, as far as it is known, in units of its range.
func (p *Problem) NewScalarizer(s *Standing) (*Scalarizer, error) {
	w, err := p.NewPredictor()
	if err != nil {
		return nil, err
	}
	z := &Scalarizer{
		problem: p, predictor: w, known: make([]func(at, grad []float64) float64, len(p.Aims)),
		best: make([]float64, len(p.Aims)), least: make([]float64, len(p.Aims)), spread: make([]float64, len(p.Aims)),
		byParam: make([]float64, p.problem.Parameters), part: make([]float64, p.space.Dim()),
		memory: make(map[string]seen),
	}
	for k, a := range p.Aims {
		if a.Model < 0 {
			z.known[k] = composite.Known(a.function, len(p.Quantities), p.problem.Parameters)
		}
		z.slopes = append(z.slopes, make([]float64, p.space.Dim()))
		z.best[k] = math.Inf(-1)
		z.least[k] = math.Inf(1)
		z.spread[k] = p.spread(k, s)
	}
	if p.Requires() {
		if z.negLogKept, err = p.NegLogFeasible(); err != nil {
			return nil, err
		}
	}
	for _, i := range s.Front {
		z.learn(s.Scores[i])
	}
	if s.Front == nil {
		z.learn(s.Reference)
	}
	return z, nil
}

// Learn has a point that was found belong to the front as far as it is known.
func (z *Scalarizer) Learn(x []float64) { z.learn(z.at(x).scores) }

func (z *Scalarizer) learn(scores []float64) {
	for k, v := range scores {
		z.best[k], z.least[k] = max(z.best[k], v), min(z.least[k], v)
		if z.best[k] > z.least[k] {
			z.spread[k] = z.best[k] - z.least[k]
		}
	}
}

// at returns the scores at a point, and the price of its infeasibility. Searches by several
// weights begin at the same points.
func (z *Scalarizer) at(x []float64) seen {
	key := make([]byte, 0, 8*len(x))
	for _, v := range x {
		key = binary.LittleEndian.AppendUint64(key, math.Float64bits(v))
	}
	if found, ok := z.memory[string(key)]; ok {
		return found
	}
	z.predictor.set(x, false)
	found := seen{scores: z.problem.scores(z.predictor)}
	if z.negLogKept != nil {
		found.price = price * max(z.negLogKept(x, nil)+math.Log(rather), 0)
	}
	z.memory[string(key)] = found
	return found
}

// Of returns the function of a weighing, in the unit cube. It holds until the next
// call of Learn.
func (z *Scalarizer) Of(weights []float64) func(x, grad []float64) float64 {
	distances := make([]float64, len(weights))
	value := func(s seen) (value, greatest, sum float64) {
		greatest = math.Inf(-1)
		for k, w := range weights {
			d := (z.best[k] - s.scores[k]) / z.spread[k]
			distances[k] = w * d
			value += augmented * d
			greatest = max(greatest, distances[k])
		}
		for _, d := range distances {
			sum += math.Exp(sharp * (d - greatest))
		}
		return value + greatest + math.Log(sum)/sharp + s.price, greatest, sum
	}
	return func(x, grad []float64) float64 {
		if grad == nil {
			v, _, _ := value(z.at(x))
			return v
		}
		s := z.slopesAt(x)
		clear(grad)
		if z.negLogKept != nil {
			if over := z.negLogKept(x, z.part) + math.Log(rather); over > 0 {
				s.price = price * over
				for j, v := range z.part {
					grad[j] = price * v
				}
			}
		}
		v, greatest, sum := value(s)
		for k, w := range weights {
			share := w*math.Exp(sharp*(distances[k]-greatest))/sum + augmented
			for j, slope := range z.slopes[k] {
				grad[j] -= share * slope / z.spread[k]
			}
		}
		return v
	}
}

// slopesAt returns the scores at a point and sets their slopes.
func (z *Scalarizer) slopesAt(x []float64) seen {
	p, w := z.problem, z.predictor
	w.set(x, true)
	s := seen{scores: p.scores(w)}
	for k, a := range p.Aims {
		slope := z.slopes[k]
		clear(slope)
		if a.Model < 0 {
			z.known[k](w.at.Parameters, z.byParam)
			p.AddGrad(slope, z.byParam, -a.Sign())
			continue
		}
		scale := p.Models[a.Model].Scale()
		for j, v := range w.dMean[a.Model] {
			slope[j] = -a.Sign() * float64(scale.Spread*v)
		}
	}
	return s
}

// Expect returns the front of the searches' results: points of the unit cube, with their
// compositions. Those that are rather infeasible, not beyond the reference, or worse than
// another one are left out.
func (z *Scalarizer) Expect(s *Standing, found [][]float64, points []definition.Point) []Expected {
	var which []int
	var scores [][]float64
	for i, x := range found {
		repeated := slices.ContainsFunc(which, func(j int) bool { return slices.Equal(found[j], x) })
		feasible := !z.problem.Requires() || z.predictor.At(x).Feasible.Probability >= ratherFeasible
		if score := z.at(x).scores; !repeated && feasible && pareto.Beyond(score, s.Reference) {
			which, scores = append(which, i), append(scores, score)
		}
	}
	front := pareto.NonDominated(scores)
	slices.SortStableFunc(front, func(i, j int) int { return cmp.Compare(scores[j][0], scores[i][0]) })
	expected := make([]Expected, len(front))
	for i, at := range front {
		x := found[which[at]]
		out := z.predictor.At(x)
		expected[i] = Expected{Parameters: points[which[at]], Quantities: out.Quantities, Feasible: out.Feasible}
		for _, m := range s.Measured {
			if expected[i].Experiment == "" && slices.Equal(m.X, x) {
				expected[i].Experiment = m.Experiment
			}
		}
	}
	return expected
}
