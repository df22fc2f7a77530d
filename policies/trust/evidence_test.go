package trust_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/campaignd/campaignd/internal/num/gp"
	"github.com/campaignd/campaignd/internal/num/special"
	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/policies/trust"
)

// known is the posterior at n compositions that have been measured: the
// objective is drawn from N(0, 1) and known to 0.05.
func known(n int, rng *rand.Rand) *gp.Joint {
	j := &gp.Joint{Mean: make([]float64, n), Cov: make([]float64, n*n)}
	for i := range n {
		j.Mean[i], j.Cov[i*n+i] = rng.NormFloat64(), 0.05*0.05
	}
	return j
}

// labels are drawn from P(reject) = S(shift + slope·f).
func labels(j *gp.Joint, shift, slope float64, rng *rand.Rand) []bool {
	reject := make([]bool, len(j.Mean))
	for i, f := range j.Mean {
		reject[i] = rng.Float64() < special.Logistic(shift+slope*f)
	}
	return reject
}

func weigh(t *testing.T, j *gp.Joint, reject []bool) trust.Evidence {
	t.Helper()
	e := must.Get(trust.Weigh(j, reject, make([]bool, len(reject))))(t)
	if sum := e.Helps + e.Guesses + e.Misleads; math.Abs(sum-1) > 1e-12 {
		t.Fatalf("%+v adds up to %v", e, sum)
	}
	return e
}

// Twenty-five labels of measured compositions tell what an expert is worth,
// however strict they are. Slopes are those of Xu et al. 2024, Example 2.2, with a
// = 2, 1, 0, −1 and −2 on functions such as Ackley's.
func TestWeighTellsExpertsApart(t *testing.T) {
	const runs, n = 100, 25
	for _, c := range []struct {
		name  string
		slope float64
		right func(trust.Evidence) bool
		least int
	}{
		{"expert", 3, func(e trust.Evidence) bool { return e.Helps > 0.9 }, 85},
		{"good colleague", 1.5, func(e trust.Evidence) bool { return e.Helps > 0.6 }, 80},
		{"guesser", 0, func(e trust.Evidence) bool { return e.Helps < 0.4 }, 80},
		{"bad colleague", -1.5, func(e trust.Evidence) bool { return e.Helps < 0.05 }, 85},
		{"adversary", -3, func(e trust.Evidence) bool { return e.Helps < 0.01 }, 95},
	} {
		for _, shift := range []float64{0, 1} {
			right := 0
			for seed := range uint64(runs) {
				rng := rand.New(rand.NewPCG(seed, 1))
				j := known(n, rng)
				if c.right(weigh(t, j, labels(j, shift, c.slope, rng))) {
					right++
				}
			}
			t.Logf("%s, shift %v: %d of %d", c.name, shift, right, runs)
			if right < c.least {
				t.Errorf("%s, shift %v: recognized in %d of %d runs, want %d", c.name, shift, right, runs, c.least)
			}
		}
	}
}

// Without labels, and with labels of compositions of which the model knows
// nothing, an expert is as likely to help as to mislead.
func TestWeighLearnsNothingFromTheUnknown(t *testing.T) {
	if e := weigh(t, &gp.Joint{}, nil); math.Abs(e.Helps-1./3) > 1e-12 || math.Abs(e.Misleads-1./3) > 1e-12 {
		t.Errorf("before any label: %+v", e)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	const n = 10
	j := &gp.Joint{Mean: make([]float64, n), Cov: make([]float64, n*n)}
	for i := range n {
		j.Cov[i*n+i] = 1
	}
	e := weigh(t, j, labels(known(n, rng), 0, 3, rng))
	if math.Abs(e.Helps-e.Misleads) > 1e-9 || e.Helps > 0.4 {
		t.Errorf("labels of the unknown: %+v", e)
	}
}

// An expert who says the opposite of everything misleads as much as the other helps.
func TestWeighIsSymmetric(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	j := known(15, rng)
	reject := labels(j, 0.5, 2, rng)
	e := weigh(t, j, reject)
	for i := range reject {
		reject[i] = !reject[i]
	}
	opposite := weigh(t, j, reject)
	if math.Abs(e.Helps-opposite.Misleads) > 1e-9 || math.Abs(e.Misleads-opposite.Helps) > 1e-9 {
		t.Errorf("%+v, and the opposite %+v", e, opposite)
	}
}

// The same label of the same composition ten times is not ten labels: beside
// each other they tell less than spread out.
func TestWeighCountsNeighborsOnce(t *testing.T) {
	joint := func(n int, correlation float64) *gp.Joint {
		j := &gp.Joint{Mean: make([]float64, n), Cov: make([]float64, n*n)}
		for a := range n {
			j.Mean[a] = 1
			if a%2 == 1 {
				j.Mean[a] = -1
			}
			for b := range n {
				if a == b {
					j.Cov[a*n+b] = 0.5
				} else if a%2 == b%2 {
					j.Cov[a*n+b] = 0.5 * correlation
				}
			}
		}
		return j
	}
	const n = 20
	reject := make([]bool, n)
	for i := range reject {
		reject[i] = i%2 == 0
	}
	together, apart := weigh(t, joint(n, 0.999), reject), weigh(t, joint(n, 0), reject)
	if !(together.Helps < apart.Helps && together.Helps > 1./3) {
		t.Errorf("side by side %v, apart %v", together.Helps, apart.Helps)
	}
}

// Laplace's approximation against plain Monte Carlo over f and the intercept:
// the posterior of what an expert is agrees to 0.02.
func TestWeighAgainstMonteCarlo(t *testing.T) {
	const n, draws = 8, 400_000
	rng := rand.New(rand.NewPCG(5, 6))
	j := &gp.Joint{Mean: make([]float64, n), Cov: make([]float64, n*n)}
	for a := range n {
		j.Mean[a] = rng.NormFloat64()
		for b := range n {
			d := float64(a-b) / 2
			j.Cov[a*n+b] = 0.3 * math.Exp(-d*d)
		}
	}
	example := []bool{true, true, true, false, false, false, false, false}
	reject := labels(j, 0, 1.5, rng)
	got := must.Get(trust.Weigh(j, reject, example))(t)
	var likelihood [3]float64 // helps, guesses, misleads
	f := make([]float64, n)
	slopes := []float64{0.5, 1, 1.5, 2, 3}
	for i := range draws {
		must.Do(t, j.Sample(f, rng))
		asked, given := 3*rng.NormFloat64(), 3*rng.NormFloat64()
		for k, slope := range []float64{slopes[i%5], 0, -slopes[i%5]} {
			p := 1.0
			for m := range f {
				u := asked + slope*f[m]
				if example[m] {
					u = given + slope*f[m]
				}
				if !reject[m] {
					u = -u
				}
				p *= special.Logistic(u)
			}
			likelihood[k] += p
		}
	}
	sum := likelihood[0] + likelihood[1] + likelihood[2]
	for k, value := range []float64{got.Helps, got.Guesses, got.Misleads} {
		if want := likelihood[k] / sum; math.Abs(value-want) > 0.02 {
			t.Errorf("hypothesis %d: %v, by Monte Carlo %v", k, value, want)
		}
	}
	t.Logf("Laplace %+v, Monte Carlo %v", got, [3]float64{likelihood[0] / sum, likelihood[1] / sum, likelihood[2] / sum})
}

func BenchmarkWeigh(b *testing.B) {
	for _, n := range []int{20, 50, 100} {
		rng := rand.New(rand.NewPCG(7, 8))
		j := known(n, rng)
		reject, example := labels(j, 0, 1.5, rng), make([]bool, n)
		b.Run(map[int]string{20: "n=20", 50: "n=50", 100: "n=100"}[n], func(b *testing.B) {
			for b.Loop() {
				must.Get(trust.Weigh(j, reject, example))(b)
			}
		})
	}
}
