package gp

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/campaignd/campaignd/internal/tests/must"
	"gonum.org/v1/gonum/mat"
)

// uneven are n observations in three dimensions, the first points measured twice, some with noise that is known.
func uneven(n int) Data {
	data := synthetic(n, 3, 7)
	for i := range n {
		data.NoiseVar = append(data.NoiseVar, math.NaN())
		if i%3 == 0 {
			data.NoiseVar[i] = 0.01 * float64(1+i%5)
		}
	}
	data.X = append(data.X, data.X[:5]...)
	data.Y = append(data.Y, 0.1, 0.2, 0.3, 0.4, 0.5)
	data.NoiseVar = append(data.NoiseVar, math.NaN(), 0.02, math.NaN(), math.NaN(), math.NaN())
	return data
}

var unevenHyper = Hyper{Lengthscales: []float64{.4, .5, .7}, OutputScale: 1.5, Noise: .02, Mean: .3}

func built(t *testing.T, data Data, rows, inducing int) *GP {
	t.Helper()
	k := must.Get(unevenHyper.kernel("matern52", 3))(t)
	return must.Get(build(t.Context(), data, k, unevenHyper, rows, inducing))(t)
}

// With every row an inducing point the approximation is the exact posterior, whatever is asked of it: also
// after observations were appended.
func TestEveryRowInducing(t *testing.T) {
	data := uneven(60)
	exact, all := built(t, data, 1000, 0), built(t, data, 0, 1000)
	if all.Inducing() != 60 || exact.Inducing() != 0 {
		t.Fatalf("%d and %d inducing points", all.Inducing(), exact.Inducing())
	}
	compare := func(t *testing.T) {
		t.Helper()
		X := synthetic(20, 3, 8).X
		p, q := exact.NewPredictor(), all.NewPredictor()
		a, b := exact.Joint(X), all.Joint(X)
		gradients := [4][]float64{make([]float64, 3), make([]float64, 3), make([]float64, 3), make([]float64, 3)}
		for i, x := range X {
			m, s := p.PosteriorGrad(x, gradients[0], gradients[1])
			n, r := q.PosteriorGrad(x, gradients[2], gradients[3])
			closeTo(t, "the mean", n, m, 1e-7)
			closeTo(t, "the standard deviation", r, s, 1e-7)
			for j := range 3 {
				closeTo(t, "the mean's slope", gradients[2][j], gradients[0][j], 1e-5)
				closeTo(t, "the standard deviation's slope", gradients[3][j], gradients[1][j], 1e-5)
			}
			for j := range X {
				closeTo(t, "a covariance", b.Cov[i*len(X)+j], a.Cov[i*len(X)+j], 1e-7)
			}
		}
		closeTo(t, "the likelihood", all.LogMarginal(), exact.LogMarginal(), 1e-6)
	}
	compare(t)
	_, m, s := exact.LeaveOneOut()
	_, n, r := all.LeaveOneOut()
	for i := range m {
		closeTo(t, "a prediction from the others", n[i], m[i], 1e-6)
		closeTo(t, "its standard deviation", r[i], s[i], 1e-6)
	}
	gain := must.Get(exact.InformationGain(0.01))(t)
	same := must.Get(all.InformationGain(0.01))(t)
	closeTo(t, "the information gain", same, gain, 1e-6)

	for i, x := range synthetic(8, 3, 9).X {
		for _, g := range []*GP{exact, all} {
			noise := math.NaN()
			if i == 3 {
				noise = 0.3
			}
			must.Do(t, g.Append(x, float64(i%3), noise))
		}
	}
	compare(t)
	f, h := exact.Path(rand.New(rand.NewPCG(1, 2))), all.Path(rand.New(rand.NewPCG(1, 2)))
	grad, slope := make([]float64, 3), make([]float64, 3)
	for _, x := range synthetic(20, 3, 10).X {
		closeTo(t, "a path", h(x, slope), f(x, grad), 1e-5)
		closeTo(t, "its slope", slope[1], grad[1], 1e-3)
	}
}

// With fewer inducing points it is FITC as it is defined: the posterior for the covariance Q + diag(K − Q) of the
// rows and Q between them and elsewhere.
func TestFewInducing(t *testing.T) {
	data := uneven(60)
	g := built(t, data, 0, 20)
	if g.Inducing() != 20 || g.Len() != len(merge(data).x) {
		t.Fatalf("%d inducing points of %d rows", g.Inducing(), g.Len())
	}
	rows, m, n := merge(data), 20, g.Len()
	cov := func(a, b [][]float64) *mat.Dense {
		k := mat.NewDense(len(a), len(b), nil)
		for i := range a {
			for j := range b {
				k.Set(i, j, g.kernel.Eval(a[i], b[j]))
			}
		}
		return k
	}
	var kmm, c, q mat.Dense
	must.Do(t, kmm.Inverse(cov(g.basis, g.basis)))
	between := func(a, b [][]float64) *mat.Dense { // Q
		var out mat.Dense
		out.Product(cov(a, g.basis), &kmm, cov(g.basis, b))
		return &out
	}
	q.CloneFrom(between(rows.x, rows.x))
	for i := range n {
		q.Set(i, i, unevenHyper.OutputScale+rows.noise(i, unevenHyper.Noise))
	}
	must.Do(t, c.Inverse(&q))
	r := mat.NewVecDense(n, nil)
	for i, y := range rows.y {
		r.SetVec(i, y-unevenHyper.Mean)
	}
	X := append(synthetic(20, 3, 8).X, rows.x[:3]...)
	var mean mat.Dense
	mean.Product(between(X, rows.x), &c, r)
	var less mat.Dense
	less.Product(between(X, rows.x), &c, between(rows.x, X))
	joint := g.Joint(X)
	for i := range X {
		closeTo(t, "the mean", joint.Mean[i], unevenHyper.Mean+mean.At(i, 0), 1e-7)
		for j := range X {
			closeTo(t, "a covariance", joint.Cov[i*len(X)+j], g.kernel.Eval(X[i], X[j])-less.At(i, j), 1e-7)
		}
	}
	logDet, _ := mat.LogDet(&q)
	var quadratic mat.Dense
	quadratic.Product(r.T(), &c, r)
	within, _ := rows.within(unevenHyper.Noise)
	closeTo(t, "the likelihood", g.LogMarginal(), within-0.5*(logDet+quadratic.At(0, 0)+float64(n)*math.Log(2*math.Pi)), 1e-7)
	y, left, sd := g.LeaveOneOut()
	var solved mat.Dense
	solved.Mul(&c, r)
	for i := range n {
		closeTo(t, "a prediction from the others", left[i], y[i]-solved.At(i, 0)/c.At(i, i), 1e-7)
		closeTo(t, "its standard deviation", sd[i], 1/math.Sqrt(c.At(i, i)), 1e-7)
	}
	some := []int{n - 1, 0, n / 2}
	ys, means, sds := g.LeaveOneOutOf(some)
	for k, i := range some {
		if ys[k] != y[i] || means[k] != left[i] || sds[k] != sd[i] {
			t.Errorf("row %d alone is %v ± %v, among all %v ± %v", i, means[k], sds[k], left[i], sd[i])
		}
	}

	// What is appended is conditioned on as what is supposed, and the posterior it is appended to stays.
	at, values := synthetic(4, 3, 11).X, []float64{1, -1, .5, 0}
	with := must.Get(g.With(t.Context(), at, values))(t)
	again := must.Get(with.With(t.Context(), X[:1], []float64{2}))(t)
	given := must.Get(g.Condition(nil, nil, nil).Given(at, [][]float64{values}, unevenHyper.Noise))(t)
	one := must.Get(given.Given(X[:1], [][]float64{{2}}, unevenHyper.Noise))(t)
	for _, x := range X {
		for _, pair := range []struct {
			got  *GP
			want *Conditioned
		}{{g, g.Condition(nil, nil, nil)}, {with, given}, {again, one}} {
			m, s := pair.got.Posterior(x)
			n, r := pair.want.NewPredictor().Posterior(x)
			closeTo(t, "the mean with what was appended", m, n, 1e-7)
			closeTo(t, "its standard deviation", s, r, 1e-7)
		}
	}
	if len(g.basis) != m || g.Len() != n {
		t.Errorf("appending left %d inducing points of %d rows", len(g.basis), g.Len())
	}

	// Draws have the mean and the variance of the posterior.
	rng := rand.New(rand.NewPCG(3, 4))
	const draws = 150
	sum, squares := make([]float64, len(X)), make([]float64, len(X))
	for range draws {
		f := with.Path(rng)
		for i, x := range X {
			v := f(x, nil)
			sum[i] += v / draws
			squares[i] += v * v / draws
		}
	}
	for i, x := range X {
		m, s := with.Posterior(x)
		closeTo(t, "the mean of draws", sum[i], m, 5*s/math.Sqrt(draws)+0.02)
		closeTo(t, "the standard deviation of draws", math.Sqrt(squares[i]-sum[i]*sum[i]), s, 0.3*s+0.02)
	}
}

// The posterior of the negated observations is the negated one, bit for bit, and has memory of its own.
func TestNegated(t *testing.T) {
	data := uneven(40)
	opposite := data
	opposite.Y = slices.Clone(data.Y)
	for i := range opposite.Y {
		opposite.Y[i] = -opposite.Y[i]
	}
	h := unevenHyper
	h.Mean = -h.Mean
	want := must.Get(New(opposite, "matern52", h))(t)
	roomy := built(t, data, 0, 15)
	must.Do(t, roomy.Append([]float64{.9, .9, .9}, 1, math.NaN()))
	for _, g := range []*GP{built(t, data, 1000, 0), built(t, data, 0, 15), roomy} {
		negated := g.Negated()
		if got := negated.LogMarginal(); got != g.LogMarginal() {
			t.Errorf("the likelihood becomes %v, it was %v", got, g.LogMarginal())
		}
		for _, x := range synthetic(10, 3, 8).X {
			m, s := g.Posterior(x)
			n, r := negated.Posterior(x)
			if n != -m || r != s {
				t.Errorf("%v ± %v becomes %v ± %v", m, s, n, r)
			}
			if o, _ := want.Posterior(x); g.Inducing() == 0 && o != n {
				t.Errorf("the mean is %v, that of the negated observations %v", n, o)
			}
		}
		x := []float64{.1, .2, .3}
		_, before := g.Posterior(x)
		must.Do(t, negated.Append(x, 3, math.NaN()))
		if _, after := g.Posterior(x); after != before {
			t.Errorf("appending to the negated posterior moves the standard deviation of this one from %v to %v", before, after)
		}
		_, before = negated.Posterior(x)
		for _, other := range []*GP{g, g.Negated()} {
			must.Do(t, other.Append([]float64{.8, .2, .4}, 7, 1e-6))
			if _, after := negated.Posterior(x); after != before {
				t.Errorf("appending to another moves that of the negated one from %v to %v", before, after)
			}
		}
	}
}

// The change comes with the first row too many. What is nearly determined needs few inducing points.
func TestExactly(t *testing.T) {
	var data Data
	for i := range Exactly + 1 {
		x := float64(i) / Exactly
		data.X, data.Y = append(data.X, []float64{x}), append(data.Y, math.Sin(7*x))
	}
	h := Hyper{Lengthscales: []float64{.3}, OutputScale: 1, Noise: .01}
	g := must.Get(New(data, "rbf", h))(t)
	if m := g.Inducing(); m == 0 || m > 40 {
		t.Errorf("%d rows have %d inducing points", Exactly+1, m)
	}
	less := must.Get(New(Data{X: data.X[1:], Y: data.Y[1:]}, "rbf", h))(t)
	if less.Inducing() != 0 {
		t.Errorf("%d rows are approximated", Exactly)
	}
	for _, x := range []float64{0.123, 0.5, 0.999} {
		m, s := g.Posterior([]float64{x})
		n, r := less.Posterior([]float64{x})
		closeTo(t, "the mean", m, n, 2e-3)
		closeTo(t, "the standard deviation", s, r, 2e-3)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := NewContext(ctx, data, "rbf", h); !errors.Is(err, context.Canceled) {
		t.Errorf("called off, it says %v", err)
	}
}

// The nearest observations are those of the nearest points, replicates included, in their order.
func TestNearest(t *testing.T) {
	data := Data{
		X:        [][]float64{{0, 0}, {1, 0}, {0, .3}, {.5, 0}, {1, 0}},
		Y:        []float64{1, 2, 3, 4, 5},
		NoiseVar: []float64{.1, .2, .3, .4, .5},
	}
	near := data.Nearest([]float64{1, 0}, []float64{1, .1}, 2)
	if !slices.Equal(near.Y, []float64{2, 4, 5}) || !slices.Equal(near.NoiseVar, []float64{.2, .4, .5}) {
		t.Errorf("the nearest are %v", near)
	}
	if all := data.Nearest([]float64{1, 0}, []float64{1, .1}, 4); len(all.Y) != 5 {
		t.Errorf("of four points %d observations remain", len(all.Y))
	}
}
