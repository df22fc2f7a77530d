// Package confset learns from an expert's answers what they believe, as a
// confidence set of functions rather than one function: the likelihood-ratio
// set of Xu, Adachi et al. 2024 (§3.2, Appendix B.3 and F), for all forms of
// feedback of their Appendix H.
//
// A belief g has norm at most B in the reproducing kernel Hilbert space of the
// kernel; the smaller g is, the better the point. An answer is one of
//
//   - a label (accept or reject), P(reject) = S(g(x)) with the logistic function S: g > 0 means
//     "likely rejected";
//   - a [Pair], P(x ≻ x') = S(g(x') − g(x)): the choice of the better of two points;
//   - a [Ranking], the choice of the best point, then of the best of the others, and so on.
//
// The log-likelihood ℓ of all answers, of one form ([Labels]) or mixed
// ([Feedback]), is concave in the values of g.
//
//   - [MLE] is the g of norm at most B with the greatest ℓ (Eq. 37).
//   - [Set] is every g of norm at most B with ℓ(g) ≥ ℓ(MLE) − α₁ (Eq. 5, 6). Its bounds at x are
//     the least and the greatest g(x) in the set (Eq. 38, 39).
//   - [AdaptNorm] chooses B from the answers (Appendix F).
//   - [Gaussian] is a belief that the expert states instead of answering questions.
//
// Comparisons determine g up to a constant. Where no label fixes the constant,
// the norm does: the MLE is then the g of least norm with its differences, and
// bounds at one point are about as wide as the ball.
//
// A point that the expert names (the pinpoint form of Appendix H.2a) is not an
// answer here: it replaces the candidate that the belief would have chosen, and
// nothing is learned from it.
//
// # Latent values
//
// Answers at one point, in agreement or not, share one latent value z_i =
// g(X_i). Points that comparisons connect with no label have their differences
// to one of them, their reference, as latent values. So there are never more
// values than ℓ depends on, and a comparison that shares no point with another
// is a label of its difference.
//
// # The nugget
//
// The kernel is k(x, y) + jitter·[x is y]: the jitter is added to every
// diagonal entry, also to k(x, x) of the point where a bound is asked. It keeps
// all matrices regular and s(x) below positive, at an answered point too.
//
// # How a bound is computed
//
// Take any square root K = LLᵀ of the covariances of the latent values, jitter
// included, Z = Lu, v(x) = L⁻¹k(x) with their covariances k(x) with g(x),
// s(x)² = k(x, x) + jitter − |v(x)|². Every g in the ball takes at x the value v(x)ᵀu
// + s(x)·w for some |u|² + w² ≤ B², so the lower bound is the minimum of a
// linear function over
//
//	C = {(u, w): |u|² + w² ≤ B², ℓ(Lu) ≥ ℓ(MLE) − α₁},
//
// a convex set that does not depend on x. With multipliers μ > 0 of the norm
// and ν of the likelihood, the minimizer satisfies w = −s/μ and μ·u =
// ν·Lᵀ∇ℓ(Lu) − v. The belief that attains the bound is therefore
//
//	g* = Σ_i (ν/μ)·∂ℓ/∂Z_i·cov(Z_i, ·) − k(x, ·)/μ,
//
// and, by the envelope theorem, the gradient of the bound is that of the sum
// alone, for k(x, x) is constant: no term is singular, not even at an answered
// point.
//
// The root L is chosen so that the curvature of the likelihood at the MLE is
// diagonal: LᵀVL = D with V = −∇²ℓ there (kept away from zero). A bound then
// solves, again and again, the problem with ℓ replaced by its quadratic model
// of curvature D, a root search in two scalars, and moves the model to the
// solution: two matrix-vector products a round, and few rounds, since the set
// is small. The start is always the MLE, so the bits of a result depend on its
// inputs only.
//
// Where the rounds do not contract, as for the wide sets of B = 32, Anderson
// mixing of the last ones makes them contract. If that fails, an interior-point
// method with the exact curvature is tried, then plain nested searches, then the
// same searches with every inner maximum taken to the last digit of its gradient:
// where μ/ν is small, as for B = 32 and points that nearly coincide, the value of
// the likelihood alone leaves too much of u open. What they find is certified by
// duality: no member of the set passes it, and one comes within 1e-7 of it,
// relative to B·√k(x, x). If all fail, the result is an error, never a number.
package confset
