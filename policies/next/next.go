// Package next chooses a composition to measure: the acquisition functions of
// Bayesian optimization, and space-filling designs besides them.
//
// Everything here is on the model's side: the unit cube, the standardized
// objective, smaller is better.
package next

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/num/acquisition"
	"github.com/campaignd/campaignd/projections/quantity"
)

// Acquisition is a function of the unit cube whose minimum is the composition
// to measure next. Where grad is not nil it is filled with the gradient.
type Acquisition func(x, grad []float64) float64

// Rule makes an acquisition of a model. Equal arguments give equal functions.
type Rule interface {
	// Name is the rule's name in a campaign file.
	Name() string
	// Rationale describes the merit of the composition that it chooses: "the best …".
	Rationale() string
	// Acquisition returns the function to minimize.
	Acquisition(m *quantity.Model, seed uint64) (Acquisition, error)
}

// Starter is implemented by rules that know where else a search is to begin
// than near the measured compositions.
type Starter interface {
	// Starts returns points of the unit cube. Equal arguments give equal
	// points.
	Starts(m *quantity.Model, seed uint64) [][]float64
}

// Balancer is implemented by rules whose experiments are chosen by a model with
// shorter lengthscales now and then, once nothing has improved for long.
type Balancer interface {
	// BalancesUntil returns the part of the budget of experiments after which
	// they no longer are.
	BalancesUntil() float64
}

// New returns the acquisition that a complete definition chooses; nil if the choice is not a
// rule of this package.
func New(c definition.Choice) (Rule, error) {
	switch c.Name {
	case LCBName:
		var s LCB
		if err := c.Decode(&s); err != nil {
			return nil, err
		}
		if s.BetaRule != BetaFixed {
			return lcb{rule: s.BetaRule}, nil
		}
		if s.Beta == nil {
			return nil, errors.New("the definition lacks beta of lcb")
		}
		return lcb{rule: s.BetaRule, beta: *s.Beta}, nil
	case LogEIName:
		return logEI{}, nil
	case LogNEIName:
		var s LogNEI
		if err := c.Decode(&s); err != nil {
			return nil, err
		}
		definition.DefaultTo(&s.Restarts, 1) // of before there were any
		return logNEI{*s.Restarts, s.Quantities}, nil
	case LogNEHVIName:
		return logNEHVI{}, nil
	case ThompsonName:
		return thompson{}, nil
	}
	return nil, nil
}

// Logarithm reports whether the acquisition of a rule is −log of something that
// is to be great.
func Logarithm(r Rule) bool { return logarithm(r.Name()) }

func logarithm(rule string) bool {
	return slices.Contains([]string{LogEIName, LogNEIName, LogNEHVIName}, rule)
}

// Constants of Lemma 3.1 as the reference implementation of Xu et al. 2024 sets
// them, on standardized data.
const (
	lemmaNorm  = 1    // B
	lemmaDelta = 0.01 // δ
	lemmaNoise = 1e-4 // σ = r
)

// Beta returns β of the confidence bounds μ ∓ βσ: that of an lcb rule, 1 for
// others.
func Beta(r Rule, m *quantity.Model) (float64, error) {
	if rule, ok := r.(lcb); ok {
		return rule.width(m)
	}
	return 1, nil
}

// lcb is μ − βσ (Xu et al. 2024, §3.1).
type lcb struct {
	rule string
	beta float64 // of the rule "fixed"
}

func (lcb) Name() string { return LCBName }
func (lcb) Rationale() string {
	return "the best confidence bound: the best value that the model holds possible"
}

func (r lcb) width(m *quantity.Model) (float64, error) {
	switch r.rule {
	case BetaFixed:
		return r.beta, nil
	case BetaGrowing:
		return math.Sqrt(acquisition.GrowingBeta(m.GP().Dim(), len(m.Observations))), nil
	}
	gain, err := m.GP().InformationGain(lemmaNoise)
	return acquisition.Beta(lemmaNorm, lemmaNoise, gain, lemmaDelta), err
}

func (r lcb) Acquisition(m *quantity.Model, _ uint64) (Acquisition, error) {
	beta, err := r.width(m)
	if err != nil {
		return nil, err
	}
	return Bound(m, -beta), nil
}

// Bound returns μ + wσ: a lower confidence bound for negative w, an upper one
// for positive.
func Bound(m *quantity.Model, w float64) Acquisition {
	p := m.NewPredictor()
	dMean, dSD := make([]float64, m.GP().Dim()), make([]float64, m.GP().Dim())
	return func(x, grad []float64) float64 {
		if grad == nil {
			mean, sd := p.Posterior(x)
			return acquisition.UCB(nil, mean, sd, w, nil, nil)
		}
		mean, sd := p.PosteriorGrad(x, dMean, dSD)
		return acquisition.UCB(grad, mean, sd, w, dMean, dSD)
	}
}

// logEI is −log E[max(0, best − f)], best being the smallest posterior mean at
// a measured composition (Ament et al. 2023).
type logEI struct{}

func (logEI) Name() string      { return LogEIName }
func (logEI) Rationale() string { return "the greatest expected improvement on the best so far" }

func (logEI) Acquisition(m *quantity.Model, _ uint64) (Acquisition, error) {
	p := m.NewPredictor()
	best := math.Inf(1)
	for i, x := range m.X {
		if m.IsOutside(i) {
			continue
		}
		mean, _ := p.Posterior(x)
		best = math.Min(best, mean)
	}
	dMean, dSD := make([]float64, m.GP().Dim()), make([]float64, m.GP().Dim())
	return func(x, grad []float64) float64 {
		if grad == nil {
			mean, sd := p.Posterior(x)
			return -acquisition.LogEI(nil, mean, sd, best, nil, nil)
		}
		mean, sd := p.PosteriorGrad(x, dMean, dSD)
		value := acquisition.LogEI(grad, mean, sd, best, dMean, dSD)
		for i := range grad {
			grad[i] = -grad[i]
		}
		return -value
	}, nil
}

// thompson is one draw from the posterior.
type thompson struct{}

func (thompson) Name() string { return ThompsonName }

// Draws marks a rule whose acquisition is a draw: another seed gives another.
func (thompson) Draws() {}

func (thompson) Rationale() string { return "the best value in one function drawn from the model" }

func (thompson) Acquisition(m *quantity.Model, seed uint64) (Acquisition, error) {
	return m.GP().Path(rand.New(rand.NewPCG(seed, 0))), nil
}
