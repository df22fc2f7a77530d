package acquisition

import (
	"math"

	"github.com/campaignd/campaignd/internal/num/special"
)

// Bounds limits a constrained value: Lower ≤ value ≤ Upper. A side without a bound is infinite.
type Bounds struct{ Lower, Upper float64 }

// Unbounded returns bounds that every value keeps.
func Unbounded() Bounds { return Bounds{math.Inf(-1), math.Inf(1)} }

// Intersect returns the bounds that keep both. Several bounds on one quantity are
// intersected before its probability is taken: the product of theirs would count
// it more than once.
func (b Bounds) Intersect(c Bounds) Bounds {
	return Bounds{math.Max(b.Lower, c.Lower), math.Min(b.Upper, c.Upper)}
}

// Hold reports whether a value keeps the bounds.
func (b Bounds) Hold(value float64) bool { return b.Lower <= value && value <= b.Upper }

// LogProbability returns ln P(Lower ≤ f ≤ Upper) for f ~ N(mean, sd²), and its
// partial derivatives in the mean and in the standard deviation. Neither
// underflows while the value itself is finite (constrained expected improvement:
// Schonlau, Welch and Jones 1998, Gardner et al. 2014). With a = (Lower − mean)/sd
// and b = (Upper − mean)/sd the derivatives are
//
//	(φ(a) − φ(b))/(sd·P) = E[t]/sd,   (aφ(a) − bφ(b))/(sd·P) = (E[t²] − 1)/sd,
//
// t = (f − mean)/sd within the bounds. With sd = 0 it is 0 or −Inf, without a
// slope.
func LogProbability(mean, sd float64, b Bounds) (value, byMean, bySD float64) {
	below, above := math.IsInf(b.Lower, -1), math.IsInf(b.Upper, 1)
	switch {
	case !(b.Lower <= b.Upper):
		return math.Inf(-1), 0, 0
	case below && above:
		return 0, 0, 0
	case !(sd > 0):
		if b.Hold(mean) {
			return 0, 0, 0
		}
		return math.Inf(-1), 0, 0
	case below:
		value, byMean, bySD = logTail((b.Upper-mean)/sd, sd)
		return value, -byMean, bySD
	case above:
		return logTail((mean-b.Lower)/sd, sd)
	}
	return logBetween((b.Lower-mean)/sd, (b.Upper-mean)/sd, (b.Upper-b.Lower)/sd, sd)
}

// logTail returns ln Φ(z), and its derivatives in the mean, where it raises z, and
// in the standard deviation.
func logTail(z, sd float64) (value, byMean, bySD float64) {
	mills := special.InverseMills(z)
	if mills == 0 { // as certain as numbers are
		return special.LogNormalCDF(z), 0, 0
	}
	return special.LogNormalCDF(z), mills / sd, -z * mills / sd
}

// logBetween returns ln(Φ(b) − Φ(a)), given the width b − a too, which ends that
// are large lose. A narrow interval is integrated, where the difference would
// cancel; a wider one is computed in the tail that both ends lie in.
func logBetween(a, b, width, sd float64) (value, byMean, bySD float64) {
	if a > 0 { // mirrored into the lower tail
		value, byMean, bySD = logBetween(-b, -a, width, sd)
		return value, -byMean, bySD
	}
	if narrow(a, b, width) {
		log, first, second := integrate(a, width, func(float64) float64 { return 1 })
		return log, first / sd, (second - 1) / sd
	}
	logA, logB := special.LogNormalCDF(a), special.LogNormalCDF(b)
	if b <= 0 {
		value = logB + special.Log1mExp(logA-logB)
	} else {
		value = math.Log1p(-special.NormalCDF(a) - special.NormalCDF(-b))
	}
	atA := math.Exp(special.LogNormalPDF(a) - value)
	atB := math.Exp(special.LogNormalPDF(b) - value)
	return value, (atA - atB) / sd, (weighed(a, atA) - weighed(b, atB)) / sd
}

// weighed returns z·p, where a density p = 0 outweighs every z.
func weighed(z, p float64) float64 {
	if p == 0 {
		return 0
	}
	return z * p
}

// narrow reports whether φ changes by no more than a factor of e or so between a
// and b, a < b: the rule of 8 points is then exact to rounding.
func narrow(a, b, width float64) bool {
	return width*max(1, math.Abs(a), math.Abs(b)) < 1
}

// Nodes and weights of the Gauss-Legendre rule of 8 points on [−1, 1], the
// positive half (Abramowitz and Stegun 1964, Table 25.4).
var (
	nodes = [4]float64{0.1834346424956498, 0.5255324099163290, 0.7966664774136267,
		0.9602898564975363}
	weights = [4]float64{0.3626837833783620, 0.3137066458778873, 0.2223810344533745,
		0.1012285362903763}
)

// integrate returns ln ∫ w(s)φ(t)dt over a narrow interval that begins at a, where
// s, from −½ to ½, is where t is in it, and the first two moments of t under that
// weight.
func integrate(a, width float64, w func(s float64) float64) (log, first, second float64) {
	half := width / 2
	mid := a + half
	var sum float64
	for i, node := range nodes {
		for _, s := range [2]float64{-half * node, half * node} {
			t := mid + s
			p := weights[i] * w(s/width) * math.Exp(-s*(mid+s/2)) // φ(t)/φ(mid)
			sum += p
			first += p * t
			second += p * t * t
		}
	}
	return special.LogNormalPDF(mid) + math.Log(half*sum), first / sum, second / sum
}

// Constraint is a value at a design that has to keep bounds: its posterior mean
// and standard deviation, and their gradients in the design, which are read where
// a gradient is asked for.
type Constraint struct {
	Bounds
	Mean, SD   float64
	DMean, DSD []float64
}

// Incumbent returns the value that an improvement of one member is measured against: the smallest
// of its feasible values, and without any the largest of all, so that every feasible value is an
// improvement. found says which it is. Values that are not finite do not count; it is NaN where
// none is finite.
func Incumbent(values []float64, feasible []bool) (best float64, found bool) {
	best, worst := math.Inf(1), math.NaN()
	for i, v := range values {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			continue
		}
		if feasible[i] && v <= best {
			best, found = v, true
		}
		if !(v <= worst) {
			worst = v
		}
	}
	if found {
		return best, true
	}
	return worst, false
}
