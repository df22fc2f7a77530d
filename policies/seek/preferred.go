package seek

import (
	"context"
	"math"
	"slices"

	"github.com/campaignd/campaignd/internal/num/gp"
	"github.com/campaignd/campaignd/internal/num/pref"
	"github.com/campaignd/campaignd/internal/num/special"
	"github.com/campaignd/campaignd/projections/preference"
)

// Preferences are an expert's predicted preferences among the measured outcomes: among the
// models' estimates of each that has a value of every quantity.
type Preferences struct {
	Measured []Measured
	// Outcomes are the posterior means of the quantities, standardized.
	Outcomes [][]float64
	// Utility is the posterior of the utility; greater is better.
	Utility *pref.Posterior
	// Order are the indices of those measured, the greatest expected utility first;
	// before the others come those that keep the constraints on outcomes with their
	// confidence.
	Order []int
	// Confident says which do.
	Confident []bool

	joint *gp.Joint
}

// Preferences returns them for a model of the expert's utility.
func (p *Problem) Preferences(ctx context.Context, known *preference.Outcomes) (*Preferences, error) {
	out := new(Preferences)
	expected := p.NewCompared(known.Standard)
	predictor, err := p.NewPredictor()
	if err != nil {
		return nil, err
	}
	all := p.Measured()
	outcomes := make([][]float64, len(all))
	var valued []int
	for i, m := range all {
		expected.At(m.X)
		outcomes[i] = slices.Clone(expected.Mean)
		if expected.Valued() {
			valued = append(valued, i)
		}
	}
	if valued == nil { // the first comparison says which value is missing
		for i := range all {
			valued = append(valued, i)
		}
	}
	for _, i := range valued {
		out.Measured = append(out.Measured, all[i])
		out.Outcomes = append(out.Outcomes, outcomes[i])
		out.Confident = append(out.Confident, p.Confident(predictor.At(all[i].X).Feasible))
	}
	if out.Utility, err = known.Utility(ctx, out.Outcomes); err != nil {
		return nil, err
	}
	out.joint = out.Utility.Joint(out.Outcomes)
	for i := range out.Measured {
		out.Order = append(out.Order, i)
	}
	slices.SortStableFunc(out.Order, func(i, j int) int {
		switch {
		case out.Confident[i] != out.Confident[j]:
			if out.Confident[i] {
				return -1
			}
			return 1
		case out.joint.Mean[i] > out.joint.Mean[j]:
			return -1
		case out.joint.Mean[i] < out.joint.Mean[j]:
			return 1
		}
		return 0
	})
	return out, nil
}

// At is the utility of a measured outcome: its mean and standard deviation.
func (f *Preferences) At(i int) (mean, sd float64) {
	n := len(f.joint.Mean)
	return f.joint.Mean[i], math.Sqrt(math.Max(f.joint.Cov[i*n+i], 0))
}

// Probability is that with which one measured outcome is preferred to another, by
// an expert who judges without noise; ½ where the two are the same.
func (f *Preferences) Probability(i, j int) float64 {
	n := len(f.joint.Mean)
	variance := f.joint.Cov[i*n+i] + f.joint.Cov[j*n+j] - 2*f.joint.Cov[i*n+j]
	difference := f.joint.Mean[i] - f.joint.Mean[j]
	if !(variance > 0) {
		variance = math.SmallestNonzeroFloat64
	}
	return special.NormalCDF(difference / math.Sqrt(variance))
}
