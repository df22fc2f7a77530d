package pref

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"
	"pgregory.net/rapid"

	"github.com/campaignd/campaignd/internal/num/kernel"
	"github.com/campaignd/campaignd/internal/num/special"
	"github.com/campaignd/campaignd/internal/tests/must"
)

var ctx = context.Background()

// problem is a small drawn one. Designs lie on a coarse grid but are distinct.
type problem struct {
	duels Duels
	link  Link
	name  string
	hyper Hyper
	x, y  []float64 // two points to predict at
}

func (p problem) kernel(t fataler) kernel.Kernel {
	k, err := p.hyper.Kernel(p.name, len(p.x))
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func (p problem) laplace(t fataler) *LaplaceResult {
	res, err := Laplace(ctx, p.duels, p.link, p.kernel(t), LaplaceConfig{})
	if err != nil {
		t.Fatal(err)
	}
	return res
}

type fataler interface{ Fatal(...any) }

func drawProblem(t *rapid.T) problem {
	d := rapid.IntRange(1, 4).Draw(t, "d")
	n := rapid.IntRange(1, 15).Draw(t, "n")
	coord := rapid.Map(rapid.IntRange(0, 4), func(i int) float64 { return float64(i) / 4 })
	point := rapid.SliceOfN(coord, d, d)
	noise := rapid.Float64Range(0.02, 2)
	p := problem{
		link: rapid.SampledFrom([]Link{Probit, Logistic}).Draw(t, "link"),
		name: rapid.SampledFrom([]string{"rbf", "matern52", "matern32"}).Draw(t, "kernel"),
		hyper: Hyper{
			Lengthscales: rapid.SliceOfN(rapid.Float64Range(0.1, 1), d, d).Draw(t, "l"),
			OutputScale:  rapid.Float64Range(0.3, 3).Draw(t, "s2"),
			Slope:        rapid.SampledFrom([]float64{0, 0.7}).Draw(t, "slope"),
		},
		x: rapid.SliceOfN(rapid.Float64Range(0, 1), d, d).Draw(t, "x"),
		y: rapid.SliceOfN(rapid.Float64Range(0, 1), d, d).Draw(t, "y"),
	}
	var winners, losers [][]float64
	for range n {
		w, l := point.Draw(t, "winner"), point.Draw(t, "loser")
		if slices.Equal(w, l) {
			l = slices.Clone(w)
			l[0] = math.Mod(l[0]+0.5, 1.25)
		}
		winners, losers = append(winners, w), append(losers, l)
	}
	var err error
	if p.duels, err = NewDuels(winners, losers, func([]float64) float64 { return noise.Draw(t, "noise") }); err != nil {
		t.Fatal(err)
	}
	return p
}

func agree(a, b, tol float64) bool { return math.Abs(a-b) <= tol*(1+math.Abs(b)) }

// b returns B, the matrix of the differences, from the definition.
func (p problem) b() *mat.Dense {
	b := mat.NewDense(p.duels.Len(), len(p.duels.X), nil)
	for k, w := range p.duels.Winner {
		l := p.duels.Loser[k]
		if vw, vl := p.duels.Noise[w], p.duels.Noise[l]; p.link == Logistic {
			b.Set(k, w, 1/vw)
			b.Set(k, l, -1/vl)
		} else {
			b.Set(k, w, 1/math.Sqrt(vw+vl))
			b.Set(k, l, -1/math.Sqrt(vw+vl))
		}
	}
	return b
}

// TestLaplaceIsItsDefinition: the mode solves f = K ∂log p/∂f, which only the maximum of a concave
// function does, and covariance and evidence are the formulas with Λ written out as an m×m matrix.
// The tolerance: putting the mode into the formulas multiplies its error, 1e-10, by up to the norm
// of I + ΛK, which reaches 1e4.
func TestLaplaceIsItsDefinition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawProblem(t)
		res, k, m := p.laplace(t), p.kernel(t), len(p.duels.X)
		gram := make([]float64, m*m)
		k.Gram(gram, p.duels.X)
		K, B, f := mat.NewDense(m, m, gram), p.b(), mat.NewVecDense(m, res.Mode)

		var z, slopes, gradient, fixed mat.VecDense
		z.MulVec(B, f)
		slopes.CloneFromVec(&z)
		W := mat.NewDiagDense(z.Len(), nil)
		var logLik float64
		for i := range z.Len() {
			v := z.AtVec(i)
			if p.link == Logistic {
				logLik -= math.Log1p(math.Exp(-v))
				q := 1 / (1 + math.Exp(v))
				slopes.SetVec(i, q)
				W.SetDiag(i, q*(1-q))
			} else {
				logLik += math.Log(special.NormalCDF(v))
				q := special.NormalPDF(v) / special.NormalCDF(v)
				slopes.SetVec(i, q)
				W.SetDiag(i, q*(q+v))
			}
		}
		gradient.MulVec(B.T(), &slopes)
		fixed.MulVec(K, &gradient)
		for i := range m {
			if !agree(fixed.AtVec(i), res.Mode[i], 1e-6) {
				t.Fatalf("design %d: mode %v, but K ∂log p/∂f = %v", i, res.Mode[i], fixed.AtVec(i))
			}
		}

		var lambda, a, tmp, sol mat.Dense
		tmp.Mul(W, B)
		lambda.Mul(B.T(), &tmp)
		a.Mul(&lambda, K)
		for i := range m {
			a.Set(i, i, a.At(i, i)+1)
		}
		ln, _ := mat.LogDet(&a)
		if want := logLik - 0.5*mat.Inner(f, mat.NewDiagDense(m, ones(m)),
			&gradient) - 0.5*ln; !agree(res.LogEvidence, want, 1e-6) {
			t.Fatalf("log evidence %v, want %v", res.LogEvidence, want)
		}
		must.Do(t, sol.Solve(&a, &lambda))
		kx, ky := mat.NewVecDense(m, nil), mat.NewVecDense(m, nil)
		k.Cross(kx.RawVector().Data, p.duels.X, p.x)
		k.Cross(ky.RawVector().Data, p.duels.X, p.y)
		got := res.Posterior.Pair(p.x, p.y)
		want := Moments{
			MeanX: mat.Dot(kx, &gradient), MeanY: mat.Dot(ky, &gradient),
			VarX: k.Eval(p.x, p.x) - mat.Inner(kx, &sol, kx), VarY: k.Eval(p.y, p.y) - mat.Inner(ky, &sol, ky),
			Cov: k.Eval(p.x, p.y) - mat.Inner(kx, &sol, ky),
		}
		if !sameMoments(got, want, 1e-6) {
			t.Fatalf("%+v, want %+v", got, want)
		}
	})
}

func ones(n int) []float64 { return slices.Repeat([]float64{1}, n) }

func sameMoments(a, b Moments, tol float64) bool {
	return agree(a.MeanX, b.MeanX, tol) && agree(a.MeanY, b.MeanY, tol) && agree(a.VarX, b.VarX, tol) &&
		agree(a.VarY, b.VarY, tol) && agree(a.Cov, b.Cov, tol)
}

// TestOneMaximum: the posterior is log-concave, so Newton's method ends at one point from wherever
// it begins.
func TestOneMaximum(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawProblem(t)
		s := newSolver(p.duels, p.link)
		p.kernel(t).Gram(s.k, p.duels.X)
		must.Get(s.solve(ctx, 0))(t)
		z, psi := slices.Clone(s.z), s.logLik-0.5*dot(s.u, s.z)
		for i := range s.u {
			// A posteriori 0 < u < 1. What is worse than u = 0 is not searched from, so this also
			// tests that fall-back.
			s.u[i] = rapid.Float64Range(-1, 2).Draw(t, "u")
		}
		must.Get(s.solve(ctx, 0))(t)
		if !agree(s.logLik-0.5*dot(s.u, s.z), psi, 1e-12) {
			t.Fatalf("maximum %v, from elsewhere %v", psi, s.logLik-0.5*dot(s.u, s.z))
		}
		for i, v := range s.z {
			if !agree(v, z[i], 1e-8) {
				t.Fatalf("differences %v, from elsewhere %v", z, s.z)
			}
		}
	})
}

// TestSymmetries: with winners and losers exchanged the mean changes its sign and nothing else
// does; the order of the duels does not matter; nor does it whether equal designs are one or
// several.
func TestSymmetries(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawProblem(t)
		res := p.laplace(t)
		want := res.Posterior.Pair(p.x, p.y)
		check := func(what string, q problem, want Moments) {
			t.Helper()
			r := q.laplace(t)
			if got := r.Posterior.Pair(p.x, p.y); !sameMoments(got, want, 1e-8) ||
				!agree(r.LogEvidence, res.LogEvidence, 1e-9) {
				t.Fatalf("%s: %+v with log evidence %v, want %+v with %v",
					what, got, r.LogEvidence, want, res.LogEvidence)
			}
		}

		swapped := p
		swapped.duels.Winner, swapped.duels.Loser = p.duels.Loser, p.duels.Winner
		negated := want
		negated.MeanX, negated.MeanY = -want.MeanX, -want.MeanY
		check("swapped", swapped, negated)

		permuted, apart := p, p
		permuted.duels.Winner, permuted.duels.Loser = nil, nil
		apart.duels = Duels{}
		order := rapid.Permutation(indices(p.duels.Len())).Draw(t, "order")
		for _, k := range order {
			w, l := p.duels.Winner[k], p.duels.Loser[k]
			permuted.duels.Winner, permuted.duels.Loser = append(permuted.duels.Winner, w), append(permuted.duels.Loser, l)
			a := &apart.duels
			a.Winner, a.Loser = append(a.Winner, len(a.X)), append(a.Loser, len(a.X)+1)
			a.X, a.Noise = append(a.X, p.duels.X[w], p.duels.X[l]), append(a.Noise, p.duels.Noise[w], p.duels.Noise[l])
		}
		check("permuted", permuted, want)
		check("equal designs apart", apart, want)
	})
}

func indices(n int) []int {
	v := make([]int, n)
	for i := range v {
		v[i] = i
	}
	return v
}

// TestAgainstMonteCarlo: the truth on a small case, by importance sampling from the prior, to about
// 0.01. Where duels tell little the approximation is close to it. Where they tell much the truth is
// skewed, and the mode lies nearer to zero than the mean: by half a standard deviation under the
// steep logistic link. That is Laplace's method, not an error of ours; the other posteriors of this
// package do better there.
func TestAgainstMonteCarlo(t *testing.T) {
	X := [][]float64{{.1, .2}, {.4, .8}, {.7, .3}, {.9, .9}, {.5, .5}}
	for _, c := range []struct {
		link                       Link
		noise                      float64 // of the noisiest design
		mean, sd, logEvidence, win float64 // tolerated distances; that of the mean in standard deviations
	}{
		{Probit, 8, .02, .01, .01, .01},
		{Probit, .8, .17, .03, .05, .03},
		{Logistic, 8, .02, .01, .01, .01},
		{Logistic, 2, .25, .04, .05, .03},
		{Logistic, .8, .55, .07, .25, .05},
	} {
		duels := Duels{X: X[:4], Winner: []int{0, 0, 1, 2, 0}, Loser: []int{1, 2, 2, 3, 3}}
		for _, share := range []float64{.25, .6, .4, 1} {
			duels.Noise = append(duels.Noise, share*c.noise)
		}
		noise4, noise2 := .5*c.noise, duels.Noise[2]
		k := must.Get(kernel.New("rbf", []float64{.4, .6}, 1))(t)
		res := must.Get(Laplace(ctx, duels, c.link, k, LaplaceConfig{}))(t)
		const n = 200_000
		rng, prior, f := rand.New(rand.NewPCG(1, 2)), Prior(k).Joint(X), make([]float64, len(X))
		mean, square := make([]float64, len(X)), make([]float64, len(X))
		var total, wins float64
		for range n {
			must.Do(t, prior.Sample(f, rng))
			weight := 1.0
			for i, w := range duels.Winner {
				l := duels.Loser[i]
				weight *= winGiven(c.link, f[w], f[l], duels.Noise[w], duels.Noise[l])
			}
			total += weight
			wins += weight * winGiven(c.link, f[4], f[2], noise4, noise2)
			for i, v := range f {
				mean[i] += weight * v
				square[i] += weight * v * v
			}
		}
		if got, want := res.LogEvidence, math.Log(total/n); math.Abs(got-want) > c.logEvidence {
			t.Errorf("%s, noise %v: log evidence %.3f, truth %.3f", c.link, c.noise, got, want)
		}
		p := res.Posterior.NewPredictor()
		for i, x := range X {
			mu, sd := p.Posterior(x)
			wantMu := mean[i] / total
			wantSD := math.Sqrt(square[i]/total - wantMu*wantMu)
			if math.Abs(mu-wantMu) > c.mean*wantSD || math.Abs(sd-wantSD) > c.sd {
				t.Errorf("%s, noise %v: f%v = %.3f ± %.3f, truth %.3f ± %.3f",
					c.link, c.noise, x, mu, sd, wantMu, wantSD)
			}
		}
		if got, want := p.WinProbability(c.link, X[4], X[2], noise4, noise2), wins/total; math.Abs(got-want) > c.win {
			t.Errorf("%s, noise %v: probability to win %.3f, truth %.3f", c.link, c.noise, got, want)
		}
	}
}

// winGiven is Eq. 3 or 4 of Sinaga et al. 2026 as printed.
func winGiven(link Link, f, g, noiseF, noiseG float64) float64 {
	if link == Logistic {
		return math.Exp(f/noiseF) / (math.Exp(f/noiseF) + math.Exp(g/noiseG))
	}
	return special.NormalCDF((f - g) / math.Sqrt(noiseF+noiseG))
}

// TestNoDuels: without data the posterior is the prior and the evidence is 1, with or without
// designs.
func TestNoDuels(t *testing.T) {
	k := must.Get(kernel.New("matern52", []float64{.4, .6}, 1.5))(t)
	x, y := []float64{.1, .2}, []float64{.3, .4}
	want := Moments{VarX: 1.5, VarY: 1.5, Cov: k.Eval(x, y)}
	for _, duels := range []Duels{{}, {X: [][]float64{x}, Noise: []float64{1}}} {
		res := must.Get(Laplace(ctx, duels, Logistic, k, LaplaceConfig{}))(t)
		if got := res.Posterior.Pair(x, y); got != want || res.LogEvidence != 0 {
			t.Errorf("%+v with log evidence %v, want %+v", got, res.LogEvidence, want)
		}
	}
	if got := Prior(k).Pair(x, y); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	if p := Prior(k).WinProbability(Probit, x, y, 1, 1); p != 0.5 {
		t.Errorf("an unknown duel is won with probability %v", p)
	}
}

// TestExtremes: many contradictory duels, noise from much larger to much smaller than the utility,
// and utilities far out: either an accurate mode or a typed error, never a silent wrong one.
func TestExtremes(t *testing.T) {
	for _, noise := range []float64{1e8, 1, 1e-2, 1e-4, 1e-6, 1e-8, 1e-12, 1e-300} {
		for _, link := range []Link{Probit, Logistic} {
			duels := synthetic(t, 60, 2, 3)
			for i := range duels.Noise {
				duels.Noise[i] = noise
			}
			for k := 0; k < 20; k++ { // contradict some
				duels.Winner, duels.Loser = append(duels.Winner, duels.Loser[k]), append(duels.Loser, duels.Winner[k])
			}
			k := must.Get(kernel.New("rbf", []float64{.3, .3}, 1))(t)
			res, err := Laplace(ctx, duels, link, k, LaplaceConfig{})
			switch {
			case errors.Is(err, ErrNotConverged):
				if noise > 1e-5 { // a scale of 1e-6 makes variances of 1e12 in the space of differences
					t.Errorf("%s, noise %v: %v", link, noise, err)
				}
			case err != nil:
				t.Errorf("%s, noise %v: %v", link, noise, err)
			default:
				if res.Decrement > decrementLimit || math.IsNaN(res.LogEvidence) {
					t.Errorf("%s, noise %v: decrement %v, log evidence %v", link, noise, res.Decrement, res.LogEvidence)
				}
			}
		}
	}
}

func TestBadInput(t *testing.T) {
	k := must.Get(kernel.New("rbf", []float64{1}, 1))(t)
	X := [][]float64{{0}, {1}}
	ok := Duels{X: X, Winner: []int{0}, Loser: []int{1}, Noise: []float64{1, 1}}
	with := func(f func(d *Duels)) Duels { d := ok; f(&d); return d }
	for _, c := range []struct {
		name  string
		duels Duels
		link  Link
		want  error
	}{
		{"link", ok, "cauchy", ErrLink},
		{"no link", ok, "", ErrLink},
		{"itself", with(func(d *Duels) { d.Loser = []int{0} }), Probit, ErrDuels},
		{"index", with(func(d *Duels) { d.Loser = []int{2} }), Probit, ErrDuels},
		{"negative index", with(func(d *Duels) { d.Winner = []int{-1} }), Probit, ErrDuels},
		{"no noise", with(func(d *Duels) { d.Noise = []float64{1, 0} }), Probit, ErrDuels},
		{"NaN noise", with(func(d *Duels) { d.Noise = []float64{math.NaN(), 1} }), Logistic, ErrDuels},
		{"infinite coordinate", with(func(d *Duels) { d.X = [][]float64{{0}, {math.Inf(1)}} }), Probit, ErrDuels},
	} {
		if _, err := Laplace(ctx, c.duels, c.link, k, LaplaceConfig{}); !errors.Is(err, c.want) {
			t.Errorf("%s: Laplace gives %v, want %v", c.name, err, c.want)
		}
		if _, err := LogEvidence(ctx, c.duels, c.link, "rbf", Hyper{Lengthscales: []float64{1}, OutputScale: 1}, nil); !errors.Is(err, c.want) {
			t.Errorf("%s: LogEvidence gives %v, want %v", c.name, err, c.want)
		}
	}
	if _, err := LogEvidence(ctx, Duels{}, Probit, "rbf", Hyper{Lengthscales: []float64{1}, OutputScale: 1}, nil); !errors.Is(err, ErrDuels) {
		t.Errorf("the evidence of nothing: %v", err)
	}
	if _, err := NewDuels(X[:1], X[:1], func([]float64) float64 { return 1 }); !errors.Is(err, ErrDuels) {
		t.Errorf("a design against itself: %v", err)
	}
	if _, err := Laplace(ctx, synthetic(t, 40, 1, 1), Probit, k,
		LaplaceConfig{MaxIterations: 1}); !errors.Is(err, ErrNotConverged) {
		t.Errorf("one Newton step: %v", err)
	}
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := Laplace(cancelled, ok, Probit, k, LaplaceConfig{}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	if _, err := Fit(cancelled, ok, FitConfig{}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled fit: %v", err)
	}
}

// TestNewDuelsMerges: equal points are one design, in order of first appearance, and 0 equals −0.
func TestNewDuelsMerges(t *testing.T) {
	a, b, c := []float64{0, 1}, []float64{0.5, 1}, []float64{math.Copysign(0, -1), 1}
	asked := 0
	d := must.Get(NewDuels([][]float64{a, b, b}, [][]float64{b, c, {0, 2}},
		func(x []float64) float64 { asked++; return 1 + x[0] }))(t)
	if !slices.Equal(d.Winner, []int{0, 1, 1}) || !slices.Equal(d.Loser, []int{1, 0, 2}) || len(d.X) != 3 ||
		!slices.Equal(d.Noise, []float64{1, 1.5, 1}) || asked != 3 || d.Len() != 3 {
		t.Errorf("%+v, noise asked %d times", d, asked)
	}
}
