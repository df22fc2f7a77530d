package sources

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/campaignd/campaignd/internal/num/gp"
	"github.com/campaignd/campaignd/internal/num/special"
)

// learned returns the posterior of n measurements at fidelities, and a set of designs at the target.
func learned(tb testing.TB, n, set int) (*gp.GP, [][]float64) {
	tb.Helper()
	g, err := scale().Posterior(ctx, cut(n, 8))
	if err != nil {
		tb.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(8, 8))
	designs := make([][]float64, set)
	for i := range designs {
		designs[i] = []float64{rng.Float64(), rng.Float64(), Target}
	}
	return g, designs
}

// Law: the knowledge gradient is by how much the least mean of the set falls on average when a value is drawn from what is
// expected, and learned.
func TestKnowledgeGradientIsLearning(t *testing.T) {
	g, set := learned(t, 5, 12)
	least := func(g *gp.GP) float64 {
		best := math.Inf(1)
		for _, x := range set {
			mean, _ := g.Posterior(x)
			best = min(best, mean)
		}
		return best
	}
	k := NewKnowledgeGradient(g, set)
	second := slices.Clone(set)
	slices.SortFunc(second, func(x, y []float64) int {
		a, _ := g.Posterior(x)
		b, _ := g.Posterior(y)
		return cmp.Compare(a, b)
	})
	for _, fidelity := range []float64{0, 0.4, 1} {
		point := Join(second[1][:2], fidelity) // of the design that may turn out to be the best
		noise := g.Hyper().Noise
		mean, sd := g.Posterior(point)
		now, fall := least(g), 0.0
		const step = 0.02 // of the trapezoidal rule over Z
		for z := -6.0; z <= 6; z += step {
			after, err := g.With(ctx, [][]float64{point}, []float64{mean + math.Sqrt(sd*sd+noise)*z})
			if err != nil {
				t.Fatal(err)
			}
			fall += step * special.NormalPDF(z) * (now - least(after))
		}
		if got := math.Exp(k.Log(point, noise)); !(math.Abs(got-fall) <= 1e-3*fall) || got < 1e-5 {
			t.Errorf("at %v it is %v, by learning %v", point, got, fall)
		}
	}
}

// Law: the derivatives are those of central differences, by the fidelity too.
func TestKnowledgeGradientGradient(t *testing.T) {
	g, set := learned(t, 12, 20)
	k := NewKnowledgeGradient(g, set)
	rng := rand.New(rand.NewPCG(9, 9))
	grad := make([]float64, 3)
	for range 20 {
		x := []float64{rng.Float64(), rng.Float64(), 0.05 + 0.9*rng.Float64()}
		value := k.LogGrad(x, 0.03, grad)
		if plain := k.Log(x, 0.03); math.Abs(plain-value) > 1e-9 {
			t.Fatalf("with derivatives %v, without %v", value, plain)
		}
		checkGradient(t, grad, func(j int, step float64) float64 {
			y := slices.Clone(x)
			y[j] += step
			return k.Log(y, 0.03)
		})
	}
}

// Law: at the target a value without noise tells nearly all, a lower fidelity less, and where cost counts the cheap one is chosen; a
// source that has nothing to do with the target tells nothing.
func TestChoose(t *testing.T) {
	g, _ := learned(t, 9, 1)
	x := []float64{0.7, 0.4}
	ways := []Way{{Source: 0.2, Noise: 0.04, Cost: 0.1}, {Source: 0.6, Noise: 0.04, Cost: 0.5}, {Source: 1, Noise: 0.04, Cost: 4}}
	best, values := Choose(g, x, Target, ways, 0)
	if best != 2 || !(values[2] > values[1] && values[1] > values[0]) {
		t.Errorf("where cost does not matter it is %d of %v", best, values)
	}
	if best, values = Choose(g, x, Target, ways, 1); best == 2 {
		t.Errorf("where cost counts it is %d of %v", best, values)
	}
	// The variance that a measurement leaves, by making it: G is half the logarithm of what it divides it by.
	_, before := g.Posterior(Join(x, Target))
	after, err := g.With(ctx, [][]float64{Join(x, 0.6)}, []float64{0})
	if err != nil {
		t.Fatal(err)
	}
	_, left := after.Posterior(Join(x, Target))
	information := LogInformation(g, x, Target, []Way{{Source: 0.6, Noise: g.Hyper().Noise}})
	near(t, "information", math.Exp(information[0]), math.Log(before/left), 1e-9)

	apart := ICM{Lengthscales: []float64{0.4, 0.4}, W: [][]float64{{1}, {0, 1}}, Noise: []float64{0.1, 0.1}}
	if g, err = apart.Posterior(ctx, measured(9, 2, 0.5, 1)); err != nil {
		t.Fatal(err)
	}
	best, values = Choose(g, x, 1, []Way{{Source: 0, Noise: 0.1, Cost: 1e-6}, {Source: 1, Noise: 0.1, Cost: 1}}, 1)
	if best != 1 || !math.IsInf(values[0], -1) {
		t.Errorf("of sources that have nothing to do with each other it is %d of %v", best, values)
	}
}

func BenchmarkKnowledgeGradient(b *testing.B) {
	for _, n := range []int{50, 100, 200} {
		b.Run(fmt.Sprintf("n=%d", n), func(b *testing.B) {
			g, set := learned(b, n, n+32)
			k := NewKnowledgeGradient(g, set)
			x, grad := []float64{0.3, 0.4, 0.5}, make([]float64, 3)
			b.ReportAllocs()
			for b.Loop() {
				k.LogGrad(x, 0.04, grad)
			}
		})
	}
}

func BenchmarkChoose(b *testing.B) {
	for _, n := range []int{50, 100, 200} {
		b.Run(fmt.Sprintf("n=%d", n), func(b *testing.B) {
			g, _ := learned(b, n, 1)
			ways := make([]Way, 17)
			for i := range ways {
				ways[i] = Way{Source: float64(i) / 16, Noise: 0.04, Cost: 0.1 + float64(i)}
			}
			for b.Loop() {
				Choose(g, []float64{0.3, 0.4}, Target, ways, 0.5)
			}
		})
	}
}
