package bope

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/campaignd/campaignd/internal/num/pref"
	"github.com/campaignd/campaignd/internal/tests/must"
)

var baseline = [][]float64{{0.5, -0.5, 0}, {1, 0.8, -0.4}, {-1, -1, 0.2}, {0, 0, 1.4}}

// Law: EIUU is the expected improvement of the utility: the mean of draws of all utilities, and of the outcome, that takes
// no part in how it is computed.
func TestEIUUIsTheExpectation(t *testing.T) {
	p := learned(t, judged(t, 12, 3, 1, 3), 3)
	mean, sd := []float64{1.3, -0.9, 0.3}, []float64{0.4, 0.3, 0.5}
	rng := rand.New(rand.NewPCG(2, 2))
	const outcomes, draws = 300, 300
	sum, y, u := 0.0, make([]float64, 3), make([]float64, 5)
	for range outcomes {
		for j := range y {
			y[j] = mean[j] + sd[j]*rng.NormFloat64()
		}
		joint := p.Joint(append(slices.Clone(baseline), y))
		for range draws {
			must.Do(t, joint.Sample(u, rng))
			sum += max(u[4]-maximum(u[:4]), 0)
		}
	}
	want := sum / (outcomes * draws)
	// 256 quasi-random points leave a few percent, which seeds average out.
	got := 0.0
	for seed := range uint64(16) {
		e := must.Get(NewEIUU(p, baseline, 2*seed))(t)
		one := math.Exp(e.Log(mean, sd))
		if math.Abs(one-want) > 0.2*want {
			t.Errorf("seed %d: %v, want %v", seed, one, want)
		}
		got += one / 16
	}
	if math.Abs(got-want) > 0.03*want {
		t.Errorf("on average %v, want %v", got, want)
	}
}

// Law: its derivatives are those of central differences, also far away, where nothing underflows; with and without
// derivatives it is the same.
func TestEIUUGradient(t *testing.T) {
	e, err := NewEIUU(learned(t, Declare(judged(t, 10, 3, 1, 3), baseline, []Better{1, -1, 0}, Certain), 3), baseline, 7)
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(3, 3))
	dMean, dSD := make([]float64, 3), make([]float64, 3)
	for i := range 60 {
		mean, sd := make([]float64, 3), make([]float64, 3)
		for j := range mean {
			mean[j], sd[j] = rng.NormFloat64(), 0.5*rng.Float64()
		}
		if i%3 == 0 { // far on the bad side
			mean[0] -= 3 + 0.5*float64(i)
		}
		value := e.LogGrad(mean, sd, dMean, dSD)
		if plain := e.Log(mean, sd); math.Abs(plain-value) > 1e-11*(1+math.Abs(value)) || math.IsInf(value, 0) {
			t.Fatalf("with derivatives %v, without %v", value, plain)
		}
		const h = 1e-5
		check := func(what string, at []float64, j int, got float64) {
			was := at[j]
			at[j] = was + h
			up := e.Log(mean, sd)
			at[j] = was - h
			down := e.Log(mean, sd)
			at[j] = was
			if want := (up - down) / (2 * h); math.Abs(got-want) > 1e-5*(1+math.Abs(want)) {
				t.Fatalf("∂/∂%s_%d at %v, %v is %v, finite difference %v", what, j, mean, sd, got, want)
			}
		}
		for j := range mean {
			check("mean", mean, j, dMean[j])
			check("sd", sd, j, dSD[j])
		}
	}
}

// Law: an outcome twice in the baseline counts once.
func TestEIUUOfEqualOutcomes(t *testing.T) {
	p := learned(t, judged(t, 12, 3, 1, 3), 3)
	points := [][]float64{{0.3, -1, 0}, {-0.7, 0.4, 1}}
	mean, sd := []float64{1, -1, 0.3}, []float64{0.4, 0.3, 0.5}
	once := must.Get(newEIUU(p, baseline, [][]float64{{1, 0.2, -0.5, 2}, {-1, 0.7, 0.1, 0}}, points))(t)
	twice := slices.Insert(slices.Clone(baseline), 1, baseline[0])
	both := must.Get(newEIUU(p, twice, [][]float64{{1, 0.2, -0.5, 2, 9}, {-1, 0.7, 0.1, 0, 9}}, points))(t)
	if a, b := once.Log(mean, sd), both.Log(mean, sd); math.Abs(a-b) > 1e-9 {
		t.Errorf("once %v, twice %v", a, b)
	}
}

// Law: no evaluation allocates.
func TestEIUUDoesNotAllocate(t *testing.T) {
	e := must.Get(NewEIUU(learned(t, judged(t, 12, 3, 1, 3), 3), baseline, 1))(t)
	mean, sd, dMean, dSD := []float64{1, -1, 0}, []float64{0.4, 0.3, 0.5}, make([]float64, 3), make([]float64, 3)
	if n := testing.AllocsPerRun(10, func() { e.LogGrad(mean, sd, dMean, dSD); e.Log(mean, sd) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// benchmark returns a utility of n comparisons and two declared directions of three outcomes, and a baseline of 20 outcomes.
func benchmark(b *testing.B, n int) (*pref.Posterior, [][]float64) {
	duels := judged(b, n, 3, 1, 9)
	rest := judged(b, 10, 3, 1, 10).X
	return learned(b, Declare(duels, rest[:3], []Better{1, -1, 0}, Certain), 3), rest
}

func BenchmarkEIUU(b *testing.B) {
	for _, n := range []int{10, 30, 60, 120} {
		b.Run(fmt.Sprintf("n=%d", n), func(b *testing.B) {
			p, outcomes := benchmark(b, n)
			e := must.Get(NewEIUU(p, outcomes, 1))(b)
			mean, sd, dMean, dSD := []float64{1, -1, 0}, []float64{0.4, 0.3, 0.5}, make([]float64, 3), make([]float64, 3)
			for b.Loop() {
				e.LogGrad(mean, sd, dMean, dSD)
			}
		})
	}
}

func BenchmarkNewEIUU(b *testing.B) {
	for _, n := range []int{10, 30, 60, 120} {
		b.Run(fmt.Sprintf("n=%d", n), func(b *testing.B) {
			p, outcomes := benchmark(b, n)
			for b.Loop() {
				must.Get(NewEIUU(p, outcomes, 1))(b)
			}
		})
	}
}

func BenchmarkBestPair(b *testing.B) {
	for _, n := range []int{64, 128, 256} {
		b.Run(fmt.Sprintf("outcomes=%d", n), func(b *testing.B) {
			p, _ := benchmark(b, 30)
			outcomes := judged(b, n/2, 3, 1, 11).X
			for b.Loop() {
				BestPair(p.Joint(outcomes), nil)
			}
		})
	}
}
