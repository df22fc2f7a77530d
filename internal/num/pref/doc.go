// Package pref learns a utility function from duels: a person compared two
// designs and preferred one of them.
//
// The utility f has a zero-mean Gaussian process prior with a kernel of package
// kernel and is maximized. Duel k says that design w was preferred to design l;
// with z_k = a_k·f(w) − b_k·f(l) its probability is one of two (Sinaga et al.
// 2026, Eq. 3 and 4):
//
//	probit     Φ(z_k),           a_k = b_k = 1/√(σ²(w) + σ²(l))     σ²: noise variance at a design
//	logistic   1/(1 + e^(−z_k)), a_k = 1/λ(w),  b_k = 1/λ(l)        λ: scale of that noise
//
// The noise may differ from design to design; package reliability has a map of
// it. With two different λ the logistic form divides each utility by its own
// scale, so that adding a constant to f changes it: f has to stay zero-mean.
//
// All posteriors of f here are Gaussian and of one form, Posterior, whichever
// approximation made them. Everything is a pure function of its arguments: no
// clock, no global randomness, a fixed order in every sum.
package pref
