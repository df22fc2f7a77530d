package acquisition

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mathext"
)

// Oracle r: knowledge gradients of given lines, down to e^−460, ln KG to 1e-9 absolute, the tolerance the file states. The
// file maximizes.
func TestKnowledgeOracle(t *testing.T) {
	data, err := os.ReadFile("../../../../shared/oracles/r_cost_fidelity.json")
	if errors.Is(err, fs.ErrNotExist) {
		t.Skip("oracle r is not beside this checkout")
	} else if err != nil {
		t.Fatal(err)
	}
	type lines struct {
		A, B  []float64
		KG    float64
		LogKG *float64 `json:"log_kg"`
	}
	var oracle struct {
		Results struct {
			Posterior []lines `json:"knowledge_gradient"`
			Lines     []lines `json:"knowledge_gradient_lines"`
		}
	}
	if err := json.Unmarshal(data, &oracle); err != nil {
		t.Fatal(err)
	}
	if len(oracle.Results.Lines) == 0 || len(oracle.Results.Posterior) == 0 {
		t.Fatal("the oracle holds no case")
	}
	for _, c := range oracle.Results.Posterior {
		log := math.Log(c.KG)
		c.LogKG = &log
		oracle.Results.Lines = append(oracle.Results.Lines, c)
	}
	for _, c := range oracle.Results.Lines {
		for i := range c.A {
			c.A[i] = -c.A[i]
		}
		want := math.Inf(-1) // null in the file
		if c.LogKG != nil {
			want = *c.LogKG
		}
		if got := NewKnowledge(len(c.A)).Log(c.A, c.B); !(math.Abs(got-want) <= 1e-9) && got != want {
			t.Errorf("ln KG of %v, %v is %.17g, want %.17g", c.A, c.B, got, want)
		}
	}
}

// Law: KG is the expectation that defines it, by quadrature over the quantiles of Z; a shift of all means, or of all movements, does not
// change it, nor does their order; with two equal lines it is that of one.
func TestKnowledgeIsTheExpectation(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		n := 1 + rng.IntN(12)
		a, b := make([]float64, n), make([]float64, n)
		for i := range a {
			a[i], b[i] = rng.NormFloat64(), rng.NormFloat64()
			if rng.IntN(3) == 0 {
				b[i] = math.Round(b[i]) // parallel lines
			}
		}
		const points = 200_000
		want := slices.Min(a)
		for p := range points {
			z := mathext.NormalQuantile((float64(p) + 0.5) / points)
			least := math.Inf(1)
			for i := range a {
				least = min(least, a[i]+b[i]*z)
			}
			want -= least / points
		}
		k := NewKnowledge(n)
		value := k.Log(a, b)
		if got := math.Exp(value); math.Abs(got-want) > 2e-5*(1+slices.Max(b)-slices.Min(b)) {
			t.Fatalf("KG of %v, %v is %v, want %v", a, b, got, want)
		}
		for i := range a {
			a[i], b[i] = a[i]+8, b[i]-4
		}
		slices.Reverse(a)
		slices.Reverse(b)
		if got := k.Log(a, b); !(math.Abs(got-value) <= 1e-9) && got != value {
			t.Fatalf("shifted and in another order it is %v, was %v", got, value)
		}
		value = k.Log(a, b)
		if got := NewKnowledge(n+1).Log(append(a, a[0]), append(b, b[0])); got != value {
			t.Fatalf("with a line twice it is %v, was %v", got, value)
		}
	}
}

// Law: the derivatives are those of central differences, also of what is too small for a number; nothing learned has none.
func TestKnowledgeGradient(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 2))
	for round := range 60 {
		n := 2 + rng.IntN(8)
		a, b, grad := make([]float64, n), make([]float64, n), make([]float64, n)
		for i := range a {
			a[i], b[i] = rng.NormFloat64(), 0.3*rng.NormFloat64()
		}
		if round%3 == 0 {
			a[0] = -60
		}
		k := NewKnowledge(n)
		value := k.LogGrad(grad, a, b)
		if plain := k.Log(a, b); plain != value || math.IsInf(value, 0) {
			t.Fatalf("with derivatives %v, without %v", value, plain)
		}
		for i := range b {
			const h = 1e-7
			was := b[i]
			b[i] = was + h
			up := k.Log(a, b)
			b[i] = was - h
			down := k.Log(a, b)
			b[i] = was
			want := (up - down) / (2 * h)
			if math.Abs(grad[i]-want) > 1e-4*(1+math.Abs(want)+math.Abs(value)) {
				t.Fatalf("∂ ln KG/∂b_%d is %v, finite difference %v, at %v, %v", i, grad[i], want, a, b)
			}
		}
	}
	grad := []float64{1, 1}
	if v := NewKnowledge(2).LogGrad(grad, []float64{0, 1}, []float64{2, 2}); !math.IsInf(v, -1) || grad[0] != 0 || grad[1] != 0 {
		t.Errorf("where nothing is learned it is %v with the derivatives %v", v, grad)
	}
}

func BenchmarkKnowledge(b *testing.B) {
	for _, n := range []int{16, 64, 256} {
		b.Run(fmt.Sprintf("designs=%d", n), func(b *testing.B) {
			rng := rand.New(rand.NewPCG(3, 2))
			means, moves, grad := make([]float64, n), make([]float64, n), make([]float64, n)
			for i := range means {
				means[i], moves[i] = rng.NormFloat64(), rng.NormFloat64()
			}
			k := NewKnowledge(n)
			b.ReportAllocs()
			for b.Loop() {
				k.LogGrad(grad, means, moves)
			}
		})
	}
}
