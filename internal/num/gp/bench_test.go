package gp

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/campaignd/campaignd/internal/tests/must"
)

var sizes = []int{25, 50, 100, 200, 400, 1000, 2000}

const benchDim = 5

var benchHyper = Hyper{Lengthscales: []float64{.3, .4, .6, .8, 1}, OutputScale: 1, Noise: .01}

func BenchmarkFit(b *testing.B) {
	for _, n := range sizes {
		b.Run(fmt.Sprintf("n=%d", n), func(b *testing.B) {
			data := synthetic(n, benchDim, 1)
			evaluations := 0
			for b.Loop() {
				evaluations = mustFit(b, data, FitConfig{Seed: 1}).Evaluations
			}
			b.ReportMetric(float64(evaluations), "evaluations")
		})
	}
}

// BenchmarkFitAgain fits large data from the last fit.
func BenchmarkFitAgain(b *testing.B) {
	for _, n := range []int{100, 400, 1000, 2000, 5000} {
		b.Run(fmt.Sprintf("n=%d", n), func(b *testing.B) {
			data := synthetic(n, benchDim, 1)
			last := mustFit(b, Data{X: data.X[:n*9/10], Y: data.Y[:n*9/10]}, FitConfig{Seed: 1}).Hyper
			evaluations := 0
			for b.Loop() {
				evaluations = mustFit(b, data, FitConfig{Seed: 2, Warm: &last}).Evaluations
			}
			b.ReportMetric(float64(evaluations), "evaluations")
		})
	}
}

func BenchmarkLogMarginalGradient(b *testing.B) {
	for _, n := range sizes {
		b.Run(fmt.Sprintf("n=%d", n), func(b *testing.B) {
			l := newLikelihood(merge(synthetic(n, benchDim, 1)), mustFamily(b, "rbf"))
			g := gradient{lengthscales: make([]float64, benchDim)}
			for b.Loop() {
				if _, _, err := l.eval(b.Context(), benchHyper, true, &g); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkNew(b *testing.B) {
	for _, n := range slices.Concat(sizes, []int{5000}) {
		b.Run(fmt.Sprintf("n=%d", n), func(b *testing.B) {
			data := synthetic(n, benchDim, 1)
			for b.Loop() {
				must.Get(New(data, "rbf", benchHyper))(b)
			}
		})
	}
}

func BenchmarkPosteriorGrad(b *testing.B) {
	for _, n := range slices.Concat(sizes, []int{5000}) {
		b.Run(fmt.Sprintf("n=%d", n), func(b *testing.B) {
			g := must.Get(New(synthetic(n, benchDim, 1), "rbf", benchHyper))(b)
			p := g.NewPredictor()
			x, dm, ds := []float64{.1, .3, .5, .7, .9}, make([]float64, benchDim), make([]float64, benchDim)
			b.ReportAllocs()
			for b.Loop() {
				p.PosteriorGrad(x, dm, ds)
			}
		})
	}
}

// BenchmarkAppend adds ten observations to n−10 and divides by ten.
func BenchmarkAppend(b *testing.B) {
	const k = 10
	for _, n := range sizes {
		b.Run(fmt.Sprintf("n=%d", n), func(b *testing.B) {
			data := synthetic(n, benchDim, 1)
			g := must.Get(New(Data{X: data.X[:n-k], Y: data.Y[:n-k]}, "rbf", benchHyper))(b)
			g.grow(n)
			base := *g
			for b.Loop() {
				*g = base // rows past the base's are overwritten
				for i := n - k; i < n; i++ {
					must.Do(b, g.Append(data.X[i], data.Y[i], math.NaN()))
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/k, "ns/append")
		})
	}
}

// BenchmarkThompson draws one sample at 500 points.
func BenchmarkThompson(b *testing.B) {
	g := must.Get(New(synthetic(100, benchDim, 1), "rbf", benchHyper))(b)
	X := synthetic(500, benchDim, 2).X
	dst := make([]float64, len(X))
	for b.Loop() {
		must.Do(b, g.Joint(X).Sample(dst, rand.New(rand.NewPCG(1, 1))))
	}
}
