package next

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/campaignd/campaignd/internal/num/composite"
	"github.com/campaignd/campaignd/internal/num/gp"
	"github.com/campaignd/campaignd/internal/num/qmc"
	"github.com/campaignd/campaignd/policies/seek"
	"github.com/campaignd/campaignd/projections/quantity"
)

// Several holds the ingredients of an acquisition of several quantities.
type Several struct {
	// Problem holds the objective and the constraints.
	Problem *seek.Problem
	// Objective is the model of the objective, of a trade-off that of the first one. It expects
	// the results of the experiments under way.
	Objective *quantity.Model
	// Standing is the state of the trade-off; nil without one.
	Standing *seek.Standing
	// Awaited are measured points at which a quantity of the problem is still to arrive, other
	// than the objective: they count as under way, and each quantity is drawn there from its
	// own model.
	Awaited [][]float64
	// Seed is that of all draws.
	Seed uint64
}

// Composed is an acquisition of several quantities, with the data for a search of it.
type Composed struct {
	Acquisition
	// Screen is a coarser one by which the starts of a search are compared; nil
	// where it is the same.
	Screen Acquisition
	// Starts are points of the unit cube from which to search besides.
	Starts [][]float64
	// Searches is the number of local searches; 0 for as many as with one quantity.
	Searches int
	// Members is the number of possible values of the tried compositions that it is a mean
	// over.
	Members int
}

// Composer is implemented by rules that work on the models of several quantities.
// Equal arguments give equal functions.
type Composer interface {
	// Composes reports whether the rule works on the quantities, given the model of
	// the value that is sought; otherwise it works on that alone.
	Composes(p *seek.Problem, m *quantity.Model) bool
	Compose(s Several) (Composed, error)
}

// Composes implements [Composer]. Experts' answers enter the model of the objective: for a
// formula that model then decides, unless they move the predictions from the quantities.
func (s LogNEI) Composes(p *seek.Problem, m *quantity.Model) bool {
	return !p.Computed() || s.Quantities && (!m.Informed() || p.IsInformed())
}

// Compose implements [Composer]: the noisy expected improvement of a function of the
// quantities, under constraints (package composite). Draws of the quantities at the tried
// compositions give each member its best value: that of the compositions that keep the
// constraints in it or, if none does, the worst value of all, so that any composition that
// keeps them is an improvement.
func (LogNEI) Compose(s Several) (Composed, error) {
	m, pending := s.Objective.Expected()
	weighed, err := s.contenders(m)
	if err != nil {
		return Composed{}, err
	}
	measured := slices.DeleteFunc(weighed, func(x []float64) bool {
		return slices.ContainsFunc(s.Awaited, func(y []float64) bool { return slices.Equal(x, y) })
	})
	pending = slices.Concat(pending, s.Awaited)
	// Points of the mixtures are a sequence of their own: they have to be independent
	// of the members' values.
	b := base{Several: s, problem: s.Problem.Functions(s.Seed ^ 0x6d697874757265), points: slices.Concat(measured, pending)}
	b.measured, b.compared = len(b.points)-len(pending), comparable(m, b.points)
	return b.compose()
}

// contenders are the measured compositions that are weighed. Where there are more, those that
// more probably keep the constraints than not come first: the best value of the others is not a
// standard to improve on.
func (s Several) contenders(m *quantity.Model) ([][]float64, error) {
	X, _ := m.Compared()
	rank := make([]int, len(X))
	if len(X) > weighed && s.Problem.Requires() {
		p, err := s.Problem.NewPredictor()
		if err != nil {
			return nil, err
		}
		for i, x := range X {
			if p.At(x).Feasible.Probability < 0.5 {
				rank[i] = 1
			}
		}
	}
	return contendersOf(m, rank), nil
}

// base makes the members of a noisy expected improvement of several quantities.
type base struct {
	Several
	problem    composite.Problem
	points     [][]float64 // tried: those measured that are weighed, then those under way
	measured   int         // how many are of the first kind
	compared   []bool      // which are at the target, where some are of a lower fidelity
	parameters [][]float64 // at each of them
	joints     []*gp.Joint
	tolerances []float64

	evaluate func(quantities, parameters []float64) (value float64, kept bool)
	row      []float64 // of all quantities at a point
}

func (b *base) compose() (Composed, error) {
	b.evaluate, b.row = b.problem.Evaluator(), make([]float64, len(b.Problem.Models))
	for _, x := range b.points {
		parameters := make([]float64, b.problem.Parameters)
		b.Problem.ParametersAt(parameters, x)
		b.parameters = append(b.parameters, parameters)
	}
	for _, m := range b.Problem.Models {
		known := m.Conditioned()
		b.joints = append(b.joints, known.Joint(b.points))
		b.tolerances = append(b.tolerances, leastVariance*known.OutputScale())
	}
	chosen := b.choose()
	worst := b.beyondCap(b.worst())
	draws := gp.NewSeveral(b.joints, chosen, b.tolerances)
	members := 1
	var normals [][]float64
	if len(chosen) > 0 {
		members = drawn
		var err error
		if normals, err = qmc.Normals(draws.Dims, drawn, b.Seed); err != nil {
			return Composed{}, err
		}
	}
	best := make([]float64, members)
	supposed := make([][][]float64, len(b.joints)) // of each quantity the members' values
	for i, z := range normals {
		draws.Fill(z)
		value, point := b.incumbent(draws, chosen)
		if point < 0 {
			value = b.worse(value, worst)
		}
		best[i] = value
		for k := range b.joints {
			supposed[k] = append(supposed[k], draws.AtFree(k))
		}
	}
	if len(chosen) == 0 {
		best[0] = worst
	}
	return b.acquisition(draws, supposed, best)
}

// choose returns the points at which members have values, as indices: those
// measured that are the best in a draw, the most frequent first, and those under
// way.
func (b *base) choose() []int {
	all := make([]int, len(b.points))
	for i := range all {
		all[i] = i
	}
	draws := gp.NewSeveral(b.joints, all, b.tolerances)
	rng := rand.New(rand.NewPCG(b.Seed, 0x6e6569)) // the second word spells "nei": a stream of its own
	z := make([]float64, draws.Dims)
	wins := make([]int, len(all))
	for range pruning {
		for i := range z {
			z[i] = rng.NormFloat64()
		}
		draws.Fill(z)
		if _, point := b.incumbent(draws, all); point >= 0 {
			wins[point]++
		}
	}
	winners := slices.DeleteFunc(slices.Clone(all[:b.measured]), func(i int) bool { return wins[i] == 0 })
	slices.SortStableFunc(winners, func(i, j int) int { return cmp.Compare(wins[j], wins[i]) })
	return slices.Concat(winners[:min(len(winners), baseline)], all[b.measured:])
}

// incumbent is the value that an improvement in a draw is measured against: the best value of
// some points that keep the constraints, with the index of its point; if none does, the worst
// of all, and −1.
func (b *base) incumbent(draws *gp.Several, points []int) (best float64, point int) {
	best, worst, point := math.NaN(), math.NaN(), -1
	for p, i := range points {
		for k := range b.row {
			b.row[k] = draws.Values[k][p]
		}
		if !b.compared[i] {
			continue
		}
		value, kept := b.evaluate(b.row, b.parameters[i])
		worst = b.worse(worst, value)
		if kept && finite(value) && (point < 0 || b.worse(value, best) == best && value != best) {
			best, point = value, i
		}
	}
	if point < 0 {
		return worst, -1
	}
	return best, point
}

// worst is the worst value expected at a tried composition: the standard for an improvement if
// nothing keeps the constraints.
func (b *base) worst() float64 {
	out := math.NaN()
	for i := range b.points {
		for k, joint := range b.joints {
			b.row[k] = joint.Mean[i]
		}
		if !b.compared[i] {
			continue
		}
		value, _ := b.evaluate(b.row, b.parameters[i])
		out = b.worse(out, value)
	}
	return out
}

// beyondCap moves the worst value to a standard deviation of the measurements behind a limit of
// the objective against its direction. If nothing keeps the limit the worst value lies beyond
// it, and a value that keeps it would not be an improvement.
func (b *base) beyondCap(worst float64) float64 {
	at, ok := b.problem.Cap()
	if !ok {
		return worst
	}
	spread := math.Abs(b.Objective.Scale().Spread)
	if b.problem.Maximize {
		spread = -spread
	}
	return b.worse(worst, at+spread)
}

// worse is the worse of two values; a value that is not finite does not count.
func (b *base) worse(v, w float64) float64 {
	switch {
	case !finite(v):
		return w
	case !finite(w):
		return v
	case b.problem.Maximize:
		return min(v, w)
	}
	return max(v, w)
}

// finite reports whether x is a number.
func finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }

// acquisition is −log of the expected improvement, given each quantity's values in
// each member.
func (b *base) acquisition(draws *gp.Several, supposed [][][]float64, best []float64) (Composed, error) {
	predictors := make([]*gp.ConditionedPredictor, len(b.joints))
	least := make([]float64, len(b.joints))
	dim := 0
	for k, m := range b.Problem.Models {
		given := m.Conditioned()
		dim = given.Dim()
		if free := draws.Free(k); len(free) > 0 {
			points := make([][]float64, len(free))
			for i, at := range free {
				points[i] = b.points[at]
			}
			var err error
			if given, err = given.Given(points, supposed[k], 0); err != nil {
				return Composed{}, err
			}
		}
		predictors[k] = given.NewPredictor()
		least[k] = leastSD * math.Sqrt(given.OutputScale())
	}
	mixture, err := composite.New(b.problem, len(best))
	if err != nil {
		return Composed{}, err
	}
	f := function{
		problem: b.Problem, mixture: mixture, predictors: predictors, least: least, best: best,
		dSD: make([][]float64, len(predictors)), part: make([]float64, dim),
		at: composite.Posterior{
			Means: make([][]float64, len(predictors)), SDs: make([]float64, len(predictors)),
			Parameters: make([]float64, b.problem.Parameters),
		},
	}
	for k := range f.dSD {
		f.dSD[k] = make([]float64, dim)
	}
	return Composed{Acquisition: f.evaluate, Members: len(best)}, nil
}

// function is an acquisition of several quantities. It is a workspace.
type function struct {
	problem    *seek.Problem
	mixture    *composite.Mixture
	predictors []*gp.ConditionedPredictor
	least      []float64 // standard deviation of each quantity
	best       []float64
	at         composite.Posterior
	gradient   composite.Gradient
	dSD        [][]float64
	part       []float64
}

func (f *function) evaluate(x, grad []float64) float64 {
	f.problem.ParametersAt(f.at.Parameters, x)
	for k, p := range f.predictors {
		if grad == nil {
			f.at.Means[k], f.at.SDs[k] = p.Means(x)
		} else {
			f.at.Means[k], f.at.SDs[k] = p.MeansGrad(x, f.dSD[k])
		}
		f.at.SDs[k] = math.Max(f.at.SDs[k], f.least[k])
	}
	if grad == nil {
		return -f.mixture.LogEI(f.at, f.best)
	}
	value := f.mixture.LogEIGrad(f.at, f.best, &f.gradient)
	clear(grad)
	for k, p := range f.predictors {
		p.WeighedGrad(f.part, f.gradient.Means[k])
		for j := range grad {
			grad[j] -= f.part[j] + f.gradient.SDs[k]*f.dSD[k][j]
		}
	}
	f.problem.AddGrad(grad, f.gradient.Parameters, -1)
	return -value
}
