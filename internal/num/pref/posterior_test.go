package pref

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/campaignd/campaignd/internal/num/special"
	"github.com/campaignd/campaignd/internal/tests/must"
)

// TestPosteriorGradients: every derivative of single points and pairs against central differences,
// whose own error grows with h²/ℓ³ (a Matérn 3/2 kernel has no third derivative where points
// coincide).
func TestPosteriorGradients(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawProblem(t)
		const h = 1e-5
		tol := 1e-4
		if p.name == "matern32" {
			tol = 1e-2
		}
		q, d := p.laplace(t).Posterior.NewPredictor(), len(p.x)
		g := NewPairGrad(d)
		m := q.PairGrad(p.x, p.y, g)
		if plain := q.Pair(p.x, p.y); !sameMoments(m, plain, 1e-14) {
			t.Fatalf("%+v with gradients, %+v without", m, plain)
		}
		dmean, dsd := make([]float64, d), make([]float64, d)
		mean, sd := q.PosteriorGrad(p.x, dmean, dsd)
		if m1, s1 := q.Posterior(p.x); m1 != mean || s1 != sd || mean != m.MeanX || !agree(sd*sd, m.VarX, 1e-14) {
			t.Fatal("one point and a pair disagree")
		}
		moved := func(x []float64, j int, step float64) []float64 {
			x = slices.Clone(x)
			x[j] += step
			return x
		}
		for j := range d {
			xu, xd := q.Pair(moved(p.x, j, h), p.y), q.Pair(moved(p.x, j, -h), p.y)
			yu, yd := q.Pair(p.x, moved(p.y, j, h)), q.Pair(p.x, moved(p.y, j, -h))
			for _, c := range []struct {
				what          string
				got, up, down float64
			}{
				{"mean of x", g.MeanX[j], xu.MeanX, xd.MeanX}, {"mean of y", g.MeanY[j], yu.MeanY, yd.MeanY},
				{"variance of x", g.VarX[j], xu.VarX, xd.VarX}, {"variance of y", g.VarY[j], yu.VarY, yd.VarY},
				{"covariance in x", g.CovX[j], xu.Cov, xd.Cov}, {"covariance in y", g.CovY[j], yu.Cov, yd.Cov},
				{"mean", dmean[j], xu.MeanX, xd.MeanX}, {"variance", 2 * sd * dsd[j], xu.VarX, xd.VarX},
			} {
				if diff := (c.up - c.down) / (2 * h); !agree(c.got, diff, tol) {
					t.Fatalf("∂/∂%d of the %s = %v, finite difference %v", j, c.what, c.got, diff)
				}
			}
		}
		// A point with itself: no difference at all, to the last bit.
		if mean, variance := q.Pair(p.x, p.x).Difference(); mean != 0 || variance != 0 {
			t.Fatalf("f(x) − f(x) = %v, variance %v", mean, variance)
		}
	})
}

// TestJointIsThePairs: the joint posterior of several points has the pairs' moments, and can be
// sampled.
func TestJointIsThePairs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawProblem(t)
		post := p.laplace(t).Posterior
		X := [][]float64{p.x, p.y, p.duels.X[0]}
		j := post.Joint(X)
		for a, x := range X {
			for b, y := range X {
				got := Moments{j.Mean[a], j.Mean[b], j.Cov[a*3+a], j.Cov[b*3+b], j.Cov[a*3+b]}
				if want := post.Pair(x, y); !sameMoments(got, want, 1e-12) {
					t.Fatalf("%+v, want %+v", got, want)
				}
			}
		}
		must.Do(t, j.Sample(make([]float64, 3), rand.New(rand.NewPCG(1, 1))))
	})
}

// TestWinProbability: against the definition, an integral over the difference by a fine midpoint
// rule; a duel has one winner; and the limits of no and of all uncertainty.
func TestWinProbability(t *testing.T) {
	for _, link := range []Link{Probit, Logistic} {
		for _, m := range []Moments{
			{}, {1, -1, .5, .7, .2}, {3, 0, 1e-6, 1e-6, 0}, {-8, 5, 1, 2, -.5}, {.3, .2, 40, 30, 3}, {2, 1, 1, 1, 1},
		} {
			for _, noise := range [][2]float64{{1, 1}, {.05, .3}, {20, 4}} {
				a, b := link.Weights(noise[0], noise[1])
				mu, sd := a*m.MeanX-b*m.MeanY, math.Sqrt(max(a*a*m.VarX+b*b*m.VarY-2*a*b*m.Cov, 0))
				// Steps of 1/1000 of the shorter of the two scales.
				var want float64
				step := min(1e-3, 1e-3/max(sd, 1e-3))
				for t := -10 + step/2; t < 10; t += step {
					p := special.NormalCDF(mu + sd*t)
					if link == Logistic {
						p = special.Logistic(mu + sd*t)
					}
					want += step * p * special.NormalPDF(t)
				}
				got := m.WinProbability(link, noise[0], noise[1])
				if math.Abs(got-want) > 1e-10 {
					t.Errorf("%s, %+v, noise %v: %.12f, want %.12f", link, m, noise, got, want)
				}
				other := Moments{m.MeanY, m.MeanX, m.VarY, m.VarX, m.Cov}.WinProbability(link, noise[1], noise[0])
				if math.Abs(got+other-1) > 1e-14 {
					t.Errorf("%s, %+v: x wins with %v and y with %v", link, m, got, other)
				}
			}
		}
	}
}

func TestPredictionsDoNotAllocate(t *testing.T) {
	k := benchKernel(t)
	res := must.Get(Laplace(ctx, synthetic(t, 30, benchDim, 1), Probit, k, LaplaceConfig{}))(t)
	p, g := res.Posterior.NewPredictor(), NewPairGrad(benchDim)
	x, y := []float64{.1, .2, .3, .4}, []float64{.5, .6, .7, .8}
	if n := testing.AllocsPerRun(10, func() {
		p.Posterior(x)
		p.PosteriorGrad(x, g.MeanX, g.VarX)
		p.PairGrad(x, y, g)
		p.WinProbability(Logistic, x, y, 1, 1)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
