package next_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/num/gp"
	"github.com/campaignd/campaignd/internal/study/studytest"
	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/policies"
	"github.com/campaignd/campaignd/policies/next"
	"github.com/campaignd/campaignd/policies/seek"
	"github.com/campaignd/campaignd/projections/quantity"
)

// bench is what experiments with one parameter gave: three quantities with noise, one of which is missing once. The
// standardized values of v are of its logarithm.
const bench = `
name: bench
parameters: [{name: x, min: 0, max: 1}]
quantities:
  - {name: a, unit: mS/cm}
  - {name: b, unit: mS/cm}
  - {name: v, unit: mPa·s, scale: log}
  - {name: price, from: 1 + 4*(x - 0.6)^2}
budget: {experiments: 30}
instrument: manual
`

var (
	tried   = []float64{0.05, 0.3, 0.32, 0.55, 0.75, 0.95}
	gaveA   = []float64{3.1, 5.9, 5.6, 7.1, 5.2, 2.8}
	gaveB   = []float64{1.2, 2.1, math.NaN(), 3.2, 3.9, 5.1}
	gaveV   = []float64{1.1, 2.2, 2.4, 3.6, 4.5, 8}
	measure = map[string][2]float64{"a": {5, 1.6}, "b": {3, 1.5}, "v": {1.1, 0.7}} // shift and scale of each
)

// benchOf is what a policy sees of a campaign that seeks and requires what the text says, and the model of what is
// sought, which expects what is under way. noise is the variance, standardized.
func benchOf(t *testing.T, text string, noise float64, underWay ...float64) (policies.View, *quantity.Model) {
	t.Helper()
	var rows []studytest.Row
	for i, x := range tried {
		gave := map[string]float64{"a": gaveA[i], "v": gaveV[i]}
		if !math.IsNaN(gaveB[i]) {
			gave["b"] = gaveB[i]
		}
		rows = append(rows, studytest.Row{At: definition.Point{"x": definition.Number(x)}, Gave: gave})
	}
	v := must.Get(studytest.ViewOf(t.Context(), bench+text, rows, func(quantity string) *events.ObjectiveFit {
		fit := &events.ObjectiveFit{Kernel: "matern52", Lengthscales: []float64{0.25}, OutputScale: 1, Noise: noise,
			Shift: 1.5, Scale: 0.8, Observations: 6}
		if of, ok := measure[quantity]; ok {
			fit.Shift, fit.Scale, fit.Log = of[0], of[1], quantity == "v"
		}
		return fit
	}))(t)
	var points [][]float64
	for _, x := range underWay {
		points = append(points, []float64{x})
	}
	expecting := must.Get(v.Objective().Fantasize(t.Context(), points))(t)
	return v, expecting
}

// composeOf is what the campaign's rule makes of the models.
func composeOf(t *testing.T, v policies.View, m *quantity.Model, seed uint64) (next.Composed, *seek.Problem, *seek.Standing) {
	t.Helper()
	p := must.Get(seek.NewProblem(v.Campaign, v.Space, v.Models))(t)
	s := next.Several{Problem: p, Objective: m, Seed: seed}
	if p.Aims != nil {
		s.Standing = must.Get(p.Standing())(t)
	}
	rule := ruleOf(t, v.Campaign.Definition.Policy.Next).(next.Composer)
	if !rule.Composes(p, m) {
		t.Fatalf("%s does not work on the quantities", v.Campaign.Definition.Policy.Next.Name)
	}
	c := must.Get(rule.Compose(s))(t)
	return c, p, s.Standing
}

// draws are joint values of the quantities, without noise, at some points.
type draws struct {
	rng    *rand.Rand
	models map[string]*quantity.Model
	joints map[string]*gp.Joint
	z      []float64
}

func drawsOf(v policies.View, points [][]float64) *draws {
	d := &draws{rand.New(rand.NewPCG(8, 9)), make(map[string]*quantity.Model), make(map[string]*gp.Joint), make([]float64, len(points))}
	for _, name := range []string{"a", "b", "v"} {
		m := v.Models.Of(name)
		if name == v.Campaign.Definition.Sought().Name {
			m = v.Objective()
		}
		d.models[name], d.joints[name] = m, m.Conditioned().Joint(points)
	}
	return d
}

// row is the quantities and the parameter at a point.
type row struct{ a, b, v, x float64 }

func (d *draws) next(points [][]float64) []row {
	rows := make([]row, len(points))
	for i, x := range points {
		rows[i].x = x[0]
	}
	for _, name := range []string{"a", "b", "v"} { // in an order
		if err := d.joints[name].Sample(d.z, d.rng); err != nil {
			panic(err)
		}
		for i, z := range d.z {
			*map[string]*float64{"a": &rows[i].a, "b": &rows[i].b, "v": &rows[i].v}[name] = d.models[name].Untransform(z)
		}
	}
	return rows
}

// expected are the posterior means at the points.
func (d *draws) expected(points [][]float64) []row {
	rows := make([]row, len(points))
	for i, x := range points {
		of := func(name string) float64 { return d.models[name].Untransform(d.joints[name].Mean[i]) }
		rows[i] = row{of("a"), of("b"), of("v"), x[0]}
	}
	return rows
}

// Law: the noisy expected improvement of a function of quantities under constraints is what its definition says: the
// mean, over joint draws of all quantities at what was tried and at a composition, of how much better it is than the
// best of those tried that keep the constraints, where it keeps them itself; where none of them does, than the worst
// that is expected of them. With noise, with points under way, with quantities that are missing and shared, with
// logarithms, and relative to a reference.
func TestConstrainedImprovementIsItsDefinition(t *testing.T) {
	everything := func(row) bool { return true }
	for _, c := range []struct {
		text  string
		value func(r row) float64 // greater is better
		kept  func(r row) bool
	}{
		{"objective: {maximize: a}\nconstraints_on_outcomes: [b <= 3.4]", func(r row) float64 { return r.a }, func(r row) bool { return r.b <= 3.4 }},
		{"objective: {minimize: b}\nconstraints_on_outcomes: [v >= 2]", func(r row) float64 { return -r.b }, func(r row) bool { return r.v >= 2 }},
		{"objective: {maximize: a}\nconstraints_on_outcomes: [a <= 6.2]", func(r row) float64 { return r.a }, func(r row) bool { return r.a <= 6.2 }},
		{"objective: {maximize: a}\nconstraints_on_outcomes: [b >= 2, v <= 5, b*(1 + x) >= 4]", func(r row) float64 { return r.a },
			func(r row) bool { return r.b >= 2 && r.v <= 5 && r.b*(1+r.x) >= 4 }},
		{"objective: {maximize: a/v}", func(r row) float64 { return r.a / r.v }, everything},
		{"objective: {minimize: a*b}\nconstraints_on_outcomes: [a >= 4]", func(r row) float64 { return -r.a * r.b }, func(r row) bool { return r.a >= 4 }},
		{"objective: {maximize: a}\nconstraints_on_outcomes: [b*v <= 9]", func(r row) float64 { return r.a }, func(r row) bool { return r.b*r.v <= 9 }},
		{"objective: {maximize: a}\nconstraints_on_outcomes: [a <= 2.2*b]", func(r row) float64 { return r.a }, func(r row) bool { return r.a <= 2.2*r.b }},
		{"objective: {desirability: [{quantity: a, from: 4, to: 8}, {quantity: price, from: 2, to: 1, weight: 0.5}]}",
			func(r row) float64 {
				u := min(max((r.a-4)/4, 0), 1)
				w := min(max(2-(1+4*(r.x-0.6)*(r.x-0.6)), 0), 1)
				return math.Pow(u*math.Sqrt(w), 1/1.5)
			}, everything},
	} {
		for _, underWay := range [][]float64{nil, {0.45, 0.62}} {
			v, m := benchOf(t, c.text, 0.05, underWay...)
			var all []next.Acquisition
			for seed := range uint64(seeds) {
				f, _, _ := composeOf(t, v, m, seed)
				all = append(all, f.Acquisition)
			}
			_, pending := m.Expected()
			before := slices.Concat(v.Objective().X, pending)
			compare(t, fmt.Sprint(c.text, underWay), all, 1, func(x []float64) (mean, se float64) {
				points := append(slices.Clone(before), x)
				return constrained(drawsOf(v, points), points, c.value, c.kept)
			})
		}
	}
}

const (
	seeds    = 16
	sampling = 6_000 // joint draws of a definition
)

// compare holds the mean of an acquisition over its seeds to its definition at some points: the members of one seed are
// few. What one stands for is unit of the definition.
func compare(t *testing.T, name string, all []next.Acquisition, unit float64, definition func(x []float64) (mean, se float64)) {
	t.Helper()
	greatest, uncertain := 0.0, 0.0
	for _, x := range [][]float64{{0.2}, {0.4}, {0.47}, {0.65}, {0.85}} {
		want, se := definition(x)
		mean, squares, n := 0.0, 0.0, float64(len(all))
		for _, f := range all {
			got := math.Exp(-f(x, nil)) * unit
			mean, squares = mean+got/n, squares+got*got/n
		}
		spread := math.Sqrt((squares - mean*mean) / (n - 1))
		if math.Abs(mean-want) > 0.08*want+4*(se+spread)+1e-6 {
			t.Errorf("%s at %v: %v ± %v, want %v ± %v", name, x, mean, spread, want, se)
		}
		if want > greatest {
			greatest, uncertain = want, se+spread
		}
	}
	if uncertain > 0.15*greatest {
		t.Errorf("%s: %v ± %v: the test tells nothing", name, greatest, uncertain)
	}
}

// constrained is the definition: the last of the points is the composition.
func constrained(d *draws, points [][]float64, value func(row) float64, kept func(row) bool) (mean, se float64) {
	worst := math.Inf(1)
	for _, r := range d.expected(points[:len(points)-1]) {
		worst = min(worst, value(r))
	}
	squares := 0.0
	for range sampling {
		rows := d.next(points)
		last := rows[len(rows)-1]
		best, feasible := math.Inf(-1), false
		for _, r := range rows[:len(rows)-1] {
			if kept(r) {
				best, feasible = max(best, value(r)), true
			}
		}
		if !feasible {
			best = worst
		}
		gain := 0.0
		if kept(last) {
			gain = max(value(last)-best, 0)
		}
		mean, squares = mean+gain/sampling, squares+gain*gain/sampling
	}
	return mean, math.Sqrt((squares - mean*mean) / sampling)
}

// Law: the noisy expected improvement of the hypervolume is what its definition says, in the user's units: the mean,
// over joint draws, of what a composition adds to the volume that the compositions tried cover beyond the reference,
// where it and they keep the constraints.
func TestHypervolumeImprovementIsItsDefinition(t *testing.T) {
	everything := func(row) bool { return true }
	for _, c := range []struct {
		text  string
		score func(r row) [2]float64 // both to be maximized
		kept  func(r row) bool
	}{
		{"objective: {tradeoff: [{maximize: a}, {minimize: b}]}", func(r row) [2]float64 { return [2]float64{r.a, -r.b} }, everything},
		{"objective: {tradeoff: [{minimize: v, worst: 6}, {maximize: a, worst: 2}]}", func(r row) [2]float64 { return [2]float64{-math.Log(r.v), r.a} }, everything},
		{"objective: {tradeoff: [{minimize: b}, {maximize: a}]}\nconstraints_on_outcomes: [a >= 4, a <= 6.5]", func(r row) [2]float64 { return [2]float64{-r.b, r.a} },
			func(r row) bool { return r.a <= 6.5 && r.a >= 4 }},
		{"objective: {tradeoff: [{maximize: a}, {minimize: price}]}", func(r row) [2]float64 { return [2]float64{r.a, -(1 + 4*(r.x-0.6)*(r.x-0.6))} }, everything},
		{"objective: {tradeoff: [{minimize: price}, {maximize: a}]}\nconstraints_on_outcomes: [v <= 4]", func(r row) [2]float64 { return [2]float64{-(1 + 4*(r.x-0.6)*(r.x-0.6)), r.a} },
			func(r row) bool { return r.v <= 4 }},
		{"objective: {tradeoff: [{maximize: a}, {minimize: b}]}\nconstraints_on_outcomes: [v <= 4]", func(r row) [2]float64 { return [2]float64{r.a, -r.b} },
			func(r row) bool { return r.v <= 4 }},
		{"objective: {tradeoff: [{maximize: a, worst: 7.2}, {minimize: b, worst: 4.5}]}", func(r row) [2]float64 { return [2]float64{r.a, -r.b} }, everything},
	} {
		for _, underWay := range [][]float64{nil, {0.45, 0.62}} {
			v, m := benchOf(t, c.text, 0.05, underWay...)
			var all []next.Acquisition
			for seed := range uint64(seeds) {
				f, _, _ := composeOf(t, v, m, seed)
				all = append(all, f.Acquisition)
			}
			_, p, s := composeOf(t, v, m, 3)
			before := make([][]float64, 0, len(s.Measured)+2)
			for _, measured := range s.Measured {
				before = append(before, measured.X)
			}
			_, pending := m.Expected()
			before = append(before, pending...)
			compare(t, fmt.Sprint(c.text, underWay), all, p.Volume(s), func(x []float64) (mean, se float64) {
				points := append(slices.Clone(before), x)
				return hypervolume(drawsOf(v, points), points, [2]float64(s.Reference), c.score, c.kept)
			})
		}
	}
}

// hypervolume is the definition.
func hypervolume(d *draws, points [][]float64, reference [2]float64, score func(row) [2]float64, kept func(row) bool) (mean, se float64) {
	squares := 0.0
	for range sampling {
		rows := d.next(points)
		last := rows[len(rows)-1]
		gain := 0.0
		if kept(last) {
			var front [][2]float64
			for _, r := range rows[:len(rows)-1] {
				if kept(r) {
					front = append(front, score(r))
				}
			}
			gain = covered(append(front, score(last)), reference) - covered(front, reference)
		}
		mean, squares = mean+gain/sampling, squares+gain*gain/sampling
	}
	return mean, math.Sqrt((squares - mean*mean) / sampling)
}

// covered is the area that some points cover beyond the reference, strip by strip.
func covered(points [][2]float64, reference [2]float64) (area float64) {
	points = slices.DeleteFunc(slices.Clone(points), func(p [2]float64) bool { return p[0] <= reference[0] || p[1] <= reference[1] })
	slices.SortFunc(points, func(p, q [2]float64) int { // the greatest first value first
		if p[0] > q[0] {
			return -1
		}
		return 1
	})
	height := reference[1]
	for _, p := range points {
		if p[1] > height {
			area += (p[0] - reference[0]) * (p[1] - height)
			height = p[1]
		}
	}
	return area
}

// composedTexts are campaigns of every kind.
var composedTexts = []string{
	"objective: {maximize: a}\nconstraints_on_outcomes: [b <= 3.4, v <= 5]",
	"objective: {maximize: a/v}\nconstraints_on_outcomes: [b*v <= 9, v <= 1.5*reference.v]\nreference: {experiment: e2}",
	"objective: {minimize: a*b*(1 + x)}\nconstraints_on_outcomes: [price*b <= 6]",
	"objective: {desirability: [{quantity: a, from: 4, to: 8}, {quantity: v, from: 0.5, best: [1, 2], to: 6}, {quantity: price, from: 2, to: 1}]}",
	"objective: {maximize: a}\nconstraints_on_outcomes: [b <= 0.1, v <= 0.1]",
	"objective: {maximize: a}\nconstraints_on_outcomes: [a <= 1]",
	"objective: {tradeoff: [{maximize: a}, {minimize: b}, {minimize: price}]}\nconstraints_on_outcomes: [v*b*(1 + x) <= 14, a <= 7]",
	"objective: {tradeoff: [{minimize: price, worst: 1.5}, {maximize: a}, {minimize: v}, {minimize: b}]}\nconstraints_on_outcomes: [v <= reference.v]\nreference: {composition: {x: 0.7}}",
	"objective: {tradeoff: [{maximize: a, worst: 20}, {minimize: b}]}\nconstraints_on_outcomes: [v <= 0.1]",
	"objective: {tradeoff: [{maximize: a}, {minimize: b}]}\nconstraints_on_outcomes: [a <= 1]",
}

// Law: the gradient is that of the value, by differences, and a screen's is that of the screen; asking for it changes
// nothing. Equal seeds give equal bits, and other seeds other draws. It is finite wherever it is asked for.
func TestComposedGradients(t *testing.T) {
	for _, text := range composedTexts {
		for _, noise := range []float64{1e-6, 0.05} {
			v, m := benchOf(t, text, noise, 0.45)
			f, _, _ := composeOf(t, v, m, 3)
			again, _, _ := composeOf(t, v, m, 3)
			other, _, _ := composeOf(t, v, m, 4)
			differs := false
			for _, x := range []float64{0, 0.12, 0.27, 0.3, 0.41, 0.45, 0.5, 0.66, 0.8, 1} {
				for name, g := range map[string]next.Acquisition{"acquisition": f.Acquisition, "screen": f.Screen} {
					if g == nil {
						continue
					}
					const h = 1e-6
					grad := make([]float64, 1)
					value := g([]float64{x}, grad)
					if math.IsNaN(value+grad[0]) || math.IsInf(value+grad[0], 0) {
						t.Fatalf("%s, noise %v: the %s at %v is %v, with the gradient %v", text, noise, name, x, value, grad)
					}
					if plain := g([]float64{x}, nil); math.Abs(plain-value) > 1e-9*max(1, math.Abs(value)) {
						t.Errorf("%s: the %s at %v is %v with the gradient and %v without", text, name, x, value, plain)
					}
					if x == 0 || x == 1 || math.Abs(value) > 100 || slices.Contains([]float64{0.3, 0.45}, x) {
						continue // where something was tried there are edges
					}
					want := (g([]float64{x + h}, nil) - g([]float64{x - h}, nil)) / (2 * h)
					if math.Abs(grad[0]-want) > 1e-3*max(1, math.Abs(want)) {
						t.Errorf("%s, noise %v: the slope of the %s at %v is %v, by differences %v", text, noise, name, x, grad[0], want)
					}
				}
				a, b := f.Acquisition([]float64{x}, nil), again.Acquisition([]float64{x}, nil)
				if a != b {
					t.Errorf("%s: at %v it is %v, and again %v", text, x, a, b)
				}
				differs = differs || a != other.Acquisition([]float64{x}, nil)
			}
			if !differs {
				t.Errorf("%s: another seed gives the same", text)
			}
			if fmt.Sprint(f.Starts) != fmt.Sprint(again.Starts) {
				t.Errorf("%s: the starts do not follow their seed", text)
			}
		}
	}
}

// Law: next to what was measured or is under way there is nothing to be gained, by far, compared with elsewhere; nor
// where what was measured breaks a constraint.
func TestNothingIsGainedTwiceOfSeveral(t *testing.T) {
	for _, text := range composedTexts {
		for _, noise := range []float64{1e-6, 0.02} {
			v, m := benchOf(t, text, noise, 0.45, 0.62)
			f, _, _ := composeOf(t, v, m, 3)
			elsewhere := math.Inf(1)
			for x := 0.0; x <= 1; x += 0.01 {
				elsewhere = min(elsewhere, f.Acquisition([]float64{x}, nil))
			}
			for _, x := range append([]float64{0.45, 0.62}, tried...) {
				if x == 0.32 {
					continue // of which a quantity is missing
				}
				if got := f.Acquisition([]float64{x}, nil); got < elsewhere+2.3 { // a tenth
					t.Errorf("%s, noise %v: at %v, which was tried, it is %v, elsewhere %v", text, noise, x, got, elsewhere)
				}
			}
		}
	}
}

// Law: however many compositions were measured that break a constraint, those that keep it are improved on: where the
// best of them is, there is less to be gained than beyond it.
func TestManyBrokenConstraints(t *testing.T) {
	var rows []studytest.Row
	for i := range 300 { // better the further, and nothing beyond 0.2 is feasible
		x := 0.001 + float64(i)/300
		rows = append(rows, studytest.Row{At: definition.Point{"x": definition.Number(x)}, Gave: map[string]float64{"a": 3 * x, "b": 10 * x, "v": 1}})
	}
	v, err := studytest.ViewOf(t.Context(), bench+"objective: {maximize: a}\nconstraints_on_outcomes: [b <= 2]", rows,
		func(string) *events.ObjectiveFit {
			return &events.ObjectiveFit{Kernel: "rbf", Lengthscales: []float64{0.5}, OutputScale: 1, Noise: 1e-4, Scale: 1, Observations: 300}
		})
	if err != nil {
		t.Fatal(err)
	}
	f, _, _ := composeOf(t, v, v.Objective(), 1)
	edge := f.Acquisition([]float64{0.2}, nil)
	for _, x := range []float64{0.02, 0.1, 0.17} { // worse, and feasible for sure
		if got := f.Acquisition([]float64{x}, nil); got < edge+3 {
			t.Errorf("at %v it is %v, at the edge of what is feasible %v", x, got, edge)
		}
	}
}
