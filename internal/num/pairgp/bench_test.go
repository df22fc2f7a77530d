package pairgp

import (
	"context"
	"fmt"
	"testing"

	"github.com/campaignd/campaignd/internal/tests/must"
)

var (
	sizes      = []int{50, 100, 150, 200, 400} // comparisons; each is two rows
	benchHyper = Hyper{
		Lengthscales: []float64{0.5, 0.7, 0.9, 1.2},
		OutputScale:  10,
		Mean:         -3.5,
		AlphaEps:     DefaultAlphaEps,
	}
)

func BenchmarkFit(b *testing.B) {
	for _, n := range sizes {
		b.Run(fmt.Sprintf("n=%d", n), func(b *testing.B) {
			c := choices(n, 4, 1, 0.2, bump)
			evaluations := 0
			for b.Loop() {
				res := must.Get(Fit(context.Background(), c, FitConfig{Seed: 1}))(b)
				evaluations = res.Evaluations
			}
			b.ReportMetric(float64(evaluations), "evaluations")
		})
	}
}

// BenchmarkRefit is the fit after one more comparison, from the last one.
func BenchmarkRefit(b *testing.B) {
	for _, n := range sizes {
		b.Run(fmt.Sprintf("n=%d", n), func(b *testing.B) {
			c := choices(n+1, 4, 1, 0.2, bump)
			res := must.Get(Fit(context.Background(), c[:n], FitConfig{Seed: 1}))(b)
			for b.Loop() {
				must.Get(Fit(context.Background(), c, FitConfig{Warm: &res.Hyper, Starts: 1,
					Searches: 1}))(b)
			}
		})
	}
}

func BenchmarkNew(b *testing.B) {
	for _, n := range sizes {
		b.Run(fmt.Sprintf("n=%d", n), func(b *testing.B) {
			c := choices(n, 4, 1, 0.2, bump)
			for b.Loop() {
				mustNew(b, c, benchHyper)
			}
		})
	}
}

func BenchmarkPreference(b *testing.B) {
	for _, n := range sizes {
		b.Run(fmt.Sprintf("n=%d", n), func(b *testing.B) {
			p := mustNew(b, choices(n, 4, 1, 0.2, bump), benchHyper).NewPredictor()
			x, y := []float64{.1, .3, .5, .7}, []float64{.9, .2, .4, .6}
			b.ReportAllocs()
			for b.Loop() {
				p.Preference(x, y)
			}
		})
	}
}
