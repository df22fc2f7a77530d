package pref

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/campaignd/campaignd/internal/num/kernel"
	"github.com/campaignd/campaignd/internal/num/special"
	"github.com/campaignd/campaignd/internal/tests/must"
)

// duelOracle is oracle j: six duels of oracle b, what expectation propagation and fixed differences
// give, and the exact moments by rejection sampling (152,715 accepted draws).
type duelOracle struct {
	duels  Duels
	kernel kernel.Kernel
	tests  [][]float64
	vFixed []float64
	Result struct {
		Sigma        [][]float64 `json:"Sigma_vv"`
		SiteMean     []float64   `json:"ep_site_mean"`
		SiteVar      []float64   `json:"ep_site_var"`
		Mean         []float64   `json:"ep_v_mean"`
		Var          []float64   `json:"ep_v_var"`
		LogZ         float64     `json:"ep_logZ"`
		ExactLogZ    float64     `json:"exact_logZ_orthant"`
		PostMean     []float64   `json:"post_mean_ep"`
		PostVar      []float64   `json:"post_var_ep"`
		FixedMean    []float64   `json:"hb_post_mean_given_v_fixed"`
		FixedVar     []float64   `json:"hb_post_var"`
		TruncMean    []float64   `json:"trunc_mean_rejection"`
		TruncMeanErr []float64   `json:"trunc_mean_se"`
		TrueMean     []float64   `json:"true_post_mean_rejection"`
		TrueVar      []float64   `json:"true_post_var_rejection"`
	}
}

func readDuelOracle(t *testing.T) duelOracle {
	t.Helper()
	read := func(name string, into any) {
		raw, err := os.ReadFile("../../../../shared/oracles/" + name)
		if errors.Is(err, fs.ErrNotExist) {
			t.Skip("oracle " + name + " is not beside this checkout")
		} else if err != nil {
			t.Fatal(err)
		}
		must.Do(t, json.Unmarshal(raw, into))
	}
	var o duelOracle
	var b struct {
		Inputs struct {
			Points, Test_points [][]float64
			Ell, Sig2           []float64
			S2                  float64
		}
	}
	var j struct {
		Inputs struct {
			Winner_idx, Loser_idx []int
			V_fixed               []float64
		}
		Results json.RawMessage
	}
	read("b_laplace_pref_gp.json", &b)
	read("j_ep_hb_probit.json", &j)
	must.Do(t, json.Unmarshal(j.Results, &o.Result))
	k := must.Get(kernel.New("rbf", b.Inputs.Ell, b.Inputs.S2))(t)
	o.duels = Duels{X: b.Inputs.Points, Winner: j.Inputs.Winner_idx, Loser: j.Inputs.Loser_idx, Noise: b.Inputs.Sig2}
	o.kernel, o.tests, o.vFixed = k, b.Inputs.Test_points, j.Inputs.V_fixed
	return o
}

// wantNear reports the entries of got that differ from want by more than tol.
func wantNear(t *testing.T, what string, got, want []float64, tol float64) {
	t.Helper()
	if len(got) != len(want) || len(got) == 0 {
		t.Fatalf("%s: %d values, want %d", what, len(got), len(want))
	}
	for i := range got {
		if !(math.Abs(got[i]-want[i]) <= tol) {
			t.Errorf("%s %d = %.15g, want %.15g (off by %.1e)", what, i, got[i], want[i], got[i]-want[i])
		}
	}
}

// moments returns the posterior means and variances at points.
func moments(p *Posterior, points [][]float64) (mean, variance []float64) {
	for _, x := range points {
		m, sd := p.Posterior(x)
		mean, variance = append(mean, m), append(variance, sd*sd)
	}
	return mean, variance
}

// randomDuels returns n duels in the unit cube, each between the winner of the one before and a
// random point, as a campaign asks them, of a utility that is a random sum of cosines; every answer
// is drawn from the probit model.
func randomDuels(n, d int, noise float64, seed uint64) Duels {
	rng := rand.New(rand.NewPCG(seed, 1))
	freq, phase := make([][]float64, 8), make([]float64, 8)
	for i := range freq {
		phase[i] = 2 * math.Pi * rng.Float64()
		freq[i] = make([]float64, d)
		for j := range freq[i] {
			freq[i][j] = 3 * rng.NormFloat64()
		}
	}
	utility := func(x []float64) (sum float64) {
		for i, w := range freq {
			sum += 0.5 * math.Cos(dot(w, x)+phase[i])
		}
		return sum
	}
	point := func() []float64 {
		x := make([]float64, d)
		for j := range x {
			x[j] = rng.Float64()
		}
		return x
	}
	var winners, losers [][]float64
	best := point()
	for range n {
		x := point()
		sd := math.Sqrt(2 * noise)
		if utility(x)-utility(best)+sd*rng.NormFloat64() > 0 {
			best, x = x, best
		}
		winners, losers = append(winners, best), append(losers, x)
	}
	duels, err := NewDuels(winners, losers, func([]float64) float64 { return noise })
	if err != nil {
		panic(err)
	}
	return duels
}

func mustKernel(t testing.TB, d int, lengthscale float64) kernel.Kernel {
	t.Helper()
	ell := make([]float64, d)
	for j := range ell {
		ell[j] = lengthscale
	}
	return must.Get(kernel.New("rbf", ell, 1))(t)
}

// Oracle j to 1e-8: the sites, the marginals, the log evidence and the predictions; and the
// approximation itself is near the exact posterior.
func TestEPOracle(t *testing.T) {
	o := readDuelOracle(t)
	r := must.Get(EP(context.Background(), o.duels, Probit, o.kernel, EPConfig{}))(t)
	want := o.Result
	sigma := o.duels.differenceCovariance(o.kernel)
	for i, row := range want.Sigma {
		wantNear(t, "Σ", sigma[i*len(row):i*len(row)+len(row)], row, 1e-12)
	}
	wantNear(t, "site mean", r.SiteMean, want.SiteMean, 1e-8)
	wantNear(t, "site variance", r.SiteVar, want.SiteVar, 1e-8)
	wantNear(t, "mean of v", r.Mean, want.Mean, 1e-8)
	wantNear(t, "variance of v", r.Var, want.Var, 1e-8)
	wantNear(t, "log evidence", []float64{r.LogEvidence}, []float64{want.LogZ}, 1e-8)
	mean, variance := moments(r.Posterior, o.tests)
	wantNear(t, "posterior mean", mean, want.PostMean, 1e-8)
	wantNear(t, "posterior variance", variance, want.PostVar, 1e-8)

	// The exact values: three standard errors of the sampling, and what the approximation costs on
	// this problem.
	wantNear(t, "exact log evidence", []float64{r.LogEvidence}, []float64{want.ExactLogZ}, 0.02)
	wantNear(t, "exact mean of v", r.Mean, want.TruncMean, 0.01)
	wantNear(t, "exact posterior mean", mean, want.TrueMean, 0.005)
	wantNear(t, "exact posterior variance", variance, want.TrueVar, 0.015)
	t.Logf("%d sweeps, last change %.1e", r.Sweeps, r.Change)
}

// The truncated moments agree with their definitions where those can be evaluated, and keep to the
// known expansions where they cannot: the two branches meet at z = −10.
func TestTruncation(t *testing.T) {
	for _, z := range []float64{-9.9, -5, -2, -1, -0.5, 0, 0.5, 2, 6, 30} {
		r, h, rest := truncation(z)
		mills := special.InverseMills(z)
		wantNear(t, "r, h, 1 − r·h", []float64{r, h, rest}, []float64{mills, z + mills, 1 - mills*(z+mills)}, 1e-11)
	}
	below, above := math.Nextafter(-10, -11), -10.0
	r0, h0, v0 := truncation(below)
	r1, h1, v1 := truncation(above)
	wantNear(t, "at z = −10", []float64{r0, h0 / h1, v0 / v1}, []float64{r1, 1, 1}, 1e-11)
	for _, x := range []float64{1e2, 1e4, 1e8} { // asymptotic series in 1/x²; the first omitted term is below 1e-8
		r, h, rest := truncation(-x)
		q := 1 / (x * x)
		wantNear(t, "tail", []float64{r / x, h * x, rest * x * x},
			[]float64{1 + q - 2*q*q, 1 - 2*q + 10*q*q, 1 - 6*q + 50*q*q}, 1e-9)
	}
}

// One duel is one truncation, which expectation propagation does exactly: v has mean −s·√(2/π) and
// variance s²(1 − 2/π), and the evidence is ½.
func TestEPIsExactForOneDuel(t *testing.T) {
	d := Duels{X: [][]float64{{0.2, 0.3}, {0.8, 0.4}}, Winner: []int{0}, Loser: []int{1}, Noise: []float64{0.1, 0.3}}
	k := mustKernel(t, 2, 0.5)
	r := must.Get(EP(context.Background(), d, Probit, k, EPConfig{}))(t)
	variance := 2 - 2*k.Eval(d.X[0], d.X[1]) + 0.4
	wantNear(t, "mean, variance, log evidence", []float64{r.Mean[0], r.Var[0], r.LogEvidence},
		[]float64{-math.Sqrt(2 * variance / math.Pi), variance * (1 - 2/math.Pi), -math.Ln2}, 1e-12)
	// f(winner) given v is linear in v: its mean is −cov/s² times E[v].
	winner, _ := r.Posterior.Posterior(d.X[0])
	loser, _ := r.Posterior.Posterior(d.X[1])
	gain := (1 - k.Eval(d.X[0], d.X[1])) / variance * math.Sqrt(2*variance/math.Pi)
	wantNear(t, "utility", []float64{winner, loser}, []float64{gain, -gain}, 1e-12)
}

// The fixed point depends neither on the order of the duels nor on whether equal designs were
// merged.
func TestEPInvariance(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 12).Draw(t, "n")
		noise := rapid.SampledFrom([]float64{1e-3, 0.05, 1}).Draw(t, "noise")
		d := randomDuels(n, 2, noise, rapid.Uint64().Draw(t, "seed"))
		k := must.Get(kernel.New("matern52", []float64{0.4, 0.7}, 1.5))(t)
		reversed := Duels{X: d.X, Noise: d.Noise, Winner: slices.Clone(d.Winner), Loser: slices.Clone(d.Loser)}
		slices.Reverse(reversed.Winner)
		slices.Reverse(reversed.Loser)
		var apart Duels
		for i := range n {
			apart.X = append(apart.X, d.X[d.Winner[i]], d.X[d.Loser[i]])
			apart.Noise = append(apart.Noise, noise, noise)
			apart.Winner, apart.Loser = append(apart.Winner, 2*i), append(apart.Loser, 2*i+1)
		}
		points := [][]float64{{0.1, 0.2}, {0.5, 0.5}, {0.9, 0.3}}
		var mean, variance []float64
		var logZ float64
		for i, d := range []Duels{d, reversed, apart} {
			r := must.Get(EP(context.Background(), d, Probit, k, EPConfig{Tol: 1e-12}))(t)
			m, v := moments(r.Posterior, points)
			if i == 0 {
				mean, variance, logZ = m, v, r.LogEvidence
			}
			for j := range points {
				if math.Abs(m[j]-mean[j]) > 1e-8 || math.Abs(v[j]-variance[j]) > 1e-8 ||
					math.Abs(r.LogEvidence-logZ) > 1e-8 {
					t.Fatalf("variant %d at %v: %v, %v, log evidence %v; want %v, %v, %v",
						i, points[j], m[j], v[j], r.LogEvidence, mean[j], variance[j], logZ)
				}
			}
		}
	})
}

// Large problems settle, whatever the noise and however often the answers contradict each other,
// and every difference ends on the side on which it was observed.
func TestEPSettles(t *testing.T) {
	k := mustKernel(t, 4, 0.5)
	contradictory := randomDuels(75, 4, 0.01, 3)
	contradictory.Winner, contradictory.Loser = append(slices.Clone(contradictory.Winner), contradictory.Loser...),
		append(slices.Clone(contradictory.Loser), contradictory.Winner...)
	repeated := randomDuels(3, 4, 0.02, 4)
	for len(repeated.Winner) < 96 {
		repeated.Winner, repeated.Loser = append(repeated.Winner, repeated.Winner...), append(repeated.Loser, repeated.Loser...)
	}
	for name, d := range map[string]Duels{
		"noise 1":       randomDuels(150, 4, 1, 1),
		"noise 0.02":    randomDuels(150, 4, 0.02, 2),
		"noise 1e-6":    randomDuels(150, 4, 1e-6, 5),
		"contradictory": contradictory,
		"repeated":      repeated,
	} {
		t.Run(name, func(t *testing.T) {
			r := must.Get(EP(context.Background(), d, Probit, k, EPConfig{}))(t)
			t.Logf("%d sweeps, damping %v, log evidence %.4f", r.Sweeps, r.Damping, r.LogEvidence)
			if !(r.LogEvidence < 0) {
				t.Errorf("log evidence %v of a probability", r.LogEvidence)
			}
			for j := range r.Mean {
				if !(r.Mean[j] < 0 && r.Var[j] > 0 && r.SiteVar[j] > 0) {
					t.Fatalf("duel %d: mean %v, variance %v, site variance %v", j, r.Mean[j], r.Var[j], r.SiteVar[j])
				}
			}
			again, err := EP(context.Background(), d, Probit, k, EPConfig{})
			if err != nil || again.LogEvidence != r.LogEvidence || !slices.Equal(again.SiteMean, r.SiteMean) {
				t.Errorf("a second run differs (%v)", err)
			}
		})
	}
}

// The moments are those of a long Gibbs chain, of the differences and of the utility, to what the
// approximation costs: less than a tenth of a standard deviation, most with little noise.
func TestEPAgainstMonteCarlo(t *testing.T) {
	k := mustKernel(t, 2, 0.4)
	for _, noise := range []float64{0.01, 0.1, 1} {
		d := randomDuels(15, 2, noise, 11)
		r := must.Get(EP(context.Background(), d, Probit, k, EPConfig{}))(t)
		h, err := Hallucinate(context.Background(), d, Probit, k, HallucinateConfig{Sweeps: 30_000, Seed: 5})
		if err != nil {
			t.Fatal(err)
		}
		worst := 0.0
		for j := range h.Mean {
			worst = max(worst, math.Abs(r.Mean[j]-h.Mean[j])/math.Sqrt(r.Var[j]))
		}
		// The utility's exact mean is linear in E[v].
		exact := must.Get(GivenDifferences(d, k, h.Mean))(t)
		for _, x := range [][]float64{{0.1, 0.2}, {0.5, 0.5}, {0.9, 0.3}} {
			mean, sd := r.Posterior.Posterior(x)
			want, _ := exact.Posterior(x)
			worst = max(worst, math.Abs(mean-want)/sd)
		}
		t.Logf("noise %v: means within %.3f standard deviations", noise, worst)
		if worst > 0.1 {
			t.Errorf("noise %v: a mean is off by %.3f standard deviations", noise, worst)
		}
	}
}

// What cannot be done is said, with what helps.
func TestEPErrors(t *testing.T) {
	d, k := randomDuels(20, 2, 0.1, 1), mustKernel(t, 2, 0.5)
	if _, err := EP(context.Background(), d, Logistic, k, EPConfig{}); !errors.Is(err, ErrProbitOnly) {
		t.Errorf("logistic: %v", err)
	}
	if _, err := EP(context.Background(), d, "cauchit", k, EPConfig{}); !errors.Is(err, ErrLink) {
		t.Errorf("unknown link: %v", err)
	}
	var unsettled *EPError
	if _, err := EP(context.Background(), d, Probit, k, EPConfig{MaxSweeps: 1}); !errors.As(err, &unsettled) {
		t.Errorf("one sweep: %v", err)
	} else if unsettled.Sweeps != 1 || !strings.Contains(err.Error(), "allow more sweeps") {
		t.Errorf("one sweep: %v", err)
	}
	cancelled, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := EP(cancelled, d, Probit, k, EPConfig{}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	r := must.Get(EP(context.Background(), Duels{}, Probit, k, EPConfig{}))(t)
	if mean, sd := r.Posterior.Posterior([]float64{0.5, 0.5}); mean != 0 || sd != 1 || r.LogEvidence != 0 {
		t.Errorf("without duels: mean %v, sd %v, log evidence %v; want the prior", mean, sd, r.LogEvidence)
	}
}

func BenchmarkEP(b *testing.B) {
	for _, noise := range []float64{0.02, 0.5} {
		for _, n := range []int{50, 100, 200, 400} {
			b.Run(fmt.Sprintf("noise=%v/n=%d", noise, n), func(b *testing.B) {
				d, k := randomDuels(n, 4, noise, 1), mustKernel(b, 4, 0.5)
				sweeps := 0
				for b.Loop() {
					r := must.Get(EP(context.Background(), d, Probit, k, EPConfig{}))(b)
					sweeps = r.Sweeps
				}
				b.ReportMetric(float64(sweeps), "sweeps")
			})
		}
	}
}
