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

	"github.com/campaignd/campaignd/internal/num/acquisition"
	"github.com/campaignd/campaignd/projections/quantity"
)

// Acquisition is a function of the unit cube whose minimum is the composition
// to measure next. Where grad is not nil it is filled with the gradient.
type Acquisition func(x, grad []float64) float64

// Rule makes an acquisition of a model. Equal arguments give equal functions. The settings of a
// rule of next that searches a model are one; the further interfaces of this package say what
// else it can do.
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

// Brief is implemented by rules that name their merit in a list of decisions.
type Brief interface {
	// Gist is the merit in two or three words: "expected improvement".
	Gist() string
}

// Missing is implemented by rules that cannot do without settings which a definition may lack.
type Missing interface {
	// Missing names what a recorded definition lacks.
	Missing() error
}

// Bounding is implemented by rules that are a confidence bound μ − βσ.
type Bounding interface {
	// Width returns β for a model.
	Width(m *quantity.Model) (float64, error)
}

// Drawing is implemented by rules whose acquisition is a draw: another seed gives another.
type Drawing interface{ Draws() }

// Logarithmic is implemented by rules whose acquisition is −log of a merit: costs and
// probabilities, as logarithms, are added to it.
type Logarithmic interface{ Logarithm() }

// Draws reports whether the acquisition of a rule is a draw.
func Draws(r Rule) bool {
	_, draws := r.(Drawing)
	return draws
}

// Logarithm reports whether the acquisition of a rule is −log of a merit.
func Logarithm(r Rule) bool {
	_, logarithm := r.(Logarithmic)
	return logarithm
}

// Constants of Lemma 3.1 as the reference implementation of Xu et al. 2024 sets
// them, on standardized data.
const (
	lemmaNorm  = 1    // B
	lemmaDelta = 0.01 // δ
	lemmaNoise = 1e-4 // σ = r
)

// Beta returns β of the confidence bounds μ ∓ βσ: that of a rule that is one, 1 for
// others.
func Beta(r Rule, m *quantity.Model) (float64, error) {
	if rule, ok := r.(Bounding); ok {
		return rule.Width(m)
	}
	return 1, nil
}

// Name implements [Rule].
func (LCB) Name() string { return LCBName }

// Rationale implements [Rule].
func (LCB) Rationale() string {
	return "the best confidence bound: the best value that the model holds possible"
}

// Gist implements [Brief].
func (LCB) Gist() string { return "best confidence bound" }

// Missing implements [Missing].
func (s LCB) Missing() error {
	if s.BetaRule == BetaFixed && s.Beta == nil {
		return errors.New("the definition lacks beta of lcb")
	}
	return nil
}

// Width implements [Bounding].
func (s LCB) Width(m *quantity.Model) (float64, error) {
	switch s.BetaRule {
	case BetaFixed:
		return *s.Beta, nil
	case BetaGrowing:
		return math.Sqrt(acquisition.GrowingBeta(m.GP().Dim(), len(m.Observations))), nil
	}
	gain, err := m.GP().InformationGain(lemmaNoise)
	return acquisition.Beta(lemmaNorm, lemmaNoise, gain, lemmaDelta), err
}

// Acquisition implements [Rule]: μ − βσ (Xu et al. 2024, §3.1).
func (s LCB) Acquisition(m *quantity.Model, _ uint64) (Acquisition, error) {
	beta, err := s.Width(m)
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

// Name implements [Rule].
func (LogEI) Name() string { return LogEIName }

// Rationale implements [Rule].
func (LogEI) Rationale() string { return "the greatest expected improvement on the best so far" }

// Gist implements [Brief].
func (LogEI) Gist() string { return "expected improvement" }

// Logarithm implements [Logarithmic].
func (LogEI) Logarithm() {}

// Acquisition implements [Rule]: −log E[max(0, best − f)], best being the smallest posterior
// mean at a measured composition (Ament et al. 2023).
func (LogEI) Acquisition(m *quantity.Model, _ uint64) (Acquisition, error) {
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

// Name implements [Rule].
func (Thompson) Name() string { return ThompsonName }

// Draws implements [Drawing].
func (Thompson) Draws() {}

// Rationale implements [Rule].
func (Thompson) Rationale() string { return "the best value in one function drawn from the model" }

// Gist implements [Brief].
func (Thompson) Gist() string { return "Thompson sample" }

// Acquisition implements [Rule]: one draw from the posterior.
func (Thompson) Acquisition(m *quantity.Model, seed uint64) (Acquisition, error) {
	return m.GP().Path(rand.New(rand.NewPCG(seed, 0))), nil
}
