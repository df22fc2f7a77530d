package shapley

import (
	"context"
	"fmt"
	"math"

	"gonum.org/v1/gonum/blas/blas64"
)

// replaced explains with coalitions that replace parameters of the observed
// points.
func (e *Explainer) replaced(ctx context.Context, points [][]float64, beta float64) ([]Explanation, error) {
	n, players := len(e.x), len(e.cfg.Groups)
	out := make([]Explanation, len(points))
	for i := range out {
		for _, v := range []*Values{&out[i].Mean, &out[i].SD, &out[i].UCB} {
			v.Phi = make([]float64, players)
		}
	}
	apart := e.apart()
	distance := make([]float64, len(apart[players]))
	mixed, values := make([][]float64, n), make([]float64, n*len(e.inv2))
	for i := range mixed {
		mixed[i] = values[i*len(e.inv2) : (i+1)*len(e.inv2)]
	}
	share := shares(players)
	for coalition := range 1 << players {
		if ctx.Err() != nil {
			return nil, fmt.Errorf("explanation cancelled after %d of %d coalitions: %w",
				coalition, 1<<players, context.Cause(ctx))
		}
		// Two mixed points differ where neither takes x: their covariance is
		// the same whatever x is.
		copy(distance, apart[players])
		size := 0
		for j := range players {
			if coalition>>j&1 == 1 {
				size++
				continue
			}
			blas64.Axpy(1, vector(apart[j]), vector(distance))
		}
		together := e.together(distance)
		for i, x := range points {
			for k := range mixed {
				copy(mixed[k], e.x[k])
				for j, group := range e.cfg.Groups {
					if coalition>>j&1 == 1 {
						for _, dim := range group {
							mixed[k][dim] = x[dim]
						}
					}
				}
			}
			mean, sd := e.model.Average(mixed, together)
			out[i].add(coalition, size, share, mean, sd, mean+math.Sqrt(beta)*sd)
		}
	}
	return out, nil
}

// add counts in the worth of a coalition of a size; coalitions come in the order of their masks.
func (x *Explanation) add(coalition, size int, share []float64, mean, sd, ucb float64) {
	players := len(share)
	for j := range players {
		// With j the coalition is one that j has joined, without j one that j
		// will join.
		a := -share[min(size, players-1)]
		if coalition>>j&1 == 1 {
			a = share[size-1]
		}
		x.Mean.Phi[j] += a * mean
		x.SD.Phi[j] += a * sd
		x.UCB.Phi[j] += a * ucb
	}
	if coalition == 0 {
		x.Mean.Base = mean
		x.SD.Base = sd
		x.UCB.Base = ucb
	}
	// the last coalition is that of all
	x.Mean.Full = mean
	x.SD.Full = sd
	x.UCB.Full = ucb
}

// apart returns the squared differences of the points i > k, scaled by the
// lengthscales, numbered i(i−1)/2 + k: for every player those in its
// dimensions, and last those in the dimensions of none.
func (e *Explainer) apart() [][]float64 {
	players := len(e.cfg.Groups)
	owner := make([]int, len(e.inv2))
	for dim := range owner {
		owner[dim] = players
	}
	for j, group := range e.cfg.Groups {
		for _, dim := range group {
			owner[dim] = j
		}
	}
	n := len(e.x)
	all := make([][]float64, players+1)
	for j := range all {
		all[j] = make([]float64, n*(n-1)/2)
	}
	at := 0
	for i, x := range e.x {
		for _, y := range e.x[:i] {
			for dim, j := range owner {
				t := x[dim] - y[dim]
				all[j][at] += e.inv2[dim] * t * t
			}
			at++
		}
	}
	return all
}

// together is the average covariance of n points at the given squared distances
// of the pairs, which it overwrites.
func (e *Explainer) together(distance []float64) float64 {
	scale, n := e.model.Kernel().OutputScale(), float64(len(e.x))
	e.family.Fill(distance, distance, scale)
	sum := 0.0
	for _, k := range distance {
		sum += k
	}
	return (n*scale + 2*sum) / (n * n)
}
