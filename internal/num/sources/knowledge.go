package sources

import (
	"math"

	"github.com/campaignd/campaignd/internal/num/acquisition"
	"github.com/campaignd/campaignd/internal/num/gp"
)

// KnowledgeGradient is by how much the least posterior mean over a finite set is
// expected to fall with one measurement of any design by any source (Frazier,
// Powell and Dayanik 2009): the means a_i of the set, at the target, are moved to
// a_i + b_i·Z with b_i = cov(f_i, f(x, s))/√(var f(x, s) + noise). It is exact for the
// set. Values are MINIMIZED, the acquisition is maximized. It is a workspace: one
// goroutine uses it at a time.
type KnowledgeGradient struct {
	moved *gp.Covariances
	value *acquisition.Knowledge
	mean  []float64 // a
	move  []float64 // b
	by    []float64 // derivatives in b
	dsd   []float64
}

// NewKnowledgeGradient returns the acquisition over a set, points of the posterior,
// which are kept.
func NewKnowledgeGradient(g *gp.GP, set [][]float64) *KnowledgeGradient {
	n := len(set)
	k := &KnowledgeGradient{
		moved: g.NewCovariances(set), value: acquisition.NewKnowledge(n), mean: make([]float64, n),
		move: make([]float64, n), by: make([]float64, n), dsd: make([]float64, g.Dim()),
	}
	p := g.NewPredictor()
	for i, x := range set {
		k.mean[i] = p.Mean(x)
	}
	return k
}

// Log returns ln KG of a measurement at a point of the posterior with the given
// noise variance, which is positive. It does not underflow; it is −Inf where the
// measurement moves all means alike.
func (k *KnowledgeGradient) Log(point []float64, noise float64) float64 {
	cov, sd := k.moved.At(point)
	k.set(cov, math.Sqrt(sd*sd+noise))
	return k.value.Log(k.mean, k.move)
}

// LogGrad is Log and fills grad, one value for each coordinate of the point, the
// source's included, with its derivatives. Where Log is −Inf they are 0.
func (k *KnowledgeGradient) LogGrad(point []float64, noise float64, grad []float64) float64 {
	cov, sd := k.moved.AtGrad(point, k.dsd)
	total := math.Sqrt(sd*sd + noise)
	k.set(cov, total)
	value := k.value.LogGrad(k.by, k.mean, k.move)
	// b = c/τ with τ² = σ² + noise: ∇b = ∇c/τ − b·σ∇σ/τ².
	shrink := 0.0
	for i, w := range k.by {
		shrink += w * k.move[i]
		k.by[i] = w / total
	}
	k.moved.Grad(grad, k.by)
	for j, v := range k.dsd {
		grad[j] -= shrink * sd * v / (total * total)
	}
	return value
}

// set sets the moves.
func (k *KnowledgeGradient) set(cov []float64, total float64) {
	for i, c := range cov {
		k.move[i] = c / total
	}
}
