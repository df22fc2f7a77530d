package diagnose

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"

	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/num/gp"
	"github.com/campaignd/campaignd/projections/quantity"
)

// Outlier is a measurement that contradicts all others together. Either it is wrong, or the
// objective changes there as nowhere else; only a repetition can tell.
type Outlier struct {
	Experiment string `json:"experiment"`
	// Measured, and the prediction of a model fitted to the others: mean and standard deviation
	// with noise, in the objective's unit.
	Measured  float64 `json:"measured"`
	Predicted float64 `json:"predicted"`
	SD        float64 `json:"sd"`
	// Z is (Measured − Predicted)/SD.
	Z float64 `json:"z"`
}

const (
	// wrongRun is the prior probability that a run goes wrong silently: about 3
	// in 125 on a real electrolyte robot.
	wrongRun = 0.02
	// outlierOdds is the required odds of a wrong run against a right one.
	outlierOdds = 20
	// outlierZ is the least distance, in standard deviations, of an outlier.
	outlierZ = 3
	// mostSuspects bounds the number of fits.
	mostSuspects = 4
	// mostRefitted is the number of observations above which nothing is fitted
	// again: the cost of a fit grows with its cube.
	mostRefitted = 150
)

// explained is the best explanation found for all measurements of a campaign.
type explained struct {
	outliers []Outlier
	r2       *float64 // leave-one-out R² without them
	// logarithm is the number of nats by which the logarithm of the objective explains better; 0 if
	// it does not, or not by enough.
	logarithm float64
}

// explain tests whether single measurements contradict all others, or whether the logarithm of the
// objective would be easier to model.
//
// A wrong value bends the fit toward itself: it is taken for noise, or for a short lengthscale, and
// then hardly stands out. So the model is fitted without the suspects, and explanations of the data
// are compared: a set S of values is wrong and could have been anything, with the weight
//
//	p(others) · Π_{k in S} c(y_k)·ε/(1−ε),
//
// p the density under the model fitted to the others, c a Cauchy density around them and ε one run
// in fifty. This is the comparison of Box and Tiao (1968, Biometrika 55:119) with a heavy tail in
// place of an inflated variance. From the set of all suspects, the least certain one is removed,
// again and again, until each remaining one is twenty times as probably wrong as right, given that
// the others in the set are wrong. Values over several decades look like outliers too: if the
// logarithm explains all of them better, there are no outliers.
func explain(
	ctx context.Context, def *definition.Campaign, m *quantity.Model, check *LeaveOneOut,
) (explained, error) {
	all := sampleOf(def, m)
	if len(all.y) > mostRefitted || m.Fidelity() != nil { // which other fits do not know
		return explained{}, nil
	}
	e, err := all.explain(ctx, def, m, check)
	if errors.Is(err, gp.ErrNotPositiveDefinite) || errors.Is(err, gp.ErrData) {
		return explained{}, nil // an impossible fit explains nothing
	}
	return e, err
}

// explain weighs the sets. A set is weighed by a fit without it, so that this
// makes at most a dozen fits.
func (s sample) explain(
	ctx context.Context, def *definition.Campaign, m *quantity.Model, check *LeaveOneOut,
) (explained, error) {
	weigh := func(set []int) (refit, float64, error) {
		r, err := s.without(set).fit(ctx, def.Model, m.Fit)
		weight := r.evidence
		for _, k := range set {
			t := (s.y[k] - r.shift) / r.scale
			weight += math.Log(wrongRun/(1-wrongRun)) - math.Log(math.Pi*r.scale*(1+t*t))
		}
		return r, weight, err
	}
	set := suspects(m, check)
	others, weight, err := weigh(set)
	if err != nil {
		return explained{}, err
	}
	for len(set) > 0 {
		easiest := -1
		least := math.Inf(-1)
		back := refit{}
		for i := range set {
			r, w, err := weigh(slices.Delete(slices.Clone(set), i, i+1))
			if err != nil {
				return explained{}, err
			}
			if w > least {
				easiest = i
				least = w
				back = r
			}
		}
		if least <= weight-math.Log(outlierOdds) {
			break
		}
		set = slices.Delete(set, easiest, easiest+1)
		others = back
		weight = least
	}
	logarithm, err := s.logarithm(ctx, def.Model, m.Fit)
	if err != nil {
		return explained{}, err
	}
	if logarithm >= weight+nats {
		return explained{logarithm: logarithm - weight}, nil
	}
	e := explained{r2: others.r2()}
	for _, k := range set {
		mean, sd := others.predict(s.x[k], s.sd[k])
		if z := (s.y[k] - mean) / sd; math.Abs(z) >= outlierZ {
			measured := m.Observations[k].Value
			mean, sd = s.inUnit(mean, sd, measured)
			e.outliers = append(e.outliers, Outlier{
				Experiment: m.Observations[k].Experiment,
				Measured:   measured,
				Predicted:  mean,
				SD:         sd,
				Z:          z,
			})
		}
	}
	return e, nil
}

// suspects returns the observations that stand out most when their composition is left out, the
// worst first. Replicates have a score each, against the prediction of their composition.
func suspects(m *quantity.Model, check *LeaveOneOut) []int {
	n := float64(len(check.Rows))
	// Among few values none can be far out: the greatest possible standard
	// score is (n − 1)/√n.
	far := min(2.5, 0.6*(n-1)/math.Sqrt(n))
	rows := rowsOf(m)
	score := func(k int) float64 {
		r := check.Rows[rows[k]]
		return math.Abs(m.Observations[k].Value-r.Predicted) / r.SD
	}
	var out []int
	for k := range m.Observations {
		if score(k) >= far {
			out = append(out, k)
		}
	}
	slices.SortStableFunc(out, func(a, b int) int { return cmp.Compare(score(b), score(a)) })
	return out[:min(len(out), mostSuspects)]
}
