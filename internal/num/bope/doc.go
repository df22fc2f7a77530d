// Package bope is Bayesian optimization with preference exploration (Lin et al. 2022): several
// quantities are measured, and the worth of a combination of them is learned from a person's
// comparisons of outcomes.
//
// An outcome y is a vector of m quantities, each standardized (by measured values: one unit is one
// standard deviation of theirs). Its utility g(y) is a Gaussian process with the kernel
//
//	k(y, y') = σ²·(exp(−½ Σ_j (y_j − y'_j)²/ℓ_j²) + y·y'),
//
// a linear utility, whose slopes have the same prior variance as the rest, and deviations from it;
// σ² is learned. Its posterior given comparisons is that of package pref. Three things are computed
// here from it:
//
//   - comparisons that say which direction of a quantity is better: [Declare];
//   - which two outcomes to ask about next: [BestPair], by EUBO;
//   - the worth of a design whose outcome is predicted: [EIUU].
//
// Conventions: utilities are MAXIMIZED, and so are EUBO and EIUU. They have the unit of the
// standard deviation of a person's judgment. Outcomes are as they were measured, standardized, with
// no sign turned: only comparisons tell that smaller is better.
package bope
