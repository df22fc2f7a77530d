package confset

import (
	"errors"
	"math"
	"testing"

	"github.com/campaignd/campaignd/internal/tests/must"
	"gonum.org/v1/gonum/mat"
	"pgregory.net/rapid"
)

// A stated belief can stand wherever a learned one does.
var _ = []interface {
	Bounds(x []float64) (lower, upper float64, err error)
	Lower(x, grad []float64) (float64, error)
	Upper(x, grad []float64) (float64, error)
	MLEAt(x, grad []float64) float64
}{(*Set)(nil), (*Gaussian)(nil)}

// drawGaussian draws a belief with a full covariance and a point.
func drawGaussian(t *rapid.T) (g *Gaussian, mean, covariance, x []float64, limit float64) {
	d := rapid.IntRange(1, 4).Draw(t, "d")
	root := make([]float64, d*d)
	for i := range root {
		root[i] = rapid.Float64Range(-0.5, 0.5).Draw(t, "root")
	}
	covariance = make([]float64, d*d)
	for i := range d {
		for j := range d {
			for k := range d {
				covariance[i*d+j] += root[i*d+k] * root[j*d+k]
			}
		}
		covariance[i*d+i] += 0.02
		mean = append(mean, rapid.Float64Range(0, 1).Draw(t, "mean"))
		x = append(x, rapid.Float64Range(0, 1).Draw(t, "x"))
	}
	limit = rapid.SampledFrom([]float64{0.5, DefaultLimit, 30}).Draw(t, "limit")
	g = must.Get(NewGaussianCovariance(mean, covariance, limit))(t)
	return g, mean, covariance, x, limit
}

// The probability of acceptance is the density scaled to [S(−limit), S(limit)], greatest at the
// mean; g is its log-odds, of rejection against acceptance; both bounds are g.
func TestGaussianIsItsDensity(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g, mean, covariance, x, limit := drawGaussian(t)
		d := len(mean)
		var inverse mat.Dense
		if err := inverse.Inverse(mat.NewDense(d, d, covariance)); err != nil {
			t.Skip("ill-conditioned for the reference")
		}
		far := sub(x, mean)
		density := math.Exp(-0.5 * mat.Inner(far, &inverse, far))
		sigmoid := func(z float64) float64 { return 1 / (1 + math.Exp(-z)) }
		want := sigmoid(-limit) + (sigmoid(limit)-sigmoid(-limit))*density
		got, top := g.Accept(x), g.Accept(mean)
		if math.Abs(got-want) > 1e-9 || math.Abs(top-sigmoid(limit)) > 1e-12 || got > top || top > 1 || got <= 0 {
			t.Fatalf("P(accept) = %v, want %v; at the mean %v", got, want, top)
		}
		lower, upper, err := g.Bounds(x)
		if err != nil || lower != upper || math.Abs(sigmoid(-lower)-got) > 1e-9 {
			t.Fatalf("bounds %v, %v where P(accept) = %v, %v", lower, upper, got, err)
		}
		if math.Abs(lower) > limit*(1+1e-12) {
			t.Fatalf("g = %v beyond %v", lower, limit)
		}
	})
}

// The gradient agrees with central differences, and is 0 at the mean.
func TestGaussianGradient(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g, mean, _, x, _ := drawGaussian(t)
		if mat.Norm(sub(x, mean), math.Inf(1)) < 1e-3 {
			t.Skip("a large limit makes g the logarithm of a square near the mean, too steep for differences")
		}
		grad := make([]float64, len(x))
		must.Get(g.Upper(x, grad))(t)
		for j := range x {
			const h = 1e-6
			at := append([]float64(nil), x...)
			at[j] += h
			up := g.MLEAt(at, nil)
			at[j] -= 2 * h
			down := g.MLEAt(at, nil)
			if want := (up - down) / (2 * h); math.Abs(grad[j]-want) > 1e-4*(1+math.Abs(want)) {
				t.Fatalf("∂/∂x_%d = %v, differences give %v", j, grad[j], want)
			}
		}
		g.MLEAt(mean, grad)
		for _, v := range grad {
			if v != 0 {
				t.Fatalf("gradient %v at the mean", grad)
			}
		}
	})
}

// Independent parameters are a diagonal covariance. One standard deviation away p is e^{−½}, as in
// the paper when no limit is felt.
func TestGaussianOfStandardDeviations(t *testing.T) {
	g := must.Get(NewGaussian([]float64{0.3, 0.6}, []float64{0.1, 0.4}, 30))(t)
	for _, x := range [][]float64{{0.4, 0.6}, {0.2, 0.6}, {0.3, 1}} {
		if p := g.Accept(x); math.Abs(p-math.Exp(-0.5)) > 1e-12 {
			t.Errorf("P(accept %v) = %v", x, p)
		}
	}
	// g is 0 where one half is accepted, at distance √(2 ln 2).
	if v := g.MLEAt([]float64{0.3 + 0.1*math.Sqrt(2*math.Ln2), 0.6}, nil); math.Abs(v) > 1e-12 {
		t.Errorf("g = %v where half is accepted", v)
	}
}

// What makes no Gaussian is refused.
func TestGaussianRefusals(t *testing.T) {
	for _, c := range []struct {
		name     string
		mean, sd []float64
		limit    float64
		want     error
	}{
		{"sd missing", []float64{0, 1}, []float64{1}, 3, ErrGaussian},
		{"sd 0", []float64{0}, []float64{0}, 3, ErrGaussian},
		{"sd so small that its square is 0", []float64{0}, []float64{1e-200}, 3, ErrGaussian},
		{"mean NaN", []float64{math.NaN()}, []float64{1}, 3, ErrGaussian},
		{"no parameters", nil, nil, 3, ErrGaussian},
		{"limit 0", []float64{0}, []float64{1}, 0, ErrSetting},
		{"limit infinite", []float64{0}, []float64{1}, math.Inf(1), ErrSetting},
	} {
		if _, err := NewGaussian(c.mean, c.sd, c.limit); !errors.Is(err, c.want) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	for name, covariance := range map[string][]float64{
		"not symmetric":         {1, 0.5, 0.4, 1},
		"not positive definite": {1, 2, 2, 1},
		"another size":          {1},
	} {
		if _, err := NewGaussianCovariance([]float64{0, 0}, covariance, 3); !errors.Is(err, ErrGaussian) {
			t.Errorf("%s: %v", name, err)
		}
	}
	g := must.Get(NewGaussian([]float64{0}, []float64{1}, 3))(t)
	if _, _, err := g.Bounds([]float64{math.Inf(1)}); !errors.Is(err, ErrPoint) {
		t.Errorf("bounds at infinity: %v", err)
	}
}
