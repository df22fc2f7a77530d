package confset

import (
	"errors"
	"fmt"
	"math"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"pgregory.net/rapid"

	"github.com/campaignd/campaignd/internal/num/kernel"
	_ "github.com/campaignd/campaignd/internal/tests/draws"
	"github.com/campaignd/campaignd/internal/tests/must"
)

func rbf(t *testing.T, lengthscales ...float64) kernel.Kernel {
	t.Helper()
	return must.Get(kernel.New("rbf", lengthscales, 1))(t)
}

// Without labels the set is the ball: bounds ∓B·√(k(x, x) + jitter), flat, and the MLE is 0.
func TestNoLabels(t *testing.T) {
	set := must.Get(NewSet(Labels{}, rbf(t, 0.5), 2, 0.01, 1e-6))(t)
	grad := []float64{1}
	lower, err := set.Lower([]float64{0.3}, grad)
	want := -2 * math.Sqrt(1+1e-6)
	if err != nil || lower != want || grad[0] != 0 {
		t.Errorf("lower %v, gradient %v, %v", lower, grad, err)
	}
	if v := set.MLEAt([]float64{0.3}, grad); v != 0 || grad[0] != 0 {
		t.Errorf("MLE %v, gradient %v", v, grad)
	}
}

// The MLE of a single rejection lies on the ball: Z = B·√(k + jitter). Far from the label its
// bounds are nearly the ball's.
func TestOneLabel(t *testing.T) {
	labels := Labels{X: [][]float64{{0.5}}, Reject: []bool{true}}
	fit := must.Get(MLE(labels, rbf(t, 0.1), 2, 1e-8))(t)
	if want := 2 * math.Sqrt(1+1e-8); math.Abs(fit.Z[0]-want) > 1e-12 {
		t.Errorf("Z = %v, want %v", fit.Z[0], want)
	}
	set := must.Get(NewSet(labels, rbf(t, 0.1), 2, 0.05, 1e-8))(t)
	// At the label itself, where s is the square root of the jitter: the whole set is within
	// ln-likelihood 0.05.
	lower, upper := must.Get2(set.Bounds([]float64{0.5}))(t)
	least := -math.Log(math.Expm1(math.Log1p(math.Exp(-2)) + 0.05)) // where ln S(z) = ln S(2) − 0.05
	if math.Abs(lower-least) > 1e-3 || math.Abs(upper-2) > 1e-3 {
		t.Errorf("bounds %v, %v at the label, want about %v, 2", lower, upper, least)
	}
}

// Contradictory answers at every point leave a finite MLE without the ball: Z =
// ln(rejects/accepts), multiplier 0.
func TestContradictoryLabels(t *testing.T) {
	labels := Labels{
		X:      [][]float64{{0.2}, {0.2}, {0.2}, {0.8}, {0.8}},
		Reject: []bool{true, true, false, true, false},
	}
	fit := must.Get(MLE(labels, rbf(t, 0.1), 4, 1e-8))(t)
	want := []float64{math.Ln2, math.Ln2, math.Ln2, 0, 0}
	if !floats.EqualApprox(fit.Z, want, 1e-14) || fit.Multiplier != 0 {
		t.Errorf("Z = %v, multiplier %v", fit.Z, fit.Multiplier)
	}
	set := must.Get(NewSet(labels, rbf(t, 0.1), 4, 0.05, 1e-8))(t)
	lower, upper, err := set.Bounds([]float64{0.2})
	if err != nil || !(lower < math.Ln2 && math.Ln2 < upper && upper-lower < 1.5) {
		t.Errorf("bounds %v, %v, %v", lower, upper, err)
	}
}

// Karush, Kuhn and Tucker: at the MLE μ·(K + jitter·I)⁻¹Z = ∇ℓ(Z), and the norm is B where μ > 0. A
// small μ leaves both open as far as ℓ does not notice: gainTolerance in the search for μ, a
// thousandth of it in that for Z.
func TestMLEIsStationary(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawProblem(t, 12)
		p.norm = math.Min(p.norm, 4)
		a, gram := must.Get2(prepare(p.feedback, p.kernel, p.norm, p.jitter))(t)
		fit := must.Get(fitMLE(a, gram, p.norm))(t)
		n := a.size()
		if n == 0 || fit.multiplier < 1e-4 {
			t.Skip("stationary to the tolerance of ℓ only")
		}
		// Z = K·∇ℓ/μ, without an inverse.
		z := mat.NewVecDense(n, nil)
		z.MulVec(mat.NewDense(n, n, gram), mat.NewVecDense(n, fit.grad))
		z.ScaleVec(1/fit.multiplier, z)
		scale := p.norm * math.Sqrt(p.kernel.OutputScale())
		for i := range n {
			open := math.Sqrt(2e-3 * gainTolerance / fit.multiplier * gram[i*n+i])
			if math.Abs(z.AtVec(i)-fit.z[i]) > 1e-7*scale+open {
				t.Fatalf("Z_%d = %v, stationarity wants %v", i, fit.z[i], z.AtVec(i))
			}
		}
		size := floats.Dot(fit.grad, fit.z) / fit.multiplier
		if math.Abs(size-p.norm*p.norm) > 1e-7*p.norm*p.norm+2*gainTolerance/fit.multiplier {
			t.Fatalf("squared norm %v, want %v", size, p.norm*p.norm)
		}
	})
}

// Campaign sizes: every bound at random and at labeled points is found, and the fast and the exact
// method agree. The fast one suffices, also for wide sets, which is what the speed of a decision
// rests on.
func TestManyLabels(t *testing.T) {
	for _, n := range []int{50, 150} {
		labels, k := benchmarkLabels(n)
		for _, rule := range []struct{ norm, c float64 }{{1, 0.01}, {4, 0.01}, {32, 0.32}} {
			t.Run(fmt.Sprintf("n=%d,B=%g", n, rule.norm), func(t *testing.T) {
				set := must.Get(NewSet(labels, k, rule.norm, Margin(rule.c, n), DefaultJitter))(t)
				for _, x := range append(randomPoints(4, 4), labels.X[0]) {
					lower, upper := must.Get2(set.Bounds(x))(t)
					if mle := set.MLEAt(x, nil); !(lower <= mle && mle <= upper) {
						t.Errorf("MLE %v outside %v, %v", mle, lower, upper)
					}
					if set.work.deeper > 0 {
						t.Errorf("the bound at %v took the interior-point method", x)
					}
					if set.ballOnly(1) {
						continue
					}
					copy(set.work.c, set.work.v)
					exact := must.Get(set.byInterior())(t)
					if math.Abs(exact-lower) > 1e-7 {
						t.Errorf("lower bound %v, the interior point gives %v", lower, exact)
					}
				}
			})
		}
	}
}

// hardBound is a problem with norm bound 32 and output scale 3, and its solution.
type hardBound struct {
	kernel               string
	lengthscales         []float64
	alpha, jitter        float64
	feedback             Feedback
	x                    []float64
	lower, upper         float64
	lowerGrad, upperGrad []float64
}

// hardBounds are problems with a bound that only nested searches with settled maxima find: points
// that nearly coincide, a wide ball and little jitter. The solutions are those of the conditions of
// Karush, Kuhn and Tucker for the values at all points, by Newton's method with 50 digits, and the
// gradients their central differences.
var hardBounds = []hardBound{
	{
		kernel: "matern52", lengthscales: []float64{10, 1}, alpha: 0.01, jitter: 1e-8,
		feedback: Feedback{
			Labels: Labels{
				X:      [][]float64{{0, 0}, {0, 1}},
				Reject: []bool{false, false},
			},
			Pairs: []Pair{
				{Better: []float64{0, 0}, Worse: []float64{0.013, 0}},
			},
		},
		x:     []float64{0, 0},
		lower: -36.468287020022, lowerGrad: []float64{5.381977297, -0.0001499897732},
		upper: -4.5708456967171, upperGrad: []float64{7.053346731, -5.200133957},
	},
	{
		kernel: "rbf", lengthscales: []float64{0.3, 0.3, 0.3}, alpha: 0.5, jitter: 1e-6,
		feedback: Feedback{
			Labels: Labels{
				X:      [][]float64{{1, 0, 0}},
				Reject: []bool{false},
			},
			Pairs: []Pair{
				{Better: []float64{0, 0, 0.02}, Worse: []float64{0, 0, 0}},
			},
			Rankings: []Ranking{
				{Order: [][]float64{{1, 0, 0}, {0, 1e-6, 0}, {0, 0, 0}, {0.7, 0, 0}}},
			},
		},
		x:     []float64{0, 1e-6, 0},
		lower: -37.043390429147, lowerGrad: []float64{-1.704232746, -0.002677475844, -34.51904809},
		upper: 32.246273400826, upperGrad: []float64{26.5295777, -0.002655879684, -37.84409421},
	},
	{
		kernel: "matern52", lengthscales: []float64{1, 0.1}, alpha: 0.001, jitter: 1e-8,
		feedback: Feedback{
			Labels: Labels{
				X:      [][]float64{{0, 0}, {0, 3e-8}},
				Reject: []bool{false, false},
			},
			Pairs: []Pair{
				{Better: []float64{0, 0}, Worse: []float64{0, 2e-9}},
			},
		},
		x:     []float64{0, 0},
		lower: -47.057989995669, lowerGrad: []float64{0, 0.1195509305},
		upper: -7.55616302482, upperGrad: []float64{0, 0.2205236691},
	},
	{
		kernel: "matern32", lengthscales: []float64{0.01, 0.3, 100}, alpha: 0.01, jitter: 1e-8,
		feedback: Feedback{
			Labels: Labels{
				X:      [][]float64{{0, 5e-6, 4e-7}},
				Reject: []bool{false},
			},
			Rankings: []Ranking{
				{Order: [][]float64{{0, 0, 0.1}, {0, 5e-6, 4e-7}}},
				{Order: [][]float64{{0, 5e-6, 4e-7}, {0.7, 0, 0}}},
			},
		},
		x:     []float64{0, 0, 0},
		lower: -35.618302443791, lowerGrad: []float64{0, 4.083418387, -0.7337615692},
		upper: -4.5642686546865, upperGrad: []float64{0, 5.174964248, -0.9506382756},
	},
	{
		kernel: "rbf", lengthscales: []float64{0.3, 10}, alpha: 0.001, jitter: 1e-8,
		feedback: Feedback{
			Labels: Labels{
				X:      [][]float64{{0, 0}},
				Reject: []bool{false},
			},
			Pairs: []Pair{
				{Better: []float64{0, 0}, Worse: []float64{6e-5, 0}},
			},
		},
		x:     []float64{0, 0},
		lower: -32.546251031014, lowerGrad: []float64{138.4520375, 0},
		upper: -6.8209534199113, upperGrad: []float64{169.7203904, 0},
	},
	{
		kernel: "matern32", lengthscales: []float64{0.3, 0.3}, alpha: 0.03, jitter: 1e-6,
		feedback: Feedback{
			Labels: Labels{
				X:      [][]float64{{0, 0.006}},
				Reject: []bool{false},
			},
			Rankings: []Ranking{
				{Order: [][]float64{{0, 0.006}}, Rest: [][]float64{{1, 0}}},
				{Order: [][]float64{{0.0001, 0.026}, {0, 0.006}, {0, 0.9}}},
			},
		},
		x:     []float64{0, 0},
		lower: -43.352643023739, lowerGrad: []float64{-0.894754631, -172.3797328},
		upper: -1.664509440914, upperGrad: []float64{0.1784863221, -304.8018005},
	},
	{
		kernel: "rbf", lengthscales: []float64{0.01}, alpha: 0.001, jitter: 1e-8,
		feedback: Feedback{
			Labels: Labels{
				X:      [][]float64{{0.0028}, {3e-12}},
				Reject: []bool{false, false},
			},
			Rankings: []Ranking{
				{Order: [][]float64{{1e-8}, {6e-6}, {0}}, Rest: [][]float64{{1}, {0.0028}}},
			},
		},
		x:     []float64{6e-6},
		lower: -44.375890381363, lowerGrad: []float64{2113.065492},
		upper: -14.477968019335, upperGrad: []float64{2120.193186},
	},
	{
		kernel: "rbf", lengthscales: []float64{0.1, 0.01, 10}, alpha: 0.5, jitter: 1e-8,
		feedback: Feedback{
			Labels: Labels{
				X:      [][]float64{{0.9, 0, 0}, {0, 0, 0}},
				Reject: []bool{true, true},
			},
			Pairs: []Pair{
				{Better: []float64{0.4, 0, 0}, Worse: []float64{0, 0, 0}},
				{Better: []float64{0, 0.0003, 0}, Worse: []float64{0, 0, 0}},
				{Better: []float64{0.4, 0, 0}, Worse: []float64{0, 0.08, 0}},
				{Better: []float64{0, 0, 0}, Worse: []float64{0, 0, 0.2}},
			},
		},
		x:     []float64{0, 0, 0},
		lower: 0.42585994549662, lowerGrad: []float64{-0.08878111378, -3999.224963, 3.714261619},
		upper: 53.253046107053, upperGrad: []float64{-0.03865042778, -1112.3977, 0.8312878424},
	},
	{
		kernel: "matern52", lengthscales: []float64{0.1, 0.01, 0.1}, alpha: 0.5, jitter: 1e-8,
		feedback: Feedback{
			Labels: Labels{
				X:      [][]float64{{0, 0, 1}, {0.03, 0, 0}},
				Reject: []bool{true, false},
			},
			Pairs: []Pair{
				{Better: []float64{0, 0, 1}, Worse: []float64{0, 0.8, 0}},
			},
			Rankings: []Ranking{
				{
					Order: [][]float64{{0.002, 0, 6e-11}, {0.4, 0, 0}, {0, 0, 0}},
					Rest:  [][]float64{{0, 1, 0}, {0, 0, 1}},
				},
			},
		},
		x:     []float64{0, 0, 0},
		lower: -36.134584865172, lowerGrad: []float64{-240.2765176, 0, -3.75797909e-6},
		upper: 14.133921446803, upperGrad: []float64{-491.1277233, 0, 9.991587079e-6},
	},
}

// Bounds of hard problems are found, with gradients, and are as accurate as those of others.
func TestHardBounds(t *testing.T) {
	for i, c := range hardBounds {
		k := must.Get(kernel.New(c.kernel, c.lengthscales, 3))(t)
		set := must.Get(NewSet(c.feedback, k, 32, c.alpha, c.jitter))(t)
		lower, upper, err := set.Bounds(c.x)
		if err != nil {
			t.Errorf("problem %d: %v", i, err)
			continue
		}
		if math.Abs(lower-c.lower) > 1e-7 || math.Abs(upper-c.upper) > 1e-7 {
			t.Errorf("problem %d: bounds %v, %v, want %v, %v", i, lower, upper, c.lower, c.upper)
		}
		grad := make([]float64, len(c.x))
		if again, err := set.Lower(c.x, grad); err != nil || again != lower ||
			!floats.EqualApprox(grad, c.lowerGrad, 1e-6) {
			t.Errorf("problem %d: lower bound %v, gradient %v, %v; want %v, %v", i, again, grad, err,
				lower, c.lowerGrad)
		}
		if again, err := set.Upper(c.x, grad); err != nil || again != upper ||
			!floats.EqualApprox(grad, c.upperGrad, 1e-6) {
			t.Errorf("problem %d: upper bound %v, gradient %v, %v; want %v, %v", i, again, grad, err,
				upper, c.upperGrad)
		}
	}
}

// The norm bound doubles only while labels ask for it, up to the rule's limit, and c with it only
// under the paper's rule.
func TestAdaptNorm(t *testing.T) {
	labels, k := benchmarkLabels(40) // clear-cut answers of a smooth expert
	norm, c, err := AdaptNorm(labels, k, 1, 0.01, DefaultRule())
	if err != nil || norm != 4 || c != 0.01 {
		t.Errorf("default rule: B = %v, c = %v, %v; want 4, 0.01", norm, c, err)
	}
	norm, c, err = AdaptNorm(labels, k, 1, 0.01, PaperRule())
	if err != nil || !(norm >= 4) || c != 0.01*norm {
		t.Errorf("paper's rule: B = %v, c = %v, %v; want B ≥ 4 and c = B/100", norm, c, err)
	}
	// It stopped where the criterion says, and not before.
	for b, d := 1.0, 0.01; ; b, d = 2*b, 2*d {
		narrow, err1 := MLE(labels, k, b, DefaultJitter)
		wide, err2 := MLE(labels, k, 2*b, DefaultJitter)
		if err1 != nil || err2 != nil {
			t.Fatal(err1, err2)
		}
		doubles := wide.LogLik-narrow.LogLik > Margin(2*d, 40)
		if doubles != (b < norm) {
			t.Errorf("at B = %v doubling is %v, but the rule ended at %v", b, doubles, norm)
		}
		if !doubles {
			break
		}
	}
	// Where it ended it stays; without labels nothing moves.
	if again, _, err := AdaptNorm(labels, k, norm, c, PaperRule()); err != nil || again != norm {
		t.Errorf("called again: B = %v, %v", again, err)
	}
	if norm, c, err := AdaptNorm(Labels{}, k, 1, 0.01, PaperRule()); err != nil || norm != 1 || c != 0.01 {
		t.Errorf("no labels: B = %v, c = %v, %v", norm, c, err)
	}
}

// Data that cannot be used is refused with its kind of error, never a number.
func TestRefusals(t *testing.T) {
	k := rbf(t, 1)
	one := Labels{X: [][]float64{{0.5}}, Reject: []bool{true}}
	for _, c := range []struct {
		name                string
		labels              Labels
		norm, alpha, jitter float64
		want                error
	}{
		{"answer missing", Labels{X: [][]float64{{0.5}}}, 1, 0.1, 1e-8, ErrFeedback},
		{"another dimension", Labels{X: [][]float64{{0.5, 1}}, Reject: []bool{true}}, 1, 0.1, 1e-8, ErrFeedback},
		{"NaN", Labels{X: [][]float64{{math.NaN()}}, Reject: []bool{true}}, 1, 0.1, 1e-8, ErrFeedback},
		{"norm 0", one, 0, 0.1, 1e-8, ErrSetting},
		{"norm NaN", one, math.NaN(), 0.1, 1e-8, ErrSetting},
		{"margin 0", one, 1, 0, 1e-8, ErrSetting},
		{"jitter 0", one, 1, 0.1, 0, ErrSetting},
	} {
		if _, err := NewSet(c.labels, k, c.norm, c.alpha, c.jitter); !errors.Is(err, c.want) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	set := must.Get(NewSet(one, k, 1, 0.1, 1e-8))(t)
	for _, x := range []float64{math.NaN(), math.Inf(1)} {
		if _, _, err := set.Bounds([]float64{x}); !errors.Is(err, ErrPoint) {
			t.Errorf("bounds at %v: %v", x, err)
		}
	}
}

// PaperRule doubles c with B and has no limit. With few labels it reaches B = 16 and beyond.
func PaperRule() NormRule {
	return NormRule{MaxNorm: math.Inf(1), DoubleC: true, Jitter: DefaultJitter}
}

// DefaultRule keeps c and stops at B = 4.
func DefaultRule() NormRule { return NormRule{MaxNorm: 4, Jitter: DefaultJitter} }
