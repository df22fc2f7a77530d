package gp

import (
	"context"
	"math"
)

// LeaveOneOut predicts each row from all others at the same hyperparameters, in closed form
// (Rasmussen and Williams 2006, Eq. 5.12): mean[i] and sd[i] are those of the observed mean of row
// i, its noise included, so that (y[i] − mean[i])/sd[i] is standard normal under the model. A row
// is a distinct point with all its replicates, so this leaves out a composition, not one of its
// repetitions. The slices follow the order of first appearance; y is the rows' means. With a single
// row the prediction is the prior. Under an approximate posterior the inducing points stay where
// they are, and appended observations are neither left out nor used.
func (g *GP) LeaveOneOut() (y, mean, sd []float64) {
	if g.sparse != nil {
		return g.leaveOneOut(upTo(g.sparse.n))
	}
	n := len(g.x)
	y = append([]float64(nil), g.y...)
	mean = make([]float64, n)
	sd = make([]float64, n)
	for i := range n {
		row := g.inverse[i*g.stride : i*g.stride+i+1]
		for k, v := range row {
			sd[k] += v * v // [K⁻¹]_kk = ‖column k of L⁻¹‖²
		}
	}
	for i, p := range sd {
		mean[i] = g.y[i] - g.alpha[i]/p
		sd[i] = 1 / math.Sqrt(p)
	}
	return y, mean, sd
}

// LeaveOneOutOf is LeaveOneOut of some rows, in the given order. Under an approximate
// posterior of m inducing points each of them takes O(m²).
func (g *GP) LeaveOneOutOf(rows []int) (y, mean, sd []float64) {
	if g.sparse != nil {
		return g.leaveOneOut(rows)
	}
	allY, allMean, allSD := g.LeaveOneOut()
	for _, i := range rows {
		y = append(y, allY[i])
		mean = append(mean, allMean[i])
		sd = append(sd, allSD[i])
	}
	return y, mean, sd
}

// upTo are the numbers 0 to n−1.
func upTo(n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	return all
}

// InformationGain returns γ_n = ½ ln det(I + K/r), r > 0, with K the prior covariance of f at all n
// observations, each replicate counted (Srinivas et al. 2012; Xu et al. 2024, Eq. 3 without the
// maximum). It depends on where measurements were made, not on their values. An approximate
// posterior gives a lower bound, without appended observations. It fails with
// ErrNotPositiveDefinite.
func (g *GP) InformationGain(r float64) (float64, error) {
	if !(r > 0) {
		panic("gp: information gain needs a positive r")
	}
	if g.sparse != nil {
		return g.informationGain(r)
	}
	n := len(g.x)
	b, f := make([]float64, n*n), make([]float64, n*n)
	g.kernel.Gram(b, g.x)
	// A point counted c times gives the same determinant as one row and column
	// scaled by √c.
	for i := range n {
		for k := range i + 1 {
			b[i*n+k] *= math.Sqrt(g.count[i]*g.count[k]) / r
		}
		b[i*n+i]++
	}
	if _, err := cholesky(context.Background(), f, b, n, n, 1); err != nil {
		return 0, err
	}
	var gamma float64
	for i := range n {
		gamma += math.Log(f[i*n+i])
	}
	return gamma, nil
}
