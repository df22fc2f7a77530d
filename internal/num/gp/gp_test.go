package gp

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"
	"pgregory.net/rapid"

	"github.com/campaignd/campaignd/internal/num/kernel"
	"github.com/campaignd/campaignd/internal/tests/must"
)

// reference is the textbook, on all observations unmerged, through explicit inverses.
type reference struct {
	data Data
	k    kernel.Kernel
	h    Hyper
	inv  mat.Dense
	ln   float64 // ln det K
	r    *mat.VecDense
}

func newReference(t interface {
	Helper()
	Fatal(...any)
}, data Data, name string, h Hyper) *reference {
	t.Helper()
	k := must.Get(kernel.New(name, h.Lengthscales, h.OutputScale))(t)
	n := len(data.X)
	ref := &reference{data: data, k: k, h: h, r: mat.NewVecDense(n, nil)}
	K := mat.NewDense(n, n, nil)
	for i, x := range data.X {
		for j, y := range data.X {
			K.Set(i, j, k.Eval(x, y))
		}
		v := h.Noise
		if data.NoiseVar != nil && !math.IsNaN(data.NoiseVar[i]) {
			v = data.NoiseVar[i]
		}
		K.Set(i, i, K.At(i, i)+v)
		ref.r.SetVec(i, data.Y[i]-h.Mean)
	}
	if err := ref.inv.Inverse(K); err != nil {
		var c mat.Condition
		if !errors.As(err, &c) {
			t.Fatal(err)
		}
	}
	ref.ln, _ = mat.LogDet(K)
	return ref
}

func (ref *reference) posterior(x []float64) (mean, sd float64) {
	n := len(ref.data.X)
	k := mat.NewVecDense(n, nil)
	for i, xi := range ref.data.X {
		k.SetVec(i, ref.k.Eval(xi, x))
	}
	return ref.h.Mean + mat.Inner(k, &ref.inv, ref.r), math.Sqrt(max(0, ref.h.OutputScale-mat.Inner(k, &ref.inv, k)))
}

func (ref *reference) logMarginal() float64 {
	return -0.5*mat.Inner(ref.r, &ref.inv, ref.r) - 0.5*ref.ln - 0.5*float64(len(ref.data.X))*math.Log(2*math.Pi)
}

func near(a, b, tol float64) bool { return math.Abs(a-b) <= tol*(1+math.Abs(b)) }

type problem struct {
	data Data
	name string
	h    Hyper
	x    []float64
}

// draw draws data on a coarse grid, so that points repeat, with some noise variances known.
func draw(t *rapid.T) problem {
	d := rapid.IntRange(1, 4).Draw(t, "d")
	n := rapid.IntRange(1, 15).Draw(t, "n")
	coord := rapid.Map(rapid.IntRange(0, 4), func(i int) float64 { return float64(i) / 4 })
	p := problem{name: rapid.SampledFrom([]string{"rbf", "matern52", "matern32"}).Draw(t, "kernel")}
	p.data.X = rapid.SliceOfN(rapid.SliceOfN(coord, d, d), n, n).Draw(t, "X")
	p.data.Y = rapid.SliceOfN(rapid.Float64Range(-3, 3), n, n).Draw(t, "Y")
	if rapid.Bool().Draw(t, "some known") {
		p.data.NoiseVar = rapid.SliceOfN(rapid.SampledFrom([]float64{math.NaN(), 0.003, 0.1}), n, n).Draw(t, "NoiseVar")
	}
	p.h = Hyper{
		Lengthscales: rapid.SliceOfN(rapid.Float64Range(0.05, 3), d, d).Draw(t, "l"),
		OutputScale:  rapid.Float64Range(0.3, 3).Draw(t, "s2"),
		Noise:        rapid.Float64Range(1e-3, 0.5).Draw(t, "noise"),
		Mean:         rapid.Float64Range(-1, 1).Draw(t, "mean"),
	}
	p.x = rapid.SliceOfN(rapid.Float64Range(0, 1), d, d).Draw(t, "x")
	return p
}

// TestMergedIsExact: merging equal points changes neither the posterior nor the marginal
// likelihood. The tolerance is that of the reference's explicit inverse at condition numbers up to
// 1e5.
func TestMergedIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := draw(t)
		g := must.Get(New(p.data, p.name, p.h))(t)
		ref := newReference(t, p.data, p.name, p.h)
		for _, x := range [][]float64{p.x, p.data.X[0]} {
			mean, sd := g.Posterior(x)
			wm, ws := ref.posterior(x)
			if !near(mean, wm, 1e-9) || !near(sd*sd, ws*ws, 1e-9) {
				t.Fatalf("posterior %v ± %v, unmerged %v ± %v", mean, sd, wm, ws)
			}
			if alone := g.NewPredictor().Mean(x); alone != mean {
				t.Fatalf("the mean alone is %v, with its standard deviation %v", alone, mean)
			}
		}
		if got, want := g.LogMarginal(), ref.logMarginal(); !near(got, want, 1e-9) {
			t.Fatalf("log marginal likelihood %v, unmerged %v", got, want)
		}
	})
}

// TestAppendIsRefit: a posterior grown one observation at a time is the one made at once, and
// Canonical gives the very bits of New.
func TestAppendIsRefit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := draw(t)
		all := must.Get(New(p.data, p.name, p.h))(t)
		first := rapid.IntRange(1, len(p.data.X)).Draw(t, "first")
		head := Data{X: p.data.X[:first], Y: p.data.Y[:first]}
		if p.data.NoiseVar != nil {
			head.NoiseVar = p.data.NoiseVar[:first]
		}
		g := must.Get(New(head, p.name, p.h))(t)
		pred := g.NewPredictor()
		for i := first; i < len(p.data.X); i++ {
			v := math.NaN()
			if p.data.NoiseVar != nil {
				v = p.data.NoiseVar[i]
			}
			must.Do(t, g.Append(p.data.X[i], p.data.Y[i], v))
		}
		mean, sd := pred.Posterior(p.x)
		wm, ws := all.Posterior(p.x)
		if !near(mean, wm, 1e-10) || !near(sd*sd, ws*ws, 1e-10) || !near(g.LogMarginal(), all.LogMarginal(), 1e-10) {
			t.Fatalf("appended %v ± %v (lml %v), at once %v ± %v (%v)",
				mean, sd, g.LogMarginal(), wm, ws, all.LogMarginal())
		}
		a, err1 := g.InformationGain(0.1)
		b, err2 := all.InformationGain(0.1)
		if err1 != nil || err2 != nil || !near(a, b, 1e-10) {
			t.Fatalf("information gain %v (%v), at once %v (%v)", a, err1, b, err2)
		}
		c := must.Get(g.Canonical())(t)
		cm, cs := c.Posterior(p.x)
		if cm != wm || cs != ws || c.LogMarginal() != all.LogMarginal() {
			t.Fatal("Canonical does not give the bits of New")
		}
	})
}

// TestGradients: posterior and likelihood gradients against central differences.
func TestGradients(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := draw(t)
		d := len(p.x)
		g := must.Get(New(p.data, p.name, p.h))(t)
		const h = 1e-5
		// The truncation error of a difference grows with h²/ℓ³; the sd's also where it is small. A
		// Matérn 3/2 kernel has no third derivative at the data.
		short := p.h.Lengthscales[0]
		for _, l := range p.h.Lengthscales {
			short = min(short, l)
		}
		tol := 1e-5 + 1e3*h*h/(short*short*short)
		if p.name == "matern32" {
			tol += 200 * h / (short * short)
		}
		dmean, dsd := make([]float64, d), make([]float64, d)
		_, sd := g.PosteriorGrad(p.x, dmean, dsd)
		for j := range d {
			up, down := append([]float64{}, p.x...), append([]float64{}, p.x...)
			up[j] += h
			down[j] -= h
			mu, su := g.Posterior(up)
			md, sd2 := g.Posterior(down)
			if fd := (mu - md) / (2 * h); !near(dmean[j], fd, tol) {
				t.Fatalf("∂mean/∂x_%d = %v, finite difference %v", j, dmean[j], fd)
			}
			if fd := (su*su - sd2*sd2) / (2 * h); !near(2*sd*dsd[j], fd, tol) {
				t.Fatalf("∂variance/∂x_%d = %v, finite difference %v", j, 2*sd*dsd[j], fd)
			}
		}

		grad := make([]float64, d+3)
		lml := must.Get(LogMarginal(p.data, p.name, p.h, grad))(t)
		for j := range grad {
			at := func(step float64) float64 {
				hp := p.h
				hp.Lengthscales = append([]float64{}, p.h.Lengthscales...)
				switch {
				case j < d:
					hp.Lengthscales[j] *= math.Exp(step)
				case j == d:
					hp.OutputScale *= math.Exp(step)
				case j == d+1:
					hp.Noise *= math.Exp(step)
				default:
					hp.Mean += step
				}
				return must.Get(LogMarginal(p.data, p.name, hp, nil))(t)
			}
			if fd := (at(h) - at(-h)) / (2 * h); math.Abs(grad[j]-fd) > 1e-5*(1+math.Abs(fd))+1e-7*math.Abs(lml) { // the last: rounding
				t.Fatalf("∂lml/∂θ_%d = %v, finite difference %v", j, grad[j], fd)
			}
		}
	})
}

// TestLeaveOneOut: the closed form equals leaving each distinct point out and predicting it, by
// brute force.
func TestLeaveOneOut(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := draw(t)
		p.data.NoiseVar = nil
		g := must.Get(New(p.data, p.name, p.h))(t)
		y, mean, sd := g.LeaveOneOut()
		if len(y) != g.Len() {
			t.Fatal("one prediction per row")
		}
		for i, x := range g.x {
			var rest Data
			for s, xs := range p.data.X {
				if fmt.Sprint(xs) != fmt.Sprint(x) {
					rest.X, rest.Y = append(rest.X, xs), append(rest.Y, p.data.Y[s])
				}
			}
			wm, ws := p.h.Mean, math.Sqrt(p.h.OutputScale)
			if len(rest.X) > 0 {
				wm, ws = newReference(t, rest, p.name, p.h).posterior(x)
			}
			variance := ws*ws + p.h.Noise/g.count[i]
			if !near(mean[i], wm, 1e-8) || !near(sd[i]*sd[i], variance, 1e-8) {
				t.Fatalf("row %d: %v, variance %v; brute force %v, %v", i, mean[i], sd[i]*sd[i], wm, variance)
			}
		}
	})
}

// TestInformationGainIsTheDeterminant, by its definition on all observations.
func TestInformationGainIsTheDeterminant(t *testing.T) {
	data := Data{X: [][]float64{{.1}, {.5}, {.5}, {.9}}, Y: []float64{0, 1, 2, 0}}
	h := Hyper{Lengthscales: []float64{.4}, OutputScale: 1, Noise: .1}
	g := must.Get(New(data, "rbf", h))(t)
	const r = 0.3
	b := mat.NewDense(4, 4, nil)
	for i, x := range data.X {
		for j, y := range data.X {
			b.Set(i, j, g.kernel.Eval(x, y)/r)
		}
		b.Set(i, i, b.At(i, i)+1)
	}
	if got, err := g.InformationGain(r); err != nil || !near(got, 0.5*math.Log(mat.Det(b)), 1e-12) {
		t.Errorf("γ = %v (%v), want %v", got, err, 0.5*math.Log(mat.Det(b)))
	}
}

// TestJointSamples: draws have the posterior's mean and covariance, within five standard errors,
// and repeat with the seed.
func TestJointSamples(t *testing.T) {
	data := Data{X: [][]float64{{.1}, {.4}, {.8}}, Y: []float64{1, -1, 0.5}}
	g := must.Get(New(data, "matern52", Hyper{Lengthscales: []float64{.3}, OutputScale: 1, Noise: .05}))(t)
	X := [][]float64{{.2}, {.21}, {.6}, {1}}
	j := g.Joint(X)
	const n = 20000
	rng := rand.New(rand.NewPCG(1, 1))
	m := len(X)
	sum, prod, s := make([]float64, m), make([]float64, m*m), make([]float64, m)
	for range n {
		must.Do(t, j.Sample(s, rng))
		for a := range m {
			sum[a] += s[a]
			for b := range m {
				prod[a*m+b] += (s[a] - j.Mean[a]) * (s[b] - j.Mean[b])
			}
		}
	}
	for a := range m {
		mean, sd := g.Posterior(X[a])
		if !near(j.Mean[a], mean, 1e-12) || !near(j.Cov[a*m+a], sd*sd, 1e-12) {
			t.Errorf("joint and single posterior differ at %v", X[a])
		}
		if math.Abs(sum[a]/n-mean) > 5*sd/math.Sqrt(n) {
			t.Errorf("sample mean %v, want %v", sum[a]/n, mean)
		}
		for b := range m {
			c := j.Cov[a*m+b]
			se := math.Sqrt((j.Cov[a*m+a]*j.Cov[b*m+b] + c*c) / n)
			if math.Abs(prod[a*m+b]/n-c) > 5*se {
				t.Errorf("sample covariance %v, want %v", prod[a*m+b]/n, c)
			}
		}
	}
	again, once := make([]float64, m), make([]float64, m)
	if j.Sample(once, rand.New(rand.NewPCG(3, 4))) != nil ||
		g.Joint(X).Sample(again, rand.New(rand.NewPCG(3, 4))) != nil {
		t.Fatal("sampling failed")
	}
	if fmt.Sprint(once) != fmt.Sprint(again) {
		t.Error("equal seeds give different draws")
	}
}

// TestJointOfNoPoints: the distribution of nothing is empty, and a draw from it is nothing.
func TestJointOfNoPoints(t *testing.T) {
	g := must.Get(New(Data{X: [][]float64{{.1}, {.4}}, Y: []float64{1, -1}}, "matern52", Hyper{
		Lengthscales: []float64{.3},
		OutputScale:  1,
		Noise:        .05,
	}))(t)
	for _, X := range [][][]float64{nil, {}} {
		j := g.Joint(X)
		if len(j.Mean) != 0 || len(j.Cov) != 0 || j.Sample(nil, rand.New(rand.NewPCG(1, 1))) != nil {
			t.Errorf("the posterior at no points is %+v", j)
		}
	}
}

// TestAverage: the average of f is normal with the average of the means and of all covariances.
func TestAverage(t *testing.T) {
	g := must.Get(New(Data{
		X: [][]float64{{.1}, {.4}, {.8}},
		Y: []float64{1, -1, 0.5},
	}, "matern52", Hyper{Lengthscales: []float64{.3}, OutputScale: 2, Noise: .05, Mean: 0.3}))(t)
	for _, X := range [][][]float64{{{.2}}, {{.2}, {.2}}, {{.2}, {.21}, {.6}, {5}}} {
		j, m := g.Joint(X), float64(len(X))
		mean, variance, together := 0.0, 0.0, 0.0
		for _, v := range j.Mean {
			mean += v / m
		}
		for _, v := range j.Cov {
			variance += v / (m * m)
		}
		for _, x := range X {
			for _, y := range X {
				together += g.Kernel().Eval(x, y) / (m * m)
			}
		}
		for _, given := range []float64{math.NaN(), together} {
			gotMean, gotSD := g.Average(X, given)
			if !near(gotMean, mean, 1e-12) || !near(gotSD*gotSD, variance, 1e-12) {
				t.Errorf("the average over %v is %v ± %v, want %v ± %v", X, gotMean, gotSD, mean, math.Sqrt(variance))
			}
		}
	}
}

// TestJitter: a dense set of points under a smooth kernel has a numerically singular covariance;
// sampling adds jitter and says so, and a factor that jitter cannot save is a typed error.
func TestJitter(t *testing.T) {
	g := must.Get(New(Data{X: [][]float64{{.5}}, Y: []float64{0}}, "rbf", Hyper{
		Lengthscales: []float64{1},
		OutputScale:  1,
		Noise:        .1,
	}))(t)
	var X [][]float64
	for i := range 200 {
		X = append(X, []float64{float64(i) / 199})
	}
	j := g.Joint(X)
	if err := j.Sample(make([]float64, len(X)), rand.New(rand.NewPCG(1, 1))); err != nil || j.Jitter == 0 ||
		j.Jitter > 1e-6 {
		t.Errorf("jitter %v, %v", j.Jitter, err)
	}
	indefinite := []float64{1, 0, 2, 1}
	if jitter, err := cholesky(t.Context(), make([]float64, 4), indefinite, 2, 2,
		1); !errors.Is(err, ErrNotPositiveDefinite) || math.Abs(jitter-1e-6) > 1e-12 {
		t.Errorf("an indefinite matrix: jitter %v, %v", jitter, err)
	}
	if _, err := cholesky(t.Context(), make([]float64, 1), []float64{math.NaN()}, 1, 1,
		1); !errors.Is(err, ErrNotPositiveDefinite) {
		t.Errorf("NaN: %v", err)
	}
}

func TestBadInput(t *testing.T) {
	ok := Hyper{Lengthscales: []float64{1}, OutputScale: 1, Noise: .1}
	one := Data{X: [][]float64{{.5}}, Y: []float64{1}}
	with := func(f func(h *Hyper)) Hyper { h := ok; f(&h); return h }
	for _, c := range []struct {
		name string
		data Data
		k    string
		h    Hyper
		want error
	}{
		{"nothing observed", Data{}, "rbf", ok, ErrData},
		{"NaN value", Data{X: one.X, Y: []float64{math.NaN()}}, "rbf", ok, ErrData},
		{"infinite coordinate", Data{X: [][]float64{{math.Inf(1)}}, Y: []float64{1}}, "rbf", ok, ErrData},
		{"known noise of zero", Data{X: one.X, Y: one.Y, NoiseVar: []float64{0}}, "rbf", ok, ErrData},
		{"kernel", one, "cubic", ok, kernel.ErrUnknown},
		{"lengthscale", one, "rbf", with(func(h *Hyper) { h.Lengthscales = []float64{-1} }), kernel.ErrHyperparameter},
		{"too many lengthscales", one, "rbf", with(func(h *Hyper) { h.Lengthscales = []float64{1, 1} }), ErrHyper},
		{"noise", one, "rbf", with(func(h *Hyper) { h.Noise = 0 }), ErrHyper},
		{"mean", one, "rbf", with(func(h *Hyper) { h.Mean = math.NaN() }), ErrHyper},
	} {
		if _, err := New(c.data, c.k, c.h); !errors.Is(err, c.want) {
			t.Errorf("%s: New gives %v, want %v", c.name, err, c.want)
		}
		if _, err := LogMarginal(c.data, c.k, c.h, nil); !errors.Is(err, c.want) {
			t.Errorf("%s: LogMarginal gives %v, want %v", c.name, err, c.want)
		}
	}
}

func TestPredictionsDoNotAllocate(t *testing.T) {
	data := synthetic(40, 3, 1)
	g := must.Get(New(data, "rbf", Hyper{Lengthscales: []float64{.3, .4, .5}, OutputScale: 1, Noise: .01}))(t)
	p := g.NewPredictor()
	x, dm, ds := []float64{.1, .2, .3}, make([]float64, 3), make([]float64, 3)
	if n := testing.AllocsPerRun(10, func() { p.Posterior(x); p.Mean(x); p.PosteriorGrad(x, dm, ds) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// synthetic draws n noisy values of a smooth function of d variables.
func synthetic(n, d int, seed uint64) Data {
	rng := rand.New(rand.NewPCG(seed, 0))
	var data Data
	for range n {
		x := make([]float64, d)
		f := 0.1 * rng.NormFloat64()
		for j := range x {
			x[j] = rng.Float64()
			f += math.Sin(float64(2*j+3)*x[j]) / float64(j+1)
		}
		data.X, data.Y = append(data.X, x), append(data.Y, f)
	}
	return data
}
