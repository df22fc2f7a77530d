package gp

import (
	"math"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/campaignd/campaignd/internal/tests/must"
)

// TestApproximationCost logs how far the approximate posterior is from the exact one, the table of
// docs/methods.md. It takes minutes, and runs where COST is set.
func TestApproximationCost(t *testing.T) {
	if os.Getenv("COST") == "" {
		t.Skip("it takes minutes; COST=1 runs it")
	}
	ackley := func(x []float64) float64 {
		squares, cosines := 0.0, 0.0
		for _, v := range x {
			u := 2*v - 1
			squares += u * u
			cosines += math.Cos(2 * math.Pi * u)
		}
		d := float64(len(x))
		return -20*math.Exp(-0.2*math.Sqrt(squares/d)) - math.Exp(cosines/d)
	}
	smooth := func(x []float64) (f float64) {
		for j, v := range x {
			f += math.Sin(float64(2*j+3)*v) / float64(j+1)
		}
		return f
	}
	for _, c := range []struct {
		name      string
		f         func([]float64) float64
		d         int
		best      float64 // each coordinate, about
		kernel    string
		clustered bool
	}{
		{"Ackley 4, everywhere", ackley, 4, .5, "rbf", false},
		{"Ackley 4, half near the optimum", ackley, 4, .5, "rbf", true},
		{"Ackley 4, half near the optimum, Matérn 5/2", ackley, 4, .5, "matern52", true},
		{"sum of sines 5, half near the optimum", smooth, 5, .9, "rbf", true},
	} {
		for _, size := range [][2]int{{1000, 500}, {2000, Exactly}, {4000, Exactly}} {
			if size[0] == 4000 && (c.kernel != "rbf" || c.d != 4) {
				continue
			}
			logCost(t, c.name, c.f, c.d, c.best, c.kernel, c.clustered, size[0], size[1])
		}
	}
}

func logCost(
	t *testing.T, name string, f func([]float64) float64, d int, best float64, kernelName string, clustered bool, n, inducing int,
) {
	rng := rand.New(rand.NewPCG(1, 9))
	place := func(spread float64) []float64 {
		x := make([]float64, d)
		for j := range x {
			if x[j] = rng.Float64(); spread > 0 {
				x[j] = min(max(best+spread*rng.NormFloat64(), 0), 1)
			}
		}
		return x
	}
	var mean, sd float64
	for range 2000 {
		v := f(place(0))
		mean, sd = mean+v/2000, sd+v*v/2000
	}
	sd = math.Sqrt(sd - mean*mean)
	const noise = 0.1
	var data Data
	for i := range n {
		x := place(0)
		if clustered && i%2 == 0 {
			x = place(0.08)
		}
		data.X, data.Y = append(data.X, x), append(data.Y, (f(x)-mean)/sd+noise*rng.NormFloat64())
	}
	fit := must.Get(Fit(t.Context(), data, FitConfig{Kernel: kernelName, Seed: 1}))(t)
	k := must.Get(fit.Hyper.kernel(kernelName, d))(t)
	exact := must.Get(build(t.Context(), data, k, fit.Hyper, n, 0))(t)
	g := must.Get(build(t.Context(), data, k, fit.Hyper, 0, inducing))(t)
	p, q := exact.NewPredictor(), g.NewPredictor()
	for _, where := range []struct {
		name   string
		spread float64
	}{{"anywhere", 0}, {"near the optimum", 0.05}} {
		const points = 300
		var off, own, ratio, nats float64
		for range points {
			x := place(where.spread)
			m, s := p.Posterior(x)
			n, r := q.Posterior(x)
			y := (f(x)-mean)/sd + noise*rng.NormFloat64()
			density := func(m, s float64) float64 {
				v := s*s + fit.Hyper.Noise
				return -0.5*math.Log(v) - 0.5*(y-m)*(y-m)/v
			}
			off, own = off+(m-n)*(m-n)/points, own+s*s/points
			ratio += math.Log(r/s) / points
			nats += (density(m, s) - density(n, r)) / points
		}
		t.Logf("%s | %d | %d | %s | %.4f | %.4f | %.3f | %+.4f", name, n, g.Inducing(), where.name,
			math.Sqrt(off), math.Sqrt(own), math.Exp(ratio), nats)
	}
}
