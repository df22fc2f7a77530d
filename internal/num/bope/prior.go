package bope

import (
	"fmt"
	"math"
	"slices"

	"github.com/campaignd/campaignd/internal/num/gp"
	"github.com/campaignd/campaignd/internal/num/pref"
)

// Slope is the prior variance of the utility's slope in each quantity, as a
// multiple of the output scale.
const Slope = 1

// Priors of the hyperparameters. Those of the lengthscales are of BoTorch's
// PairwiseGP, Gamma(2.4, 2.7) on the unit cube, as the log-normal with the same
// mean and standard deviation of the logarithm, in standard deviations of a
// quantity: that of an even spread over the cube is 1/√12.
var (
	lengthscales = gp.LogNormal{
		Mu:    -0.34 + math.Log(12)/2,
		Sigma: 0.72,
		Lower: 0.05 * math.Sqrt(12),
		Upper: 4 * math.Sqrt(12),
	}
	// In units of the noise of a judgment.
	outputScale = gp.LogNormal{Mu: math.Log(4), Sigma: 1}
)

// FitConfig returns how the utility's hyperparameters are fitted where judgments of
// an outcome have the given noise variance, which is the unit of utilities: the
// probit link, a linear part, and a free output scale.
func FitConfig(noise float64) pref.FitConfig {
	scale := outputScale
	scale.Mu += math.Log(noise)
	prior := lengthscales
	return pref.FitConfig{
		Link: pref.Probit, Lower: prior.Lower, Upper: prior.Upper, Prior: &prior, Slope: Slope,
		FreeOutputScale: true, OutputScale: math.Exp(scale.Mu), ScalePrior: &scale,
	}
}

// Better says in which direction a quantity is better.
type Better int8

// The directions.
const (
	Undeclared Better = 0
	Greater    Better = 1
	Smaller    Better = -1
)

// Certain is the noise variance of judgments that leave no doubt, for [Declare],
// next to a person's of 1.
const Certain = 1e-4

// Declare adds to duels that each of the given outcomes is preferred to itself worsened by one
// standard deviation, once for each quantity with a declared direction. The best known outcomes in
// each quantity are the ones to take: beyond them no comparison tells the better direction.
//
// noise is the variance of these judgments at each outcome. [Certain] is right for expectation
// propagation, whose moments of a certain comparison are exact. With the Laplace approximation, and
// so for the evidence that a fit maximizes, give the noise of a person's judgments: if only the
// sign of a difference of utilities is known, for certain, its most probable value is next to 0,
// where the approximation then puts all of the posterior.
//
// The outcomes become designs of their own, next to equal ones that a person has judged with more
// noise. Nothing of duels is changed.
func Declare(duels pref.Duels, outcomes [][]float64, better []Better, noise float64) pref.Duels {
	d := pref.Duels{
		X: slices.Clone(duels.X), Noise: slices.Clone(duels.Noise),
		Winner: slices.Clone(duels.Winner), Loser: slices.Clone(duels.Loser),
	}
	add := func(y []float64) int {
		d.X, d.Noise = append(d.X, y), append(d.Noise, noise)
		return len(d.X) - 1
	}
	for _, y := range outcomes {
		if len(y) != len(better) {
			panic(fmt.Sprintf("bope: an outcome of %d quantities, %d directions", len(y), len(better)))
		}
		winner := -1
		for j, direction := range better {
			if direction == Undeclared {
				continue
			}
			if winner < 0 {
				winner = add(y)
			}
			worse := slices.Clone(y)
			worse[j] -= float64(direction)
			d.Winner, d.Loser = append(d.Winner, winner), append(d.Loser, add(worse))
		}
	}
	return d
}
