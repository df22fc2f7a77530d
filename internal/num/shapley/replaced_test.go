package shapley

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/campaignd/campaignd/internal/tests/must"
)

// mixtures returns the points with the dimensions of a coalition's groups replaced by those of x.
func mixtures(X [][]float64, groups [][]int, coalition int, x []float64) [][]float64 {
	out := make([][]float64, len(X))
	for i := range X {
		out[i] = slices.Clone(X[i])
		for j, group := range groups {
			for _, dim := range group {
				if coalition>>j&1 == 1 {
					out[i][dim] = x[dim]
				}
			}
		}
	}
	return out
}

// TestReplacedAddsUp: what is explained is the model's own mean, standard deviation and bound at
// the point, near the data and far from all of them; the values are those of the definition, from
// the joint posterior of the mixed points.
func TestReplacedAddsUp(t *testing.T) {
	data := synthetic(12, 4, 3, func(x []float64) float64 { return math.Sin(3*x[0]) + x[1]*x[2] })
	for _, name := range []string{"rbf", "matern52"} {
		g := model(t, data, name, .3, .5, .4, .2)
		for _, groups := range [][][]int{{{0}, {1}, {2}, {3}}, {{0, 3}, {1}}, {{2}}} {
			points := [][]float64{data.X[0], {.5, .5, .5, .5}, {3, 0, 1, -2}}
			const beta = 2.25
			got := explain(t, g, data.X, Config{Groups: groups, Replaced: true}, points, beta)
			for i, x := range points {
				worth := func(coalition int) (mean, sd float64) {
					joint := g.Joint(mixtures(data.X, groups, coalition, x))
					n := float64(len(joint.Mean))
					for _, v := range joint.Mean {
						mean += v / n
					}
					for _, v := range joint.Cov {
						sd += v / (n * n)
					}
					return mean, math.Sqrt(max(sd, 0))
				}
				quantities := map[string]struct {
					of    func(coalition int) float64
					got   Values
					model float64
				}{
					"mean": {func(c int) float64 { mean, _ := worth(c); return mean }, got[i].Mean, 0},
					"sd":   {func(c int) float64 { _, sd := worth(c); return sd }, got[i].SD, 0},
					"ucb":  {func(c int) float64 { mean, sd := worth(c); return mean + 1.5*sd }, got[i].UCB, 0},
				}
				all := 1<<len(groups) - 1
				for what, q := range quantities {
					what = fmt.Sprintf("%s by %s of %v at %v", what, name, groups, x)
					near(t, what+", base", q.got.Base, q.of(0), 1e-7)
					near(t, what+", full", q.got.Full, q.of(all), 1e-7)
					for j, want := range byPermutations(len(groups), q.of) {
						near(t, fmt.Sprintf("%s, player %d", what, j), q.got.Phi[j], want, 1e-7)
					}
					sum := q.got.Base
					for _, v := range q.got.Phi {
						sum += v
					}
					near(t, what+", base + sum", sum, q.got.Full, 1e-12)
				}
				if len(groups) == 4 {
					mean, sd := g.Posterior(x)
					near(t, "the model's mean", got[i].Mean.Full, mean, 1e-9)
					near(t, "the model's sd", got[i].SD.Full, sd, 1e-9)
					near(t, "the model's bound", got[i].UCB.Full, mean+1.5*sd, 1e-9)
				}
			}
		}
	}
}

// TestReplacedNamesWhatLeadsAway: far from the data along one parameter alone, that parameter is
// why so little is known.
func TestReplacedNamesWhatLeadsAway(t *testing.T) {
	data := synthetic(15, 3, 4, func(x []float64) float64 { return x[0] })
	g := model(t, data, "rbf", .4, .4, .4)
	away := explain(t, g, data.X, Config{Replaced: true}, [][]float64{{.5, 4, .5}}, 1)[0].SD.Phi
	if away[1] < 0.5 || away[1] < 3*math.Abs(away[0]) || away[1] < 3*math.Abs(away[2]) {
		t.Errorf("the standard deviation is put down to %v", away)
	}
}

// TestReplacedCancelled: a cancelled explanation is an error.
func TestReplacedCancelled(t *testing.T) {
	data := synthetic(5, 2, 5, func(x []float64) float64 { return x[0] })
	e := must.Get(New(model(t, data, "rbf", .4, .4), data.X, Config{Replaced: true}))(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := e.Explain(ctx, data.X[:1], 1); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled, it gives %v", err)
	}
}
