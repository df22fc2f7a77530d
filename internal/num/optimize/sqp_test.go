package optimize

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/campaignd/campaignd/internal/tests/must"
	"pgregory.net/rapid"
)

// quadratic returns ½ (x−c)ᵀQ(x−c).
func quadratic(q [][]float64, c []float64) Func {
	return func(x, grad []float64) float64 {
		var f float64
		for i := range c {
			var g float64
			for j := range c {
				g += q[i][j] * (x[j] - c[j])
			}
			f += 0.5 * g * (x[i] - c[i])
			if grad != nil {
				grad[i] = g
			}
		}
		return f
	}
}

func rosenbrock(x, grad []float64) float64 {
	clear(grad)
	var f float64
	for i := range len(x) - 1 {
		a, b := x[i+1]-x[i]*x[i], 1-x[i]
		f += 100*a*a + b*b
		if grad != nil {
			grad[i] += -400*a*x[i] - 2*b
			grad[i+1] += 200 * a
		}
	}
	return f
}

// TestKnownMinima: textbook problems with their published or hand-derived solutions.
func TestKnownMinima(t *testing.T) {
	eye := [][]float64{{1, 0}, {0, 1}}
	for _, c := range []struct {
		name  string
		f     Func
		p     Polytope
		start []float64
		want  []float64
	}{
		// Nocedal and Wright 2006, Example 16.4: min (x1−1)² + (x2−2.5)².
		{"Nocedal and Wright 16.4", quadratic([][]float64{{2, 0}, {0, 2}}, []float64{1, 2.5}),
			Polytope{Lower: constant(2, 0), Upper: constant(2, inf),
				C: [][]float64{{-1, 2}, {1, 2}, {1, -2}}, D: []float64{2, 6, 2}},
			[]float64{2, 0}, []float64{1.4, 1.7}},
		{"Rosenbrock in a box", rosenbrock, Box(constant(2, -2), constant(2, 2)), []float64{-1.2, 1}, []float64{1, 1}},
		{"Rosenbrock, box cuts the minimum off", rosenbrock, Box(constant(2, -2), []float64{.5, 2}),
			[]float64{-1.2, 1}, []float64{.5, .25}},
		// Hock and Schittkowski 1981, problem 24.
		{"Hock and Schittkowski 24", func(x, g []float64) float64 {
			s := 1 / (27 * math.Sqrt(3))
			a := (x[0]-3)*(x[0]-3) - 9
			if g != nil {
				g[0], g[1] = s*2*(x[0]-3)*x[1]*x[1]*x[1], s*a*3*x[1]*x[1]
			}
			return s * a * x[1] * x[1] * x[1]
		}, Polytope{Lower: constant(2, 0), Upper: constant(2, inf),
			C: [][]float64{{-1 / math.Sqrt(3), 1}, {-1, -math.Sqrt(3)}, {1, math.Sqrt(3)}}, D: []float64{0, 0, 6}},
			[]float64{1, .5}, []float64{3, math.Sqrt(3)}},
		// Hock and Schittkowski 1981, problem 28: an equality, no bounds.
		{"Hock and Schittkowski 28", func(x, g []float64) float64 {
			a, b := x[0]+x[1], x[1]+x[2]
			if g != nil {
				g[0], g[1], g[2] = 2*a, 2*a+2*b, 2*b
			}
			return a*a + b*b
		}, Polytope{Lower: constant(3, -inf), Upper: constant(3, inf), A: [][]float64{{1, 2, 3}}, B: []float64{1}},
			[]float64{-4, 1, 1}, []float64{.5, -.5, .5}},
		// Rosenbrock with x1 + x2 = 1 and x1 ≤ 2 x2: on the line x2 = 1 − x1 the minimum solves a
		// cubic.
		{"Rosenbrock on a line", rosenbrock, Polytope{Lower: constant(2, 0), Upper: constant(2, 1),
			A: [][]float64{{1, 1}}, B: []float64{1}, C: [][]float64{{1, -2}}, D: []float64{0}}, []float64{.1, .9},
			[]float64{0.61879561907, 0.38120438093}},
		{"mixture, maximum entropy", func(x, g []float64) float64 {
			var f float64
			for j, v := range x {
				if v <= 0 {
					return inf
				}
				f += v * math.Log(v)
				if g != nil {
					g[j] = 1 + math.Log(v)
				}
			}
			return f
		}, Polytope{Lower: constant(4, 0), Upper: []float64{.1, 1, 1, 1}, A: [][]float64{{1, 1, 1, 1}}, B: []float64{1},
			C: [][]float64{{0, 1, 0, 0}}, D: []float64{.2}},
			[]float64{.05, .15, .7, .1}, []float64{.1, .2, .35, .35}},
		{"start outside", quadratic(eye, []float64{.2, .2}), Box(constant(2, 0), constant(2, 1)),
			[]float64{9, -9}, []float64{.2, .2}},
		{"a region of one point", rosenbrock, Box(constant(2, .5), constant(2, .5)), []float64{0, 0},
			[]float64{.5, .5}},
		{"saddle: leaves it and ends in a corner", quadratic([][]float64{{1, 0}, {0, -1}}, []float64{0, 0}),
			Box(constant(2, -1), constant(2, 2)), []float64{.5, .1}, []float64{0, 2}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := mustRegion(t, c.p)
			res := must.Get(Minimize(context.Background(), c.f, r, c.start, Config{}))(t)
			t.Logf("%+v", res)
			if v := r.Violation(res.X); v > 1e-12 {
				t.Errorf("violation %v", v)
			}
			for j := range c.want {
				if math.Abs(res.X[j]-c.want[j]) > 1e-5 {
					t.Fatalf("x = %v, want %v", res.X, c.want)
				}
			}
			if res.KKT > 1e-4 || res.Status == IterationLimit {
				t.Errorf("KKT residual %v, status %v", res.KKT, res.Status)
			}
		})
	}
}

// TestSearchProperties: on random polytopes and non-convex functions the result is feasible,
// stationary, and no worse than the start; f is only ever evaluated inside.
func TestSearchProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, z := drawPolytope(t)
		n := len(z)
		for j := range p.Upper {
			p.Upper[j] = min(p.Upper[j], 2)
		}
		r := must.Get(NewRegion(p))(t)
		center := rapid.SliceOfN(rapid.Float64Range(-1, 2), n, n).Draw(t, "center")
		wave := rapid.Float64Range(0, 1).Draw(t, "wave")
		f := func(x, g []float64) float64 {
			if v := r.Violation(x); v > 1e-11 {
				t.Fatalf("f evaluated outside, violation %v", v)
			}
			var v float64
			for j := range x {
				u := x[j] - center[j]
				w := float64(j + 1)
				v += w*u*u + wave*math.Sin(5*x[j])
				if g != nil {
					g[j] = 2*w*u + 5*wave*math.Cos(5*x[j])
				}
			}
			return v
		}
		res := must.Get(Minimize(context.Background(), f, r, z, Config{}))(t)
		if v := r.Violation(res.X); v > 1e-12 {
			t.Fatalf("violation %v", v)
		}
		for j, v := range res.X {
			if v < p.Lower[j] || v > p.Upper[j] {
				t.Fatalf("x[%d] = %v leaves [%v, %v]", j, v, p.Lower[j], p.Upper[j])
			}
		}
		if res.F > f(z, nil)+1e-12 { // z itself may violate by rounding
			t.Fatalf("f = %v is worse than the start's %v", res.F, f(z, nil))
		}
		if res.KKT > 1e-4 {
			t.Fatalf("KKT residual %v after %d iterations (%s) at %v", res.KKT, res.Iterations, res.Status, res.X)
		}
	})
}

// branin has three global minima with value 0.397887; its first coordinate here is wider, so that
// there are local ones.
func branin(x, g []float64) float64 {
	a, b, c, s, u := 1.0, 5.1/(4*math.Pi*math.Pi), 5/math.Pi, 10.0, 1/(8*math.Pi)
	q := x[1] - b*x[0]*x[0] + c*x[0] - 6
	if g != nil {
		g[0] = 2*a*q*(-2*b*x[0]+c) - s*(1-u)*math.Sin(x[0])
		g[1] = 2 * a * q
	}
	return a*q*q + s*(1-u)*math.Cos(x[0]) + s
}

func uniform(rng *rand.Rand, lo, up []float64) []float64 {
	x := make([]float64, len(lo))
	for j := range x {
		x[j] = lo[j] + (up[j]-lo[j])*rng.Float64()
	}
	return x
}

// TestMultiStart: the global minimum is found, the result repeats bit for bit, and no start is
// better.
func TestMultiStart(t *testing.T) {
	lo, up := []float64{-5, 0}, []float64{10, 15}
	r := mustRegion(t, Box(lo, up))
	rng := rand.New(rand.NewPCG(1, 2))
	var starts [][]float64
	for range 64 {
		starts = append(starts, uniform(rng, lo, up))
	}
	cfg := MultiStartConfig{Searches: 8, Seed: 7}
	a := must.Get(MultiStart(context.Background(), branin, r, starts, cfg))(t)
	b, _ := MultiStart(context.Background(), branin, r, starts, cfg)
	if fmt.Sprint(a) != fmt.Sprint(b) {
		t.Errorf("two runs differ:\n%+v\n%+v", a, b)
	}
	if math.Abs(a.F-0.39788735772973816) > 1e-9 {
		t.Errorf("minimum %v", a.F)
	}
	best := 0
	for i, x := range starts {
		if branin(x, nil) < branin(starts[best], nil) {
			best = i
		}
		if branin(x, nil) < a.F {
			t.Errorf("start %d is better than the result", i)
		}
	}
	if !slices.Contains(a.Searched, best) || len(a.Searched) != 8 || a.Screened != 64 {
		t.Errorf("searched %v of %d; the best start is %d", a.Searched, a.Screened, best)
	}
	cfg.Seed = 8
	c, _ := MultiStart(context.Background(), branin, r, starts, cfg)
	if slices.Equal(a.Searched, c.Searched) {
		t.Error("the seed does not matter")
	}
}

// TestMultiStartEdges: undefined starts are passed over, ties go to the first start, a flat
// function is no trouble.
func TestMultiStartEdges(t *testing.T) {
	r := mustRegion(t, Box(constant(1, 0), constant(1, 1)))
	ctx := context.Background()
	starts := [][]float64{{.9}, {.5}, {.1}}
	flat := func(x, g []float64) float64 { clear(g); return 3 }
	res, err := MultiStart(ctx, flat, r, starts, MultiStartConfig{})
	if err != nil || res.Start != 0 || res.Status != Converged || res.X[0] != .9 {
		t.Errorf("flat function: %+v, %v", res, err)
	}
	half := func(x, g []float64) float64 {
		if x[0] > .6 {
			return math.NaN()
		}
		if g != nil {
			g[0] = 1
		}
		return x[0]
	}
	res, err = MultiStart(ctx, half, r, starts, MultiStartConfig{})
	if err != nil || res.Screened != 2 || res.X[0] != 0 {
		t.Errorf("function undefined at a start: %+v, %v", res, err)
	}
	if _, err = MultiStart(ctx, half, r, starts[:1], MultiStartConfig{}); !errors.Is(err, ErrStart) {
		t.Errorf("no usable start: %v", err)
	}
}

// TestCancel: a cancelled search returns the context's error and no result.
func TestCancel(t *testing.T) {
	r := mustRegion(t, Box(constant(2, -2), constant(2, 2)))
	ctx, cancel := context.WithCancel(context.Background())
	n := 0
	f := func(x, g []float64) float64 {
		if n++; n == 5 {
			cancel()
		}
		return rosenbrock(x, g)
	}
	res, err := Minimize(ctx, f, r, []float64{-1.2, 1}, Config{})
	if !errors.Is(err, context.Canceled) || res.X != nil {
		t.Errorf("got %+v, %v", res, err)
	}
	if _, err := MultiStart(ctx, f, r, [][]float64{{0, 0}}, MultiStartConfig{}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func BenchmarkMinimize(b *testing.B) {
	for _, d := range []int{4, 8, 16} {
		mixture := Polytope{
			Lower: constant(d, -2),
			Upper: constant(d, 2),
			A:     [][]float64{constant(d, 1)},
			B:     []float64{1},
		}
		for _, c := range []struct {
			name string
			p    Polytope
		}{{"box", Box(constant(d, -2), constant(d, 2))}, {"mixture", mixture}} {
			b.Run(fmt.Sprintf("%s/d=%d", c.name, d), func(b *testing.B) {
				r := mustRegion(b, c.p)
				x0 := constant(d, -1)
				iterations := 0
				for b.Loop() {
					res := must.Get(Minimize(context.Background(), rosenbrock, r, x0, Config{}))(b)
					iterations = res.Iterations
				}
				b.ReportMetric(float64(iterations), "iterations")
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(iterations), "ns/iteration")
			})
		}
	}
}
