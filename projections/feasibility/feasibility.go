// Package feasibility learns from experiments that ended without a result where the next would end
// so too.
//
// It is a view of the campaign's state, with none of its own: a Gaussian process of the log-odds
// h(x) that an experiment at x gives a result. Every experiment that ended says something about h
// where it took place:
//
//   - a measurement is a success;
//   - "can't" is a failure;
//   - a plain failure is the same, but counts a quarter as much: a leaking cell
//     says little about its composition;
//   - an experiment that was called off or put off says nothing, nor does a
//     failure that a person excluded.
//
// A success gives the weights of the two outcomes a Gamma distribution each, with concentrations 1
// + α_ε and α_ε, a failure the other way round. As in Dirichlet-based classification (Milios et al.
// 2018) each is replaced by the log-normal distribution of the same moments, so that the log-odds,
// the difference of the two logarithms, are observed with a known target and a known noise:
// regression with the closed form of package gp, and nothing to iterate.
//
// Hyperparameters are fixed: there are a handful of failures or none, too few to learn from. See
// the constants.
//
// Until the first failure the model is nil, and costs nothing.
package feasibility

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/campaignd/campaignd/internal/num/gp"
	"github.com/campaignd/campaignd/internal/num/kernel"
	"github.com/campaignd/campaignd/internal/num/pairgp"
	"github.com/campaignd/campaignd/projections/campaign"
	"github.com/campaignd/campaignd/projections/space"
)

const (
	// reach times √d is the lengthscale in every dimension of the unit cube,
	// about three quarters of the mean distance between two random points,
	// √(d/6): one failure is felt in its surroundings, not everywhere.
	reach = 0.3
	// spread is the prior variance of the log-odds.
	spread = 9.0
	// likely is the probability of a result where nothing is known. It is high:
	// people define spaces in which most things can be made.
	likely = 0.9
	// plainFailure multiplies the noise of a failure that need not be the
	// composition's.
	plainFailure = 4.0
	// mostSuccesses bounds the cost: of more successes, those nearest to a
	// failure are kept.
	mostSuccesses = 300
)

// damping is π/8: E[S(h)] ≈ S(E h/√(1 + π/8·Var h)) (MacKay 1992), to 0.02.
const damping = math.Pi / 8

// Model is the posterior of feasibility. A nil Model holds everything possible: P ≡ 1.
type Model struct {
	// Infeasible and Failed count the failures of either kind that it was made
	// from.
	Infeasible, Failed int

	gp *gp.GP
}

// trial is the outcome of one experiment.
type trial struct {
	x      []float64
	status campaign.ExperimentStatus
}

// New returns the model given the experiments so far: nil where none has
// failed, or where the definition does not ask for it.
func New(ctx context.Context, s *campaign.State, sp *space.Space) (*Model, error) {
	if wanted := s.Definition.Model.Feasibility; wanted == nil || !*wanted {
		return nil, nil
	}
	if !slices.ContainsFunc(s.Experiments, failed) {
		return nil, nil
	}
	m := new(Model)
	var failures, successes []trial
	for i := range s.Experiments {
		x := &s.Experiments[i]
		point := x.Parameters
		if x.Measurement != nil {
			point = x.Measurement.Actual
		}
		switch {
		case failed(*x) && x.Status == campaign.Infeasible:
			m.Infeasible++
		case failed(*x):
			m.Failed++
		case x.Status == campaign.Measured:
		default:
			continue
		}
		u, err := sp.Encode(point)
		if err != nil {
			return nil, fmt.Errorf("feasibility: the composition of %s: %w", x.ID, err)
		}
		if t := (trial{u, x.Status}); x.Status == campaign.Measured {
			successes = append(successes, t)
		} else {
			failures = append(failures, t)
		}
	}
	data := observations(append(failures, nearest(successes, failures)...))
	process, err := gp.NewContext(ctx, data, kernel.RBF.String(), hyper(sp.Dim()))
	if err != nil {
		return nil, fmt.Errorf("feasibility: %w", err)
	}
	m.gp = process
	return m, nil
}

// failed reports whether an experiment gave no result and says something about
// its composition by that.
func failed(x campaign.Experiment) bool {
	return !x.Excluded && (x.Status == campaign.Failed || x.Status == campaign.Infeasible)
}

// hyper returns the fixed hyperparameters in d dimensions. The prior mean is
// such that the prior probability is likely.
func hyper(d int) gp.Hyper {
	h := gp.Hyper{Lengthscales: make([]float64, d), OutputScale: spread, Noise: 1,
		Mean: math.Log(likely/(1-likely)) * math.Sqrt(1+damping*spread)}
	for j := range h.Lengthscales {
		h.Lengthscales[j] = reach * math.Sqrt(float64(d))
	}
	return h
}

// observations turns outcomes into targets and noise variances of the log-odds.
func observations(trials []trial) gp.Data {
	_, seenVariance, seen := pairgp.Label(true, pairgp.DefaultAlphaEps)
	_, otherVariance, other := pairgp.Label(false, pairgp.DefaultAlphaEps)
	var data gp.Data
	for _, t := range trials {
		target, variance := seen-other, seenVariance+otherVariance
		switch t.status {
		case campaign.Infeasible:
			target = -target
		case campaign.Failed:
			target, variance = -target, plainFailure*variance
		}
		data.X = append(data.X, t.x)
		data.Y = append(data.Y, target)
		data.NoiseVar = append(data.NoiseVar, variance)
	}
	return data
}

// nearest returns the successes that are nearest to a failure, the earliest of
// equals first.
func nearest(successes, failures []trial) []trial {
	if len(successes) <= mostSuccesses {
		return successes
	}
	distance := func(t trial) float64 {
		least := math.Inf(1)
		for _, f := range failures {
			sum := 0.0
			for j := range f.x {
				sum += (t.x[j] - f.x[j]) * (t.x[j] - f.x[j])
			}
			least = min(least, sum)
		}
		return least
	}
	sorted := slices.Clone(successes)
	slices.SortStableFunc(sorted,
		func(a, b trial) int { return cmp.Compare(distance(a), distance(b)) })
	return sorted[:mostSuccesses]
}

// Probability returns the probability that an experiment at a point of the unit
// cube gives a result; 1 for a nil Model.
func (m *Model) Probability(x []float64) float64 {
	if m == nil {
		return 1
	}
	return math.Exp(-m.NegLogFeasibility()(x, nil))
}

// NegLogFeasibility returns the function −ln P(x) of the unit cube, at least 0. Where its grad is
// not nil it is filled with the gradient. The function is a workspace: one goroutine uses it at a
// time. It panics for a nil Model, which would give 0 everywhere.
func (m *Model) NegLogFeasibility() func(x, grad []float64) float64 {
	p := m.gp.NewPredictor()
	dMean, dSD := make([]float64, m.gp.Dim()), make([]float64, m.gp.Dim())
	return func(x, grad []float64) float64 {
		var mean, sd float64
		if grad == nil {
			mean, sd = p.Posterior(x)
		} else {
			mean, sd = p.PosteriorGrad(x, dMean, dSD)
		}
		// P = S(a), a = κ·mean, κ = (1 + π/8·sd²)^(−1/2).
		kappa := 1 / math.Sqrt(1+damping*sd*sd)
		a := kappa * mean
		if grad != nil {
			unlikely := 1 / (1 + math.Exp(a)) // 1 − P = −d(−ln P)/da
			for j := range grad {
				grad[j] = -unlikely * kappa * (dMean[j] - mean*kappa*kappa*damping*sd*dSD[j])
			}
		}
		return softplus(-a)
	}
}

// softplus is ln(1 + eᵗ).
func softplus(t float64) float64 {
	if t > 0 {
		return t + math.Log1p(math.Exp(-t))
	}
	return math.Log1p(math.Exp(t))
}
