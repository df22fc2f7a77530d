// Package pairgp learns from pairwise choices how probably a person prefers one
// point to another: the classifier of Adachi et al. 2024 (Appendix C), a pair
// of Gaussian processes on transformed labels (Milios et al. 2018) with
// skew-symmetric augmentation (Chau et al. 2022).
//
// A comparison says that a was chosen and b was not. It gives two rows of data,
// the pair (a, b) labeled "the first was chosen" and its mirror image (b, a)
// labeled "the second was chosen". The two classes, first and second, have one
// latent function each, f₁ and f₀, and
//
//	P(x is preferred to x') = e^{f₁(x,x')} / (e^{f₁(x,x')} + e^{f₀(x,x')}) = S(h(x,x')),   h = f₁ − f₀,
//
// with the logistic function S. [Label] turns a label into a target and a noise
// variance for each latent function, so that both are Gaussian process
// regressions of package gp with known noise.
//
// # One factor instead of two
//
// Mirroring all rows changes the data of class 1 into those of class 0. The
// kernel is unchanged by mirroring, because it has one lengthscale per
// parameter and not one per coordinate of the pair:
//
//	k((x,x'), (y,y')) = s² exp(−½ Σ_j [(x_j − y_j)² + (x'_j − y'_j)²]/ℓ_j²).
//
// That is the meaning of a comparison (neither of the two has the property of
// being shown first), and it halves the hyperparameters to be learned. So
// f₀(x,x') = f₁(x',x) in distribution, with equal hyperparameters, and one
// regression of 2n rows serves both classes. As in Milios et al. the two
// posteriors are treated as independent:
//
//	h(x,x') ~ N(μ(x,x') − μ(x',x), σ²(x,x') + σ²(x',x)).
//
// # No sampling
//
// The paper draws f₁ and f₀ to average S(h) (Eq. 53). Here [LogisticNormal]
// gives that average and E[S(h)(1 − S(h))] in closed form, to 1e-11. Both are
// computed from |E h|, so that
//
//	P(x preferred to x') + P(x' preferred to x) = 1 exactly.
//
// Points should lie in the unit cube. Everything is a pure function of its
// arguments.
package pairgp
