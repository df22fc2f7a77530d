package composite_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/campaignd/campaignd/internal/num/composite"
	"github.com/campaignd/campaignd/internal/num/gp"
	"github.com/campaignd/campaignd/internal/num/optimize"
	"github.com/campaignd/campaignd/internal/tests/must"
)

// world is a problem of two quantities with models of n measurements, each given draws at the first
// of them.
type world struct {
	problem    composite.Problem
	predictors []*gp.ConditionedPredictor
	best       []float64
	dsd        []float64
	at         composite.Posterior
	gradient   composite.Gradient
	mixture    *composite.Mixture
	spent      time.Duration // in the mixture alone
}

func newWorld(
	t testing.TB, n, d, members int, objective composite.Function, constraints ...composite.Function,
) *world {
	t.Helper()
	rng := rand.New(rand.NewPCG(uint64(n), 1))
	X := make([][]float64, n)
	for i := range X {
		X[i] = make([]float64, d)
		for j := range X[i] {
			X[i][j] = rng.Float64()
		}
	}
	w := &world{dsd: make([]float64, d), best: make([]float64, members), problem: composite.Problem{
		Quantities: []composite.Scale{{Center: 8, Spread: 2}, {Center: 1, Spread: 0.4, Log: true}},
		Objective:  objective, Constraints: constraints, Maximize: true, Parameters: d,
	}}
	tried := X[:min(n, 30)]
	values := make([][][]float64, 2) // of each quantity, member and design
	for k := range 2 {
		y := make([]float64, n)
		for i, x := range X {
			y[i] = math.Sin(3*x[k]+float64(k)) + 0.5*x[(k+1)%d]
		}
		h := gp.Hyper{Lengthscales: make([]float64, d), OutputScale: 1, Noise: 0.01}
		for j := range h.Lengthscales {
			h.Lengthscales[j] = 0.8
		}
		g := must.Get(gp.New(gp.Data{X: X, Y: y}, "rbf", h))(t)
		for range members {
			row := make([]float64, len(tried))
			for i := range row {
				row[i] = y[i] + 0.1*rng.NormFloat64()
			}
			values[k] = append(values[k], row)
		}
		given := must.Get(g.Condition(nil, nil, nil).Given(tried, values[k], 0))(t)
		w.predictors = append(w.predictors, given.NewPredictor())
	}
	for s := range w.best {
		rows := make([][]float64, len(tried))
		for i := range rows {
			rows[i] = []float64{values[0][s][i], values[1][s][i]}
		}
		w.best[s], _ = w.problem.Incumbent(rows, tried)
	}
	var err error
	if w.mixture, err = composite.New(w.problem, members); err != nil {
		t.Fatal(err)
	}
	w.at = composite.Posterior{Means: make([][]float64, 2), SDs: make([]float64, 2)}
	return w
}

// acquisition is what a policy minimizes: −ln of the noisy expected improvement.
func (w *world) acquisition(x, grad []float64) float64 {
	w.at.Parameters = x
	for k, p := range w.predictors {
		w.at.Means[k], w.at.SDs[k] = p.Means(x)
		w.at.SDs[k] = max(w.at.SDs[k], 1e-7)
	}
	if grad == nil {
		begun := time.Now()
		value := w.mixture.LogEI(w.at, w.best)
		w.spent += time.Since(begun)
		return -value
	}
	begun := time.Now()
	value := w.mixture.LogEIGrad(w.at, w.best, &w.gradient)
	w.spent += time.Since(begun)
	for j, v := range w.gradient.Parameters {
		grad[j] = -v
	}
	dmean := make([]float64, len(x))
	for k, p := range w.predictors {
		p.MeansGrad(x, w.dsd)
		p.WeighedGrad(dmean, w.gradient.Means[k])
		for j := range grad {
			grad[j] -= dmean[j] + w.gradient.SDs[k]*w.dsd[j]
		}
	}
	return -value
}

// Law: the gradient in the design, through models, scales, members and parameters, is that of differences.
func TestGradientInTheDesign(t *testing.T) {
	names := []string{"conductivity", "viscosity", "x0", "x1"}
	w := newWorld(t, 12, 2, 16, bind(t, "conductivity/sqrt(viscosity) - 0.4*x0*x1", names...),
		bind(t, "viscosity*x1 - 2.5", names...))
	grad := make([]float64, 2)
	for _, x := range [][]float64{{0.3, 0.6}, {0.9, 0.1}, {0.52, 0.97}} {
		value := w.acquisition(x, grad)
		if plain := w.acquisition(x, nil); plain != value || math.IsInf(value, 0) {
			t.Fatalf("at %v it is %v with a gradient and %v without", x, value, plain)
		}
		for j := range x {
			const h = 1e-5
			up, down := append([]float64{}, x...), append([]float64{}, x...)
			up[j] += h
			down[j] -= h
			want := (w.acquisition(up, nil) - w.acquisition(down, nil)) / (2 * h)
			if !(math.Abs(grad[j]-want) <= 1e-4*(1+math.Abs(want))) {
				t.Errorf("at %v derivative %d is %v, by differences %v", x, j, grad[j], want)
			}
		}
	}
}

// BenchmarkSearch is the search of one decision in six dimensions: 288 designs screened and six local
// searches, as policies do. The metric is what the formula takes of it.
func BenchmarkSearch(b *testing.B) {
	names := []string{"conductivity", "viscosity", "x0", "x1", "x2", "x3", "x4", "x5"}
	for _, c := range []struct {
		name        string
		constraints []composite.Function
	}{
		{"formula", nil},
		{"under a bound", []composite.Function{bind(b, "viscosity - 2.5", names...)}},
	} {
		for _, n := range []int{25, 50, 100, 200} {
			b.Run(fmt.Sprintf("%s/n=%d", c.name, n), func(b *testing.B) {
				w := newWorld(b, n, 6, 64, bind(b, "conductivity/sqrt(viscosity)", names...), c.constraints...)
				region, err := optimize.NewRegion(optimize.Box(make([]float64, 6), []float64{1, 1, 1, 1, 1, 1}))
				if err != nil {
					b.Fatal(err)
				}
				rng := rand.New(rand.NewPCG(1, 2))
				starts := make([][]float64, 288)
				for i := range starts {
					starts[i] = make([]float64, 6)
					for j := range starts[i] {
						starts[i][j] = rng.Float64()
					}
				}
				evaluations := 0
				w.spent = 0
				runs := 0
				for b.Loop() {
					r, err := optimize.MultiStart(b.Context(), w.acquisition, region, starts, optimize.MultiStartConfig{
						Searches: 6, Seed: 1, Local: optimize.Config{FTol: 1e-9},
					})
					if err != nil {
						b.Fatal(err)
					}
					evaluations = r.Evaluations
					runs++
				}
				b.ReportMetric(float64(evaluations), "evaluations")
				b.ReportMetric(w.spent.Seconds()*1e3/float64(runs), "ms/formula")
			})
		}
	}
}
