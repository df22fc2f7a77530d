package kernel

import (
	"errors"
	"math"
	"testing"

	"pgregory.net/rapid"

	_ "github.com/campaignd/campaignd/internal/tests/draws"
	"github.com/campaignd/campaignd/internal/tests/must"
)

var names = []string{"rbf", "matern52", "matern32"}

// formula is the textbook form of each kernel, written without any shortcut.
func formula(name string, x, y, l []float64, s2 float64) float64 {
	var q float64
	for j := range x {
		q += math.Pow((x[j]-y[j])/l[j], 2)
	}
	r := math.Sqrt(q)
	switch name {
	case "rbf":
		return s2 * math.Exp(-r*r/2)
	case "matern52":
		return s2 * (1 + math.Sqrt(5)*r + 5*r*r/3) * math.Exp(-math.Sqrt(5)*r)
	default:
		return s2 * (1 + math.Sqrt(3)*r) * math.Exp(-math.Sqrt(3)*r)
	}
}

type problem struct {
	name string
	l    []float64
	s2   float64
	X    [][]float64
	x    []float64
}

func drawProblem(t *rapid.T) problem {
	d := rapid.IntRange(1, 6).Draw(t, "d")
	n := rapid.IntRange(1, 12).Draw(t, "n")
	point := rapid.SliceOfN(rapid.Float64Range(0, 1), d, d)
	return problem{
		name: rapid.SampledFrom(names).Draw(t, "name"),
		l:    rapid.SliceOfN(rapid.Float64Range(0.025, 5), d, d).Draw(t, "l"),
		s2:   rapid.Float64Range(0.1, 10).Draw(t, "s2"),
		X:    rapid.SliceOfN(point, n, n).Draw(t, "X"),
		x:    point.Draw(t, "x"),
	}
}

func TestKernelIsTheFormula(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawProblem(t)
		k := must.Get(New(p.name, p.l, p.s2))(t)
		n, d := len(p.X), len(p.l)
		gram, cross := make([]float64, n*n), make([]float64, n)
		dst, grad := make([]float64, n), make([]float64, n*d)
		k.Gram(gram, p.X)
		k.Cross(cross, p.X, p.x)
		k.CrossGrad(dst, grad, p.X, p.x)
		diag := make([]float64, d)
		diag[0] = 1
		if v := k.Diag(p.x, diag); v != p.s2 || diag[0] != 0 {
			t.Fatalf("the variance is %v with the derivatives %v, want %v and none", v, diag, p.s2)
		}
		for i := range p.X {
			want := formula(p.name, p.X[i], p.x, p.l, p.s2)
			if math.Abs(cross[i]-want) > 1e-13*p.s2 || math.Abs(k.Eval(p.X[i], p.x)-want) > 1e-13*p.s2 {
				t.Fatalf("k(X_%d, x) = %v, want %v", i, cross[i], want)
			}
			if cross[i] != dst[i] {
				t.Fatalf("CrossGrad and Cross differ: %v, %v", dst[i], cross[i])
			}
			if gram[i*n+i] != p.s2 {
				t.Fatalf("diagonal is %v, want exactly %v", gram[i*n+i], p.s2)
			}
			for j := range p.X {
				if gram[i*n+j] != gram[j*n+i] {
					t.Fatal("Gram is not exactly symmetric")
				}
				if want := formula(p.name, p.X[i], p.X[j], p.l, p.s2); math.Abs(gram[i*n+j]-want) > 1e-13*p.s2 {
					t.Fatalf("Gram[%d,%d] = %v, want %v", i, j, gram[i*n+j], want)
				}
			}
			for j := range d {
				// A central difference of step h has an error of h²k'''/6 + eps·k/h, and k''' grows
				// with ℓ^-3.
				const h = 1e-5
				up, down := append([]float64{}, p.x...), append([]float64{}, p.x...)
				up[j] += h
				down[j] -= h
				fd := (formula(p.name, p.X[i], up, p.l, p.s2) - formula(p.name, p.X[i], down, p.l, p.s2)) / (2 * h)
				tol := p.s2 * (1e-9 + 10*h*h/math.Pow(p.l[j], 3))
				if p.name == "matern32" { // its third derivative jumps at coinciding points
					tol += p.s2 * 10 * h / (p.l[j] * p.l[j])
				}
				if math.Abs(grad[i*d+j]-fd) > tol {
					t.Fatalf("%s: ∂k(X_%d,x)/∂x_%d = %v, finite difference %v (tolerance %v)",
						p.name, i, j, grad[i*d+j], fd, tol)
				}
			}
		}
	})
}

// TestSlope checks ρ' against a finite difference of ρ, which all gradients in lengthscales rest
// on.
func TestSlope(t *testing.T) {
	for _, f := range []Family{RBF, Matern52, Matern32} {
		for _, s := range []float64{1e-3, 0.1, 1, 3, 20} {
			h := 1e-5 * s
			fd := (f.Rho(s+h) - f.Rho(s-h)) / (2 * h)
			rho, slope := f.RhoSlope(s)
			if rho != f.Rho(s) || math.Abs(slope-fd) > 1e-6*math.Abs(fd)+1e-10 {
				t.Errorf("%v: ρ'(%v) = %v, finite difference %v", f, s, slope, fd)
			}
			var r, sl [1]float64
			f.FillSlope(r[:], sl[:], []float64{s}, 2)
			if math.Abs(r[0]-2*rho) > 1e-15 || math.Abs(sl[0]-2*slope) > 1e-15 {
				t.Errorf("%v: FillSlope differs from RhoSlope at %v", f, s)
			}
		}
	}
}

func TestNewRefuses(t *testing.T) {
	for _, c := range []struct {
		name string
		l    []float64
		s2   float64
		want error
	}{
		{"matern12", []float64{1}, 1, ErrUnknown},
		{"rbf", nil, 1, ErrHyperparameter},
		{"rbf", []float64{1, 0}, 1, ErrHyperparameter},
		{"rbf", []float64{math.NaN()}, 1, ErrHyperparameter},
		{"rbf", []float64{1e-200}, 1, ErrHyperparameter},
		{"rbf", []float64{1}, math.Inf(1), ErrHyperparameter},
		{"rbf", []float64{1}, -1, ErrHyperparameter},
	} {
		if _, err := New(c.name, c.l, c.s2); !errors.Is(err, c.want) {
			t.Errorf("New(%q, %v, %v) = %v, want %v", c.name, c.l, c.s2, err, c.want)
		}
	}
}

func TestNoAllocation(t *testing.T) {
	k, _ := New("matern52", []float64{0.3, 0.4}, 1)
	X := [][]float64{{0.1, 0.2}, {0.5, 0.4}, {0.9, 0.7}}
	x := []float64{0.3, 0.3}
	dst, grad, gram := make([]float64, 3), make([]float64, 6), make([]float64, 9)
	if n := testing.AllocsPerRun(10, func() {
		k.Eval(x, x)
		k.Cross(dst, X, x)
		k.CrossGrad(dst, grad, X, x)
		k.Gram(gram, X)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkCrossGrad(b *testing.B) {
	for _, name := range names {
		b.Run(name, func(b *testing.B) {
			const n, d = 200, 5
			l := []float64{0.3, 0.4, 0.5, 0.6, 0.7}
			k, _ := New(name, l, 1)
			X := make([][]float64, n)
			for i := range X {
				X[i] = make([]float64, d)
				for j := range X[i] {
					X[i][j] = math.Mod(float64(i*(j+3))*0.6180339887, 1)
				}
			}
			x := []float64{.1, .2, .3, .4, .5}
			dst, grad := make([]float64, n), make([]float64, n*d)
			for b.Loop() {
				k.CrossGrad(dst, grad, X, x)
			}
		})
	}
}
