// Package num holds nothing itself: the packages below it are the mathematics,
// and none of them knows what a campaign is.
//
// Seven of them are about what a person says. They differ in what the person is
// asked and in what the answers teach:
//
//	confset   labels, pairs, rankings → a confidence set of functions: every belief
//	          that the answers do not contradict (Xu, Adachi et al. 2024)
//	pairgp    pairs → the probability that one point is preferred to another, by
//	          Gaussian processes over pairs of points (Adachi et al. 2024, Appendix C)
//	copeland  the preference of pairgp → a score of single points, the probability
//	          to win against a random opponent (Adachi et al. 2024, Appendix D)
//	coexbo    the score of copeland and a model of measurements → one acquisition
//	          function (Adachi et al. 2024, §3.2)
//	pref      duels → a Gaussian posterior of a utility function, with noise that may
//	          differ from point to point (Sinaga et al. 2026)
//	bope      duels of outcomes → what several quantities are worth together, and a
//	          design whose outcome is predicted (Lin et al. 2022)
//	dueling   duels → which of finitely many candidates is best, and which two to
//	          compare next (Kayal et al. 2025)
//
// The others are general: kernel and gp (Gaussian process regression),
// acquisition (closed forms of one-point acquisition functions), jet (functions
// with their exact derivatives), composite (acquisitions of a known function of
// several modelled quantities), pareto (fronts and hypervolumes of several
// objectives), ehvi (the hypervolume that is expected of a point), sources (one
// quantity that is measured at several fidelities or by several sources), optimize
// (search under linear constraints), qmc (Sobol sequences), reliability (noise
// that depends on the point), shapley (what each parameter contributed) and
// special (functions that the standard library lacks).
//
// Every result is a pure function of its arguments: no clock, no global
// randomness, a fixed order in every sum.
package num
