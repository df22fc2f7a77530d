package choice

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"
	"pgregory.net/rapid"

	"github.com/campaignd/campaignd/internal/num/kernel"
)

// referenceLower computes a lower bound from Eq. 38 in the plainest way. A value y is possible at x iff the best
// log-likelihood among functions in the ball with g(x) = y reaches the floor; the bound is where that stops, found by
// bisection between the ball's own bound and the MLE. Given y, the values at the labels are y·k(X, x)/k(x, x) plus a
// function of the residual kernel in the residual ball, and projected gradient ascent (with momentum) finds the best one.
func referenceLower(p problem) float64 {
	n := len(p.labels.X)
	self := p.kernel.OutputScale() + p.jitter
	kx := make([]float64, n)
	p.kernel.Cross(kx, p.labels.X, p.x)
	gram := mat.NewSymDense(n, nil)
	for i := range n {
		for j := range i + 1 {
			gram.SetSym(i, j, p.kernel.Eval(p.labels.X[i], p.labels.X[j]))
		}
		gram.SetSym(i, i, self)
	}
	// ascend returns the largest ℓ(offset + Cu) over |u| ≤ radius, where cov = CCᵀ, and the maximiser's values.
	ascend := func(cov *mat.SymDense, offset []float64, radius float64) (float64, []float64) {
		var chol mat.Cholesky
		if !chol.Factorize(cov) {
			panic("the reference needs more jitter")
		}
		var c mat.TriDense
		chol.LTo(&c)
		step := 4 / mat.Norm(cov, math.Inf(1)) // ∇²ℓ ≥ −¼·CᵀC for one label a point
		u, ahead, grad := mat.NewVecDense(n, nil), mat.NewVecDense(n, nil), mat.NewVecDense(n, nil)
		z, slope := mat.NewVecDense(n, nil), mat.NewVecDense(n, nil)
		var best float64
		evaluate := func(u *mat.VecDense) float64 {
			z.MulVec(&c, u)
			var sum float64
			for i := range n {
				v := z.AtVec(i) + offset[i]
				y := 0.0
				if p.labels.Reject[i] {
					y = 1
				}
				sum += y*v - math.Log(1+math.Exp(v))
				slope.SetVec(i, y-1/(1+math.Exp(-v)))
			}
			return sum
		}
		momentum := 1.0
		for range 20000 {
			evaluate(ahead)
			grad.MulVec(c.T(), slope)
			next := mat.NewVecDense(n, nil)
			next.AddScaledVec(ahead, step, grad)
			if size := mat.Norm(next, 2); size > radius {
				next.ScaleVec(radius/size, next)
			}
			var move mat.VecDense
			move.SubVec(next, u)
			if mat.Dot(&move, grad) < 0 {
				momentum = 1 // the momentum points downhill: start it anew
			}
			later := (1 + math.Sqrt(1+4*momentum*momentum)) / 2
			ahead.AddScaledVec(next, (momentum-1)/later, &move)
			momentum = later
			u.CopyVec(next)
			if mat.Norm(&move, 2) < 1e-13*radius {
				break
			}
		}
		best = evaluate(u)
		values := make([]float64, n)
		for i := range values {
			values[i] = z.AtVec(i) + offset[i]
		}
		return best, values
	}
	top, values := ascend(gram, make([]float64, n), p.norm)
	var weights mat.VecDense
	if err := weights.SolveVec(gram, mat.NewVecDense(n, values)); err != nil {
		panic(err)
	}
	inside := mat.Dot(&weights, mat.NewVecDense(n, kx)) // the MLE at x
	residual := mat.NewSymDense(n, nil)
	for i := range n {
		for j := range i + 1 {
			residual.SetSym(i, j, gram.At(i, j)-kx[i]*kx[j]/self)
		}
	}
	possible := func(y float64) bool {
		offset := make([]float64, n)
		for i := range offset {
			offset[i] = y * kx[i] / self
		}
		best, _ := ascend(residual, offset, math.Sqrt(math.Max(p.norm*p.norm-y*y/self, 0)))
		return best >= top-p.alpha
	}
	outside := -p.norm * math.Sqrt(self)
	if possible(outside) {
		return outside
	}
	for range 35 {
		if mid := 0.5 * (outside + inside); possible(mid) {
			inside = mid
		} else {
			outside = mid
		}
	}
	return inside
}

// Bounds agree with the reference. A jitter of 0.01 keeps its gradient ascent quick.
func TestAgainstPlainReference(t *testing.T) {
	k, err := kernel.New("matern52", []float64{0.4, 0.6}, 1)
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		p := problem{kernel: k, jitter: 0.01, x: []float64{0.3, 0.7},
			norm:  rapid.SampledFrom([]float64{0.5, 1, 3}).Draw(t, "B"),
			alpha: rapid.SampledFrom([]float64{0.02, 0.3, 1.5}).Draw(t, "α₁")}
		for range rapid.IntRange(1, 4).Draw(t, "labels") {
			p.labels.X = append(p.labels.X, []float64{
				rapid.Float64Range(0, 1).Draw(t, "x"), rapid.Float64Range(0, 1).Draw(t, "y")})
			p.labels.Reject = append(p.labels.Reject, rapid.Bool().Draw(t, "reject"))
		}
		for i, a := range p.labels.X {
			for _, b := range p.labels.X[:i] {
				if math.Hypot(a[0]-b[0], a[1]-b[1]) < 0.02 {
					t.Skip("the reference does not merge labels")
				}
			}
		}
		got, err := p.set(t).Lower(p.x, nil)
		if err != nil {
			t.Fatal(err)
		}
		if want := referenceLower(p); math.Abs(got-want) > 1e-6 {
			t.Fatalf("lower bound %v, the reference gives %v", got, want)
		}
	})
}
