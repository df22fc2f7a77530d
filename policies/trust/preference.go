package trust

import (
	"fmt"
	"math"

	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/num/coexbo"
	"github.com/campaignd/campaignd/policies/next"
	"github.com/campaignd/campaignd/projections/objective"
	"github.com/campaignd/campaignd/projections/preference"
)

// Prior bends an acquisition by what an expert prefers: the score of a
// composition, its probability of being preferred to a random one.
type Prior interface {
	// Name is the rule's name in a campaign file.
	Name() string
	// Acquisition returns the bent acquisition before the t-th experiment of the
	// policy, counted from 1. beta is the width of the objective's bound μ − βσ,
	// and base the acquisition without the expert.
	Acquisition(m *objective.Model, base next.Acquisition, baseName string, prefs *preference.Model, beta float64, t int) (next.Acquisition, error)
}

// NewPrior returns the rule a definition names; nil for those that read no
// preferences.
func NewPrior(t definition.Trust) Prior {
	switch {
	case t.CoExBO != nil:
		return coExBO{gamma: *t.CoExBO.Gamma}
	case t.PiBO != nil:
		return piBO{gamma: *t.PiBO.Gamma}
	}
	return nil
}

// coExBO multiplies the posterior of the objective with the expert's prior, whose
// variance grows with γt²σ² (Adachi et al. 2024, Eq. 3–8), and takes the
// confidence bound of the product.
type coExBO struct{ gamma float64 }

func (coExBO) Name() string { return "coexbo" }

func (r coExBO) Acquisition(m *objective.Model, _ next.Acquisition, _ string, prefs *preference.Model, beta float64, t int) (next.Acquisition, error) {
	maximised, err := m.Maximised()
	if err != nil {
		return nil, err
	}
	// Package coexbo writes the bound μ + √β σ.
	a := coexbo.New(maximised, prefs.Score.NewPredictor(), coexbo.Config{Beta: beta * beta, Gamma: r.gamma, T: t, Scaling: prefs.Scaling})
	return a.Negated, nil
}

// piBO multiplies the acquisition with the score to the power γ/t (Hvarfner et
// al. 2022).
type piBO struct{ gamma float64 }

func (piBO) Name() string { return "pibo" }

func (r piBO) Acquisition(_ *objective.Model, base next.Acquisition, baseName string, prefs *preference.Model, _ float64, t int) (next.Acquisition, error) {
	exponent := coexbo.Exponent(r.gamma, max(t, 1))
	predictor := prefs.Score.NewPredictor()
	var dBase, dScore []float64
	buffers := func(grad []float64) (a, b []float64) {
		if grad == nil {
			return nil, nil
		}
		if dBase == nil {
			dBase, dScore = make([]float64, len(grad)), make([]float64, len(grad))
		}
		return dBase, dScore
	}
	negate := func(x []float64) {
		for i := range x {
			x[i] = -x[i]
		}
	}
	if baseName == "logei" { // has its logarithm taken already
		return func(x, grad []float64) float64 {
			db, ds := buffers(grad)
			value := base(x, db)
			negate(db)
			score, _ := predictor.At(x, ds, nil)
			value = coexbo.LogPiBO(grad, -value, score, exponent, db, ds)
			negate(grad)
			return -value
		}, nil
	}
	// A product with a weight means something only for what is not negative: the
	// acquisition is counted from its worst value over the space.
	worst := math.Inf(-1)
	for _, x := range prefs.Sample {
		worst = math.Max(worst, base(x, nil))
	}
	if math.IsInf(worst, 0) || math.IsNaN(worst) {
		return nil, fmt.Errorf("the acquisition has no worst value (%v)", worst)
	}
	return func(x, grad []float64) float64 {
		db, ds := buffers(grad)
		value := base(x, db)
		negate(db)
		score, _ := predictor.At(x, ds, nil)
		value = coexbo.PiBO(grad, math.Max(worst-value, 0), score, exponent, db, ds)
		negate(grad)
		return -value
	}, nil
}
