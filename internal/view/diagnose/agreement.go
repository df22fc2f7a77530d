package diagnose

import (
	"math"
	"math/rand/v2"
	"slices"

	"github.com/campaignd/campaignd/projections/quantity"
)

// Agreement is the probability that, of two compositions the expert distinguished, the one the
// expert prefers is the better one. One half is guessing.
//
// For labels the two are an accepted and a rejected composition, and the share is the area under
// the curve of receiver operating characteristic (Hanley and McNeil 1982, Radiology 143:29), ties
// counting half. For choices they are two options of one comparison, the one put before the other,
// for estimates two of one sitting. Most of these compositions are never measured, so the model
// stands in for the objective there: the share is averaged over functions drawn from the posterior,
// and their scatter widens the interval. Far from all measurements the draws disagree, and the
// answer counts for little.
type Agreement struct {
	// Pairs is the number of pairs.
	Pairs int     `json:"pairs"`
	Share float64 `json:"share"`
	// Lower and Upper bound the share with 95 % confidence: all values that the answers do not
	// contradict. Their variance at such a value is that of Hanley and McNeil for labels (Newcombe
	// 2006, Stat. Med. 25:559, method 4) and the binomial one for choices (Wilson 1927), each with
	// the scatter of the draws.
	Lower float64 `json:"lower"`
	Upper float64 `json:"upper"`
}

// draws is the number of functions drawn from the posterior.
const draws = 256

// overDraws averages a share over functions drawn from the posterior at some
// points, and returns its variance among them. The share is a function of the
// values there, in which smaller is better. Mean and variance are updated draw
// by draw (Welford).
func overDraws(
	m *quantity.Model, points [][]float64, share func(f []float64) float64,
) (mean, variance float64) {
	joint := m.GP().Joint(points)
	rng := rand.New(rand.NewPCG(0x64696167, 0x6e6f7365)) // always the same draws: equal logs, equal diagnoses
	f := make([]float64, len(points))
	squares := 0.0
	for k := range draws {
		if joint.Sample(f, rng) != nil {
			copy(f, joint.Mean) // numerically one point: the mean has to do
		}
		value := share(f)
		step := value - mean
		mean += step / float64(k+1)
		squares += step * (value - mean)
	}
	return mean, squares / (draws - 1)
}

// agreementOfLabels is the probability that an accepted composition is better
// than a rejected one.
func agreementOfLabels(m *quantity.Model, accepted, rejected [][]float64) *Agreement {
	na, nr := len(accepted), len(rejected)
	share, variance := overDraws(m, slices.Concat(accepted, rejected),
		func(f []float64) float64 { return shareBelow(f[:na], f[na:]) })
	return newAgreement(share, na*nr, func(theta float64) float64 { return hanleyMcNeil(theta, na, nr) + variance })
}

// agreementOfChoices is the probability that the option the expert put before
// another is the better one: better[i] was put before worse[i]. answers is the
// number of answers that the pairs come from: the pairs of one ranking are not
// independent and count as one.
func agreementOfChoices(m *quantity.Model, better, worse [][]float64, answers int) *Agreement {
	n := len(better)
	share, variance := overDraws(m, slices.Concat(better, worse), func(f []float64) float64 {
		right := 0.0
		for i := range n {
			switch {
			case f[i] < f[n+i]:
				right++
			case f[i] == f[n+i]:
				right += 0.5
			}
		}
		return right / float64(n)
	})
	return newAgreement(share, n, func(theta float64) float64 { return theta*(1-theta)/float64(answers) + variance })
}

// agreementOfEstimates is the probability that of two compositions the one with the better estimate
// is the better one. The pairs are not independent; worth is the equivalent number of independent
// ones.
func agreementOfEstimates(m *quantity.Model, points [][]float64, pairs [][2]int, worth float64) *Agreement {
	share, variance := overDraws(m, points, func(f []float64) float64 {
		right := 0.0
		for _, p := range pairs {
			switch {
			case f[p[0]] < f[p[1]]:
				right++
			case f[p[0]] == f[p[1]]:
				right += 0.5
			}
		}
		return right / float64(len(pairs))
	})
	return newAgreement(share, len(pairs),
		func(theta float64) float64 { return theta*(1-theta)/worth + variance })
}

// shareBelow is the share of pairs with a below b, ties counting half. It takes
// n log n steps, as it is called for each draw.
func shareBelow(a, b []float64) float64 {
	sorted := slices.Sorted(slices.Values(b))
	count := 0.0
	for _, v := range a {
		from, _ := slices.BinarySearch(sorted, v)
		to := from
		for to < len(sorted) && sorted[to] == v {
			to++
		}
		count += float64(len(sorted)-to) + float64(to-from)/2
	}
	return count / float64(len(a)*len(b))
}

// newAgreement returns the agreement of a share whose variance, were theta its
// true value, is variance(theta). Bounds are found by bisection between the
// share, which is never contradicted, and the end.
func newAgreement(share float64, pairs int, variance func(theta float64) float64) *Agreement {
	a := &Agreement{Pairs: pairs, Share: share}
	contradicted := func(theta float64) bool {
		return math.Abs(share-theta) > 1.959963984540054*math.Sqrt(variance(theta))
	}
	bound := func(outside float64) float64 {
		inside := share
		if !contradicted(outside) {
			return outside
		}
		for range 60 {
			if middle := (inside + outside) / 2; contradicted(middle) {
				outside = middle
			} else {
				inside = middle
			}
		}
		return inside
	}
	a.Lower, a.Upper = bound(0), bound(1)
	return a
}

// hanleyMcNeil is the variance of the area under the curve where its true value
// is theta, for m and n values of the two kinds (Hanley and McNeil 1982, Eq.
// 2).
func hanleyMcNeil(theta float64, m, n int) float64 {
	q1, q2 := theta/(2-theta), 2*theta*theta/(1+theta)
	return (theta*(1-theta) + float64(m-1)*(q1-theta*theta) + float64(n-1)*(q2-theta*theta)) / float64(m*n)
}

// reading describes an agreement in words. It is better or worse than guessing only if the interval
// excludes guessing.
func (a *Agreement) reading() string {
	switch {
	case a.Lower > 0.5:
		return ReadingAgrees
	case a.Upper < 0.5:
		return ReadingDisagree
	}
	return ReadingUnclear
}
