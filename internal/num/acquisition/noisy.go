package acquisition

import "math"

// Noisy is the noisy expected improvement. Where measurements are noisy or
// under way, the best value so far is not known: the improvement on it is
// averaged over S possible values of all that has been tried, the members,
//
//	NEI = (1/S)·Σ_s EI(mean_s, sd; best_s)
//
// (Letham et al. 2019, Eq. 6; its logarithm: LogNEI, Ament et al. 2023). For
// MINIMIZATION of f; the acquisition is maximized. It is a workspace: one
// goroutine uses it at a time.
type Noisy struct {
	best   []float64 // of each member
	log    []float64 // ln EI of each member
	slope  []float64 // its derivative by the mean; after LogGrad the member's weight
	growth []float64 // and by the standard deviation
}

// NewNoisy returns the improvement on the given values, the least of each
// member. They are kept, not copied.
func NewNoisy(best []float64) *Noisy {
	n := len(best)
	return &Noisy{best: best, log: make([]float64, n), slope: make([]float64, n),
		growth: make([]float64, n)}
}

// Log returns ln NEI for the mean of each member and their common standard
// deviation sd. It does not underflow, however improbable the improvement; it
// is −Inf where sd is 0 and no member has anything to gain.
func (n *Noisy) Log(means []float64, sd float64) float64 {
	counts := n.counts(means, sd)
	for s, mean := range means {
		n.log[s] = math.Inf(-1)
		if n.best[s]-mean >= counts {
			n.log[s] = LogEI(nil, mean, sd, n.best[s], nil, nil)
		}
	}
	value, _ := n.total()
	return value
}

// negligible is ln of a share that is lost in a sum of float64.
const negligible = -45

// counts returns the least best − mean of the members that count: h falls
// with z = (best − mean)/sd at least as fast as φ where z < 0, so that EI of the
// others is negligible next to the greatest.
func (n *Noisy) counts(means []float64, sd float64) float64 {
	greatest := math.Inf(-1)
	for s, mean := range means {
		greatest = math.Max(greatest, n.best[s]-mean)
	}
	z := math.Min(greatest, 0) / sd
	if !(sd > 0) || math.IsInf(z, 0) {
		return math.Inf(-1)
	}
	return -sd * math.Sqrt(z*z-2*negligible)
}

// total returns ln NEI, and the sum whose logarithm it takes: that of the
// members' EI, each divided by the greatest. It leaves the terms of the sum in
// log.
func (n *Noisy) total() (value, sum float64) {
	greatest := math.Inf(-1)
	for _, v := range n.log {
		greatest = math.Max(greatest, v)
	}
	if math.IsInf(greatest, -1) {
		return greatest, 0
	}
	for s, v := range n.log {
		n.log[s] = math.Exp(v - greatest)
		sum += n.log[s]
	}
	return greatest + math.Log(sum/float64(len(n.log))), sum
}

// plainMean is the gradient of the mean in the coordinates (mean, sd).
var plainMean = []float64{1, 0}

// LogGrad is Log with its derivatives: dSD is that by sd, and that by mean_s is
// dMean·[Noisy.Weight](s), the weights adding up to 1. So its gradient in the
// design is dMean·∇Σ_s Weight(s)·mean_s + dSD·∇sd. They do not underflow
// either.
func (n *Noisy) LogGrad(means []float64, sd float64) (value, dMean, dSD float64) {
	var p [2]float64
	counts := n.counts(means, sd)
	for s, mean := range means {
		n.log[s] = math.Inf(-1)
		n.slope[s] = 0
		n.growth[s] = 0
		if n.best[s]-mean >= counts {
			n.log[s] = LogEI(p[:], mean, sd, n.best[s], plainMean, plainSD)
			n.slope[s], n.growth[s] = p[0], p[1]
		}
	}
	value, sum := n.total()
	if sum == 0 { // nothing to gain, and no slope that would say where
		for s := range n.slope {
			n.slope[s] = 1 / float64(len(n.slope))
		}
		return value, 0, 0
	}
	for s, share := range n.log {
		n.slope[s] *= share / sum
		dMean += n.slope[s]
		dSD += n.growth[s] * share / sum
	}
	for s := range n.slope {
		n.slope[s] /= dMean
	}
	return value, dMean, dSD
}

// Weight returns the weight of a member's mean in the derivatives of the last
// LogGrad.
func (n *Noisy) Weight(member int) float64 { return n.slope[member] }
