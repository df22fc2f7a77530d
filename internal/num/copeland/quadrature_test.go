package copeland

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"gonum.org/v1/gonum/integrate/quad"
	"pgregory.net/rapid"

	"github.com/campaignd/campaignd/internal/num/gp"
	"github.com/campaignd/campaignd/internal/tests/must"
)

func near(t *testing.T, what string, got, want, tol float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tol) {
		t.Errorf("%s = %.15g, want %.15g (off by %.1e)", what, got, want, got-want)
	}
}

// Oracle e, blocks d1 and d2: score, variance of the quadrature and the best query, to 1e-10.
func TestOracle(t *testing.T) {
	raw, err := os.ReadFile("../../../../shared/oracles/e_soft_copeland_bq.json")
	if errors.Is(err, fs.ErrNotExist) {
		t.Skip("oracle e is not beside this checkout")
	} else if err != nil {
		t.Fatal(err)
	}
	type input struct {
		Zb        [][]float64
		Yb        []float64
		V, L, Lam float64
		Xq        [][]float64
	}
	type result struct {
		Mean   []float64 `json:"S_mean"`
		Var    []float64 `json:"S_var"`
		Argmax int
	}
	var o struct {
		Inputs  struct{ D1, D2 input }
		Results struct{ D1, D2 result }
	}
	must.Do(t, json.Unmarshal(raw, &o))
	for _, c := range []struct {
		in   input
		want result
	}{{o.Inputs.D1, o.Results.D1}, {o.Inputs.D2, o.Results.D2}} {
		d := len(c.in.Xq[0])
		p := Pairs{Values: c.in.Yb}
		for _, z := range c.in.Zb {
			p.First, p.Second = append(p.First, z[:d]), append(p.Second, z[d:])
		}
		h := Hyper{Lengthscales: slices.Repeat([]float64{c.in.L}, d), OutputScale: c.in.V, Noise: c.in.Lam}
		q := must.Get(NewQuadrature(p, 0, Plain, Box{}, h))(t)
		best, argmax := math.Inf(-1), -1
		for i, x := range c.in.Xq {
			v := q.At(x, nil)
			near(t, "score", v, c.want.Mean[i], 1e-10)
			near(t, "variance", q.Variance(x), c.want.Var[i], 1e-10)
			if v > best {
				best, argmax = v, i
			}
		}
		if argmax != c.want.Argmax {
			t.Errorf("d = %d: the best query is %d, want %d", d, argmax, c.want.Argmax)
		}
	}
}

type problem struct {
	pairs    Pairs
	mean     float64
	symmetry Symmetry
	hyper    Hyper
	x, y     []float64
}

func drawProblem(t *rapid.T, d int) problem {
	n := rapid.IntRange(1, 10).Draw(t, "n")
	point := rapid.SliceOfN(rapid.Float64Range(0, 1), d, d)
	p := problem{
		pairs:    Pairs{Values: rapid.SliceOfN(rapid.Float64Range(0, 1), n, n).Draw(t, "values")},
		mean:     rapid.Float64Range(0, 1).Draw(t, "mean"),
		symmetry: rapid.SampledFrom([]Symmetry{Plain, Skew, Symmetric}).Draw(t, "symmetry"),
		hyper: Hyper{
			Lengthscales: rapid.SliceOfN(rapid.Float64Range(0.15, 3), d, d).Draw(t, "l"),
			OutputScale:  rapid.Float64Range(0.1, 2).Draw(t, "v"),
			Noise:        rapid.Float64Range(1e-3, 0.1).Draw(t, "noise"),
		},
		x: point.Draw(t, "x"), y: point.Draw(t, "y"),
	}
	for range n {
		p.pairs.First = append(p.pairs.First, point.Draw(t, "first"))
		p.pairs.Second = append(p.pairs.Second, point.Draw(t, "second"))
	}
	return p
}

// nodes returns the points and weights of a 24-point Gauss–Legendre rule in every dimension of the
// unit cube: exact to rounding for kernels with lengthscales of 0.15 and more.
func nodes(d int) (x [][]float64, w []float64) {
	const m = 24
	at, weight := make([]float64, m), make([]float64, m)
	quad.Legendre{}.FixedLocations(at, weight, 0, 1)
	x, w = [][]float64{{}}, []float64{1}
	for range d {
		var nx [][]float64
		var nw []float64
		for i, p := range x {
			for k := range m {
				nx, nw = append(nx, append(slices.Clone(p), at[k])), append(nw, w[i]*weight[k])
			}
		}
		x, w = nx, nw
	}
	return x, w
}

// The closed form is the integral of the surrogate, and a measure on the nodes of a quadrature rule
// is the box.
func TestScoreIsTheIntegralOfTheSurrogate(t *testing.T) {
	x, w := nodes(2)
	rule := must.Get(NewPoints(x, w))(t)
	rapid.Check(t, func(rt *rapid.T) {
		p := drawProblem(rt, 2)
		box := must.Get(NewQuadrature(p.pairs, p.mean, p.symmetry, Box{}, p.hyper))(rt)
		points := must.Get(NewQuadrature(p.pairs, p.mean, p.symmetry, rule, p.hyper))(rt)
		var want float64
		for i, y := range x {
			want += w[i] * box.Surrogate(p.x, y)
		}
		if got := box.At(p.x, nil); math.Abs(got-want) > 1e-9 {
			rt.Fatalf("closed form %v, numerical integral %v", got, want)
		}
		if got := points.At(p.x, nil); math.Abs(got-want) > 1e-9 {
			rt.Fatalf("sum over points %v, numerical integral %v", got, want)
		}
		if a, b := box.Variance(p.x), points.Variance(p.x); math.Abs(a-b) > 1e-9 {
			rt.Fatalf("variance of the integral %v over the box, %v over the points", a, b)
		}
	})
}

// A symmetric kernel on n pairs is the plain kernel on 2n augmented rows.
func TestSymmetryIsAugmentation(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawProblem(t, rapid.IntRange(1, 3).Draw(t, "d"))
		if p.symmetry == Plain {
			return
		}
		half := must.Get(NewQuadrature(p.pairs, p.mean, p.symmetry, Box{}, p.hyper))(t)
		all := Pairs{
			First:  slices.Concat(p.pairs.First, p.pairs.Second),
			Second: slices.Concat(p.pairs.Second, p.pairs.First),
			Values: slices.Clone(p.pairs.Values),
		}
		for _, v := range p.pairs.Values {
			all.Values = append(all.Values, p.mean+float64(p.symmetry)*(v-p.mean))
		}
		full := must.Get(NewQuadrature(all, p.mean, Plain, Box{}, p.hyper))(t)
		if a, b := half.At(p.x, nil), full.At(p.x, nil); math.Abs(a-b) > 1e-9 {
			t.Fatalf("score %v from n pairs, %v from 2n rows", a, b)
		}
		a, b := half.Surrogate(p.x, p.y)-p.mean, half.Surrogate(p.y, p.x)-p.mean
		if math.Abs(a-float64(p.symmetry)*b) > 1e-12 {
			t.Fatalf("the surrogate's difference from its mean is %v, and %v mirrored", a, b)
		}
	})
}

// Without pairs nearby the integral is the mean, and a skew-symmetric one averages ½ over the box
// wherever the pairs are: what one point gains another loses.
func TestSkewScoreAveragesItsMean(t *testing.T) {
	x, w := nodes(2)
	rapid.Check(t, func(t *rapid.T) {
		p := drawProblem(t, 2)
		q := must.Get(NewQuadrature(p.pairs, 0.5, Skew, Box{}, p.hyper))(t)
		e := q.NewEvaluator()
		var sum float64
		for i, y := range x {
			sum += w[i] * e.At(y, nil)
		}
		if math.Abs(sum-0.5) > 1e-9 {
			t.Fatalf("average %v", sum)
		}
	})
}

func TestGradient(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawProblem(t, rapid.IntRange(1, 4).Draw(t, "d"))
		q := must.Get(NewQuadrature(p.pairs, p.mean, p.symmetry, Box{}, p.hyper))(t)
		e := q.NewEvaluator()
		grad := make([]float64, len(p.x))
		value := e.At(p.x, grad)
		if v := e.At(p.x, nil); math.Abs(v-value) > 1e-14*(1+math.Abs(v)) {
			t.Fatalf("value %v with a gradient, %v without", value, v)
		}
		for j := range grad {
			const h = 1e-5
			up, down := slices.Clone(p.x), slices.Clone(p.x)
			up[j] += h
			down[j] -= h
			fd := (e.At(up, nil) - e.At(down, nil)) / (2 * h)
			// The error of a central difference is h²f'''/6, and f''' ~ weights/ℓ³.
			var scale float64
			for _, w := range q.weights {
				scale += math.Abs(w)
			}
			tol := 1e-8 + scale*h*h/math.Pow(p.hyper.Lengthscales[j], 3) + 1e-10*scale
			if math.Abs(grad[j]-fd) > tol {
				t.Fatalf("∂/∂x_%d = %v, finite difference %v (tolerance %v)", j, grad[j], fd, tol)
			}
		}
	})
}

// Energy joins its two forms, and tends to the limits: 1 for a flat kernel, √(2π)ℓ for a narrow
// one.
func TestBoxEnergy(t *testing.T) {
	for _, l := range []float64{0.01, 0.2, 1, 10, 500, 700, 710, 1e3, 1e5} {
		got := Box{}.Energy([]float64{l})
		want := 2 * quad.Fixed(func(s float64) float64 { return (1 - s) * math.Exp(-s*s/(2*l*l)) }, 0,
			min(1, 12*l), 200, nil, 0)
		near(t, "energy", got, want, 1e-10)
	}
}

// The marginal likelihood is that of package gp where there is no symmetry, and its gradient that
// of finite differences with every symmetry.
func TestEvidence(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 4))
	const n, d = 14, 2
	var p Pairs
	data := gp.Data{}
	for range n {
		z := make([]float64, 2*d)
		for j := range z {
			z[j] = rng.Float64()
		}
		p.First, p.Second, p.Values = append(p.First, z[:d]), append(p.Second, z[d:]), append(p.Values, rng.Float64())
		data.X, data.Y = append(data.X, z), append(data.Y, p.Values[len(p.Values)-1])
	}
	theta := []float64{math.Log(0.3), math.Log(0.8), math.Log(0.02)}
	for _, symmetry := range []Symmetry{Plain, Skew, Symmetric} {
		e := newEvidence(p, d, 0.4, symmetry)
		grad := make([]float64, d+1)
		e.eval(theta, grad)
		if symmetry == Plain {
			want := must.Get(gp.LogMarginal(data, "rbf", gp.Hyper{
				Lengthscales: []float64{0.3, 0.8, 0.3, 0.8},
				OutputScale:  e.scale,
				Noise:        0.02 * e.scale,
				Mean:         0.4,
			}, nil))(t)
			near(t, "log marginal likelihood", e.lml, want, 1e-9)
		}
		for j := range theta {
			const h = 1e-5
			up, down := slices.Clone(theta), slices.Clone(theta)
			up[j] += h
			down[j] -= h
			fd := (e.eval(up, nil) - e.eval(down, nil)) / (2 * h)
			near(t, "∂/∂θ", grad[j], fd, 1e-6*(1+math.Abs(fd)))
		}
	}
}

func TestRefuses(t *testing.T) {
	ok := Pairs{First: [][]float64{{0.1}}, Second: [][]float64{{0.9}}, Values: []float64{0.7}}
	h := Hyper{Lengthscales: []float64{0.5}, OutputScale: 1, Noise: 1e-3}
	nan := Pairs{First: [][]float64{{0.1}}, Second: [][]float64{{math.NaN()}}, Values: []float64{0.7}}
	for _, c := range []struct {
		name string
		p    Pairs
		h    Hyper
		want error
	}{
		{"no pairs", Pairs{}, h, ErrData},
		{"not a number", nan, h, ErrData},
		{"lengthscales", ok, Hyper{Lengthscales: []float64{1, 1}, OutputScale: 1, Noise: 1}, ErrHyper},
		{"output scale", ok, Hyper{Lengthscales: []float64{1}, Noise: 1}, ErrHyper},
		{"noise", ok, Hyper{Lengthscales: []float64{1}, OutputScale: 1}, ErrHyper},
	} {
		if _, err := NewQuadrature(c.p, 0.5, Skew, Box{}, c.h); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", c.name, err, c.want)
		}
	}
	if _, err := NewPoints(nil, nil); !errors.Is(err, ErrMeasure) {
		t.Errorf("no points: %v", err)
	}
	if _, err := NewPoints([][]float64{{1}, {2}}, []float64{1, -1}); !errors.Is(err, ErrMeasure) {
		t.Errorf("negative weight: %v", err)
	}
	cancelled, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := FitQuadrature(cancelled, ok, 0.5, Skew, [][]float64{{1}}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}
