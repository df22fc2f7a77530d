package dueling

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"
	"pgregory.net/rapid"

	_ "github.com/campaignd/campaignd/internal/tests/draws"
	"github.com/campaignd/campaignd/internal/tests/must"
)

// TestFitIsStationary: at the fitted θ, one coefficient for each comparison, the gradient of the
// loss as the paper writes it is zero: 𝕂(scale·(μ − y) + λθ) for the norm of h, scale·𝕂(μ − y) + λθ
// for |θ|². Both losses are convex, so this is the minimum. Repeated and reversed pairs, ties and
// pairs (x, x) are among the comparisons, and λ spans what is sensible.
func TestFitIsStationary(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		task := smallTask(t, rapid.IntRange(2, 10).Draw(t, "n"), rapid.Uint64().Draw(t, "seed"))
		c := task.Candidates
		random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "answers"), 1))
		var data []Comparison
		for range rapid.IntRange(0, 60).Draw(t, "comparisons") {
			data = append(data, Comparison{Pair{random.IntN(c.n), random.IntN(c.n)}, float64(random.IntN(3)) / 2})
		}
		loss := rapid.SampledFrom([]Loss{LossRKHS, LossTheta, LossThetaSum}).Draw(t, "loss")
		lambda := math.Pow(10, rapid.Float64Range(-4, 1).Draw(t, "log λ"))
		m := must.Get(Fit(context.Background(), c, data, loss, lambda))(t)
		scale := 1.0
		if loss == LossTheta {
			scale = 1 / float64(len(data))
		}
		n := len(data)
		inner := make([]float64, n) // what 𝕂 is multiplied with
		for i, x := range data {
			inner[i] = scale * (m.Probability(x.First, x.Second) - x.Outcome)
			if loss == LossRKHS {
				inner[i] += lambda * m.Theta[i]
			}
		}
		for i, x := range data {
			var gradient, h float64
			for j, y := range data {
				gradient += c.Kernel(x.Pair, y.Pair) * inner[j]
				h += c.Kernel(x.Pair, y.Pair) * m.Theta[j]
			}
			if loss != LossRKHS {
				gradient += lambda * m.Theta[i]
			}
			if math.Abs(gradient) > 1e-8*float64(n) {
				t.Fatalf("gradient %v at comparison %d of %d", gradient, i, n)
			}
			if math.Abs(h-m.H(x.First, x.Second)) > 1e-8*(1+math.Abs(h)) {
				t.Fatalf("h(%v) is %v, its expansion %v", x.Pair, m.H(x.First, x.Second), h)
			}
		}
	})
}

// TestFitRefuses: unknown losses and impossible λ are settings' errors.
func TestFitRefuses(t *testing.T) {
	c := smallTask(t, 3, 1).Candidates
	for _, lambda := range []float64{0, -1, math.NaN(), math.Inf(1)} {
		if _, err := Fit(context.Background(), c, nil, LossRKHS, lambda); !errors.Is(err, ErrSetting) {
			t.Errorf("λ = %v: %v", lambda, err)
		}
	}
	if _, err := Fit(context.Background(), c, nil, "hinge", 1); !errors.Is(err, ErrSetting) {
		t.Errorf("loss hinge: %v", err)
	}
	if _, err := Fit(context.Background(), c, []Comparison{{Pair{0, 3}, 1}}, LossRKHS,
		1); !errors.Is(err, ErrComparison) {
		t.Errorf("candidate 3 of 3: %v", err)
	}
}

// TestVariancesAreEq10: σ by 2,000 rank-one updates is σ by Eq. 10 directly, to 1e-12 in variance,
// for a sample of pairs, and the pair proposed is the widest. The pairs are MR-LPF's own choices,
// so the same few come again and again: the worst case for drift.
func TestVariancesAreEq10(t *testing.T) {
	for _, name := range []string{"rbf", "matern52", "matern32"} {
		task := must.Get(PaperTask(name))(t)
		c := task.Candidates
		v := must.Get(NewVariances(c, every(c), 0.05))(t)
		random := rand.New(rand.NewPCG(1, 2))
		counts := tally{}
		for range 2000 {
			p, _ := v.Widest(random)
			v.Observe(p)
			counts.add(Comparison{Pair: p})
		}
		// n comparisons of a pair with noise λκ are one with noise λκ/n: Eq. 10 over distinct
		// pairs.
		m := len(counts.pairs)
		gram := mat.NewSymDense(m, nil)
		for i, p := range counts.pairs {
			for j := i; j < m; j++ {
				gram.SetSym(i, j, c.Kernel(p, counts.pairs[j]))
			}
			gram.SetSym(i, i, gram.At(i, i)+0.05/counts.counts[i])
		}
		var root mat.Cholesky
		if !root.Factorize(gram) {
			t.Fatal("the direct form is not positive definite")
		}
		widest := 0.0
		cross, solved := mat.NewVecDense(m, nil), mat.NewVecDense(m, nil)
		for i := range c.n {
			for j := range i {
				z := Pair{i, j}
				widest = math.Max(widest, v.SD(i, j))
				if (31*i+j)%53 != 0 {
					continue
				}
				for q, p := range counts.pairs {
					cross.SetVec(q, c.Kernel(z, p))
				}
				must.Do(t, root.SolveVecTo(solved, cross))
				want := c.Kernel(z, z) - mat.Dot(cross, solved)
				if got := v.SD(i, j); math.Abs(got*got-want) > 1e-12 {
					t.Fatalf("%s: σ²%v = %v, by Eq. 10 %v", name, z, got*got, want)
				}
			}
		}
		if p, sd := v.Widest(random); math.Abs(sd*sd-widest*widest) > 2e-11 {
			t.Errorf("%s: proposed %v with σ = %v, the widest has %v", name, p, sd, widest)
		}
	}
}

// TestLaplace: BetaCalibrated keeps what it should by the inverse Hessian at the fit, computed
// directly over the candidates' utilities.
func TestLaplace(t *testing.T) {
	task := smallTask(t, 8, 4)
	c := task.Candidates
	data := randomComparisons(task, 25, 2)
	const lambda = 0.05
	model := must.Get(Fit(context.Background(), c, data, LossRKHS, lambda))(t)
	// Posterior precision of f: λK⁻¹ + Σ μ(1−μ)(e_i − e_j)(e_i − e_j)ᵀ.
	gram := mat.NewDense(c.n, c.n, append([]float64(nil), c.gram...))
	var precision, covariance mat.Dense
	must.Do(t, precision.Inverse(gram))
	precision.Scale(lambda, &precision)
	var counts tally
	for _, x := range data {
		counts.add(x)
		p := model.Probability(x.First, x.Second)
		for _, e := range [][3]float64{{float64(x.First), float64(x.First), 1}, {float64(x.Second), float64(x.Second), 1},
			{float64(x.First), float64(x.Second), -1}, {float64(x.Second), float64(x.First), -1}} {
			i, j := int(e[0]), int(e[1])
			precision.Set(i, j, precision.At(i, j)+e[2]*p*(1-p))
		}
	}
	must.Do(t, covariance.Inverse(&precision))
	sd := func(i, j int) float64 {
		return math.Sqrt(covariance.At(i, i) + covariance.At(j, j) - covariance.At(i, j) - covariance.At(j, i))
	}
	for _, z := range []float64{0.5, 1, 2} {
		kept, _ := credible(c, model, &counts, lambda, every(c), z)
		var want []int
		for i := range c.n {
			passes := true
			for j := range c.n {
				passes = passes && (i == j || model.H(i, j)+z*sd(i, j) >= 0)
			}
			if passes {
				want = append(want, i)
			}
		}
		if !slices.Equal(kept, want) {
			t.Errorf("z = %v keeps %v, want %v", z, kept, want)
		}
	}
}

// TestFitHard: thousands of nearly certain answers, kernels of numerical rank far below the number
// of pairs, and little regularization converge too. Without a failure Fit has verified h against
// its own kernel expansion.
func TestFitHard(t *testing.T) {
	for _, name := range paperTasks {
		for _, lambda := range []float64{0.05, 1e-3} {
			for _, loss := range []Loss{LossRKHS, LossTheta, LossThetaSum} {
				t.Run(fmt.Sprintf("%s/%s/λ=%v", name, loss, lambda), func(t *testing.T) {
					task := must.Get(PaperTask(name))(t)
					for i := range task.Utility {
						task.Utility[i] *= 10
					}
					must.Get(Fit(context.Background(), task.Candidates,
						randomComparisons(task, 1000, 5), loss, lambda))(t)
				})
			}
		}
	}
}
