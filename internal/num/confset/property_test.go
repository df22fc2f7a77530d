package confset

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"
	"pgregory.net/rapid"

	"github.com/campaignd/campaignd/internal/num/kernel"
	"github.com/campaignd/campaignd/internal/tests/must"
)

// problem is everything a bound depends on.
type problem struct {
	feedback            Feedback
	kernel              kernel.Kernel
	norm, alpha, jitter float64
	x                   []float64
}

// drawProblem makes problems across the whole range: no answers, labels alone, comparisons alone
// and both, one answer only, repeated and contradictory ones, kernels from nearly the identity to
// nearly rank one, norms from a bound that is the ball's own to B = 32, points at a label.
func drawProblem(t *rapid.T, most int) problem {
	d := rapid.IntRange(1, 3).Draw(t, "d")
	lengthscales := make([]float64, d)
	for j := range lengthscales {
		lengthscales[j] = rapid.SampledFrom([]float64{0.01, 0.1, 0.3, 1, 10, 100}).Draw(t, "lengthscale")
	}
	k, err := kernel.New(rapid.SampledFrom([]string{"rbf", "matern52", "matern32"}).Draw(t, "kernel"), lengthscales,
		rapid.SampledFrom([]float64{1, 0.2, 3}).Draw(t, "output scale"))
	if err != nil {
		t.Fatal(err)
	}
	point := func() []float64 {
		x := make([]float64, d)
		for j := range x {
			x[j] = rapid.Float64Range(0, 1).Draw(t, "coordinate")
		}
		return x
	}
	p := problem{
		kernel: k,
		norm:   rapid.SampledFrom([]float64{0.1, 1, 2, 4, 16, 32}).Draw(t, "B"),
		alpha:  rapid.SampledFrom([]float64{0.001, 0.01, 0.03, 0.5, 2, 20}).Draw(t, "α₁"),
		jitter: rapid.SampledFrom([]float64{1e-8, 1e-6, 1e-3}).Draw(t, "jitter"),
	}
	n := rapid.IntRange(0, most).Draw(t, "answers")
	forms := rapid.SampledFrom([]string{"labels", "pairs", "rankings", "mixed"}).Draw(t, "forms")
	same := rapid.Bool().Draw(t, "all answers equal")
	var asked [][]float64
	// among returns k different points, some of them asked about before.
	among := func(k int) (points [][]float64) {
		for len(points) < k {
			x := point()
			if len(asked) > 0 && rapid.IntRange(0, 3).Draw(t, "repeat") == 0 {
				x = asked[rapid.IntRange(0, len(asked)-1).Draw(t, "which")]
			}
			if !slices.ContainsFunc(points, func(y []float64) bool { return slices.Equal(x, y) }) {
				points = append(points, x)
			}
		}
		asked = append(asked, points...)
		return points
	}
	for range n {
		form := forms
		if form == "mixed" {
			form = rapid.SampledFrom([]string{"labels", "pairs", "rankings"}).Draw(t, "form")
		}
		f := &p.feedback
		switch form {
		case "labels":
			f.Labels.X = append(f.Labels.X, among(1)[0])
			f.Labels.Reject = append(f.Labels.Reject, !same && rapid.Bool().Draw(t, "reject"))
		case "pairs":
			x := among(2)
			f.Pairs = append(f.Pairs, Pair{Better: x[0], Worse: x[1]})
		case "rankings":
			x := among(rapid.IntRange(2, 5).Draw(t, "ranked"))
			ordered := rapid.IntRange(1, len(x)).Draw(t, "ordered")
			f.Rankings = append(f.Rankings, Ranking{Order: x[:ordered], Rest: x[ordered:]})
		}
	}
	p.x = point()
	if len(asked) > 0 && rapid.IntRange(0, 3).Draw(t, "at an answer") == 0 {
		p.x = asked[rapid.IntRange(0, len(asked)-1).Draw(t, "which")]
	}
	return p
}

func (p problem) set(t *rapid.T) *Set {
	return must.Get(NewSet(p.feedback, p.kernel, p.norm, p.alpha, p.jitter))(t)
}

func bounds(t *rapid.T, s *Set, x []float64) (lower, upper float64) {
	lower, upper = must.Get2(s.Bounds(x))(t)
	return lower, upper
}

// Everything has a bound: inside the ball's own, on its side of the MLE, and wider where the margin
// is wider.
func TestBoundsAreOrdered(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawProblem(t, 12)
		s := p.set(t)
		lower, upper := bounds(t, s, p.x)
		reach := p.norm * math.Sqrt(p.kernel.OutputScale()+p.jitter)
		tol := 3e-7 * reach
		mle := s.MLEAt(p.x, nil)
		if !(lower <= mle+tol && mle <= upper+tol) {
			t.Fatalf("MLE %v outside the bounds %v, %v", mle, lower, upper)
		}
		if !(lower >= -reach-tol && upper <= reach+tol) {
			t.Fatalf("bounds %v, %v outside the ball's %v", lower, upper, reach)
		}
		p.alpha = 2*p.alpha + 0.01
		widerLower, widerUpper := bounds(t, p.set(t), p.x)
		if widerLower > lower+tol || widerUpper < upper-tol {
			t.Fatalf("margin %v: bounds %v, %v narrower than before: %v, %v",
				p.alpha, widerLower, widerUpper, lower, upper)
		}
	})
}

// Exchanging accept and reject, and better and worse, exchanges the bounds and their signs.
func TestBoundsAreSymmetric(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawProblem(t, 12)
		p.feedback.Rankings = nil // the reverse of a ranking has another probability
		lower, upper := bounds(t, p.set(t), p.x)
		flipped := p
		flipped.feedback = Feedback{Labels: Labels{X: p.feedback.Labels.X}}
		for _, r := range p.feedback.Labels.Reject {
			flipped.feedback.Labels.Reject = append(flipped.feedback.Labels.Reject, !r)
		}
		for _, c := range p.feedback.Pairs {
			flipped.feedback.Pairs = append(flipped.feedback.Pairs, Pair{Better: c.Worse, Worse: c.Better})
		}
		l, u := bounds(t, flipped.set(t), p.x)
		if tol := 1e-6 * p.norm; math.Abs(l+upper) > tol || math.Abs(u+lower) > tol {
			t.Fatalf("bounds %v, %v; flipped %v, %v", lower, upper, l, u)
		}
	})
}

// No belief in the set passes a bound. Members are drawn on rays from the MLE, out to where the set
// ends.
func TestNoMemberPassesABound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawProblem(t, 8)
		s := p.set(t)
		lower, upper := bounds(t, s, p.x)
		n := len(s.d)
		if n == 0 {
			t.Skip("the ball")
		}
		random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		u, z := make([]float64, n), make([]float64, n)
		for range 50 {
			// The last coordinate is w, the part of the belief that the labels do not see.
			ray := make([]float64, n+1)
			for i := range ray {
				ray[i] = random.NormFloat64()
				if i < n && random.IntN(2) == 0 { // also along directions that the likelihood hardly sees
					ray[i] /= math.Sqrt(s.d[i])
				}
			}
			inside := func(step float64) (float64, bool) {
				w := step * ray[n]
				size := w * w
				value := s.work.s * w
				for i := range u {
					u[i] = s.u0[i] + step*ray[i]
					size += u[i] * u[i]
					value += s.work.v[i] * u[i]
				}
				s.mulRoot(z, u)
				return value, size <= s.norm*s.norm && s.answers.logLik(z) >= s.floor
			}
			lo, hi := 0.0, 1e3*p.norm
			for range 80 {
				mid := 0.5 * (lo + hi)
				if _, ok := inside(mid); ok {
					lo = mid
				} else {
					hi = mid
				}
			}
			if value, ok := inside(lo); ok && (value < lower-1e-6*p.norm || value > upper+1e-6*p.norm) {
				t.Fatalf("a member takes %v, outside %v, %v", value, lower, upper)
			}
		}
	})
}

// The gradient agrees with central differences where the bound is smooth on their scale: away from
// answered points. Where it still bends within a step, as the two sides of the difference tell, less
// can be asked.
func TestGradient(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawProblem(t, 10)
		shortest := math.Inf(1)
		for _, l := range p.kernel.Lengthscales() {
			shortest = math.Min(shortest, l)
		}
		for _, x := range p.feedback.Points() {
			if far := mat.Norm(sub(x, p.x), math.Inf(1)); far < 0.05*shortest || far < 1e-3 {
				t.Skip("too close to an answer")
			}
		}
		s := p.set(t)
		grad := make([]float64, len(p.x))
		for name, bound := range map[string]func(x, grad []float64) (float64, error){
			"lower": s.Lower, "upper": s.Upper,
			"MLE": func(x, grad []float64) (float64, error) { return s.MLEAt(x, grad), nil },
		} {
			middle := must.Get(bound(p.x, grad))(t)
			for j := range grad {
				h := 1e-5 * math.Min(shortest, 1)
				at := append([]float64(nil), p.x...)
				at[j] += h
				up, err1 := bound(at, nil)
				at[j] -= 2 * h
				down, err2 := bound(at, nil)
				if err1 != nil || err2 != nil {
					t.Fatal(err1, err2)
				}
				want := (up - down) / (2 * h)
				bend := math.Abs(up-2*middle+down) / h
				if math.Abs(grad[j]-want) > 1e-3*(p.norm/shortest+math.Abs(want))+0.1*bend {
					t.Fatalf("%s: ∂/∂x_%d = %v, differences give %v", name, j, grad[j], want)
				}
			}
		}
	})
}

func sub(x, y []float64) *mat.VecDense {
	d := mat.NewVecDense(len(x), nil)
	for i := range x {
		d.SetVec(i, x[i]-y[i])
	}
	return d
}

// Quadratic models, interior point and nested searches are methods for one problem: the nested
// searches with settled maxima solve it always, and those of the others that do agree.
func TestMethodsAgree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawProblem(t, 8)
		if p.feedback.Answers() == 0 {
			t.Skip("the ball")
		}
		s := p.set(t)
		must.Do(t, s.prepare(p.x, nil))
		if s.ballOnly(1) {
			t.Skip("the ball's own bound")
		}
		copy(s.work.c, s.work.v)
		settled := must.Get(s.byPath(true))(t)
		tol := 3e-7 * p.norm * math.Sqrt(s.self)
		if nested, err := s.byPath(false); err == nil && math.Abs(nested-settled) > tol {
			t.Fatalf("nested searches give %v, with settled maxima %v", nested, settled)
		}
		if interior, err := s.byInterior(); err == nil && math.Abs(interior-settled) > tol {
			t.Fatalf("the interior point gives %v, nested searches %v", interior, settled)
		}
		for _, mixed := range []bool{false, true} {
			if value, ok := s.byModels(mixed); ok && math.Abs(value-settled) > tol {
				t.Fatalf("models (mixed: %v) give %v, nested searches %v", mixed, value, settled)
			}
		}
	})
}

// A result is a function of set and point: the same bits in any order of calls, and from a Fork.
func TestSameBitsInAnyOrder(t *testing.T) {
	labels, k := benchmarkLabels(30)
	pairs, _ := benchmarkPairs(30, true)
	sameBitsInAnyOrder(t, labels, k, 4, 0.06)
	sameBitsInAnyOrder(t, Feedback{Labels: labels, Pairs: pairs.Pairs}, k, 32, 2.5) // where rounds are mixed
}

func sameBitsInAnyOrder(t *testing.T, evidence Evidence, k kernel.Kernel, norm, alpha float64) {
	t.Helper()
	set := must.Get(NewSet(evidence, k, norm, alpha, DefaultJitter))(t)
	points := randomPoints(40, 4)
	type result struct{ lower, upper, mle float64 }
	at := func(s *Set, x []float64) result {
		lower, upper := must.Get2(s.Bounds(x))(t)
		return result{lower, upper, s.MLEAt(x, nil)}
	}
	forward := make([]result, len(points))
	for i, x := range points {
		forward[i] = at(set, x)
	}
	again := must.Get(NewSet(evidence, k, norm, alpha, DefaultJitter))(t)
	fork := set.Fork()
	for i := len(points) - 1; i >= 0; i-- {
		lower := must.Get(fork.Lower(points[i], make([]float64, 4)))(t)
		if got := at(again, points[i]); got != forward[i] || lower != forward[i].lower ||
			at(fork, points[i]) != forward[i] {
			t.Fatalf("point %d: %v, then %v", i, forward[i], got)
		}
	}
}

// A bound allocates nothing once a Set is warm.
func TestNoAllocation(t *testing.T) {
	labels, k := benchmarkLabels(30)
	pairs, _ := benchmarkPairs(30, true)
	x, grad := []float64{0.1, 0.2, 0.3, 0.4}, make([]float64, 4)
	for _, norm := range []float64{4, 32} {
		set, err := NewSet(Feedback{Labels: labels, Pairs: pairs.Pairs}, k, norm, 0.08*norm, DefaultJitter)
		if err != nil {
			t.Fatal(err)
		}
		if n := testing.AllocsPerRun(20, func() {
			must.Get(set.Lower(x, grad))(t)
		}); n != 0 {
			t.Errorf("B = %v: %v allocations", norm, n)
		}
	}
}
