// Package copeland computes from a pairwise preference how good each point is:
// the soft-Copeland score, the probability that x is preferred to a random
// opponent x',
//
//	π(x) = ∫ g(x, x') dx',   g(x, x') = P(x is preferred to x'),
//
// over the design space (Adachi et al. 2024, Eq. 2), in closed form by Bayesian
// quadrature (Appendix D).
//
// # Two stages
//
// The preference g of package pairgp is a logistic function of a Gaussian
// process, which has no closed-form integral. A [Quadrature] is a second
// Gaussian process with an RBF kernel, through the values of g at the compared
// pairs (Eq. 54–58), with hyperparameters of its own; its integral over x' is a
// weighted sum of n Gaussians in x (Eq. 80–90). Another one does the same for
// the spread, E[g(1 − g)] (Eq. 91–93). [Model] holds the two.
//
// The second stage is an approximation. Against direct integration of g its
// score was off by 0.03 to 0.08 in the root mean square, on scores with a
// standard deviation of about 0.25, and correlated with it at 0.96 to 0.996 (12
// cases: 50, 100 and 150 comparisons, 2 and 4 parameters): it orders points
// well, but is not a calibrated probability.
//
// # The space
//
// The paper integrates over all of R^d, which gives "probabilities" above 1. A
// [Measure] says what x' may be instead: [Box], the unit cube, with error
// functions for the integrals; or [Points], a weighted sum over given points,
// for spaces with constraints or lists. Both have mass 1, so that no further
// normalization is needed.
//
// # Symmetry
//
// g(x', x) = 1 − g(x, x') and g(1 − g) is the same in both orders. The paper's
// augmentation adds the mirrored pairs to the data of the second stage too. The
// posterior that this gives is that of a kernel which has the symmetry built
// in,
//
//	k±((x,x'), (y,y')) = k((x,x'), (y,y')) ± k((x,x'), (y',y)),
//
// given the n pairs alone: half the rows, an eighth of the work, the same
// numbers. As in package pairgp there is one lengthscale per parameter, shared
// by both points of a pair; symmetry would not be possible otherwise.
//
// Points lie in the unit cube. Everything is a pure function of its arguments.
package copeland
