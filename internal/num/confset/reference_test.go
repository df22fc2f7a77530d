package confset

import (
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"
	"pgregory.net/rapid"

	"github.com/campaignd/campaignd/internal/num/kernel"
	"github.com/campaignd/campaignd/internal/tests/must"
)

// plainLogLik is the log-likelihood of feedback, term by term as its documentation has it, and its
// gradient, where the belief takes the values g at distinct points.
func plainLogLik(f Feedback, points [][]float64, g []float64) (sum float64, grad []float64) {
	grad = make([]float64, len(points))
	at := func(x []float64) int {
		return slices.IndexFunc(points, func(y []float64) bool { return slices.Equal(x, y) })
	}
	for k, x := range f.Labels.X {
		i, y := at(x), 0.0
		if f.Labels.Reject[k] {
			y = 1
		}
		sum += y*g[i] - math.Log(1+math.Exp(g[i]))
		grad[i] += y - 1/(1+math.Exp(-g[i]))
	}
	for _, p := range f.Pairs {
		i, j := at(p.Better), at(p.Worse)
		sum -= math.Log(1 + math.Exp(g[i]-g[j]))
		grad[i] -= 1 / (1 + math.Exp(g[j]-g[i]))
		grad[j] += 1 / (1 + math.Exp(g[j]-g[i]))
	}
	for _, r := range f.Rankings {
		left := slices.Concat(r.Order, r.Rest)
		for _, x := range r.Order {
			var total float64
			for _, y := range left {
				total += math.Exp(-g[at(y)])
			}
			sum += -g[at(x)] - math.Log(total)
			grad[at(x)]--
			for _, y := range left {
				grad[at(y)] += math.Exp(-g[at(y)]) / total
			}
			left = left[1:]
		}
	}
	return sum, grad
}

// referenceLower computes a lower bound from Eq. 38 in the plainest way. A value y is possible at x
// iff the best log-likelihood among functions in the ball with g(x) = y reaches the floor; the
// bound is where that stops, found by bisection between the ball's own bound and the MLE. Given y,
// the values at the labels are y·k(X, x)/k(x, x) plus a function of the residual kernel in the
// residual ball, and projected gradient ascent (with momentum) finds the best one.
func referenceLower(p problem) float64 {
	var points [][]float64
	for _, x := range p.feedback.Points() {
		if !slices.ContainsFunc(points, func(y []float64) bool { return slices.Equal(x, y) }) {
			points = append(points, x)
		}
	}
	n := len(points)
	self := p.kernel.OutputScale() + p.jitter
	kx := make([]float64, n)
	p.kernel.Cross(kx, points, p.x)
	gram := mat.NewSymDense(n, nil)
	for i := range n {
		for j := range i + 1 {
			gram.SetSym(i, j, p.kernel.Eval(points[i], points[j]))
		}
		gram.SetSym(i, i, self)
	}
	// ascend returns the largest ℓ(offset + Cu) over |u| ≤ radius, where cov = CCᵀ, and the
	// maximizer's values.
	ascend := func(cov *mat.SymDense, offset []float64, radius float64) (float64, []float64) {
		var chol mat.Cholesky
		if !chol.Factorize(cov) {
			panic("the reference needs more jitter")
		}
		var c mat.TriDense
		chol.LTo(&c)
		step := 1 / (mat.Norm(cov, math.Inf(1)) * float64(p.feedback.Answers())) // −∇²ℓ ≤ CᵀC for every answer
		u, ahead, grad := mat.NewVecDense(n, nil), mat.NewVecDense(n, nil), mat.NewVecDense(n, nil)
		z, slope := mat.NewVecDense(n, nil), mat.NewVecDense(n, nil)
		var best float64
		evaluate := func(u *mat.VecDense) float64 {
			z.MulVec(&c, u)
			at := make([]float64, n)
			for i := range at {
				at[i] = z.AtVec(i) + offset[i]
			}
			value, g := plainLogLik(p.feedback, points, at)
			slope.CopyVec(mat.NewVecDense(n, g))
			return value
		}
		momentum := 1.0
		for range 30000 {
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

// Bounds agree with the reference, for each form of feedback alone and for all together. A jitter
// of 0.01 keeps its gradient ascent quick.
func TestAgainstPlainReference(t *testing.T) {
	for name, forms := range map[string][]string{"labels": {"label"}, "pairs": {"pair"}, "rankings": {"ranking"},
		"mixed": {"label", "pair", "ranking"}} {
		t.Run(name, func(t *testing.T) { againstPlainReference(t, forms) })
	}
}

func againstPlainReference(t *testing.T, forms []string) {
	k := must.Get(kernel.New("matern52", []float64{0.4, 0.6}, 1))(t)
	rapid.Check(t, func(t *rapid.T) {
		p := problem{kernel: k, jitter: 0.01, x: []float64{0.3, 0.7},
			norm:  rapid.SampledFrom([]float64{0.5, 1, 3}).Draw(t, "B"),
			alpha: rapid.SampledFrom([]float64{0.02, 0.3, 1.5}).Draw(t, "α₁")}
		pool := [][]float64{{0.1, 0.2}, {0.35, 0.6}, {0.3, 0.7}, {0.8, 0.1}, {0.6, 0.9}}
		answer := func(form string) {
			x := rapid.Permutation(pool).Draw(t, "points")
			switch form {
			case "label":
				p.feedback.Labels.X = append(p.feedback.Labels.X, x[0])
				p.feedback.Labels.Reject = append(p.feedback.Labels.Reject, rapid.Bool().Draw(t, "reject"))
			case "pair":
				p.feedback.Pairs = append(p.feedback.Pairs, Pair{Better: x[0], Worse: x[1]})
			case "ranking":
				k := rapid.IntRange(2, 4).Draw(t, "ranked")
				ordered := rapid.IntRange(1, k).Draw(t, "ordered")
				p.feedback.Rankings = append(p.feedback.Rankings, Ranking{Order: x[:ordered], Rest: x[ordered:k]})
			}
		}
		for range rapid.IntRange(1, 4).Draw(t, "answers") {
			answer(rapid.SampledFrom(forms).Draw(t, "form"))
		}
		got := must.Get(p.set(t).Lower(p.x, nil))(t)
		if want := referenceLower(p); math.Abs(got-want) > 1e-6 {
			t.Fatalf("lower bound %v, the reference gives %v", got, want)
		}
	})
}
