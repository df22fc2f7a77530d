// Package coexbo joins what was measured with what a person prefers into one
// acquisition function (CoExBO: Adachi et al. 2024, §3.2), and says afterwards
// how probably a choice was right (Appendix F).
//
// The objective is f(x) ~ N(μ_f, σ_f²), a Gaussian process. The person's score
// of a point is π(x) ~ N(π̂, V), from package copeland, on the scale of a
// probability. [Scaling] brings it to the objective's scale, as μ_π and ρ²V; it
// is trusted less and less as measurements come in; and the two Gaussians are
// multiplied (Eq. 3–8):
//
//	σ_π² = ρ²V + γ t² σ_f²,                       the prior, with its decay
//	w = σ_f² / (σ_π² + σ_f²),                     the prior's share
//	μ = w μ_π + (1 − w) μ_f,   σ² = w σ_π²,       the product
//	α = μ + √β σ.
//
// Of a pair of candidates one maximizes the upper confidence bound of f alone
// and the other α. As γt² grows past 1 the prior's share falls below ½ and then
// to 0 like 1/(γt²), so that a wrong prior fades everywhere.
//
// The utility is MAXIMIZED and standardized (mean 0, standard deviation 1 over
// what was measured): a campaign that minimizes changes the sign first. Points
// lie in the unit cube. Everything is a pure function of its arguments.
package coexbo
