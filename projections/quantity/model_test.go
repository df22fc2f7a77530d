package quantity_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/projections/quantity"
)

// process is a Gaussian process by the formulas of any textbook: μ = m + kᵀK⁻¹(z − m),
// σ² = k(x,x) − kᵀK⁻¹k, K = k(X,X) + diag(v).
type process struct {
	kernel       string
	lengthscales []float64
	output, mean float64
	x            [][]float64
	z, v         []float64
}

func (p process) covariance(a, b []float64) float64 {
	s := 0.0
	for j := range a {
		d := (a[j] - b[j]) / p.lengthscales[j]
		s += d * d
	}
	r := math.Sqrt(s)
	switch p.kernel {
	case "rbf":
		return p.output * math.Exp(-s/2)
	case "matern52":
		return p.output * (1 + math.Sqrt(5)*r + 5*s/3) * math.Exp(-math.Sqrt(5)*r)
	}
	return p.output * (1 + math.Sqrt(3)*r) * math.Exp(-math.Sqrt(3)*r)
}

// solve returns A⁻¹b by elimination with row pivots.
func solve(a [][]float64, b []float64) []float64 {
	n := len(b)
	m := make([][]float64, n)
	for i := range m {
		m[i] = append(slices.Clone(a[i]), b[i])
	}
	for k := range n {
		pivot := k
		for i := k; i < n; i++ {
			if math.Abs(m[i][k]) > math.Abs(m[pivot][k]) {
				pivot = i
			}
		}
		m[k], m[pivot] = m[pivot], m[k]
		for i := range n {
			if i == k {
				continue
			}
			f := m[i][k] / m[k][k]
			for j := k; j <= n; j++ {
				m[i][j] -= f * m[k][j]
			}
		}
	}
	x := make([]float64, n)
	for i := range x {
		x[i] = m[i][n] / m[i][i]
	}
	return x
}

func (p process) posterior(x []float64) (mean, sd float64) {
	n := len(p.x)
	gram, cross, residual := make([][]float64, n), make([]float64, n), make([]float64, n)
	for i := range n {
		gram[i] = make([]float64, n)
		for j := range n {
			gram[i][j] = p.covariance(p.x[i], p.x[j])
		}
		gram[i][i] += p.v[i]
		cross[i], residual[i] = p.covariance(p.x[i], x), p.z[i]-p.mean
	}
	alpha, beta := solve(gram, residual), solve(gram, cross)
	mean, variance := p.mean, p.output
	for i := range n {
		mean += cross[i] * alpha[i]
		variance -= cross[i] * beta[i]
	}
	return mean, math.Sqrt(max(0, variance))
}

// near is within 1e-7 of want or of one: elimination and a Cholesky factor of
// matrices with a noise of 1e-6 and a signal of 1 agree to ten digits or so.
func near(got, want float64) bool { return math.Abs(got-want) <= 1e-7*max(1, math.Abs(want)) }

// sample is a campaign of the square with measurements whose noise is known to the
// instrument, to the campaign, or to nobody, some of them of one composition.
type sample struct {
	goal, kernel string
	known        *float64 // the campaign's noise
	points       [][2]float64
	y            []float64
	sd           []*float64
}

func draw(goal, kernel string, known *float64, seed uint64) sample {
	rng := rand.New(rand.NewPCG(seed, 11))
	s := sample{goal: goal, kernel: kernel, known: known}
	for i := range 14 {
		p := [2]float64{2*rng.Float64() - 1, 2*rng.Float64() - 1}
		if i%5 == 4 {
			p = s.points[i-2]
		}
		var sd *float64
		switch i % 3 {
		case 1:
			sd = ptr(0.3 + 0.1*float64(i))
		case 2:
			if i == 8 {
				sd = ptr(0.0) // perfect, they say
			}
		}
		s.points, s.sd = append(s.points, p), append(s.sd, sd)
		s.y = append(s.y, 20+6*p[0]-4*p[1]*p[1]+rng.NormFloat64())
	}
	return s
}

// hyperparameters of the tests.
const (
	shift, scale        = 19.0, 3.5
	noise, prior, space = 0.04, 0.3, 1.4
)

var lengthscales = []float64{0.35, 0.6}

// build folds the sample, and returns what it is to be by the formulas.
func (s sample) build(t *testing.T) (*quantity.Model, process) {
	def := square(s.goal, s.kernel)
	def.Objective.Noise = s.known
	f := begin(t, def)
	sign := 1.0
	if s.goal == definition.Maximize {
		sign = -1
	}
	p := process{kernel: s.kernel, lengthscales: lengthscales, output: space, mean: prior}
	for i, x := range s.points {
		m := measured(i+1, definition.Point{"a": definition.Number(x[0]), "b": definition.Number(x[1])}, s.y[i])
		m.Objective.SD = s.sd[i]
		f.apply(m)
		sd := s.sd[i]
		if sd == nil {
			sd = s.known
		}
		v := noise
		if sd != nil {
			v = max(1e-6, (*sd/scale)*(*sd/scale))
		}
		p.x = append(p.x, []float64{(x[0] + 1) / 2, (x[1] + 1) / 2})
		p.z, p.v = append(p.z, sign*(s.y[i]-shift)/scale), append(p.v, v)
	}
	f.apply(fitted(s.kernel, shift, scale, noise, prior, space, lengthscales...))
	m := must.Get(f.Model(t.Context()))(t)
	return m, p
}

// each runs a test on samples of all kernels, both goals, noise known or not.
func each(t *testing.T, test func(t *testing.T, s sample, m *quantity.Model, p process)) {
	for _, kernel := range []string{"rbf", "matern52", "matern32"} {
		for _, goal := range []string{definition.Minimize, definition.Maximize} {
			for _, known := range []*float64{nil, ptr(0.8)} {
				s := draw(goal, kernel, known, 3)
				m, p := s.build(t)
				t.Run(kernel+" "+goal, func(t *testing.T) { test(t, s, m, p) })
			}
		}
	}
}

var probes = [][]float64{{0.5, 0.5}, {0, 1}, {0.31, 0.62}, {0.9, 0.05}}

// Law: the posterior is that of the formulas, of the standardized objective, turned
// over where the campaign maximizes; predictions are in the user's unit. The best
// composition is the measured one with the best posterior mean.
func TestModelIsTheFormula(t *testing.T) {
	each(t, func(t *testing.T, s sample, m *quantity.Model, p process) {
		sign := 1.0
		if s.goal == definition.Maximize {
			sign = -1
		}
		for i := range p.z {
			if !near(m.Z[i], p.z[i]) || !near(m.X[i][0], p.x[i][0]) || !near(m.X[i][1], p.x[i][1]) || !near(m.Untransform(m.Z[i]), s.y[i]) {
				t.Errorf("observation %d is %v at %v, want %v at %v", i, m.Z[i], m.X[i], p.z[i], p.x[i])
			}
		}
		for _, x := range probes {
			mean, sd := p.posterior(x)
			if gotMean, gotSD := m.Posterior(x); !near(gotMean, mean) || !near(gotSD, sd) {
				t.Errorf("at %v the posterior is %v ± %v, want %v ± %v", x, gotMean, gotSD, mean, sd)
			}
			point := definition.Point{"a": definition.Number(2*x[0] - 1), "b": definition.Number(2*x[1] - 1)}
			got, err := m.Predict(point)
			if err != nil || !near(got.Mean, shift+sign*scale*mean) || !near(got.SD, scale*sd) || got.Unit != "V" {
				t.Errorf("at %v it predicts %+v (%v), want %v ± %v V", x, got, err, shift+sign*scale*mean, scale*sd)
			}
		}
		best, value := -1, math.Inf(1)
		for i := range p.x {
			if mean, _ := p.posterior(p.x[i]); mean < value-1e-9 {
				best, value = i, mean
			}
		}
		if i, mean := m.Best(); i != best || !near(mean, shift+sign*scale*value) {
			t.Errorf("the best is %d with %v, want %d with %v", i, mean, best, shift+sign*scale*value)
		}
		if _, err := m.Predict(definition.Point{"a": definition.Number(0)}); err == nil {
			t.Error("half a composition is predicted")
		}
	})
}

// Law: a campaign that maximizes y is the one that minimizes −y: the same model,
// predictions with the other sign.
func TestMaximizingIsMinimizingTheOpposite(t *testing.T) {
	for _, kernel := range []string{"rbf", "matern52"} {
		up, down := draw(definition.Maximize, kernel, nil, 5), draw(definition.Minimize, kernel, nil, 5)
		for i := range down.y {
			down.y[i] = 2*shift - up.y[i] // turned over at the shift
		}
		a, _ := up.build(t)
		b, _ := down.build(t)
		for _, x := range probes {
			m1, s1 := a.Posterior(x)
			m2, s2 := b.Posterior(x)
			if !near(m1, m2) || !near(s1, s2) || !near(a.PredictAt(x).Mean-shift, shift-b.PredictAt(x).Mean) {
				t.Errorf("at %v: %v ± %v and %v ± %v", x, m1, s1, m2, s2)
			}
		}
		i, _ := a.Best()
		if j, _ := b.Best(); i != j {
			t.Errorf("the best is %d, and %d", i, j)
		}
		opposite := must.Get(a.Negated(t.Context()))(t)
		for _, x := range probes {
			mean, sd := a.Posterior(x)
			if got, gotSD := opposite.Posterior(x); !near(got, -mean) || !near(gotSD, sd) {
				t.Errorf("the utility at %v is %v ± %v, want %v ± %v", x, got, gotSD, -mean, sd)
			}
		}
	}
}

// Law: a pending composition is believed to give what is expected there, one that
// only failed the worst result so far, both with the noise of the fit; the model
// itself and its observations stay.
func TestPendingExperiments(t *testing.T) {
	each(t, func(t *testing.T, _ sample, m *quantity.Model, p process) {
		pending := [][]float64{{0.2, 0.2}, {0.7, 0.9}, p.x[0]}
		worst := slices.Max(p.z)
		expecting, believing := p, p
		expecting.x, expecting.z, expecting.v = slices.Clone(p.x), slices.Clone(p.z), slices.Clone(p.v)
		believing.x, believing.z, believing.v = slices.Clone(p.x), slices.Clone(p.z), slices.Clone(p.v)
		for _, x := range pending {
			mean, _ := p.posterior(x)
			expecting.x, expecting.z, expecting.v = append(expecting.x, x), append(expecting.z, mean), append(expecting.v, noise)
			believing.x, believing.z, believing.v = append(believing.x, x), append(believing.z, worst), append(believing.v, noise)
		}
		e := must.Get(m.Fantasize(t.Context(), pending))(t)
		b := must.Get(m.FantasizeWorst(t.Context(), pending))(t)
		beside := m.Given(m.Conditioned()) // what is known beside the measurements is nothing, and has to be kept
		eb := must.Get(beside.Fantasize(t.Context(), pending))(t)
		bb := must.Get(beside.FantasizeWorst(t.Context(), pending))(t)
		for name, c := range map[string]struct {
			got  *quantity.Model
			want process
		}{"expected": {e, expecting}, "believed": {b, believing}, "measured": {m, p},
			"expected beside": {eb, expecting}, "believed beside": {bb, believing}} {
			for _, x := range append(probes, pending...) {
				mean, sd := c.want.posterior(x)
				if gotMean, gotSD := c.got.Posterior(x); !near(gotMean, mean) || math.Abs(gotSD-sd) > 1e-6 {
					t.Errorf("%s, at %v: %v ± %v, want %v ± %v", name, x, gotMean, gotSD, mean, sd)
				}
			}
			if len(c.got.Observations) != len(p.x) || len(c.got.X) != len(p.x) || len(c.got.Z) != len(p.x) {
				t.Errorf("%s: there are %d observations", name, len(c.got.Observations))
			}
		}
		// What is expected, in one step or two, is told apart from what was measured.
		again := must.Get(e.Fantasize(t.Context(), [][]float64{{0.4, 0.4}}))(t)
		for _, c := range []struct {
			of, without *quantity.Model
			points      [][]float64
		}{{m, m, nil}, {e, m, pending}, {again, m, append(slices.Clone(pending), []float64{0.4, 0.4})}, {again.Given(e.Conditioned()), nil, nil}} {
			without, points := c.of.Expected()
			if c.without != nil && without != c.without || !slices.EqualFunc(points, c.points, slices.Equal) {
				t.Errorf("%v are expected, want %v", points, c.points)
			}
		}
		// The mean stays where what is expected is believed.
		for _, x := range probes {
			before, _ := m.Posterior(x)
			if after, _ := e.Posterior(x); !near(after, before) {
				t.Errorf("at %v the mean moves from %v to %v by what is expected", x, before, after)
			}
		}
		type conditioned func(context.Context, [][]float64) (*quantity.Model, error)
		for _, same := range []conditioned{m.Fantasize, m.FantasizeWorst} {
			if got, err := same(t.Context(), nil); got != m || err != nil {
				t.Error("with nothing pending it is another model")
			}
		}
	})
}

// Law: a rougher model is that of the same measurements with shorter lengthscales.
func TestRougher(t *testing.T) {
	each(t, func(t *testing.T, _ sample, m *quantity.Model, p process) {
		r := must.Get(m.Rougher(t.Context(), 0.5))(t)
		want := p
		want.lengthscales = nil
		for _, l := range p.lengthscales {
			want.lengthscales = append(want.lengthscales, l/2)
		}
		for _, x := range probes {
			mean, sd := want.posterior(x)
			if gotMean, gotSD := r.Posterior(x); !near(gotMean, mean) || !near(gotSD, sd) {
				t.Errorf("at %v: %v ± %v, want %v ± %v", x, gotMean, gotSD, mean, sd)
			}
		}
		if without, points := r.Expected(); without != r || len(points) > 0 || len(r.Observations) != len(p.x) {
			t.Errorf("it has %d observations and expects %v", len(r.Observations), points)
		}
	})
}

// Law: measurements are standardized to mean 0 and standard deviation 1 over those
// that the model believes; equal ones, at any magnitude, to 0 with the unit as scale.
func TestStandard(t *testing.T) {
	for _, c := range []struct {
		name         string
		y            []float64
		excluded     int // experiment number, 0 for none
		shift, scale float64
	}{
		{"any", []float64{1, 2, 6}, 0, 3, math.Sqrt(7)},
		{"one excluded", []float64{1, 2, 6, 1000}, 4, 3, math.Sqrt(7)},
		{"equal", []float64{5, 5, 5}, 0, 5, 1},
		{"equal but for rounding", []float64{1e9, 1e9 + 1e-4, 1e9}, 0, 1e9, 1},
		{"nearly equal and small", []float64{1e-9, 2e-9, 3e-9}, 0, 2e-9, 1e-9},
	} {
		f := begin(t, line(definition.Minimize))
		for i, y := range c.y {
			f.apply(measured(i+1, at(float64(i)), y))
		}
		if c.excluded > 0 {
			f.apply(&events.MeasurementCorrected{Experiment: fmt.Sprintf("e%d", c.excluded), Excluded: true})
		}
		fit := must.Get(f.Fit(t.Context(), 1))(t)
		if math.Abs(fit.Shift-c.shift) > 1e-12*math.Abs(c.shift) || math.Abs(fit.Scale-c.scale) > 1e-9*c.scale || fit.Observations != 3 || fit.Kernel != "rbf" {
			t.Errorf("%s: shift %v, scale %v of %d observations, want %v and %v", c.name, fit.Shift, fit.Scale, fit.Observations, c.shift, c.scale)
		}
		again, err := f.Fit(t.Context(), 1)
		if err != nil || again.LogPosterior != fit.LogPosterior || !slices.Equal(again.Lengthscales, fit.Lengthscales) {
			t.Errorf("%s: another fit of the same: %+v, %v", c.name, again, err)
		}
	}
}

// doubts is a campaign of the line with a fit to n observations of y = x, but for
// what is named otherwise, and m observations since.
func doubts(t *testing.T, n, m int, otherwise map[int]float64) *fold {
	f := begin(t, line(definition.Minimize))
	for k := 1; k <= n+m; k++ {
		if k == n+1 {
			f.apply(fitted("rbf", shift, scale, noise, prior, space, 0.4))
		}
		x := 10 * math.Mod(float64(k)*0.618, 1)
		y, ok := otherwise[k]
		if !ok {
			y = x
		}
		f.apply(measured(k, at(x), y))
	}
	if m == 0 {
		f.apply(fitted("rbf", shift, scale, noise, prior, space, 0.4))
	}
	return f
}

// without is the process of all observations but those of one composition.
func (f *fold) without(t *testing.T, own definition.Point, lengthscale float64) (p process) {
	p = process{kernel: "rbf", lengthscales: []float64{lengthscale}, output: space, mean: prior}
	m := must.Get(f.Model(t.Context()))(t)
	for _, o := range m.Observations {
		if o.Point["x"] == own["x"] {
			continue
		}
		x, _ := o.Point["x"].Float()
		v := noise
		if o.SD != nil {
			v = max(1e-6, *o.SD/scale**o.SD/scale)
		}
		p.x, p.z, p.v = append(p.x, []float64{x / 10}), append(p.z, (o.Value-shift)/scale), append(p.v, v)
	}
	return p
}

// Law: what is expected of a new measurement is the posterior without any measurement
// of its composition, with lengthscales half as long, plus the noise of one measurement.
func TestExpect(t *testing.T) {
	f := doubts(t, 12, 2, nil)
	repeated := measured(15, f.Of("e3").Point, 3)
	repeated.Objective.SD = ptr(0.7)
	f.apply(repeated)
	for _, id := range []string{"e13", "e14", "e15"} {
		o := *f.Of(id)
		p := f.without(t, o.Point, 0.2)
		x, _ := o.Point["x"].Float()
		mean, sd := p.posterior([]float64{x / 10})
		own := noise
		if id == "e15" {
			own = 0.7 / scale * 0.7 / scale
		}
		e, ok, err := f.LeaveOneOut(t.Context(), o, 1)
		if !ok || err != nil {
			t.Fatalf("%s: %v %v", id, ok, err)
		}
		if !near(e.Predicted.Mean, shift+scale*mean) || !near(e.Predicted.SD, scale*math.Sqrt(sd*sd+own)) || !near(e.Noise, scale*math.Sqrt(own)) || e.Spread != scale || e.Observations != len(p.x) {
			t.Errorf("%s: %+v, want %v ± %v of %d", id, e, shift+scale*mean, scale*math.Sqrt(sd*sd+own), len(p.x))
		}
	}
	if got := f.Replicates(*f.Of("e15")); len(got) != 1 || got[0].Experiment != "e3" {
		t.Errorf("replicates of e15: %v", got)
	}
	if got := f.Replicates(*f.Of("e13")); got != nil {
		t.Errorf("replicates of e13: %v", got)
	}
	f.apply(&events.MeasurementCorrected{Experiment: "e3", Excluded: true})
	if got := f.Replicates(*f.Of("e15")); got != nil {
		t.Errorf("an excluded replicate is believed: %v", got)
	}
}

// Law: a measurement that a fit has believed is judged by a fit without it: what is
// expected of it does not depend on what it was. It rests on eight other compositions
// at least; where there is too much to fit again, nothing is expected, but of what is
// in doubt already.
func TestExpectLeavesOut(t *testing.T) {
	for _, id := range []string{"e5", "e13"} { // believed, and fresh
		var expected [2]events.Expected
		for i, value := range []float64{-100, 77} {
			f := doubts(t, 12, 1, map[int]float64{map[string]int{"e5": 5, "e13": 13}[id]: value})
			e, ok, err := f.LeaveOneOut(t.Context(), *f.Of(id), 1)
			if !ok || err != nil {
				t.Fatal(ok, err)
			}
			expected[i] = e
		}
		if !reflect.DeepEqual(expected[0], expected[1]) {
			t.Errorf("what is expected of %s depends on it: %+v", id, expected)
		}
	}
	for _, c := range []struct {
		name  string
		n, m  int
		id    string
		doubt bool
		ok    bool
	}{
		{"seven others, fresh", 7, 1, "e8", false, false},
		{"eight others, fresh", 8, 1, "e9", false, true},
		{"seven others, believed", 8, 0, "e1", false, false},
		{"eight others, believed", 9, 0, "e1", false, true},
		{"32, believed", 32, 0, "e1", false, true},
		{"33, believed", 33, 0, "e1", false, false},
		{"33, fresh", 32, 1, "e33", false, true},
		{"33, in doubt", 33, 0, "e1", true, true},
	} {
		f := doubts(t, c.n, c.m, nil)
		if c.doubt {
			f.apply(&events.MeasurementFlagged{Experiment: c.id, Verdict: events.VerdictSuspect})
		}
		if _, ok, err := f.LeaveOneOut(t.Context(), *f.Of(c.id), 1); ok != c.ok || err != nil {
			t.Errorf("%s: expected %v, %v", c.name, ok, err)
		}
	}
	if f := begin(t, square(definition.Minimize, "rbf")); f.MinCompositions() != 8 {
		t.Errorf("in two dimensions %d compositions are enough", f.MinCompositions())
	}
	def := line(definition.Minimize)
	def.Parameters = append(def.Parameters, definition.Parameter{Name: "salt", Categories: []definition.CategoryDef{{Name: "u"}, {Name: "v"}, {Name: "w"}}})
	if f := begin(t, def); f.MinCompositions() != 10 { // two for each of four coordinates and the noise
		t.Errorf("in four dimensions %d compositions are enough", f.MinCompositions())
	}
	// Without a fit nothing is expected.
	f := begin(t, line(definition.Minimize))
	for k := range 10 {
		f.apply(measured(k+1, at(float64(k)), 1))
	}
	if _, ok, err := f.LeaveOneOut(t.Context(), *f.Of("e1"), 1); ok || err != nil {
		t.Error(ok, err)
	}
}

// Law: judged are all measurements that are fresh, and, of those that a fit has
// believed, the two that it explains worst, the worst first, as long as there are few.
func TestQuestionable(t *testing.T) {
	names := func(f *fold) (ids []string) {
		t.Helper()
		list := must.Get(f.Unreviewed(t.Context()))(t)
		for _, o := range list {
			ids = append(ids, o.Experiment)
		}
		return ids
	}
	f := doubts(t, 12, 2, map[int]float64{4: 30, 9: -20, 10: 15})
	type residual struct {
		id   string
		size float64
	}
	var sizes []residual
	for k := 1; k <= 12; k++ {
		o := f.Of(fmt.Sprintf("e%d", k))
		x, _ := o.Point["x"].Float()
		mean, _ := f.without(t, o.Point, 0.4).posterior([]float64{x / 10})
		sizes = append(sizes, residual{o.Experiment, math.Abs(o.Value - shift - scale*mean)})
	}
	slices.SortFunc(sizes, func(a, b residual) int { return cmp.Compare(b.size, a.size) })
	if got, want := names(f), []string{"e13", "e14", sizes[0].id, sizes[1].id}; !slices.Equal(got, want) {
		t.Errorf("unreviewed are %v, want %v", got, want)
	}
	// What was judged, is in doubt or excluded, is not looked at again.
	f.apply(&events.MeasurementFlagged{Experiment: "e13", Verdict: events.VerdictSuspect}, &events.MeasurementFlagged{Experiment: sizes[0].id, Verdict: events.VerdictConfirmed},
		&events.MeasurementCorrected{Experiment: sizes[1].id, Excluded: true})
	for _, id := range names(f) {
		if id == "e13" || id == sizes[0].id || id == sizes[1].id {
			t.Errorf("%s is questioned again", id)
		}
	}
	if got := names(f); len(got) != 3 || got[0] != "e14" {
		t.Errorf("unreviewed are %v", got)
	}
	// Of many, the fresh ones alone; before a fit to enough, none.
	if got := names(doubts(t, 32, 1, nil)); !slices.Equal(got, []string{"e33"}) {
		t.Errorf("of 33 observations %v are unreviewed", got)
	}
	if got := names(doubts(t, 31, 1, nil)); len(got) != 3 || got[0] != "e32" {
		t.Errorf("of 32 observations %v are unreviewed", got)
	}
	for observations, want := range map[int]bool{7: false, 8: true} {
		f := begin(t, line(definition.Minimize))
		for k := range 9 {
			f.apply(measured(k+1, at(float64(k)), float64(k)))
		}
		fit := fitted("rbf", shift, scale, noise, prior, space, 0.4)
		fit.Objective.Observations = observations
		f.apply(fit)
		if got := names(f); (got != nil) != want {
			t.Errorf("after a fit to %d observations %v are unreviewed", observations, got)
		}
	}
}

// Law: a judgment stands as long as the observations and their fit are as they were,
// and says what the event says; a cancelled one is an error, never a hastier one.
func TestJudged(t *testing.T) {
	f := doubts(t, 12, 2, nil)
	if f.Judged() || !f.HasUnreviewed() || f.Expected() != nil {
		t.Fatalf("before: judged %v, to judge %v, %v", f.Judged(), f.HasUnreviewed(), f.Expected())
	}
	expected := []events.Expected{{Experiment: "e13", Observations: 12}}
	f.apply(&events.MeasurementsJudged{Expected: expected})
	if !f.Judged() || !reflect.DeepEqual(f.Expected(), expected) {
		t.Errorf("judged %v, %v", f.Judged(), f.Expected())
	}
	f.apply(&events.MeasurementCorrected{Experiment: "e3", Excluded: true})
	if f.Judged() || f.Expected() != nil {
		t.Error("a judgment outlives what it rests on")
	}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	if _, ok, err := f.LeaveOneOut(cancelled, *f.Of("e1"), 1); ok || !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v, %v", ok, err)
	}
}
