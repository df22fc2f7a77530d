package pref

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/campaignd/campaignd/internal/num/kernel"
	"github.com/campaignd/campaignd/internal/tests/must"
)

var benchSizes = []int{50, 100, 200, 400} // comparisons

const benchDim = 4

// synthetic returns n duels in d dimensions judged on a smooth utility under the probit link: eight
// of random pairs, the others of the previous winner and a random design, as the one-point rules
// choose them. So there are about n + 8 designs.
func synthetic(tb testing.TB, n, d int, seed uint64) Duels {
	rng := rand.New(rand.NewPCG(seed, 7))
	point := func() []float64 {
		x := make([]float64, d)
		for j := range x {
			x[j] = rng.Float64()
		}
		return x
	}
	utility := func(x []float64) (f float64) {
		for j, v := range x {
			f += math.Sin(3*v + float64(j))
		}
		return f
	}
	const variance = 0.1
	var winners, losers [][]float64
	for k := range n {
		x, y := point(), point()
		if k >= 8 {
			x = winners[k-1]
		}
		if utility(x)-utility(y)+math.Sqrt(2*variance)*rng.NormFloat64() < 0 {
			x, y = y, x
		}
		winners, losers = append(winners, x), append(losers, y)
	}
	return must.Get(NewDuels(winners, losers, func([]float64) float64 { return variance }))(tb)
}

func benchKernel(b testing.TB) kernel.Kernel {
	return must.Get(kernel.New("rbf", []float64{.3, .4, .5, .6}, 1))(b)
}

func BenchmarkLaplace(b *testing.B) {
	for _, n := range benchSizes {
		b.Run(fmt.Sprintf("n=%d", n), func(b *testing.B) {
			duels, k := synthetic(b, n, benchDim, 1), benchKernel(b)
			steps := 0
			for b.Loop() {
				res := must.Get(Laplace(context.Background(), duels, Probit, k, LaplaceConfig{}))(b)
				steps = res.Iterations
			}
			b.ReportMetric(float64(steps), "steps")
			b.ReportMetric(float64(len(duels.X)), "designs")
		})
	}
}

func BenchmarkEvidenceGradient(b *testing.B) {
	for _, n := range benchSizes {
		b.Run(fmt.Sprintf("n=%d", n), func(b *testing.B) {
			e := must.Get(newEvidence(synthetic(b, n, benchDim, 1), Probit, "rbf"))(b)
			g := evidenceGradient{lengthscales: make([]float64, benchDim)}
			h := Hyper{Lengthscales: []float64{.3, .4, .5, .6}, OutputScale: 1}
			for b.Loop() {
				e.forget() // from a cold start
				must.Get(e.eval(context.Background(), h, &g))(b)
			}
		})
	}
}

func BenchmarkFit(b *testing.B) {
	for _, n := range benchSizes {
		b.Run(fmt.Sprintf("n=%d", n), func(b *testing.B) {
			duels := synthetic(b, n, benchDim, 1)
			var res FitResult
			for b.Loop() {
				var err error
				if res, err = Fit(context.Background(), duels, FitConfig{Seed: 1}); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(res.Evaluations), "evaluations")
			b.ReportMetric(float64(res.NewtonSteps), "steps")
		})
	}
}

func BenchmarkPairGrad(b *testing.B) {
	for _, n := range benchSizes {
		b.Run(fmt.Sprintf("n=%d", n), func(b *testing.B) {
			res := must.Get(Laplace(context.Background(), synthetic(b, n, benchDim, 1), Probit, benchKernel(b),
				LaplaceConfig{}))(b)
			p, g := res.Posterior.NewPredictor(), NewPairGrad(benchDim)
			x, y := []float64{.1, .3, .5, .7}, []float64{.2, .9, .4, .6}
			b.ReportAllocs()
			for b.Loop() {
				p.PairGrad(x, y, g)
			}
		})
	}
}
