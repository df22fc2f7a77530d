package coexbo

import (
	"context"
	"fmt"
	"math"

	"github.com/campaignd/campaignd/internal/num/coexbo"
	"github.com/campaignd/campaignd/policies/next"
	"github.com/campaignd/campaignd/projections/preference"
	"github.com/campaignd/campaignd/projections/quantity"
)

// prior augments an acquisition by an expert's preference: by the score π(x) of a composition,
// its probability of being preferred to a random one.
type prior interface {
	acquisition(ctx context.Context, g given) (next.Acquisition, error)
}

// given holds the model that a prior augments, and the prior.
//
// Its acquisitions are to be minimized, as all in this program; the paper
// maximizes, and so do the formulas of internal/num/coexbo.
type given struct {
	model *quantity.Model
	// base is the acquisition without the expert; logarithm is set if it is a logarithm
	// already.
	base      next.Acquisition
	logarithm bool
	prefs     *preference.Model
	// beta is the width of the objective's bound μ − βσ.
	beta float64
	// turn counts the experiments of the policy from 1, this one included.
	turn int
}

// product multiplies the posterior of the objective with the expert's prior,
// whose variance grows with γt²σ² (Adachi et al. 2024, Eq. 3–8), and takes the
// confidence bound of the product: coexbo.
type product struct{ gamma float64 }

// acquisition works on the objective turned to be maximized, as the paper does,
// and turns the result back. T is t of the decay γt²σ²: the longer the
// campaign, the less the prior counts where the model is unsure, and where it
// is sure it needs no prior.
func (r product) acquisition(ctx context.Context, g given) (next.Acquisition, error) {
	maximized, err := g.model.Negated(ctx)
	if err != nil {
		return nil, err
	}
	// Package coexbo writes the bound μ + √β σ.
	a := coexbo.New(maximized, g.prefs.Score.NewPredictor(), coexbo.Config{
		Beta: g.beta * g.beta, Gamma: r.gamma, T: g.turn, Scaling: g.prefs.Scaling,
	})
	return a.Negated, nil
}

// power multiplies the acquisition with the score to the power γ/t (Hvarfner et
// al. 2022): pibo. Where the rule's acquisition is a logarithm already it adds
// (γ/t) ln π instead.
type power struct{ gamma float64 }

// max(t, 1) keeps the exponent finite. The signs of value and gradient are
// turned before and after, since the formula maximizes.
func (r power) acquisition(ctx context.Context, g given) (next.Acquisition, error) {
	exponent := coexbo.Exponent(r.gamma, max(g.turn, 1))
	predictor := g.prefs.Score.NewPredictor()
	// The buffers are made at the first gradient, and used again: the function
	// is called thousands of times in a search, by one goroutine.
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
	if g.logarithm {
		return func(x, grad []float64) float64 {
			db, ds := buffers(grad)
			value := g.base(x, db)
			negate(db)
			score, _ := predictor.At(x, ds, nil)
			value = coexbo.LogPiBO(grad, -value, score, exponent, db, ds)
			negate(grad)
			return -value
		}, nil
	}
	// A product with a weight makes sense only for nonnegative values: the acquisition is
	// counted from its worst value over the space. Over the sample that stands for the space,
	// not a search: a value beyond it counts as 0 and cannot win.
	worst := math.Inf(-1)
	for _, x := range g.prefs.Sample {
		worst = math.Max(worst, g.base(x, nil))
	}
	if math.IsInf(worst, 0) || math.IsNaN(worst) {
		return nil, fmt.Errorf("the acquisition has no worst value (%v)", worst)
	}
	return func(x, grad []float64) float64 {
		db, ds := buffers(grad)
		value := g.base(x, db)
		negate(db)
		score, _ := predictor.At(x, ds, nil)
		value = coexbo.PiBO(grad, math.Max(worst-value, 0), score, exponent, db, ds)
		negate(grad)
		return -value
	}, nil
}
