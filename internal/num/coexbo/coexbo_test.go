package coexbo

import (
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"github.com/campaignd/campaignd/internal/num/gp"
	"github.com/campaignd/campaignd/internal/num/special"
	_ "github.com/campaignd/campaignd/internal/tests/draws"
	"github.com/campaignd/campaignd/internal/tests/must"
)

// smooth is a prior with known derivatives: π̂ = ½ + 0.3 sin(a·x), V = 0.05 + 0.04 cos(a·x).
type smooth struct{ a []float64 }

func (p smooth) At(x, dScore, dVariance []float64) (score, variance float64) {
	var t float64
	for j, v := range x {
		t += p.a[j] * v
	}
	for j := range dScore {
		dScore[j] = 0.3 * p.a[j] * math.Cos(t)
	}
	for j := range dVariance {
		dVariance[j] = -0.04 * p.a[j] * math.Sin(t)
	}
	return 0.5 + 0.3*math.Sin(t), 0.05 + 0.04*math.Cos(t)
}

// constant is a prior that says the same of every point.
type constant struct{ score, variance float64 }

func (p constant) At(_, dScore, dVariance []float64) (score, variance float64) {
	clear(dScore)
	clear(dVariance)
	return p.score, p.variance
}

func drawGP(t *rapid.T, d int) *gp.GP {
	n := rapid.IntRange(1, 8).Draw(t, "n")
	data := gp.Data{Y: rapid.SliceOfN(rapid.Float64Range(-2, 2), n, n).Draw(t, "y")}
	for range n {
		data.X = append(data.X, rapid.SliceOfN(rapid.Float64Range(0, 1), d, d).Draw(t, "x"))
	}
	g := must.Get(gp.New(data, "rbf", gp.Hyper{
		Lengthscales: rapid.SliceOfN(rapid.Float64Range(0.2, 2), d, d).Draw(t, "l"), OutputScale: 1, Noise: 0.01}))(t)
	return g
}

var someScaling = Scaling{ScoreMean: 0.5, ScoreSD: 0.2, ObjectiveMean: 0, ObjectiveSD: 1}

// The product of two normal densities, normalized on a grid, has the mean and standard deviation
// that Explain gives.
func TestProductOfDensities(t *testing.T) {
	g := must.Get(gp.New(gp.Data{X: [][]float64{{0.2}, {0.7}}, Y: []float64{0.3, -1}}, "rbf",
		gp.Hyper{Lengthscales: []float64{0.3}, OutputScale: 1, Noise: 0.01}))(t)
	for _, turn := range []int{0, 3, 10, 40} {
		a := New(g, smooth{[]float64{3}}, Config{Beta: 2, T: turn, Scaling: someScaling})
		for _, x := range []float64{0, 0.3, 0.5, 0.95} {
			p := a.Explain([]float64{x})
			decay := DefaultGamma * float64(turn*turn)
			if want := math.Sqrt(25*p.ScoreVariance + decay*p.ObjectiveSD*p.ObjectiveSD); math.Abs(p.PriorSD-want) > 1e-12 {
				t.Errorf("σ_π = %v, want %v", p.PriorSD, want)
			}
			var mass, mean, square float64
			for y := -15.0; y < 15; y += 1e-3 {
				w := special.NormalPDF((y-p.Objective)/p.ObjectiveSD) * special.NormalPDF((y-p.Prior)/p.PriorSD)
				mass, mean, square = mass+w, mean+w*y, square+w*y*y
			}
			mean /= mass
			sd := math.Sqrt(square/mass - mean*mean)
			if math.Abs(p.Mean-mean) > 1e-9 || math.Abs(p.SD-sd) > 1e-9 {
				t.Errorf("t = %d, x = %v: N(%v, %v²), on the grid N(%v, %v²)", turn, x, p.Mean, p.SD, mean, sd)
			}
			if want := p.Mean + math.Sqrt2*p.SD; math.Abs(p.Value-want) > 1e-12 {
				t.Errorf("α = %v, want %v", p.Value, want)
			}
		}
	}
}

// The principles of Adachi et al. 2024, §3.2: an uncertain prior counts for nothing; with time no
// prior counts for more than 1/(1 + γt²); without a prior, or with one that tells no points apart,
// α is the upper confidence bound.
func TestThePriorFades(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := rapid.IntRange(1, 3).Draw(t, "d")
		g := drawGP(t, d)
		x := rapid.SliceOfN(rapid.Float64Range(0, 1), d, d).Draw(t, "at")
		mean, sd := g.Posterior(x)
		ucb := mean + math.Sqrt(3)*sd
		last := 1.0
		for _, turn := range []int{0, 1, 5, 20, 100, 1000} {
			p := New(g, constant{0.9, 0.001}, Config{Beta: 3, T: turn, Scaling: someScaling}).Explain(x)
			if limit := 1 / (1 + DefaultGamma*float64(turn*turn)); p.Share > limit+1e-12 || p.Share > last+1e-12 {
				t.Fatalf("t = %d: share %v, limit %v, before %v", turn, p.Share, limit, last)
			}
			last = p.Share
		}
		for name, a := range map[string]*Acquisition{
			"no prior": New(g, nil, Config{Beta: 3}),
			"flat scores": New(g, constant{0.5, 0.1}, Config{
				Beta:    3,
				Scaling: NewScaling([]float64{0.5, 0.5, 0.5}, 0, 1),
			}),
			"uncertain prior": New(g, constant{0.9, 1e12}, Config{Beta: 3, Scaling: someScaling}),
		} {
			if v := a.At(x, nil); math.Abs(v-ucb) > 1e-6 {
				t.Fatalf("%s: α = %v, the upper confidence bound is %v", name, v, ucb)
			}
		}
	})
}

func TestGradient(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := rapid.IntRange(1, 3).Draw(t, "d")
		g := drawGP(t, d)
		prior := smooth{rapid.SliceOfN(rapid.Float64Range(-3, 3), d, d).Draw(t, "a")}
		cfg := Config{
			Beta:    rapid.Float64Range(0, 4).Draw(t, "beta"),
			T:       rapid.IntRange(0, 30).Draw(t, "t"),
			Scaling: someScaling,
		}
		a := New(g, prior, cfg)
		if rapid.Bool().Draw(t, "alone") {
			a = New(g, nil, cfg)
		}
		x := rapid.SliceOfN(rapid.Float64Range(0, 1), d, d).Draw(t, "at")
		if _, sd := g.Posterior(x); sd < 0.05 {
			return // the standard deviation bends too sharply for a finite difference
		}
		grad, negative := make([]float64, d), make([]float64, d)
		value := a.At(x, grad)
		if v := a.Negated(x, negative); v != -value {
			t.Fatalf("negated %v of %v", v, value)
		}
		for j := range grad {
			const h = 1e-5
			up, down := append([]float64(nil), x...), append([]float64(nil), x...)
			up[j] += h
			down[j] -= h
			fd := (a.At(up, nil) - a.At(down, nil)) / (2 * h)
			if math.Abs(grad[j]-fd) > 1e-5*(1+math.Abs(fd)) || negative[j] != -grad[j] {
				t.Fatalf("∂α/∂x_%d = %v, finite difference %v, negated %v", j, grad[j], fd, negative[j])
			}
		}
	})
}

// Where both are known without doubt the value is the objective's, finite and without a made-up
// gradient.
func TestBothKnown(t *testing.T) {
	x := []float64{0.5}
	g := must.Get(gp.New(gp.Data{X: [][]float64{x}, Y: []float64{1}}, "rbf",
		gp.Hyper{Lengthscales: []float64{0.5}, OutputScale: 1, Noise: 1e-17}))(t)
	grad := []float64{math.NaN()}
	v := New(g, constant{0.9, 0}, Config{Beta: 1, T: 3, Scaling: someScaling}).At(x, grad)
	if math.Abs(v-1) > 1e-6 || math.IsNaN(grad[0]) || math.IsInf(grad[0], 0) {
		t.Errorf("α = %v, gradient %v", v, grad)
	}
}

func TestScaling(t *testing.T) {
	s := NewScaling([]float64{0.2, 0.4, 0.6, 0.8}, 3, 2)
	var mean, square float64
	for _, v := range []float64{0.2, 0.4, 0.6, 0.8} {
		m, variance := s.Apply(v, 0.01)
		mean, square = mean+m/4, square+(m-3)*(m-3)/4
		if want := 0.01 * 4 / 0.05; math.Abs(variance-want) > 1e-12 {
			t.Errorf("variance %v, want %v", variance, want)
		}
	}
	if math.Abs(mean-3) > 1e-12 || math.Abs(square-4) > 1e-12 {
		t.Errorf("scaled scores have mean %v and variance %v, want 3 and 4", mean, square)
	}
	if _, v := NewScaling([]float64{0.5, 0.5}, 0, 1).Apply(0.5, 0.1); !math.IsInf(v, 1) {
		t.Errorf("flat scores have variance %v", v)
	}
}

// Both forms of πBO have the right gradients, agree with each other, and fade to the bare
// acquisition.
func TestPiBO(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a0 := rapid.Float64Range(0.1, 3).Draw(t, "a")
		s0 := rapid.Float64Range(0.05, 1).Draw(t, "score")
		e := Exponent(DefaultPiBOGamma, rapid.IntRange(1, 100).Draw(t, "t"))
		// a = a0·e^x, π = s0·e^(x/2) at x = 0.
		value := func(x float64) float64 { return PiBO(nil, a0*math.Exp(x), s0*math.Exp(x/2), e, nil, nil) }
		grad := make([]float64, 1)
		v := PiBO(grad, a0, s0, e, []float64{a0}, []float64{s0 / 2})
		const h = 1e-5
		if fd := (value(h) - value(-h)) / (2 * h); math.Abs(grad[0]-fd) > 1e-6*(1e-6+math.Abs(fd)) {
			t.Fatalf("gradient %v, finite difference %v", grad[0], fd)
		}
		logs := make([]float64, 1)
		lv := LogPiBO(logs, math.Log(a0), s0, e, []float64{1}, []float64{s0 / 2})
		if math.Abs(math.Exp(lv)-v) > 1e-12*v || math.Abs(logs[0]-grad[0]/v) > 1e-9*math.Abs(logs[0]) {
			t.Fatalf("ln %v (%v), plain %v (%v)", lv, logs[0], v, grad[0])
		}
	})
	if v := PiBO(nil, 2, 0.3, Exponent(10, 1_000_000), nil, nil); math.Abs(v-2) > 1e-4 {
		t.Errorf("after a million measurements %v, want 2", v)
	}
	grad := []float64{math.NaN()}
	if v := PiBO(grad, 1, -0.1, 0.5, []float64{2}, []float64{7}); !(v > 0) || math.IsNaN(grad[0]) {
		t.Errorf("negative score: %v, gradient %v", v, grad)
	}
}

// Against sampling, and against what it must be at the ends.
func TestChoiceWasRight(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, c := range []struct{ m, v1, v2, cov, lambda float64 }{
		{0.3, 0.5, 0.7, 0.2, 0.1}, {-1, 0.2, 0.1, 0, 0.01}, {0, 1, 1, 0.9, 1}, {2, 0.3, 0.3, -0.1, 0.5},
		{0.4, 0.5, 0.5, 0.1, 0},
	} {
		j := &gp.Joint{Mean: []float64{c.m, 0}, Cov: []float64{c.v1, c.cov, c.cov, c.v2}}
		got := ChoiceWasRight(j, c.lambda)
		sd := math.Sqrt(c.v1 + c.v2 - 2*c.cov)
		const draws = 300_000
		var mean, square float64
		for range draws {
			d := c.m + sd*rng.NormFloat64()
			l := special.NormalCDF(d / math.Sqrt(c.lambda))
			mean, square = mean+l/draws, square+l*l/draws
		}
		const tol = 4 * 0.5 / 547 // four standard errors
		if math.Abs(got.Probability-mean) > tol || math.Abs(got.SD-math.Sqrt(square-mean*mean)) > 2*tol {
			t.Errorf("%+v: %+v, sampled %v and %v", c, got, mean, math.Sqrt(square-mean*mean))
		}
		mirrored := ChoiceWasRight(&gp.Joint{
			Mean: []float64{0, c.m},
			Cov:  []float64{c.v2, c.cov, c.cov, c.v1},
		}, c.lambda)
		if math.Abs(got.Probability+mirrored.Probability-1) > 1e-14 || math.Abs(got.SD-mirrored.SD) > 1e-12 {
			t.Errorf("%+v, from the other side %+v", got, mirrored)
		}
	}
	for m, want := range map[float64]float64{1: 1, -1: 0, 0: 0.5} {
		if got := ChoiceWasRight(&gp.Joint{Mean: []float64{m, 0}, Cov: make([]float64, 4)},
			0); got.Probability != want || got.SD != 0 {
			t.Errorf("known difference %v: %+v", m, got)
		}
	}
}

// Owen's T against its identities: T(h, 1) = Φ(h)Φ(−h)/2, T(0, a) = arctan(a)/2π.
func TestOwenT(t *testing.T) {
	for h := -8.0; h <= 8; h += 0.37 {
		if got, want := owenT(h, 1), special.NormalCDF(h)*special.NormalCDF(-h)/2; math.Abs(got-want) > 1e-15 {
			t.Errorf("T(%v, 1) = %v, want %v", h, got, want)
		}
	}
	for a := 0.0; a <= 1; a += 0.1 {
		if got, want := owenT(0, a), math.Atan(a)/(2*math.Pi); math.Abs(got-want) > 1e-15 {
			t.Errorf("T(0, %v) = %v, want %v", a, got, want)
		}
	}
}

func TestWindow(t *testing.T) {
	w := NewWindow(2, 0, []float64{0.4, 0, 0.9}, []float64{0.5, 1, 0.7}, []float64{0.5, 0.2, 0.8})
	want := Window{Dims: [2]int{2, 0}, Lower: [2]float64{0.6, 0.35}, Upper: [2]float64{1, 0.55}}
	for k := range 2 {
		if math.Abs(w.Lower[k]-want.Lower[k]) > 1e-12 || math.Abs(w.Upper[k]-want.Upper[k]) > 1e-12 ||
			w.Dims != want.Dims {
			t.Errorf("%+v, want %+v", w, want)
		}
	}
}
