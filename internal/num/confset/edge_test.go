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
)

func rbf(t *testing.T, lengthscales ...float64) kernel.Kernel {
	t.Helper()
	k, err := kernel.New("rbf", lengthscales, 1)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// Without labels the set is the ball: bounds ∓B·√(k(x, x) + jitter), flat, and the MLE is 0.
func TestNoLabels(t *testing.T) {
	set, err := NewSet(Labels{}, rbf(t, 0.5), 2, 0.01, 1e-6)
	if err != nil {
		t.Fatal(err)
	}
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
	fit, err := MLE(labels, rbf(t, 0.1), 2, 1e-8)
	if err != nil {
		t.Fatal(err)
	}
	if want := 2 * math.Sqrt(1+1e-8); math.Abs(fit.Z[0]-want) > 1e-12 {
		t.Errorf("Z = %v, want %v", fit.Z[0], want)
	}
	set, err := NewSet(labels, rbf(t, 0.1), 2, 0.05, 1e-8)
	if err != nil {
		t.Fatal(err)
	}
	// At the label itself, where s is the square root of the jitter: the whole set is within
	// ln-likelihood 0.05.
	lower, upper, err := set.Bounds([]float64{0.5})
	if err != nil {
		t.Fatal(err)
	}
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
	fit, err := MLE(labels, rbf(t, 0.1), 4, 1e-8)
	if err != nil {
		t.Fatal(err)
	}
	want := []float64{math.Ln2, math.Ln2, math.Ln2, 0, 0}
	if !floats.EqualApprox(fit.Z, want, 1e-14) || fit.Multiplier != 0 {
		t.Errorf("Z = %v, multiplier %v", fit.Z, fit.Multiplier)
	}
	set, err := NewSet(labels, rbf(t, 0.1), 4, 0.05, 1e-8)
	if err != nil {
		t.Fatal(err)
	}
	lower, upper, err := set.Bounds([]float64{0.2})
	if err != nil || !(lower < math.Ln2 && math.Ln2 < upper && upper-lower < 1.5) {
		t.Errorf("bounds %v, %v, %v", lower, upper, err)
	}
}

// Karush, Kuhn and Tucker: at the MLE μ·(K + jitter·I)⁻¹Z = ∇ℓ(Z), and the norm is B where μ > 0.
func TestMLEIsStationary(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawProblem(t, 12)
		p.norm = math.Min(p.norm, 4)
		a, gram, err := prepare(p.feedback, p.kernel, p.norm, p.jitter)
		if err != nil {
			t.Fatal(err)
		}
		fit, err := fitMLE(a, gram, p.norm)
		if err != nil {
			t.Fatal(err)
		}
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
			if math.Abs(z.AtVec(i)-fit.z[i]) > 1e-7*scale {
				t.Fatalf("Z_%d = %v, stationarity wants %v", i, fit.z[i], z.AtVec(i))
			}
		}
		if size := floats.Dot(fit.grad, fit.z) / fit.multiplier; math.Abs(size-p.norm*p.norm) > 1e-7*p.norm*p.norm {
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
				set, err := NewSet(labels, k, rule.norm, Margin(rule.c, n), DefaultJitter)
				if err != nil {
					t.Fatal(err)
				}
				for _, x := range append(randomPoints(4, 4), labels.X[0]) {
					lower, upper, err := set.Bounds(x)
					if err != nil {
						t.Fatal(err)
					}
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
					exact, err := set.byInterior()
					if err != nil {
						t.Fatal(err)
					}
					if math.Abs(exact-lower) > 1e-7 {
						t.Errorf("lower bound %v, the interior point gives %v", lower, exact)
					}
				}
			})
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
	set, err := NewSet(one, k, 1, 0.1, 1e-8)
	if err != nil {
		t.Fatal(err)
	}
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
