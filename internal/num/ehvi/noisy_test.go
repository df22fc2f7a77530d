package ehvi

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/campaignd/campaignd/internal/num/gp"
	"github.com/campaignd/campaignd/internal/num/pareto"
	"github.com/campaignd/campaignd/internal/tests/must"
)

// line is where trade-offs of one dimension are measured, two of them at the same place.
var line = [][]float64{{0.1}, {0.3}, {0.45}, {0.45}, {0.7}, {0.9}}

// modelOf returns the posterior of a function that was measured with noise of the given variance.
func modelOf(t testing.TB, points [][]float64, noise float64, f func(x []float64) float64) *gp.Conditioned {
	t.Helper()
	rng := rand.New(rand.NewPCG(11, 0))
	data := gp.Data{X: points}
	for _, x := range points {
		data.Y = append(data.Y, f(x)+math.Sqrt(noise)*rng.NormFloat64())
	}
	lengthscales := slices.Repeat([]float64{0.3}, len(points[0]))
	g := must.Get(gp.New(data, "rbf", gp.Hyper{Lengthscales: lengthscales, OutputScale: 1, Noise: noise}))(t)
	return g.Condition(nil, nil, nil)
}

func rising(x []float64) float64  { return 1.5*x[0] - 0.8 }
func falling(x []float64) float64 { return 0.9 - 2*x[0]*x[0] }
func waving(x []float64) float64  { return math.Sin(9 * x[0]) }

// tradeoffOf is a trade-off between a quantity to be great and one to be small, measured with noise.
func tradeoffOf(t testing.TB, noise float64) Tradeoff {
	return Tradeoff{
		Objectives: []Objective{
			{Model: modelOf(t, line, noise, rising), Reference: -0.9},
			{Model: modelOf(t, line, noise, func(x []float64) float64 { return -falling(x) }), Minimized: true, Reference: 1.2},
		},
		Measured: line,
		Seed:     3,
	}
}

func mustNoisy(t testing.TB, tradeoff Tradeoff) *Noisy {
	t.Helper()
	return must.Get(NewNoisy(tradeoff))(t)
}

// improvement is the definition: all quantities are drawn at what was tried and at x together, and x improves the hypervolume of the
// feasible ones of the others. It returns the mean over draws, and its standard error.
func improvement(t *testing.T, tradeoff Tradeoff, x []float64, draws int) (mean, se float64) {
	t.Helper()
	points := slices.Concat(tradeoff.Measured, tradeoff.UnderWay, [][]float64{x})
	var joints []*gp.Joint
	reference := make([]float64, len(tradeoff.Objectives))
	for k, o := range tradeoff.Objectives {
		reference[k] = o.Reference
		if o.Minimized {
			reference[k] = -o.Reference
		}
		if o.Model == nil {
			joints = append(joints, nil)
			continue
		}
		joints = append(joints, o.Model.Joint(points))
	}
	for _, model := range tradeoff.Further {
		joints = append(joints, model.Joint(points))
	}
	rng := rand.New(rand.NewPCG(5, 6))
	values, row := make([][]float64, len(joints)), make([]float64, len(joints))
	squares := 0.0
	for range draws {
		for q, joint := range joints {
			values[q] = make([]float64, len(points))
			if joint == nil {
				for i, x := range points {
					values[q][i] = tradeoff.Objectives[q].Known(x, nil)
				}
			} else if err := joint.Sample(values[q], rng); err != nil {
				t.Fatal(err)
			}
		}
		var tried [][]float64
		for i, at := range points {
			y := make([]float64, len(reference))
			bounded := false
			for q := range row {
				row[q] = values[q][i]
			}
			for k, o := range tradeoff.Objectives {
				y[k] = row[k]
				if o.Minimized {
					y[k] = -row[k]
				}
				bounded = bounded || o.Bounded && (row[k] > o.Bound) != o.Minimized
			}
			last := i == len(points)-1
			switch {
			case last && !bounded:
				gain := pareto.Improvement(y, tried, reference)
				mean, squares = mean+gain/float64(draws), squares+gain*gain/float64(draws)
			case !last && !bounded && (tradeoff.Feasible == nil || tradeoff.Feasible(at, row)):
				tried = append(tried, y)
			}
		}
	}
	return mean, math.Sqrt((squares - mean*mean) / float64(draws))
}

// Law: the noisy improvement is what its definition says, with what is under way, with quantities that say what is feasible, with a
// quantity that is known, and with a bound against a direction.
func TestNoisyIsItsDefinition(t *testing.T) {
	plain := tradeoffOf(t, 0.05)
	plain.Members = 512
	underWay := plain
	underWay.UnderWay = [][]float64{{0.6}, {0.6}, {0.3}}
	feasible := underWay
	feasible.Further = []*gp.Conditioned{modelOf(t, line, 0.02, waving)}
	feasible.Feasible = func(x, values []float64) bool { return values[2] > -0.2 && values[0] < 0.8 && x[0] != 0.6 }
	known := underWay
	known.Objectives = append([]Objective{{
		Known: func(x, grad []float64) float64 {
			if grad != nil {
				grad[0] = 0.8
			}
			return 0.8*x[0] + 0.2
		},
		Minimized: true, Reference: 0.95,
	}}, plain.Objectives...)
	bounded := underWay
	bounded.Objectives = slices.Clone(plain.Objectives)
	bounded.Objectives[0].Bounded, bounded.Objectives[0].Bound = true, 0.2
	bounded.Objectives[1].Bounded, bounded.Objectives[1].Bound = true, -0.8
	for name, tradeoff := range map[string]Tradeoff{
		"measured": plain, "under way": underWay, "feasible": feasible, "known": known, "bounded": bounded,
	} {
		n := mustNoisy(t, tradeoff)
		for _, x := range [][]float64{{0.02}, {0.2}, {0.52}, {0.8}} {
			grad := []float64{7} // what is there does not matter
			value := n.LogGrad(x, grad)
			want, se := improvement(t, tradeoff, x, 20_000)
			if got := math.Exp(value); math.Abs(got-want) > 0.05*want+4*se {
				t.Errorf("%s, at %v: %v, want %v ± %v", name, x, got, want, se)
			}
			const h = 1e-5
			slope := (n.Log([]float64{x[0] + h}) - n.Log([]float64{x[0] - h})) / (2 * h)
			if math.Abs(grad[0]-slope) > 1e-4*(1+math.Abs(slope)) || value != n.Log(x) {
				t.Errorf("%s, at %v: the gradient is %v, by differences %v", name, x, grad, slope)
			}
		}
	}
}

// Law: nothing is to be gained where something was measured, with noise or without, or is under way.
func TestNothingIsGainedTwice(t *testing.T) {
	for _, noise := range []float64{1e-6, 0.01, 0.2} {
		tradeoff := tradeoffOf(t, noise)
		elsewhere := mustNoisy(t, tradeoff).Log([]float64{0.58})
		tradeoff.UnderWay = [][]float64{{0.58}}
		n := mustNoisy(t, tradeoff)
		for _, x := range append([][]float64{{0.58}}, line...) {
			if got := n.Log(x); math.IsInf(got, 0) || math.IsNaN(got) || got > elsewhere-4 {
				t.Errorf("noise %v: at %v it is %v, and was %v where something is under way", noise, x, got, elsewhere)
			}
		}
	}
}

// Law: members expect nothing that their posterior holds impossible, also where points lie so close that a smooth quantity at some
// of them follows from the others, and another quantity does not: their means are spread as the posterior is, or less.
func TestDeterminedPoints(t *testing.T) {
	points := [][]float64{{0.05}, {0.95}}
	for i := range 6 {
		points = append(points, []float64{0.4 + 0.01*float64(i)})
	}
	tradeoff := Tradeoff{Measured: points, Seed: 1}
	for k, lengthscale := range []float64{0.3, 0.01} {
		data := gp.Data{X: points}
		for _, x := range points {
			data.Y = append(data.Y, []func(x []float64) float64{rising, falling}[k](x))
		}
		g, err := gp.New(data, "rbf", gp.Hyper{Lengthscales: []float64{lengthscale}, OutputScale: 1, Noise: 1e-2})
		if err != nil {
			t.Fatal(err)
		}
		tradeoff.Objectives = append(tradeoff.Objectives, Objective{Model: g.Condition(nil, nil, nil), Reference: -2})
	}
	n := mustNoisy(t, tradeoff)
	if len(n.Points()) < 6 {
		t.Fatalf("members have values at %d points only", len(n.Points()))
	}
	for _, x := range [][]float64{{0}, {0.2}, {0.45}, {0.7}, {1}} {
		n.Log(x)
		for k, o := range tradeoff.Objectives {
			mean, sd := o.Model.NewPredictor().Posterior(x)
			spread := 0.0
			for _, v := range n.means[k] {
				spread += (v - mean) * (v - mean) / float64(n.Members())
			}
			if math.Sqrt(spread) > 1.5*sd || n.sd[k] > sd*(1+1e-9) {
				t.Errorf("at %v objective %d is %v ± %v, members are spread by %v with ± %v", x, k, mean, sd, math.Sqrt(spread), n.sd[k])
			}
		}
	}
}

// Law: where nothing that was tried may be on the front, there is one member: the improvement on the reference point alone.
func TestNothingOfInterest(t *testing.T) {
	far := tradeoffOf(t, 0.01)
	far.Objectives[0].Reference = 30
	none := tradeoffOf(t, 0.01)
	none.Feasible = func(_, _ []float64) bool { return false }
	untried := tradeoffOf(t, 0.01)
	untried.Measured = nil
	for name, tradeoff := range map[string]Tradeoff{"far": far, "infeasible": none, "untried": untried} {
		n := mustNoisy(t, tradeoff)
		if n.Members() != 1 || len(n.Points()) != 0 {
			t.Errorf("%s: %d members with values at %v", name, n.Members(), n.Points())
		}
		for _, x := range [][]float64{{0.33}, {0.8}} {
			var mean, sd []float64
			var reference []float64
			for _, o := range tradeoff.Objectives {
				m, s := o.Model.NewPredictor().Posterior(x)
				mean, sd = append(mean, o.sign()*m), append(sd, s)
				reference = append(reference, o.sign()*o.Reference)
			}
			near(t, name, n.Log(x), NewClosed(nil, reference, nil).Log(mean, sd), 1e-12, 1+math.Abs(n.Log(x)))
		}
	}
	// What is under way has values all the same, and there nothing is uncertain.
	none.UnderWay = [][]float64{{0.5}}
	n := mustNoisy(t, none)
	if n.Log([]float64{0.5}); n.Members() != 64 || len(n.Points()) != 1 || n.sd[0] > 1e-6 || n.sd[1] > 1e-6 {
		t.Errorf("with one under way: %d members with values at %v, ± %v there", n.Members(), n.Points(), n.sd)
	}
}

// Law: equal trade-offs give equal bits, other seeds other draws; few members are the first ones; an evaluation allocates nothing.
func TestNoisyRepeats(t *testing.T) {
	tradeoff := tradeoffOf(t, 0.1)
	x, grad := []float64{0.6}, make([]float64, 1)
	n, again := mustNoisy(t, tradeoff), mustNoisy(t, tradeoff)
	tradeoff.Seed++
	other := mustNoisy(t, tradeoff)
	if n.Log(x) != again.LogGrad(x, grad) || n.Log(x) == other.Log(x) {
		t.Errorf("it is %v, again %v, and by another seed %v", n.Log(x), again.Log(x), other.Log(x))
	}
	value := n.Log(x)
	few := n.First(16)
	if n.Log(x) != value {
		t.Errorf("it is %v, and was %v before few members were taken", n.Log(x), value)
	}
	if few.Members() != 16 || n.First(1000).Members() != 64 {
		t.Errorf("of the first 16 there are %d", few.Members())
	}
	n.Log(x)
	if few.Log(x) == n.Log(x) || len(few.means[0]) != 16 || few.means[0][15] != n.means[0][15] {
		t.Error("few members are not the first ones")
	}
	if allocated := testing.AllocsPerRun(20, func() { n.LogGrad(x, grad); n.Log(x) }); allocated != 0 {
		t.Errorf("%v allocations", allocated)
	}
}

// Law: members have values first at the points that are on the front most often, then at those under way.
func TestPointsInOrder(t *testing.T) {
	points := [][]float64{{0.8}, {0.1}, {0.9}}
	tradeoff := Tradeoff{
		Objectives: []Objective{{Model: modelOf(t, line, 0.3, rising), Reference: -3}},
		Measured:   points, UnderWay: [][]float64{{0.5}}, Seed: 1,
	}
	want := [][]float64{{0.9}, {0.8}, {0.1}, {0.5}}
	if got := mustNoisy(t, tradeoff).Points(); !slices.EqualFunc(got, want, slices.Equal) {
		t.Errorf("they are %v, want %v", got, want)
	}
}

// Law: of very many measured points those near the front are weighed, whatever their order.
func TestManyPoints(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 8))
	var points [][]float64
	for range weighed + 40 {
		points = append(points, []float64{rng.Float64(), rng.Float64()})
	}
	best := []float64{0.9, 0.9}
	points = append(points, best)
	sum := func(x []float64) float64 { return x[0] + x[1] - 1 }
	tradeoff := Tradeoff{
		Objectives: []Objective{
			{Model: modelOf(t, points, 0.01, sum), Reference: -1},
			{Known: func(x, _ []float64) float64 { return x[0] }, Reference: -1},
		},
		Measured: points, Seed: 1, Members: 8,
	}
	n := mustNoisy(t, tradeoff)
	if at := slices.IndexFunc(n.Points(), func(x []float64) bool { return slices.Equal(x, best) }); at < 0 || at > 6 {
		t.Errorf("the best is number %d of %d points", at, len(n.Points()))
	}
	if few := n.First(4); few.Log(best) == n.Log(best) {
		t.Error("of four members it is what it is of eight")
	}
}

// Law: in another unit of a quantity the improvement is as many times as great, whatever the point.
func TestUnits(t *testing.T) {
	const factor = 1e4
	tradeoff := tradeoffOf(t, 1e-10)
	other := tradeoff
	other.Objectives = slices.Clone(tradeoff.Objectives)
	data := gp.Data{X: line}
	for _, x := range line {
		data.Y = append(data.Y, factor*rising(x))
	}
	g, err := gp.New(data, "rbf", gp.Hyper{Lengthscales: []float64{0.3}, OutputScale: factor * factor, Noise: factor * factor * 1e-10})
	if err != nil {
		t.Fatal(err)
	}
	other.Objectives[0].Model = g.Condition(nil, nil, nil)
	other.Objectives[0].Reference *= factor
	n, m := mustNoisy(t, tradeoff), mustNoisy(t, other)
	for _, x := range [][]float64{{0.2}, {0.55}, {0.7}, {1}} {
		near(t, fmt.Sprint("the improvement at ", x), m.Log(x)-math.Log(factor), n.Log(x), 1e-3, 1+math.Abs(n.Log(x)))
	}
}

// Law: a bound that leaves nothing beyond the reference is refused.
func TestNothingWithinTheBound(t *testing.T) {
	tradeoff := tradeoffOf(t, 0.1)
	tradeoff.Objectives[1].Bounded, tradeoff.Objectives[1].Bound = true, 1.2
	if _, err := NewNoisy(tradeoff); !errors.Is(err, ErrReference) {
		t.Errorf("it says %v", err)
	}
}
