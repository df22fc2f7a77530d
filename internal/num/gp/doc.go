// Package gp is Gaussian process regression with one lengthscale per input
// dimension, exact for up to [Exactly] distinct points, and approximate (FITC)
// beyond.
//
// The model of the observations is
//
//	y_τ = f(x_τ) + ε_τ,   f ~ GP(m, k),   ε_τ ~ N(0, v_τ),
//
// with a constant mean m, a kernel k of package kernel, and noise variances v_τ
// that are either known (a measured standard error, squared) or all equal to
// one inferred variance. Points should lie in the unit cube and observations be
// standardized; the default priors are meant for that.
//
// Observations at exactly equal points are merged into their mean, which gives
// the same posterior and, with the within-group term, the same marginal
// likelihood as keeping them apart, at the cost of the distinct points only.
//
// Fit finds hyperparameters, New builds the posterior for given ones. Both are
// pure functions of their arguments: no clock, no global randomness, fixed
// order in every sum. Append adds an observation to a posterior in O(n²); it is
// for intermediate results. A decision uses the form that New builds, which
// Canonical returns: rounding depends on how a factor was computed, and a
// replay can reproduce only the canonical form.
package gp
