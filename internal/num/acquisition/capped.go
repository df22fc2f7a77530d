package acquisition

import (
	"math"

	"github.com/campaignd/campaignd/internal/num/special"
)

// LogCappedEI returns the logarithm of the expected improvement of values that
// are no smaller than least, E[(best − f)⁺ 1{f ≥ least}] for f ~ N(mean, sd²): the
// objective is MINIMIZED and has a bound in the way, as in "as small as possible,
// but at least 42". Improvement and bound are of one value, so that neither the
// product of theirs nor the improvement alone would do. byMean and bySD are its
// partial derivatives. It is −Inf, without a slope, where least ≥ best: no
// improvement is left.
//
// With a = (best − mean)/sd, b = (least − mean)/sd and h as in [EI] it is
//
//	ln(sd·J),  J = h(a) − h(b) − (a − b)Φ(b) = ∫_b^a (a − t)φ(t)dt,
//
// and with E the mean of t under that weight the derivatives are E[t]/sd and
// (E[t²] − 1)/sd. Between near ends J is integrated, elsewhere it is the difference
// in the tail that both ends lie in.
func LogCappedEI(mean, sd, best, least float64) (value, byMean, bySD float64) {
	switch {
	case math.IsInf(least, -1):
		var p [2]float64
		value = LogEI(p[:], mean, sd, best, plainMean, plainSD)
		return value, p[0], p[1]
	case !(least < best):
		return math.Inf(-1), 0, 0
	case !(sd > 0):
		if mean < least || mean >= best {
			return math.Inf(-1), 0, 0
		}
		return math.Log(best - mean), -1 / (best - mean), 0
	}
	a := (best - mean) / sd
	b := (least - mean) / sd
	w := (best - least) / sd
	var log, first, second float64
	switch {
	case narrow(b, a, w):
		log, first, second = integrate(b, w, func(s float64) float64 { return w * (0.5 - s) })
	case b > 0:
		log, first, second = cappedAbove(a, b, w)
	default:
		log, first, second = cappedBelow(a, b, w)
	}
	return math.Log(sd) + log, first / sd, (second - 1) / sd
}

// cappedBelow returns ln J, E[t] and E[t²] where b ≤ 0, from
//
//	J = h(a) − h(b) − wΦ(b),  ∫(a − t)tφ = wφ(b) − Φ(a) + Φ(b),
//	∫(a − t)(t² − 1)φ = φ(a) − φ(b) + wbφ(b),  w = a − b,
//
// each term divided by h(a), the greatest.
func cappedBelow(a, b, w float64) (log, first, second float64) {
	scale, slope := special.LogH(a)
	logHb, _ := special.LogH(b)
	cdf := math.Exp(special.LogNormalCDF(b) - scale)
	atA, atB := math.Exp(special.LogNormalPDF(a)-scale), math.Exp(special.LogNormalPDF(b)-scale)
	j := 1 - math.Exp(logHb-scale) - w*cdf
	first = (w*atB - slope + cdf) / j
	second = 1 + (atA-atB+w*weighed(b, atB))/j
	return scale + math.Log(j), first, second
}

// cappedAbove is the same where b > 0, of the mirrored terms,
//
//	J = wΦ(−b) − h(−b) + h(−a),  ∫(a − t)tφ = wφ(b) − Φ(−b) + Φ(−a),
//
// each divided by wΦ(−b).
func cappedAbove(a, b, w float64) (log, first, second float64) {
	tail := special.LogNormalCDF(-b)
	scale := math.Log(w) + tail
	logHb, _ := special.LogH(-b)
	logHa, _ := special.LogH(-a)
	atA, atB := math.Exp(special.LogNormalPDF(a)-scale), special.InverseMills(-b)/w
	j := 1 - math.Exp(logHb-scale) + math.Exp(logHa-scale)
	first = (w*atB - 1/w + math.Exp(special.LogNormalCDF(-a)-scale)) / j
	second = 1 + (atA-atB+w*b*atB)/j
	return scale + math.Log(j), first, second
}

// LogBoundedEI returns the logarithm of the expected improvement of values within
// bounds, E[(best − f)⁺ 1{Lower ≤ f ≤ Upper}], the objective MINIMIZED: it is that of
// [LogCappedEI] where best keeps the bounds. Where best is greater than Upper, as it is
// while nothing keeps them, it is with u = Upper
//
//	E[(u − f)⁺ 1{f ≥ Lower}] + (best − u)·P(Lower ≤ f ≤ u).
//
// byMean and bySD are its partial derivatives.
func LogBoundedEI(mean, sd, best float64, b Bounds) (value, byMean, bySD float64) {
	if !(b.Upper < best) {
		return LogCappedEI(mean, sd, best, b.Lower)
	}
	closer, closerByMean, closerBySD := LogCappedEI(mean, sd, b.Upper, b.Lower)
	within, withinByMean, withinBySD := LogProbability(mean, sd, b)
	within += math.Log(best - b.Upper)
	greatest := math.Max(closer, within)
	if math.IsInf(greatest, -1) {
		return greatest, 0, 0
	}
	atCloser, atWithin := math.Exp(closer-greatest), math.Exp(within-greatest)
	sum := atCloser + atWithin
	atCloser, atWithin = atCloser/sum, atWithin/sum
	return greatest + math.Log(sum),
		float64(atCloser*closerByMean) + float64(atWithin*withinByMean),
		float64(atCloser*closerBySD) + float64(atWithin*withinBySD)
}
