package sources

import (
	"math"

	"github.com/campaignd/campaignd/internal/num/acquisition"
	"github.com/campaignd/campaignd/internal/num/gp"
)

// Way is a way to measure: a fidelity or a source, the noise variance of a value,
// and what it costs, both positive.
type Way struct {
	Source, Noise, Cost float64
}

// LogInformation returns, for each way, ln of the information in nats that one
// measurement of a design gives on its value at the target,
//
//	G = −½ ln(1 − ρ²),   ρ² = cov(f(x, target), f(x, s))²/(var f(x, target)·(var f(x, s) + noise)),
//
// given the data: the mutual information of two jointly normal numbers. It is
// −Inf for a way that tells nothing, and for all where nothing is left to tell.
func LogInformation(g *gp.GP, x []float64, target float64, ways []Way) []float64 {
	points := [][]float64{Join(x, target)}
	for _, w := range ways {
		points = append(points, Join(x, w.Source))
	}
	joint, n := g.Joint(points), len(points)
	out := make([]float64, len(ways))
	for i, w := range ways {
		cov, variance := joint.Cov[i+1], joint.Cov[(i+1)*n+i+1]
		known := joint.Cov[0] * (variance + w.Noise)
		if out[i] = math.Inf(-1); known > 0 {
			out[i] = math.Log(-0.5 * math.Log1p(-math.Min(cov*cov/known, 1)))
		}
	}
	return out
}

// Choose returns the way with the greatest information per cost, ln G − α·ln cost,
// the first of equals, and what it is of each. With α = 1 it is information per
// unit of cost, with α = 0 cost does not matter: see acquisition.Cooling. It panics
// where there is no way.
func Choose(g *gp.GP, x []float64, target float64, ways []Way, alpha float64) (best int, values []float64) {
	if len(ways) == 0 {
		panic("sources: no way to measure")
	}
	values = LogInformation(g, x, target, ways)
	for i, w := range ways {
		values[i] = acquisition.LogPerCost(nil, values[i], math.Log(w.Cost), alpha, nil, nil)
		if values[i] > values[best] {
			best = i
		}
	}
	return best, values
}
