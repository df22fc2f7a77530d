package bope

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/campaignd/campaignd/internal/num/gp"
	"github.com/campaignd/campaignd/internal/tests/must"
)

// Law: the pair is the one of which the better is expected to be best, by the mean of many draws of all utilities; a pair
// that may not be asked about is not; where all is known the gain is 0.
func TestBestPair(t *testing.T) {
	outcomes := [][]float64{{0, 0}, {1.2, 0.4}, {1, -1}, {-1, 0.3}, {2, 1.5}}
	joint := learned(t, judged(t, 8, 2, 1, 2), 2).Joint(outcomes)
	n := len(outcomes)
	const draws = 200_000
	rng := rand.New(rand.NewPCG(1, 1))
	sums, u := make([]float64, n*n), make([]float64, n)
	for range draws {
		must.Do(t, joint.Sample(u, rng))
		for i := range n {
			for j := range i {
				sums[j*n+i] += max(u[i], u[j]) / draws
			}
		}
	}
	barred := func(int, int) bool { return true }
	for range 3 {
		want := Pair{EUBO: math.Inf(-1)}
		for i := range n {
			for j := i + 1; j < n; j++ {
				if sums[i*n+j] > want.EUBO && barred(i, j) {
					want = Pair{First: i, Second: j, EUBO: sums[i*n+j]}
				}
			}
		}
		got, ok := BestPair(joint, barred)
		if !ok || got.First != want.First || got.Second != want.Second || math.Abs(got.EUBO-want.EUBO) > 0.02 {
			t.Fatalf("%+v, want %+v", got, want)
		}
		if best := maximum(joint.Mean); math.Abs(got.Gain-(got.EUBO-best)) > 1e-12 {
			t.Errorf("gain %v, want %v", got.Gain, got.EUBO-best)
		}
		before := barred
		barred = func(i, j int) bool { return before(i, j) && (i != got.First || j != got.Second) }
	}
	if got, ok := BestPair(joint, func(int, int) bool { return false }); ok {
		t.Errorf("%+v where none may be asked about", got)
	}
	known := &gp.Joint{Mean: []float64{1, 3, 2}, Cov: make([]float64, 9)}
	if got, ok := BestPair(known, nil); !ok || got != (Pair{First: 0, Second: 1, EUBO: 3}) {
		t.Errorf("of known utilities %+v", got)
	}
}

func maximum(v []float64) float64 {
	greatest := math.Inf(-1)
	for _, x := range v {
		greatest = max(greatest, x)
	}
	return greatest
}
