package composite

import (
	"math"
	"testing"

	"github.com/campaignd/campaignd/internal/num/acquisition"
)

// Law: exact limits of a quantity have the probability of the interval that they leave, in the far tail too,
// whatever their order and their number, and of a logarithm as of a value.
func TestIntervalOfLimits(t *testing.T) {
	for _, c := range []struct {
		scale Scale
		bound func(float64) float64 // of a standardized value
	}{
		{Scale{Center: 3, Spread: 2}, func(f float64) float64 { return 3 + 2*f }},
		{Scale{Center: 1, Spread: 0.5, Log: true}, func(f float64) float64 { return math.Exp(1 + 0.5*f) }},
		{Scale{Center: 3, Spread: -2}, func(f float64) float64 { return 3 - 2*f }},
	} {
		lower, upper := c.bound(-1), c.bound(0.5)
		limits := []Function{
			&Limit{At: max(lower, upper), Exact: true},
			&Limit{At: min(lower, upper), Least: true, Exact: true},
			&Limit{At: 2 * max(lower, upper), Exact: true}, // is kept where the others are
		}
		for _, first := range []int{0, 1, 2} {
			p := Problem{Quantities: []Scale{c.scale, {Spread: 1}}}
			p.Constraints = append(append(p.Constraints, limits[first:]...), limits[:first]...)
			m := mixture(t, p, 1)
			for _, mean := range []float64{0, 0.4, 3, -9, 40} {
				at := Posterior{Means: [][]float64{{mean}, {0}}, SDs: []float64{0.3, 1}}
				want, byMean, bySD := acquisition.LogProbability(mean, 0.3, acquisition.Bounds{Lower: -1, Upper: 0.5})
				logs := make([]float64, 1)
				m.LogKept(at, logs)
				near(t, "ln of the probability", logs[0], want, 1e-9*(1+math.Abs(want)))
				near(t, "the probability", m.Predict(at).Feasible, math.Exp(want), 1e-12)
				var g Gradient
				m.LogKeptGrad(at, []float64{1}, &g)
				near(t, "its slope by the mean", g.Means[0][0], byMean, 1e-9*(1+math.Abs(byMean)))
				near(t, "its slope by the standard deviation", g.SDs[0], bySD, 1e-9*(1+math.Abs(bySD)))
			}
		}
	}
}

// Law: each exact limit is said to be kept with its own probability, all of them with that of the interval; and
// so it is where the quantity itself is sought.
func TestLimitsOfWhatIsSought(t *testing.T) {
	for _, maximize := range []bool{true, false} {
		p := Problem{
			Quantities: []Scale{{Center: 9, Spread: 2}}, Objective: Alone(0), Maximize: maximize,
			Constraints: []Function{&Limit{At: 12, Exact: true}, &Limit{At: 8, Least: true, Exact: true}},
		}
		m := mixture(t, p, 1)
		at := Posterior{Means: [][]float64{{1}}, SDs: []float64{0.8}} // 11 ± 1.6
		below, _, _ := acquisition.LogProbability(11, 1.6, acquisition.Bounds{Lower: math.Inf(-1), Upper: 12})
		above, _, _ := acquisition.LogProbability(11, 1.6, acquisition.Bounds{Lower: 8, Upper: math.Inf(1)})
		both, _, _ := acquisition.LogProbability(11, 1.6, acquisition.Bounds{Lower: 8, Upper: 12})
		predicted := m.Predict(at)
		near(t, "below 12", predicted.Kept[0], math.Exp(below), 1e-12)
		near(t, "above 8", predicted.Kept[1], math.Exp(above), 1e-12)
		near(t, "between", predicted.Feasible, math.Exp(both), 1e-12)
		near(t, "the expected value", predicted.Mean, 11, 1e-12)
		for _, best := range []float64{5, 9, 10.5, 15} {
			bounds, sign := acquisition.Bounds{Lower: 8, Upper: 12}, 1.0
			if maximize {
				bounds, sign = acquisition.Bounds{Lower: -12, Upper: -8}, -1
			}
			want, byMean, bySD := acquisition.LogBoundedEI(sign*11, 1.6, sign*best, bounds)
			var g Gradient
			got := m.LogEIGrad(at, []float64{best}, &g)
			if math.IsInf(want, -1) {
				if got != want {
					t.Errorf("nothing can be gained on %v, and the acquisition is %v", best, got)
				}
				continue
			}
			near(t, "the acquisition", got, want, 1e-12)
			near(t, "its slope by the mean", g.Means[0][0], 2*sign*byMean, 1e-11)
			near(t, "its slope by the standard deviation", g.SDs[0], 2*bySD, 1e-11)
		}
	}
}

// Law: of a formula that shares the quantity each component has the probability of the interval, and nothing is
// counted twice.
func TestIntervalOfASharedQuantity(t *testing.T) {
	names := []string{"a", "b"}
	at := Posterior{Means: [][]float64{{0.4}, {0.1}}, SDs: []float64{0.5, 0.4}}
	of := func(exact bool) Prediction {
		return mixture(t, Problem{
			Quantities: plain, Objective: bind(t, "a*b", names...), Maximize: true,
			Constraints: []Function{&Limit{At: 0.9, Exact: exact}, &Limit{Least: true, Exact: exact}},
		}, 1).Predict(at)
	}
	exact, apart := of(true), of(false)
	near(t, "the probability", exact.Feasible, apart.Feasible, 0.002)
	for i := range exact.Kept {
		near(t, "that of one limit", exact.Kept[i], apart.Kept[i], 1e-12)
	}
}
