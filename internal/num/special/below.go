package special

import (
	"math"

	"gonum.org/v1/gonum/integrate/quad"
)

// Gauss–Legendre nodes and weights on [0, 1].
const nodes = 8

var node, weight = func() (x, w [nodes]float64) {
	quad.Legendre{}.FixedLocations(x[:], w[:], 0, 1)
	return x, w
}()

// far is from where the Mills ratio is at hand.
const far = 0.67

// nearest returns the point of [a, b] that is nearest to 0.
func nearest(a, b float64) float64 { return math.Max(a, math.Min(b, 0)) }

// decay returns φ(y)/φ(c) without overflow of the squares.
func decay(y, c float64) float64 { return math.Exp(-0.5 * (y - c) * (y + c)) }

// LogHBelow returns ln J(z, b) with b < z and
//
//	J(z, b) = ∫_b^z (z − s)·φ(s) ds = h(z) − h(b) − (z − b)·Φ(b),
//
// the standardized expected improvement where values above a bound count
// nothing: σ·J of z = (μ − t)/σ and b = (μ − c)/σ is E[(Y − t)⁺; Y ≤ c] for Y ~
// N(μ, σ²). byMean and bySD are the derivatives of σ·J by μ and by σ, divided
// by J; those of its logarithm are byMean/σ and bySD/σ.
//
// All forms are divided by the φ of the end that is nearest to 0. Where the
// ends lie close together, and the three terms would cancel, it is an integral
// by Gauss–Legendre nodes, and the derivatives are −E[s] and E[s²] − 1 under
// the density that is integrated.
func LogHBelow(z, b float64) (logJ, byMean, bySD float64) {
	w, c := z-b, nearest(b, z)
	switch {
	case w*math.Max(1, math.Abs(c)) < 1:
		var sum, first, second float64
		for i, u := range node {
			s := z - w*u
			p := weight[i] * u * decay(s, c)
			sum += p
			first += p * s
			second += p * s * s
		}
		return LogNormalPDF(c) + 2*math.Log(w) + math.Log(sum), -first / sum, second/sum - 1
	case z <= -far:
		e := decay(b, z)
		ratio, rest := Mills(-z)
		ratioB, restB := Mills(-b)
		j := rest - e*(restB+w*ratioB)
		return LogNormalPDF(z) + math.Log(j), (ratio - e*(ratioB+w)) / j, (1 - e*(1-b*w)) / j
	case b >= far:
		e := decay(z, b)
		ratio, rest := Mills(z)
		ratioB, restB := Mills(b)
		j := e*rest - restB + w*ratioB
		return LogNormalPDF(b) + math.Log(j), (ratioB - e*ratio - w) / j, (e - 1 + b*w) / j
	default:
		pdf, cdf, h := Normal(z)
		pdfB, cdfB, hB := Normal(b)
		j := h - hB - w*cdfB
		return math.Log(j), (cdf - cdfB - w*pdfB) / j, (pdf - pdfB + b*w*pdfB) / j
	}
}
