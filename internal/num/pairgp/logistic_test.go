package pairgp

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/integrate/quad"
	"pgregory.net/rapid"

	"github.com/campaignd/campaignd/internal/num/special"
	_ "github.com/campaignd/campaignd/internal/tests/draws"
)

// kolmogorovDensity is the derivative of Kolmogorov's distribution function, by whichever of its
// two series converges.
func kolmogorovDensity(k float64) float64 {
	var sum float64
	if k < 1 {
		for i := 1; i < 12; i++ {
			c := float64((2*i-1)*(2*i-1)) * math.Pi * math.Pi / 8
			sum += math.Exp(-c/(k*k)) * (2*c/math.Pow(k, 4) - 1/(k*k))
		}
		return math.Sqrt(2*math.Pi) * sum
	}
	for i := 1; i < 12; i++ {
		f := float64(i * i)
		sum += math.Pow(-1, float64(i-1)) * 8 * f * k * math.Exp(-2*f*k*k)
	}
	return sum
}

// The table is what its comment says.
func TestMixtureIsKolmogorovs(t *testing.T) {
	n := len(kolmogorov)
	weights := make([]float64, n)
	var total float64
	for i := range weights {
		k := math.Exp(-1.5 + 3*float64(i)/float64(n-1))
		weights[i] = kolmogorovDensity(k) * k
		total += weights[i]
		if s := 1 / (2 * k); math.Abs(kolmogorov[i].slope-s) > 1e-14*s {
			t.Errorf("slope %d is %v, want %v", i, kolmogorov[i].slope, s)
		}
	}
	for i, w := range weights {
		if math.Abs(kolmogorov[i].weight-w/total) > 1e-14 {
			t.Errorf("weight %d is %v, want %v", i, kolmogorov[i].weight, w/total)
		}
	}
}

// Against quadrature of the defining integral, over the means and variances a preference takes, to
// the stated 1e-11.
func TestLogisticNormal(t *testing.T) {
	for _, variance := range []float64{0, 1e-6, 0.01, 0.3, 1, 5, 20, 100} {
		for _, mean := range []float64{0, 0.01, 0.5, 1, 2.5, 6, 15, 40} {
			sd := math.Sqrt(variance)
			average := func(f func(h float64) float64) float64 {
				if sd == 0 {
					return f(mean)
				}
				// Panels of one unit: the logistic function has poles at ±πi.
				var sum float64
				lo, hi := mean-9*sd, mean+9*sd
				panels := int(math.Ceil(hi-lo)) + 10
				for i := range panels {
					a := lo + (hi-lo)*float64(i)/float64(panels)
					b := lo + (hi-lo)*float64(i+1)/float64(panels)
					sum += quad.Fixed(func(h float64) float64 {
						return f(h) * special.NormalPDF((h-mean)/sd) / sd
					}, a, b, 24, nil, 0)
				}
				return sum
			}
			wantP := average(special.Logistic)
			wantB := average(func(h float64) float64 { return special.Logistic(h) * special.Logistic(-h) })
			p, b := LogisticNormal(mean, variance)
			if math.Abs(p-wantP) > 1e-11 || math.Abs(b-wantB) > 1e-11 {
				t.Errorf("mean %v variance %v: (%v, %v), want (%v, %v)", mean, variance, p, b, wantP, wantB)
			}
		}
	}
}

func TestLogisticNormalIsAProbability(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := rapid.Float64Range(-1e3, 1e3).Draw(t, "mean")
		v := rapid.Float64Range(0, 1e4).Draw(t, "variance")
		p, b := LogisticNormal(m, v)
		q, c := LogisticNormal(-m, v)
		if p+q != 1 || b != c || p < 0 || p > 1 || b < 0 || b > 0.25 {
			t.Fatalf("(%v, %v) and mirrored (%v, %v)", p, b, q, c)
		}
	})
}
