package pref_test

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/campaignd/campaignd/internal/num/acquisition"
	"github.com/campaignd/campaignd/internal/num/kernel"
	"github.com/campaignd/campaignd/internal/num/optimize"
	"github.com/campaignd/campaignd/internal/num/pref"
	"github.com/campaignd/campaignd/internal/num/qmc"
	"github.com/campaignd/campaignd/internal/tests/must"
)

// This file makes whole suggestions out of the parts, as a policy does: the duels so far, a
// posterior, and a search of the acquisition. It is where the search budget and the time of a
// suggestion are measured.

const suggestDim = 4

// noiseMap is the expert's noise, σ²(x) = exp(−4·q(x)) with q the Gaussian kernel density of ten
// anchors, scaled to 1 at its largest anchor.
type noiseMap struct {
	anchors [][]float64
	scale   float64
}

const noiseWidth = 0.2 // the kernel's bandwidth

func newNoiseMap(rng *rand.Rand) *noiseMap {
	m := &noiseMap{scale: 1}
	for range 10 {
		x := make([]float64, suggestDim)
		for j := range x {
			x[j] = min(max(0.6+0.15*rng.NormFloat64(), 0), 1)
		}
		m.anchors = append(m.anchors, x)
	}
	top := 0.0
	for _, x := range m.anchors {
		top = max(top, -math.Log(m.at(x, nil))/4)
	}
	m.scale = 1 / top
	return m
}

// at returns σ²(x), and its gradient where grad is not nil.
func (m *noiseMap) at(x, grad []float64) float64 {
	q := 0.0
	clear(grad)
	for _, a := range m.anchors {
		s := 0.0
		for j := range x {
			s += (x[j] - a[j]) * (x[j] - a[j])
		}
		e := m.scale * math.Exp(-s/(2*noiseWidth*noiseWidth))
		q += e
		for j := range grad {
			grad[j] -= e * (x[j] - a[j]) / (noiseWidth * noiseWidth)
		}
	}
	v := math.Exp(-4 * q)
	for j := range grad {
		grad[j] *= -4 * v
	}
	return v
}

// suggestion is a campaign in the middle: n duels, their noise, and what the search may start from.
type suggestion struct {
	duels  pref.Duels
	noise  *noiseMap
	kernel kernel.Kernel
	cube   *optimize.Region // of d and of 2d dimensions
	cubes  *optimize.Region
	seed   uint64
}

// newSuggestion returns n duels of one and the same utility, Styblinski–Tang like: each answer
// drawn from the probit model with the map's noise. With fresh, both designs of every duel are new,
// which is the larger problem: 2n designs.
func newSuggestion(t testing.TB, n int, fresh bool, seed uint64) *suggestion {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 2))
	s := &suggestion{noise: newNoiseMap(rng), seed: seed}
	center := make([]float64, suggestDim)
	for j := range center {
		center[j] = 0.3 + 0.4*rng.Float64()
	}
	utility := func(x []float64) (u float64) {
		for j := range x {
			t := 3 * (x[j] - center[j])
			u += 0.6*math.Cos(3*t) - 0.4*t*t
		}
		return u
	}
	point := func() []float64 {
		x := make([]float64, suggestDim)
		for j := range x {
			x[j] = rng.Float64()
		}
		return x
	}
	best := point()
	var winners, losers [][]float64
	for range n {
		x := point()
		if fresh {
			for j := range best {
				best[j] = min(max(best[j]+0.2*rng.NormFloat64(), 0), 1)
			}
		}
		sd := math.Sqrt(s.noise.at(x, nil) + s.noise.at(best, nil))
		w, l := best, x
		if utility(x)-utility(best)+sd*rng.NormFloat64() > 0 {
			w, l = x, best
		}
		winners, losers = append(winners, slices.Clone(w)), append(losers, slices.Clone(l))
		best = slices.Clone(w)
	}
	var err error
	if s.duels, err = pref.NewDuels(winners, losers,
		func(x []float64) float64 { return s.noise.at(x, nil) }); err != nil {
		t.Fatal(err)
	}
	if s.kernel, err = kernel.New("rbf", []float64{0.3, 0.4, 0.5, 0.35}, 1); err != nil {
		t.Fatal(err)
	}
	s.cube, s.cubes = unitCube(t, suggestDim), unitCube(t, 2*suggestDim)
	return s
}

func unitCube(t testing.TB, d int) *optimize.Region {
	lower, upper := make([]float64, d), make([]float64, d)
	for j := range upper {
		upper[j] = 1
	}
	return must.Get(optimize.NewRegion(optimize.Box(lower, upper)))(t)
}

// pair is −RAEUBO of the two designs in one vector of 2d coordinates; α = 0 makes it −EUBO.
func (s *suggestion) pair(p *pref.Posterior, alpha float64) optimize.Func {
	const d = suggestDim
	q, g := p.NewPredictor(), pref.NewPairGrad(d)
	noiseX, noiseY := make([]float64, d), make([]float64, d)
	return func(z, grad []float64) float64 {
		x, y := z[:d], z[d:]
		if grad == nil {
			m := q.Pair(x, y)
			v, _ := acquisition.RAEUBO(m.MeanX, m.MeanY, m.VarX, m.VarY, m.Cov, s.noise.at(x, nil),
				s.noise.at(y, nil), alpha)
			return -v
		}
		m := q.PairGrad(x, y, g)
		v, part := acquisition.RAEUBO(m.MeanX, m.MeanY, m.VarX, m.VarY, m.Cov, s.noise.at(x, noiseX),
			s.noise.at(y, noiseY), alpha)
		slope := 0.0 // ∂/∂s², s the standard deviation of the difference
		if _, variance := m.Difference(); variance > 0 {
			slope = part.SD / (2 * math.Sqrt(variance))
		}
		for j := range d {
			grad[j] = -(part.Mean1*g.MeanX[j] + slope*(g.VarX[j]-2*g.CovX[j]) + part.Noise1*noiseX[j])
			grad[d+j] = -(part.Mean2*g.MeanY[j] + slope*(g.VarY[j]-2*g.CovY[j]) + part.Noise2*noiseY[j])
		}
		return -v
	}
}

// one is −RAHBO or −ANPEI of one design.
func (s *suggestion) one(p *pref.Posterior, rule string) optimize.Func {
	q := p.NewPredictor()
	best := math.Inf(-1)
	for _, x := range s.duels.X {
		m, _ := q.Posterior(x)
		best = max(best, m)
	}
	value := func(dst []float64, mean, sd, noise float64, dm, ds, dn []float64) float64 {
		if rule == "RAHBO" {
			return acquisition.RAHBO(dst, mean, sd, noise, acquisition.DefaultEta, acquisition.DefaultGamma, dm, ds, dn)
		}
		return acquisition.ANPEI(dst, mean, sd, noise, best, acquisition.DefaultGamma, dm, ds, dn)
	}
	dm, ds, dn := make([]float64, suggestDim), make([]float64, suggestDim), make([]float64, suggestDim)
	return func(x, grad []float64) float64 {
		if grad == nil {
			mean, sd := q.Posterior(x)
			return -value(nil, mean, sd, s.noise.at(x, nil), nil, nil, nil)
		}
		mean, sd := q.PosteriorGrad(x, dm, ds)
		v := value(grad, mean, sd, s.noise.at(x, dn), dm, ds, dn)
		for j := range grad {
			grad[j] = -grad[j]
		}
		return -v
	}
}

// A search starts from sobolStarts Sobol points and the designs compared so far, and for a pair
// from the pairBest·(pairBest − 1)/2 pairs of the pairBest best of those; it follows localSearches
// of the starts down.
//
// On 200 campaigns of fresh seeds, harder than those of TestSearchBudget (anchors of width 0.12,
// lengthscales 0.4, 1 and 2.5 times as long), RAEUBO, RAHBO and ANPEI were always within 1 % of the
// best known; EUBO missed it once, by 6 %. Of smaller budgets, 512 points with 24 and 8 missed
// RAEUBO's by 9 % in 1 of 45.
const (
	sobolStarts   = 1024
	pairBest      = 32
	localSearches = 16
)

// designs returns the designs that a search starts from.
func (s *suggestion) designs(t testing.TB) [][]float64 {
	t.Helper()
	sobol := must.Get(qmc.NewScrambled(suggestDim, s.seed))(t)
	return append(sobol.Points(sobolStarts), s.duels.X...)
}

// pairs returns all pairs of the best designs by μ + σ − α·σ_ε², what a design may be worth by
// itself. Sobol points of the 2d coordinates of a pair seldom have two good designs, and where one
// is far better than the other the acquisition is flat in the other: searches from there end in the
// wrong place.
func (s *suggestion) pairs(designs [][]float64, p *pref.Posterior, alpha float64) [][]float64 {
	type scored struct {
		x     []float64
		value float64
	}
	q := p.NewPredictor()
	all := make([]scored, len(designs))
	for i, x := range designs {
		mean, sd := q.Posterior(x)
		all[i] = scored{x, mean + sd - alpha*s.noise.at(x, nil)}
	}
	slices.SortStableFunc(all, func(a, b scored) int { return cmp.Compare(b.value, a.value) })
	all = all[:min(pairBest, len(all))]
	var pairs [][]float64
	for i, a := range all {
		for _, b := range all[:i] {
			pairs = append(pairs, append(slices.Clone(a.x), b.x...))
		}
	}
	return pairs
}

// suggest makes a whole suggestion by one rule, and returns it with what was minimized and where.
func (s *suggestion) suggest(t testing.TB, rule string) (optimize.MultiStartResult, optimize.Func, *optimize.Region) {
	t.Helper()
	ctx := context.Background()
	var f optimize.Func
	starts, region := s.designs(t), s.cube
	switch rule {
	case "EUBO", "RAEUBO":
		alpha := 0.0
		if rule == "RAEUBO" {
			alpha = acquisition.DefaultAlpha
		}
		r := must.Get(pref.Laplace(ctx, s.duels, pref.Probit, s.kernel, pref.LaplaceConfig{}))(t)
		f, starts, region = s.pair(r.Posterior, alpha), s.pairs(starts, r.Posterior, alpha), s.cubes
	default:
		h, err := pref.Hallucinate(ctx, s.duels, pref.Probit, s.kernel, pref.HallucinateConfig{Seed: s.seed})
		if err != nil {
			t.Fatal(err)
		}
		f = s.one(h.Posterior, rule)
	}
	r := must.Get(optimize.MultiStart(ctx, f, region, starts, optimize.MultiStartConfig{Searches: localSearches,
		Seed: s.seed}))(t)
	return r, f, region
}

// The gradients that the searches use agree with central differences: the chain from kernel over
// posterior, acquisition and noise map holds together.
func TestSuggestionGradients(t *testing.T) {
	s := newSuggestion(t, 30, false, 1)
	laplace, err := pref.Laplace(context.Background(), s.duels, pref.Probit, s.kernel, pref.LaplaceConfig{})
	if err != nil {
		t.Fatal(err)
	}
	for name, f := range map[string]optimize.Func{
		"EUBO": s.pair(laplace.Posterior, 0), "RAEUBO": s.pair(laplace.Posterior, 10),
		"RAHBO": s.one(laplace.Posterior, "RAHBO"), "ANPEI": s.one(laplace.Posterior, "ANPEI"),
	} {
		t.Run(name, func(t *testing.T) {
			dim := suggestDim
			if name == "EUBO" || name == "RAEUBO" {
				dim *= 2
			}
			sobol := must.Get(qmc.NewScrambled(dim, 3))(t)
			grad := make([]float64, dim)
			for _, x := range sobol.Points(50) {
				if a, b := f(x, grad), f(x, nil); math.Abs(a-b) > 1e-12*(1+math.Abs(a)) {
					t.Fatalf("%v with the gradient, %v without", a, b)
				}
				for j := range x {
					const h = 1e-5
					y := slices.Clone(x)
					y[j] = x[j] + h
					up := f(y, nil)
					y[j] = x[j] - h
					if want := (up - f(y, nil)) / (2 * h); math.Abs(grad[j]-want) > 1e-6*(1+math.Abs(want)) {
						t.Fatalf("∂/∂x_%d at %v = %v, differences %v", j, x, grad[j], want)
					}
				}
			}
		})
	}
}

// The budgets find the best acquisition value known to within 1 %, on campaigns of different
// lengths and both kinds of duels. The best known is the better of the search itself and one that
// is an order of magnitude larger and, for pairs, starts from Sobol points of all 2d coordinates,
// so that it shares no start with it.
func TestSearchBudget(t *testing.T) {
	for _, rule := range []string{"EUBO", "RAEUBO", "RAHBO", "ANPEI"} {
		t.Run(rule, func(t *testing.T) {
			worst := 0.0
			for seed := uint64(1); seed <= budgetSeeds; seed++ {
				s := newSuggestion(t, []int{30, 80, 150}[seed%3], seed%2 == 0, seed)
				found, f, region := s.suggest(t, rule)
				sobol := must.Get(qmc.NewScrambled(region.Dim(), seed+1000))(t)
				large := must.Get(optimize.MultiStart(context.Background(), f, region, sobol.Points(4096),
					optimize.MultiStartConfig{Searches: 100, Seed: seed + 1000}))(t)
				gap := (found.F - large.F) / math.Abs(large.F)
				worst = max(worst, gap)
				if gap > 0.01 {
					t.Errorf("seed %d: found %.6g, known %.6g", seed, -found.F, -large.F)
				}
			}
			t.Logf("worst gap %.2g over %d campaigns", worst, budgetSeeds)
		})
	}
}

// How many campaigns TestSearchBudget tries.
const budgetSeeds = 4

// BenchmarkSuggestion makes a whole suggestion at fixed hyperparameters: posterior and search,
// pairs with Laplace as the posterior, single designs with the hallucination believer.
func BenchmarkSuggestion(b *testing.B) {
	for _, rule := range []string{"EUBO", "RAEUBO", "RAHBO", "ANPEI"} {
		for _, n := range []int{50, 100, 150, 200, 400} {
			for _, fresh := range []bool{false, true} {
				s := newSuggestion(b, n, fresh, 1)
				b.Run(fmt.Sprintf("%s/n=%d/designs=%d", rule, n, len(s.duels.X)), func(b *testing.B) {
					evaluations := 0
					for b.Loop() {
						r, _, _ := s.suggest(b, rule)
						evaluations = r.Evaluations
					}
					b.ReportMetric(float64(evaluations), "evaluations")
				})
			}
		}
	}
}
