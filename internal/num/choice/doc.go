// Package choice learns from accept/reject labels what an expert believes, as a confidence set of functions rather than
// one function: the likelihood-ratio set of Xu, Adachi et al. 2024 (§3.2, Appendix B.3 and F).
//
// A label at x says reject (1) or accept (0); P(reject) = S(g(x)) with the logistic function S and an unknown belief g of
// norm at most B in the reproducing kernel Hilbert space of the kernel. So g > 0 means "likely rejected". With labels at
// X_1 … X_n and Z_i = g(X_i), the log-likelihood is ℓ(Z) = Σ (Z_i·reject_i − ln(1 + e^{Z_i})).
//
//   - [MLE] is the g of norm at most B with the greatest ℓ (Eq. 37).
//   - [Set] is every g of norm at most B with ℓ(g) ≥ ℓ(MLE) − α₁ (Eq. 5, 6). Its bounds at x are the least and the
//     greatest g(x) in the set (Eq. 38, 39).
//   - [AdaptNorm] chooses B from the labels (Appendix F).
//
// Labels at one point, in agreement or not, share one latent value.
//
// # The nugget
//
// The kernel is k(x, y) + jitter·[x is y]: the jitter is added to every diagonal entry, also to k(x, x) of the point where
// a bound is asked. It keeps all matrices regular and s(x) below positive, at a labelled point too.
//
// # How a bound is computed
//
// Take any square root K + jitter·I = LLᵀ, Z = Lu, v(x) = L⁻¹k(X, x), s(x)² = k(x, x) + jitter − |v(x)|². Every g in the
// ball takes at x the value v(x)ᵀu + s(x)·w for some |u|² + w² ≤ B², so the lower bound is the minimum of a linear
// function over
//
//	C = {(u, w): |u|² + w² ≤ B², ℓ(Lu) ≥ ℓ(MLE) − α₁},
//
// a convex set that does not depend on x. With multipliers μ > 0 of the norm and ν of the likelihood, the minimiser
// satisfies w = −s/μ and μ·u = ν·Lᵀ∇ℓ(Lu) − v. The belief that attains the bound is therefore
//
//	g* = Σ_i (ν/μ)·∂ℓ/∂Z_i·k(X_i, ·) − k(x, ·)/μ,
//
// and, by the envelope theorem, the gradient of the bound is that of the sum alone, for k(x, x) is constant: no term is
// singular, not even at a labelled point.
//
// The root L is chosen so that the curvature of the likelihood at the MLE is diagonal: LᵀVL = D with V = −∇²ℓ there (kept
// away from zero). A bound then solves, again and again, the problem with ℓ replaced by its quadratic model of curvature
// D, a root search in two scalars, and moves the model to the solution: two matrix-vector products a round, and few
// rounds, since the set is small. The start is always the MLE, so the bits of a result depend on its inputs only.
//
// Where the rounds do not contract, as for the wide sets of B = 32, an interior-point method with the exact curvature takes
// over, and after it plain nested searches. What none of them solves is an error, never a number.
package choice
