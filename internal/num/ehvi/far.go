package ehvi

import (
	"math"

	"github.com/campaignd/campaignd/internal/num/special"
)

// far returns ln EHVI/Π σ_k, and leaves its derivatives, times σ, in dMean and
// dSD: in logarithms, cell by cell, where sum would underflow. Without a cell
// within the limits it is −Inf, and they are 0.
func (w *work) far(r *region) float64 {
	m := len(w.side)
	for k := range w.side {
		w.logCorners(r, k)
	}
	clear(w.dMean)
	clear(w.dSD)
	greatest, sum := math.Inf(-1), 0.0
	for c := r.cells; len(c) > 0; c = c[2*m:] {
		log := 0.0
		for k := range w.side {
			w.side[k] = logLess(w.edge[c[2*k]], w.edge[c[2*k+1]])
			log += w.side[k].value
		}
		if math.IsInf(log, -1) {
			continue
		}
		if log > greatest { // the summands are relative to the greatest
			shrink := math.Exp(greatest - log)
			sum *= shrink
			for k := range w.side {
				w.dMean[k] *= shrink
				w.dSD[k] *= shrink
			}
			greatest = log
		}
		share := math.Exp(log - greatest)
		sum += share
		for k, s := range w.side {
			w.dMean[k] += share * s.byMean
			w.dSD[k] += share * s.bySD
		}
	}
	if math.IsInf(greatest, -1) {
		return greatest
	}
	for k := range w.side {
		w.dMean[k] /= sum
		w.dSD[k] /= sum
	}
	return greatest + math.Log(sum)
}

// logCorners computes ln G/σ at the corners of objective k.
func (w *work) logCorners(r *region, k int) {
	end := r.from[k+1] - 1
	for i := r.from[k]; i < end; i++ {
		if math.IsInf(w.bound[k], -1) {
			w.edge[i] = logH(w.z[i])
		} else {
			w.edge[i] = logLimited(w.z[i], w.bound[k])
		}
	}
	w.edge[end] = side{value: math.Inf(-1)}
}

// logH returns ln h(z), Φ/h and φ/h.
func logH(z float64) side {
	if z < -1 {
		ratio, rest := special.Mills(-z)
		return side{special.LogNormalPDF(z) + math.Log(rest), ratio / rest, 1 / rest}
	}
	pdf, cdf, h := special.Normal(z)
	return side{math.Log(h), cdf / h, pdf / h}
}

// logLess returns ln(Ψ/σ) between two corners.
func logLess(lower, upper side) side {
	if math.IsInf(upper.value, -1) {
		return lower
	}
	ratio := math.Exp(upper.value - lower.value)
	rest := math.Max(1-ratio, 0) // rounding may leave less
	return side{
		lower.value + math.Log(rest),
		(lower.byMean - ratio*upper.byMean) / rest,
		(lower.bySD - ratio*upper.bySD) / rest,
	}
}
