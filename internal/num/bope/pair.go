package bope

import (
	"math"

	"github.com/campaignd/campaignd/internal/num/acquisition"
	"github.com/campaignd/campaignd/internal/num/gp"
)

// Pair is two outcomes that may be compared, as indices of a joint posterior.
type Pair struct {
	First, Second int
	// EUBO is the expected utility of the better one (Lin et al. 2022, §4).
	EUBO float64
	// Gain is by how much that exceeds the greatest mean utility of all outcomes: the worth of the
	// comparison, where one of them will be chosen. It is positive for the best pair, unless all
	// utilities are known.
	Gain float64
}

// BestPair returns the pair of outcomes with the greatest EUBO, the first of equals in their order,
// among those that may be asked about; nil admits all. ok is false where no pair may. It takes
// O(n²) for n outcomes.
func BestPair(utility *gp.Joint, may func(first, second int) bool) (best Pair, ok bool) {
	n := len(utility.Mean)
	best.EUBO = math.Inf(-1)
	greatest := math.Inf(-1)
	for j, mean := range utility.Mean {
		greatest = math.Max(greatest, mean)
		for i := range j {
			if may != nil && !may(i, j) {
				continue
			}
			value, _ := acquisition.EUBO(utility.Mean[i], mean, utility.Cov[i*n+i], utility.Cov[j*n+j],
				utility.Cov[i*n+j])
			if value > best.EUBO {
				best, ok = Pair{First: i, Second: j, EUBO: value}, true
			}
		}
	}
	if !ok {
		return Pair{}, false
	}
	best.Gain = best.EUBO - greatest
	return best, true
}
