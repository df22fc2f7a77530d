package gp

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/campaignd/campaignd/internal/tests/must"
)

// worldOf returns a posterior of n measurements in d dimensions, and m further points.
func worldOf(t *testing.T, n, m, d int, seed uint64) (*GP, Data, Hyper, [][]float64) {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 0))
	points := make([][]float64, n+m)
	for i := range points {
		points[i] = make([]float64, d)
		for j := range d {
			points[i][j] = rng.Float64()
		}
	}
	data := Data{X: points[:n]}
	for range n {
		data.Y = append(data.Y, rng.NormFloat64())
	}
	h := Hyper{Lengthscales: make([]float64, d), OutputScale: 1.3, Noise: 0.02, Mean: 0.2}
	for j := range d {
		h.Lengthscales[j] = 0.3 + 0.2*float64(j)
	}
	g := must.Get(New(data, "matern52", h))(t)
	return g, data, h, points[n:]
}

func closeTo(t *testing.T, what string, got, want, within float64) {
	t.Helper()
	if !(math.Abs(got-want) <= within) {
		t.Errorf("%s is %v, want %v", what, got, want)
	}
}

// Law: to be given values at points, once or in two parts, is what it would be to have measured them; to
// be given nothing is the posterior itself, bit for bit.
func TestConditioned(t *testing.T) {
	g, data, h, points := worldOf(t, 12, 9, 3, 1)
	plain := g.Condition(nil, nil, nil)
	at := points[:4]
	first, second := points[4:6], points[6:9]
	v1, v2 := []float64{0.5, -1}, []float64{1, 0.3, -0.2}
	known := Data{X: append(append(append([][]float64{}, data.X...), first...), second...),
		Y: append(append(append([]float64{}, data.Y...), v1...), v2...)}
	measured := must.Get(New(known, "matern52", h))(t)
	half := must.Get(plain.Given(first, [][]float64{v1}, h.Noise))(t)
	given := must.Get(half.Given(second, [][]float64{{9, 9, 9}, v2}, h.Noise))(t)
	if given.Members() != 2 {
		t.Fatalf("it has %d members", given.Members())
	}
	w := given.NewPredictor()
	for _, x := range at {
		mean, sd := g.Posterior(x)
		if m, s := plain.NewPredictor().Posterior(x); m != mean || s != sd {
			t.Errorf("given nothing, it is %v ± %v and not %v ± %v", m, s, mean, sd)
		}
		mean, sd = measured.Posterior(x)
		means, s := w.Means(x)
		closeTo(t, "the mean", means[1], mean, 1e-10)
		if m := w.Mean(x); m != means[0] {
			t.Errorf("the mean alone is %v, with the others %v", m, means[0])
		}
		if m := plain.NewPredictor().Mean(x); m != g.NewPredictor().Mean(x) {
			t.Errorf("given nothing, the mean is %v", m)
		}
		closeTo(t, "the standard deviation", s, sd, 1e-10)
	}
	j, want := half.Joint(at), g
	for i, x := range first {
		must.Do(t, want.Append(x, v1[i], math.NaN()))
	}
	for i, v := range want.Joint(at).Cov {
		closeTo(t, "a covariance", j.Cov[i], v, 1e-10)
	}
	for i, v := range want.Joint(at).Mean {
		closeTo(t, "a joint mean", j.Mean[i], v, 1e-10)
	}
}

// Law: gradients are those of differences, of each member and of mixtures of them; the first members are what they are among all.
func TestConditionedGradients(t *testing.T) {
	g, _, _, points := worldOf(t, 10, 8, 3, 2)
	r := make([]float64, 9)
	for i := range 3 {
		r[i*3+i] = 0.4
	}
	r[1], r[3] = -0.1, -0.1
	c, err := g.Condition(points[:3], []float64{0.3, -0.7, 1}, r).Given(points[3:5], [][]float64{{1, 0}, {-1, 0.5}, {0, 0}}, 0)
	if err != nil {
		t.Fatal(err)
	}
	w := c.NewPredictor()
	weights := []float64{0.5, 0.3, 0.2}
	mix := func(x []float64) (mean, sd float64) {
		means, sd := w.Means(x)
		for m, v := range means {
			mean += weights[m] * v
		}
		return mean, sd
	}
	dmean, dsd := make([]float64, 3), make([]float64, 3)
	for _, x := range points[5:] {
		w.MeansGrad(x, dsd)
		w.MeanGrad(dmean, func(m int) float64 { return weights[m] })
		for j := range x {
			up, down := append([]float64{}, x...), append([]float64{}, x...)
			const step = 1e-5
			up[j] += step
			down[j] -= step
			m1, s1 := mix(up)
			m0, s0 := mix(down)
			closeTo(t, "the mean's derivative", dmean[j], (m1-m0)/(2*step), 1e-6)
			closeTo(t, "the standard deviation's derivative", dsd[j], (s1-s0)/(2*step), 1e-6)
		}
		first := c.First(2)
		means, sd := w.Means(x)
		of, s := first.NewPredictor().Means(x)
		if first.Members() != 2 || !slices.Equal(of, means[:2]) || s != sd {
			t.Errorf("of the first two members it is %v ± %v, of all %v ± %v", of, s, means, sd)
		}
	}
}

// Law: the gradient of a weighed sum of means is that of differences, whatever the weights add up to.
func TestWeighedGrad(t *testing.T) {
	g, _, _, points := worldOf(t, 10, 8, 3, 2)
	ensemble, err := g.Condition(nil, nil, nil).Given(points[3:5], [][]float64{{1, 0}, {-1, 0.5}, {0, 0}}, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		of      *Conditioned
		weights []float64
	}{
		{ensemble, []float64{0.5, 0.3, -0.8}},
		{ensemble, []float64{2, -5, 1}},
		{g.Condition(nil, nil, nil), []float64{-3}},
	} {
		w := c.of.NewPredictor()
		grad, dsd := make([]float64, 3), make([]float64, 3)
		x := points[6]
		w.MeansGrad(x, dsd)
		w.WeighedGrad(grad, c.weights)
		sum := func(x []float64) (sum float64) {
			means, _ := w.Means(x)
			for m, v := range means {
				sum += c.weights[m] * v
			}
			return sum
		}
		for j := range x {
			up, down := append([]float64{}, x...), append([]float64{}, x...)
			const step = 1e-5
			up[j] += step
			down[j] -= step
			closeTo(t, "the derivative", grad[j], (sum(up)-sum(down))/(2*step), 1e-6)
		}
	}
}
