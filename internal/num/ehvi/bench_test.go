package ehvi

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/campaignd/campaignd/internal/num/gp"
	"github.com/campaignd/campaignd/internal/tests/must"
)

// dtlz2 fills y with the values of the test problem DTLZ2 (Deb et al. 2005), which are minimized.
func dtlz2(y, x []float64) {
	m, g := len(y), 0.0
	for _, v := range x[m-1:] {
		g += (v - 0.5) * (v - 0.5)
	}
	for k := range y {
		y[k] = 1 + g
		for _, v := range x[:m-1-k] {
			y[k] *= math.Cos(v * math.Pi / 2)
		}
		if k > 0 {
			y[k] *= math.Sin(x[m-1-k] * math.Pi / 2)
		}
	}
}

// spread is a trade-off of m objectives of DTLZ2 in six dimensions with n measurements: as late in a campaign, half of them near the
// front.
func spread(tb testing.TB, n, m int, noise float64) Tradeoff {
	tb.Helper()
	const d = 6
	rng := rand.New(rand.NewPCG(uint64(n), uint64(m)))
	points, values := make([][]float64, n), make([][]float64, n)
	for i := range points {
		points[i], values[i] = make([]float64, d), make([]float64, m)
		for j := range points[i] {
			points[i][j] = rng.Float64()
			if j >= m-1 && i%2 == 0 {
				points[i][j] = 0.5 + 0.15*(rng.Float64()-0.5)
			}
		}
		dtlz2(values[i], points[i])
	}
	t := Tradeoff{Measured: points, Seed: 3}
	for k := range m {
		y := make([]float64, n)
		mean, square := 0.0, 0.0
		for i, v := range values {
			y[i] = v[k]
			mean += y[i] / float64(n)
			square += y[i] * y[i] / float64(n)
		}
		sd := math.Sqrt(square - mean*mean)
		for i := range y {
			y[i] = (y[i]-mean)/sd + math.Sqrt(noise)*rng.NormFloat64()
		}
		g := must.Get(gp.New(gp.Data{X: points, Y: y}, "rbf",
			gp.Hyper{Lengthscales: []float64{0.7, 0.8, 1, 1.2, 1.2, 1.2}, OutputScale: 1, Noise: noise}))(tb)
		t.Objectives = append(t.Objectives, Objective{
			Model: g.Condition(nil, nil, nil), Minimized: true, Reference: (1.1 - mean) / sd,
		})
	}
	return t
}

// each runs a benchmark for several sizes, with as many members as are usual.
func each(b *testing.B, bench func(b *testing.B, t Tradeoff)) {
	for _, m := range []int{2, 3, 4} {
		for _, n := range []int{50, 100, 200} {
			b.Run(fmt.Sprintf("m=%d/n=%d", m, n), func(b *testing.B) {
				t := spread(b, n, m, 1e-3)
				if m == 4 {
					t.Members = 32
				}
				bench(b, t)
			})
		}
	}
}

func BenchmarkNewNoisy(b *testing.B) {
	each(b, func(b *testing.B, t Tradeoff) {
		cells := 0
		var noisy *Noisy
		for b.Loop() {
			var err error
			if noisy, err = NewNoisy(t); err != nil {
				b.Fatal(err)
			}
		}
		for _, r := range noisy.members.regions {
			cells += len(r.cells) / 2 / len(t.Objectives)
		}
		b.ReportMetric(float64(len(noisy.Points())), "points")
		b.ReportMetric(float64(cells)/float64(noisy.Members()), "cells")
	})
}

// evaluated runs an evaluation at points all over the cube, as a search's starts are, or near the front.
func evaluated(b *testing.B, t Tradeoff, evaluate func(n *Noisy, x, grad []float64)) {
	noisy := must.Get(NewNoisy(t))(b)
	rng := rand.New(rand.NewPCG(9, 9))
	starts := make([][]float64, 64)
	for i := range starts {
		starts[i] = make([]float64, noisy.dim)
		for j := range starts[i] {
			starts[i][j] = rng.Float64()
			if i%2 == 0 && j >= len(t.Objectives)-1 {
				starts[i][j] = 0.5 + 0.3*(rng.Float64()-0.5)
			}
		}
	}
	grad := make([]float64, noisy.dim)
	i := 0
	for b.Loop() {
		evaluate(noisy, starts[i%len(starts)], grad)
		i++
	}
}

func BenchmarkLog(b *testing.B) {
	each(b, func(b *testing.B, t Tradeoff) {
		evaluated(b, t, func(n *Noisy, x, _ []float64) { n.Log(x) })
	})
}

func BenchmarkLogGrad(b *testing.B) {
	each(b, func(b *testing.B, t Tradeoff) {
		evaluated(b, t, func(n *Noisy, x, grad []float64) { n.LogGrad(x, grad) })
	})
}

// BenchmarkMembers is the closed form alone, without posteriors.
func BenchmarkMembers(b *testing.B) {
	each(b, func(b *testing.B, t Tradeoff) {
		evaluated(b, t, func(n *Noisy, x, grad []float64) {
			if grad[0] == 0 {
				n.LogGrad(x, grad)
				grad[0] = 1
			}
			n.members.LogGrad(n.means, n.sd, n.dMeans, n.dSD)
		})
	})
}
