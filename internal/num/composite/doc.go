// Package composite is Bayesian optimization of a function of modelled
// quantities: g(q₁, …, q_m, x), where each quantity has a Gaussian process of its
// own and g is known, as conductivity/√viscosity is. Modelling the quantities and
// not g takes far fewer experiments (Astudillo and Frazier 2019).
//
// The distribution of g(q) is taken as a mixture of local linearizations, so that
// acquisitions keep their closed forms and gradients never vanish, as those of
// sample averages do. With q ~ N(μ, diag σ²) and N fixed quasi-random normal points
// z_i, part of the spread is given to points q_i = μ + √(1−ε²)·σ∘z_i, and g is
// linearized in the rest:
//
//	component i: N(g(q_i) + ½ε² Σ_k σ_k² ∂²g/∂q_k²,  ε² Σ_k (σ_k ∂g/∂q_k)²),
//
// ε = 0.1, derivatives at q_i. Values of acquisitions are means over the components,
// and their gradients are exact by the chain rule (package jet). What is affine
// needs one component, with ε = 1, and is exact.
//
// Objective and constraints share the points: a quantity that stands in both is
// the same in both. Where it stands in one of them alone, and that is affine, its
// probability is a factor in closed form. Exact limits of one quantity ([Limit.Exact])
// are one interval: its probability, and the improvement of that quantity within it,
// have closed forms too.
//
// Conventions: means and standard deviations are those of the models, which are
// standardized; [Scale] turns them into the user's units, in which functions are
// written, through the exponential where a model is of the logarithm. An objective
// is maximized or minimized as [Problem.Maximize] says, a best value is one of the
// objective's, and a constraint is a function that has to be ≤ 0.
package composite
