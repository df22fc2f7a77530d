package dueling

import (
	"math"
	"slices"

	"github.com/campaignd/campaignd/internal/num/special"
)

// plausible splits the candidates by μ(h(x, x')) + β σ(x, x') ≥ ½ for all x'
// among them (Kayal et al. 2025, Eq. 12). The one of greatest utility always
// passes.
func plausible(model *Model, v *Variances, among []int, beta float64) (kept, eliminated []int) {
	return split(model, among,
		func(h float64, i, j int) bool { return special.Logistic(h)+beta*v.SD(i, j) >= 0.5 })
}

// credible splits the candidates by h(x, x') + z·s(x, x') ≥ 0 for all x' among them, where s is the
// standard deviation of h in the Laplace approximation: the Gaussian process of covariance k/λ,
// with the mode h, given the curvature that the compared pairs have at h. That is σ with noise
// λ/μ'(h) in the place of λκ, divided by √λ. The one of greatest utility always passes.
func credible(
	c *Candidates, model *Model, t *tally, lambda float64, among []int, z float64,
) (kept, eliminated []int) {
	members := slices.Clone(among)
	for _, p := range t.pairs {
		for _, i := range []int{p.First, p.Second} {
			if !slices.Contains(members, i) {
				members = append(members, i)
			}
		}
	}
	v := newVariances(c, members, len(among), lambda)
	for p, pair := range t.pairs {
		h := model.H(pair.First, pair.Second)
		// A pair so one-sided that its curvature underflows says nothing about
		// the width.
		if curvature := t.counts[p] * special.Logistic(h) * special.Logistic(-h); curvature > 0 {
			v.observe(pair, lambda/curvature)
		}
	}
	z /= math.Sqrt(lambda)
	return split(model, among, func(h float64, i, j int) bool { return h+z*v.SD(i, j) >= 0 })
}

// split keeps the candidates that may match every other. may is called for h(i,
// j) < 0 only: a candidate that is ahead passes.
func split(model *Model, among []int, may func(h float64, i, j int) bool) (kept, eliminated []int) {
	for _, i := range among {
		passes := true
		for _, j := range among {
			if h := model.H(i, j); h < 0 && !may(h, i, j) {
				passes = false
				break
			}
		}
		if passes {
			kept = append(kept, i)
		} else {
			eliminated = append(eliminated, i)
		}
	}
	return kept, eliminated
}
