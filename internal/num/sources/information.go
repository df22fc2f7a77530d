package sources

import (
	"math"
	"slices"

	"github.com/campaignd/campaignd/internal/num/acquisition"
	"github.com/campaignd/campaignd/internal/num/gp"
)

// Way is a way to measure: a fidelity or a source, the noise variance of a value, and its cost,
// both positive.
type Way struct {
	Source, Noise, Cost float64
}

// LogInformationAt is [LogInformation] at points as they are: the design at the
// target, and the same design in each of the ways, whose Source is not read.
func LogInformationAt(g *gp.GP, target []float64, points [][]float64, ways []Way) []float64 {
	return logInformation(g.Joint(slices.Concat([][]float64{target}, points)), ways)
}

// logInformation is LogInformation given the joint posterior at the target and in each
// of the ways.
func logInformation(joint *gp.Joint, ways []Way) []float64 {
	n := len(ways) + 1
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

// PerCost weighs the information of each way, ln G, with its cost, in place, and
// returns the way with the greatest ln G − α·ln cost, the first of equals.
func PerCost(values []float64, ways []Way, alpha float64) (best int) {
	for i, w := range ways {
		values[i] = acquisition.LogPerCost(nil, values[i], math.Log(w.Cost), alpha, nil, nil)
		if values[i] > values[best] {
			best = i
		}
	}
	return best
}
