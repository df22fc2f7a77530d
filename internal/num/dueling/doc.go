// Package dueling finds the best of a finite set of candidates from pairwise
// comparisons alone (Kayal et al. 2025), with no knowledge of campaigns.
//
// A comparison of candidates x and x' says which of the two won; x wins with
// probability μ(h(x, x')), where μ is the logistic function and h(x, x') = f(x)
// − f(x') for an unknown utility f. If f lies in the space of a kernel k, then
// h lies in that of the dueling kernel (Eq. 4)
//
//	𝕜((x, x'), (u, u')) = k(x, u) + k(x', u') − k(x, u') − k(x', u),
//
// which is the covariance of the differences f(x) − f(x') and f(u) − f(u') of a
// Gaussian process f. Everything here follows from that:
//
//   - [Fit] is h_t, the minimizer of a regularized logistic loss (Eq. 7–9).
//   - [Variances] is σ_t (Eq. 10), the posterior standard deviation of f(x) − f(x') given noisy
//     differences.
//   - [MRLPF] chooses what to compare in rounds (Algorithm 1), [MaxMinLCB] one pair after the other
//     (Appendix D).
//   - [Task] is the one-dimensional test problem of the paper's experiments, [Regret] its measure
//     (Eq. 1).
//
// # What makes it fast
//
// A pair compared again and again is one term with a count, whatever the loss:
// the cost of a fit grows with the number of distinct pairs and with the
// numerical rank of their kernel matrix, which is 20 to 30 for a smooth kernel
// in one dimension. The standard deviations of all pairs of |M| candidates are
// one |M|×|M| covariance matrix, and a comparison is a rank-one update of it,
// during which the most uncertain pair is found.
//
// # Replay
//
// [MRLPF] and [MaxMinLCB] are folds: Observe only records a comparison, and
// Next is a function of the settings and the recorded comparisons, in their
// order. One machine that was asked after every comparison, and another that
// was given the whole history at once, answer with the same bits on one build.
// Settings.Seed is the only source of randomness.
package dueling
