package channel_test

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/campaignd/campaignd/internal/num/channel"
	"github.com/campaignd/campaignd/internal/num/gp"
	"github.com/campaignd/campaignd/internal/num/special"
	"github.com/campaignd/campaignd/internal/tests/must"
)

// measured is a posterior of three measurements on an interval.
func measured(t *testing.T) *gp.GP {
	t.Helper()
	g := must.Get(gp.New(gp.Data{X: [][]float64{{0.1}, {0.5}, {0.9}}, Y: []float64{0.8, -0.9, 0.5}}, "rbf",
		gp.Hyper{Lengthscales: []float64{0.2}, OutputScale: 1, Noise: 0.01}))(t)
	return g
}

var points = [][]float64{{0.05}, {0.25}, {0.3}, {0.65}, {0.7}, {0.95}}

var (
	labels = channel.Answers{Labels: []channel.Label{{0, true, 0}, {1, false, 0}, {3, true, 0}, {4, true, 0}, {5, false, 0}}}
	orders = channel.Answers{Orders: [][]int{{1, 0}, {2, 4}, {1, 5, 3}, {2, 3, 4, 0}}}
	few    = channel.Answers{Estimates: []channel.Estimate{{0, 1}, {3, 2}, {5, 1.2}}}
	guess  = channel.Answers{Estimates: []channel.Estimate{{0, 7}, {1, 3}, {2, 2.5}, {3, 6}, {4, 4}, {5, 6.5}}}
)

// likelihood is the probability of a channel's answers given f at the points and a variant of the channel,
// written down apart from the package: the intercept by the trapezoidal rule, numbers by their density, the
// prejudice of choices by that of two draws.
func likelihood(a channel.Answers, f []float64, v variant, prejudice func() []float64) float64 {
	if len(a.Estimates) > 0 {
		return density(a, f, v.slope, v.noise, v.prejudiced)
	}
	u := make([]float64, len(points))
	for i := range u {
		u[i] = v.slope * f[i]
	}
	if !v.prejudiced {
		return chosen(a, u)
	}
	value, r := 0.0, prejudice()
	for _, sign := range []float64{1, -1} {
		biased := make([]float64, len(u))
		for i := range u {
			biased[i] = u[i] + sign*r[i]
		}
		value += chosen(a, biased) / 2
	}
	return value
}

// chosen is the probability of choices and labels given the utilities.
func chosen(a channel.Answers, u []float64) float64 {
	value := 1.0
	for _, order := range a.Orders {
		for s := range order {
			sum := 0.0
			for _, i := range order[s:] {
				sum += math.Exp(u[order[s]] - u[i])
			}
			value /= sum
		}
	}
	if len(a.Labels) == 0 {
		return value
	}
	sum, step := 0.0, 1.0
	for b0 := -15.0; b0 <= 15; b0 += step {
		all := step * math.Exp(-b0*b0/18) / math.Sqrt(2*math.Pi*9)
		for _, l := range a.Labels {
			p := special.Logistic(b0 + u[l.Point])
			if !l.Reject {
				p = 1 - p
			}
			all *= p
		}
		sum += all
	}
	return value * sum
}

// prejudices draws smooth functions at the points, of standard deviation 1.5 and lengthscale 0.3.
func prejudices(t *testing.T, rng *rand.Rand) func() []float64 {
	t.Helper()
	n := len(points)
	cov := mat.NewSymDense(n, nil)
	for i := range n {
		for j := i; j < n; j++ {
			d := points[i][0] - points[j][0]
			cov.SetSym(i, j, 2.25*math.Exp(-d*d/0.18))
		}
		cov.SetSym(i, i, 2.25+1e-9)
	}
	var chol mat.Cholesky
	if !chol.Factorize(cov) {
		t.Fatal("the covariance of prejudices has no root")
	}
	var root mat.TriDense
	chol.LTo(&root)
	return func() []float64 {
		z := mat.NewVecDense(n, nil)
		for i := range n {
			z.SetVec(i, rng.NormFloat64())
		}
		z.MulVec(&root, z)
		return z.RawVector().Data
	}
}

// density is that of standardized numbers, by elimination.
func density(a channel.Answers, f []float64, slope, noise float64, prejudiced bool) float64 {
	n := len(a.Estimates)
	mean, sd := 0.0, 0.0
	for _, e := range a.Estimates {
		mean += e.Value / float64(n)
	}
	for _, e := range a.Estimates {
		sd += (e.Value - mean) * (e.Value - mean) / float64(n-1)
	}
	sd = math.Sqrt(sd)
	k := make([][]float64, n)
	for i, e := range a.Estimates {
		k[i] = make([]float64, n+1)
		for j, o := range a.Estimates {
			k[i][j] = 9
			if d := points[e.Point][0] - points[o.Point][0]; prejudiced {
				k[i][j] += 0.49 * math.Exp(-d*d/0.18)
			}
			if i == j {
				k[i][j] += noise * noise
			}
		}
		k[i][n] = (e.Value-mean)/sd - slope*f[e.Point]
	}
	log := 0.0
	rest := make([]float64, n)
	for i := range k {
		rest[i] = k[i][n]
	}
	for i := range n { // Gauss, without pivots: the matrix is positive definite
		log -= math.Log(2*math.Pi*k[i][i]) / 2
		log -= k[i][n] * k[i][n] / k[i][i] / 2
		for r := i + 1; r < n; r++ {
			q := k[r][i] / k[i][i]
			for c := i; c <= n; c++ {
				k[r][c] -= q * k[i][c]
			}
		}
	}
	return math.Exp(log)
}

// variant of a channel with its prior.
type variant struct {
	slope, noise float64
	prejudiced   bool
	prior        float64
}

func variants(a channel.Answers) (list []variant) {
	for _, r := range []bool{false, true} {
		if len(a.Estimates) == 0 {
			list = append(list, variant{prejudiced: r, prior: 0.5 / 2})
			for _, b := range []float64{0.7, 1.5, 3} {
				list = append(list, variant{b, 0, r, 0.4 / 6}, variant{-b, 0, r, 0.1 / 6})
			}
			continue
		}
		for _, s := range []float64{0.2, 0.4, 0.7, 1} {
			list = append(list, variant{0, s, r, 0.5 / 8})
			for _, b := range []float64{0.3, 0.6, 1.2, 2.4} {
				list = append(list, variant{b, s, r, 0.4 / 32}, variant{-b, s, r, 0.1 / 32})
			}
		}
	}
	return list
}

// Law: the posterior of the objective and the weights of the slopes are those of importance sampling, for each
// kind of answer and for several experts together.
func TestAgainstImportanceSampling(t *testing.T) {
	g := measured(t)
	at := []float64{0.28}
	all := append(slices.Clone(points), at)
	for name, channels := range map[string][]channel.Answers{
		"labels": {labels}, "orders": {orders}, "estimates": {guess}, "two experts": {labels, guess},
		"both forms of one": {{Labels: labels.Labels, Orders: orders.Orders}},
		// More combinations than are kept: those of the likeliest sides must not crowd out the others.
		"six channels": {guess, few, {Orders: orders.Orders[:1]}, few, {Labels: labels.Labels[2:]}, {Orders: orders.Orders[1:]}},
	} {
		posterior := must.Get(channel.Condition(t.Context(), g, points, channels, channel.Config{}))(t)
		joint, rng := g.Joint(all), rand.New(rand.NewPCG(1, 2))
		prejudice := prejudices(t, rng)
		f := make([]float64, len(all))
		total, mean, square := 0.0, 0.0, 0.0
		positive := make([]float64, len(channels))
		const draws = 15000
		for range draws {
			must.Do(t, joint.Sample(f, rng))
			weight := 1.0
			above := make([]float64, len(channels))
			for c, a := range channels {
				sum := 0.0
				for _, v := range variants(a) {
					p := v.prior * likelihood(a, f, v, prejudice)
					sum += p
					if v.slope > 0 {
						above[c] += p
					}
				}
				above[c] /= sum
				weight *= sum
			}
			y := f[len(f)-1]
			total += weight
			mean += weight * y
			square += weight * y * y
			for c, p := range above {
				positive[c] += weight * p
			}
		}
		mean /= total
		sd := math.Sqrt(square/total - mean*mean)
		gotMean, gotSD := posterior.Objective.NewPredictor().Posterior(at)
		if math.Abs(gotMean-mean) > 0.05 || math.Abs(gotSD-sd) > 0.05 {
			t.Errorf("%s: f is %.3f ± %.3f, by sampling %.3f ± %.3f", name, gotMean, gotSD, mean, sd)
		}
		if e := posterior.LogEvidence - math.Log(total/draws); math.Abs(e) > 0.15 {
			t.Errorf("%s: the log evidence is off by %.3f", name, e)
		}
		for c := range channels {
			helps := 0.0
			for _, s := range posterior.Slopes[c] {
				if s.Value > 0 {
					helps += s.Weight
				}
			}
			if want := positive[c] / total; math.Abs(helps-want) > 0.03 {
				t.Errorf("%s: channel %d helps with probability %.3f, by sampling %.3f", name, c, helps, want)
			}
		}
	}
}

// Law: an expert who turns every answer over teaches the same as one who does not, where either is as likely;
// who is sure to guess, or says nothing, leaves the posterior as it is, bit for bit.
func TestSigns(t *testing.T) {
	g := measured(t)
	even := channel.Config{Guess: 0.5, Against: 0.25}
	turned := channel.Answers{}
	for _, l := range labels.Labels {
		l.Reject = !l.Reject
		turned.Labels = append(turned.Labels, l)
	}
	for _, pair := range [][2]channel.Answers{{labels, turned}, {{Orders: [][]int{{1, 0}}}, {Orders: [][]int{{0, 1}}}}} {
		first := must.Get(channel.Condition(t.Context(), g, points, pair[:1], even))(t)
		second := must.Get(channel.Condition(t.Context(), g, points, pair[1:], even))(t)
		for x := 0.0; x <= 1; x += 0.1 {
			m1, s1 := first.Objective.NewPredictor().Posterior([]float64{x})
			m2, s2 := second.Objective.NewPredictor().Posterior([]float64{x})
			if math.Abs(m1-m2) > 1e-6 || math.Abs(s1-s2) > 1e-6 {
				t.Errorf("at %v it is %v ± %v, turned over %v ± %v", x, m1, s1, m2, s2)
			}
		}
	}
	for _, c := range []struct {
		channels []channel.Answers
		cfg      channel.Config
	}{{nil, channel.Config{}}, {[]channel.Answers{labels, guess, orders}, channel.Config{Guess: 1}}} {
		posterior := must.Get(channel.Condition(t.Context(), g, points, c.channels, c.cfg))(t)
		for x := 0.0; x <= 1; x += 0.1 {
			m, s := posterior.Objective.NewPredictor().Posterior([]float64{x})
			if mean, sd := g.Posterior([]float64{x}); m != mean || s != sd {
				t.Errorf("at %v it is %v ± %v, was %v ± %v", x, m, s, mean, sd)
			}
		}
	}
}

// Law: units and an offset of numbers change nothing.
func TestUnits(t *testing.T) {
	g := measured(t)
	scaled := channel.Answers{}
	for _, e := range guess.Estimates {
		scaled.Estimates = append(scaled.Estimates, channel.Estimate{e.Point, 40 + 1000*e.Value})
	}
	first := must.Get(channel.Condition(t.Context(), g, points, []channel.Answers{guess}, channel.Config{}))(t)
	second, err := channel.Condition(t.Context(), g, points, []channel.Answers{scaled}, channel.Config{})
	if err != nil {
		t.Fatal(err)
	}
	m1, s1 := first.Objective.NewPredictor().Posterior([]float64{0.4})
	m2, s2 := second.Objective.NewPredictor().Posterior([]float64{0.4})
	if math.Abs(m1-m2) > 1e-9 || math.Abs(s1-s2) > 1e-9 {
		t.Errorf("%v ± %v, in other units %v ± %v", m1, s1, m2, s2)
	}
}

// Law: a cancelled context ends the work.
func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := channel.Condition(ctx, measured(t), points, []channel.Answers{labels}, channel.Config{}); !errors.Is(err, context.Canceled) {
		t.Errorf("it goes on: %v", err)
	}
}

func BenchmarkCondition(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 0))
	var data gp.Data
	cube := func() []float64 { return []float64{rng.Float64(), rng.Float64(), rng.Float64(), rng.Float64()} }
	for range 50 {
		data.X, data.Y = append(data.X, cube()), append(data.Y, rng.NormFloat64())
	}
	g, err := gp.New(data, "rbf", gp.Hyper{Lengthscales: []float64{0.5, 0.5, 0.5, 0.5}, OutputScale: 1, Noise: 0.01})
	if err != nil {
		b.Fatal(err)
	}
	for _, n := range []int{20, 40, 80} {
		var at [][]float64
		for range n {
			at = append(at, cube())
		}
		forms := map[string]channel.Answers{"labels": {}, "estimates": {}, "choices": {}}
		for i := range n {
			for form, a := range forms {
				switch form {
				case "labels":
					a.Labels = append(a.Labels, channel.Label{Point: i, Reject: rng.IntN(2) == 0})
				case "estimates":
					a.Estimates = append(a.Estimates, channel.Estimate{Point: i, Value: rng.NormFloat64()})
				default:
					if i%2 == 1 {
						a.Orders = append(a.Orders, []int{i - 1, i})
					}
				}
				forms[form] = a
			}
		}
		for _, form := range []string{"labels", "choices", "estimates"} {
			b.Run(form+"/"+string(rune('0'+n/10))+"0", func(b *testing.B) {
				for b.Loop() {
					if _, err := channel.Condition(b.Context(), g, at, []channel.Answers{forms[form]}, channel.Config{}); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
