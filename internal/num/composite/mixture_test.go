package composite

import (
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"github.com/campaignd/campaignd/internal/num/acquisition"
	"github.com/campaignd/campaignd/internal/num/special"
	_ "github.com/campaignd/campaignd/internal/tests/draws"
	"github.com/campaignd/campaignd/internal/tests/must"
)

// plain are two quantities in the models' own units.
var plain = []Scale{{Spread: 1}, {Spread: 1}}

func mixture(t *testing.T, p Problem, members int) *Mixture {
	t.Helper()
	return must.Get(New(p, members))(t)
}

func near(t *testing.T, what string, got, want, tol float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tol) {
		t.Errorf("%s is %v, want %v", what, got, want)
	}
}

// Law: what is affine and shares no quantity is exact: closed forms, in one component for each member, with
// coefficients that parameters may change.
func TestAffineIsExact(t *testing.T) {
	names := []string{"a", "b", "p"}
	m := mixture(t, Problem{
		Quantities: []Scale{{Center: 3, Spread: 2}, {Spread: 0.5}}, Parameters: 1,
		Objective: bind(t, "p*a - 1", names...), Constraints: []Function{bind(t, "b/2 - p", names...)},
	}, 3)
	if m.Components() != 3 {
		t.Fatalf("it has %d components", m.Components())
	}
	at := Posterior{Means: [][]float64{{0.1, -0.4, 0.7}, {0.3}}, SDs: []float64{0.6, 0.9}, Parameters: []float64{0.25}}
	best := []float64{-0.2, -0.3, 0}
	want := 0.0
	log, _, _ := acquisition.LogProbability(0.5*0.5*0.3-0.25, 0.9*0.25, acquisition.Bounds{Lower: math.Inf(-1)})
	for s, mean := range at.Means[0] {
		want += math.Exp(acquisition.LogEI(nil, 0.25*(3+2*mean)-1, 0.25*2*0.6, best[s], nil, nil)+log) / 3
	}
	near(t, "the acquisition", m.LogEI(at, best), math.Log(want), 1e-13)
	m = mixture(t, m.problem, 3)
	p := m.Predict(at)
	near(t, "the mean", p.Mean, (0.25*(3+2*0.1)+0.25*(3-2*0.4)+0.25*(3+2*0.7))/3-1, 1e-13)
	near(t, "the probability", p.Feasible, math.Exp(log), 1e-13)
	near(t, "the probability of the constraint", p.Kept[0], math.Exp(log), 1e-13)
}

// Law: of one normal distribution the quantiles are its own, however small their probability, and of what is
// certain they are that.
func TestQuantiles(t *testing.T) {
	m := mixture(t, Problem{Quantities: plain, Objective: bind(t, "3*a - b", "a", "b")}, 1)
	at := Posterior{Means: [][]float64{{2}, {1}}, SDs: []float64{0.1, 0.4}}
	p := m.Predict(at)
	near(t, "the standard deviation", p.SD, 0.5, 1e-14)
	for _, c := range [][2]float64{{0.5, 0}, {0.975, 1.959963984540054}, {1e-9, -5.997807015008182}} {
		near(t, "a quantile", p.Quantile(c[0]), 5+0.5*c[1], 1e-12)
	}
	at.SDs = []float64{0, 0}
	p = m.Predict(at)
	near(t, "the standard deviation of what is certain", p.SD, 0, 0)
	near(t, "the median of what is certain", p.Quantile(0.5), 5, 1e-14)
	m = mixture(t, m.problem, 2)
	at.Means = [][]float64{{2, 1}, {1}}
	p = m.Predict(at)
	near(t, "the lower of two values", p.Quantile(0.4), 2, 1e-14)
	near(t, "the higher of two values", p.Quantile(0.6), 5, 1e-14)
}

// Law: what is left out because it is negligible is that: the acquisition is the sum over all components.
func TestNothingIsLost(t *testing.T) {
	names := []string{"a", "b"}
	rapid.Check(t, func(rt *rapid.T) {
		p := Problem{
			Quantities: plain, Objective: bind(t, "a*b + a", names...), Constraints: []Function{bind(t, "b - a", names...)},
			Maximize: rapid.Bool().Draw(rt, "maximize"),
		}
		m := mixture(t, p, 4)
		at := Posterior{Means: [][]float64{make([]float64, 4), {0.3}}, SDs: []float64{0.6, 0.3}}
		best := make([]float64, 4)
		for s := range best {
			at.Means[0][s] = rapid.Float64Range(-2, 2).Draw(rt, "mean")
			best[s] = rapid.Float64Range(-6, 6).Draw(rt, "best")
		}
		value := m.LogEI(at, best)
		m.prepare(at, false)
		sum := 0.0
		for i := range m.logs {
			s := i / m.each
			objective, constraint := m.parts[0], m.parts[1]
			objective.moments(m.jet(objective, at, s, m.points[i]), epsilon)
			constraint.moments(m.jet(constraint, at, s, m.points[i]), epsilon)
			log := acquisition.LogEI(nil, p.sign()*objective.mean, objective.sd, p.sign()*best[s], nil, nil) +
				special.LogNormalCDF(-constraint.mean/constraint.sd)
			sum += math.Exp(log-value) / float64(len(m.logs))
		}
		if !(math.Abs(sum-1) <= 1e-12) {
			rt.Fatalf("the sum over all components is %v of it", sum)
		}
	})
}

// Law: an improvement is taken as none only where it is below what matters.
func TestNegligibleImprovement(t *testing.T) {
	m := mixture(t, Problem{Quantities: plain, Objective: bind(t, "a*b", "a", "b")}, 1)
	q := m.parts[0]
	for _, z := range []float64{0.5, -0.5, -3, -8, -20} {
		q.mean, q.sd = 1, 0.5
		best := q.mean + z*q.sd
		log := acquisition.LogEI(nil, q.mean, q.sd, best, nil, nil)
		near(t, "the improvement", m.improvement(q, best, log-1e-9), log, 0)
		if v := m.improvement(q, best, log+10); z < 0 && !math.IsInf(v, -1) {
			t.Errorf("at %v an improvement that does not matter is %v", z, v)
		}
	}
}

// Law: a quantity that stands in objective and constraint is the same in both: the improvement under a bound
// in its way is the closed form of that, not a product with the probability of the bound.
func TestSharedQuantity(t *testing.T) {
	names := []string{"a", "b"}
	m := mixture(t, Problem{
		Quantities: plain, Objective: bind(t, "a", names...),
		Constraints: []Function{bind(t, "0.2 - a", names...)},
	}, 1)
	for _, c := range []struct{ mean, sd, best float64 }{{0.5, 0.3, 0.6}, {0.3, 0.2, 0.5}, {0, 0.5, 1}} {
		at := Posterior{Means: [][]float64{{c.mean}, {0}}, SDs: []float64{c.sd, 1}}
		want, _, _ := acquisition.LogCappedEI(c.mean, c.sd, c.best, 0.2)
		near(t, "the acquisition", m.LogEI(at, []float64{c.best}), want, 0.05)
	}
}

// Law: no term is left out that matters: an improvement that is greater by far than those before it makes up
// for a small probability.
func TestGreatTermsCount(t *testing.T) {
	names := []string{"a", "b"}
	p := Problem{
		Quantities: plain, Objective: bind(t, "exp(a)", names...),
		Constraints: []Function{bind(t, "b", names...)}, Maximize: true,
	}
	m := mixture(t, p, 2)
	at := Posterior{Means: [][]float64{{0, 200}, {-1, 12}}, SDs: []float64{0.5, 1}}
	best := []float64{1, 1}
	// ln of the mean of exp(a), and ln P(b ≤ 0) of the second member.
	want := 200 + 0.125 + special.LogNormalCDF(-12) - math.Ln2
	near(t, "the acquisition", m.LogEI(at, best), want, 0.01)
	at = Posterior{Means: [][]float64{{200, 0}, {12, -1}}, SDs: []float64{0.5, 1}}
	near(t, "the acquisition of the members in another order", m.LogEI(at, best), want, 0.01)
}

// Law: the moments, quantiles and probabilities of a formula are those of draws.
func TestPredict(t *testing.T) {
	names := []string{"a", "b"}
	scales := []Scale{{Center: 8, Spread: 2}, {Center: 1, Spread: 0.4, Log: true}}
	objective := bind(t, "a/sqrt(b)", names...)
	constraints := []Function{bind(t, "b - 3", names...), bind(t, "ln(a - 6) - 1", names...)}
	m := mixture(t, Problem{Quantities: scales, Objective: objective, Constraints: constraints}, 1)
	at := Posterior{Means: [][]float64{{0.2}, {0.1}}, SDs: []float64{0.5, 0.6}}

	rng := rand.New(rand.NewPCG(1, 2))
	const n = 400_000
	var mean, square, all float64
	kept := make([]float64, 2)
	below := make([]float64, 3)
	p := m.Predict(at)
	quantiles := []float64{p.Quantile(0.05), p.Quantile(0.5), p.Quantile(0.95)}
	for range n {
		q := []float64{scales[0].Value(0.2 + 0.5*rng.NormFloat64()), scales[1].Value(0.1 + 0.6*rng.NormFloat64())}
		v := objective.Value(q)
		mean += v / n
		square += v * v / n
		both := 1.0
		for j, c := range constraints {
			if c.Value(q) <= 0 {
				kept[j] += 1.0 / n
			} else {
				both = 0
			}
		}
		all += both / n
		for i, y := range quantiles {
			if v <= y {
				below[i] += 1.0 / n
			}
		}
	}
	near(t, "the mean", p.Mean, mean, 0.01)
	near(t, "the standard deviation", p.SD, math.Sqrt(square-mean*mean), 0.01)
	near(t, "the first probability", p.Kept[0], kept[0], 0.01)
	near(t, "the second probability", p.Kept[1], kept[1], 0.01)
	near(t, "the probability of both", p.Feasible, all, 0.01)
	for i, want := range []float64{0.05, 0.5, 0.95} {
		near(t, "the probability of being below a quantile", below[i], want, 0.01)
	}
	several := mixture(t, m.problem, 32).Predict(at)
	near(t, "the mean of an ensemble", several.Mean, p.Mean, 1e-12)
	near(t, "the probability in an ensemble", several.Feasible, p.Feasible, 1e-12)
	// The logarithm has no value where a < 6, with the probability Φ((6 − 8.4)/1).
	near(t, "the share that is not defined", float64(p.Undefined)/Points, special.NormalCDF(-2.4), 0.01)
}

// Law: where a function has no value there is no improvement, and where it has one nowhere there is
// nothing to gain, no gradient, and no number.
func TestUndefined(t *testing.T) {
	names := []string{"a", "b"}
	at := func(mean float64) Posterior {
		return Posterior{Means: [][]float64{{mean}, {0}}, SDs: []float64{0.5, 1}}
	}
	m := mixture(t, Problem{Quantities: plain, Objective: bind(t, "sqrt(a)", names...), Maximize: true}, 1)
	all := mixture(t, Problem{Quantities: plain, Objective: bind(t, "sqrt(max(a, 0))", names...), Maximize: true}, 1)
	// Half of the values are below 0, and none of them improves on ½.
	near(t, "the acquisition", m.LogEI(at(0), []float64{0.5}), all.LogEI(at(0), []float64{0.5}), 1e-12)
	var g Gradient
	if v := m.LogEIGrad(at(-9), []float64{0.5}, &g); !math.IsInf(v, -1) || g.Means[0][0] != 0 || g.SDs[0] != 0 {
		t.Errorf("it is %v with the gradient %v", v, g)
	}
	p := m.Predict(at(-9))
	if p.Undefined != Points || !math.IsNaN(p.Mean) || !math.IsNaN(p.Quantile(0.5)) {
		t.Errorf("it is %+v", p)
	}
	broken := mixture(t, Problem{
		Quantities: plain, Objective: bind(t, "b", names...), Constraints: []Function{bind(t, "ln(a)", names...)},
	}, 1)
	if p := broken.Predict(at(-9)); p.Feasible != 0 || p.Kept[0] != 0 || p.Undefined != Points {
		t.Errorf("it is %+v", p)
	}
	if v := broken.LogEI(at(-9), []float64{0.5}); !math.IsInf(v, -1) {
		t.Errorf("the acquisition is %v", v)
	}
	// A mean may be infinite alone, and a standard deviation too.
	for _, text := range []string{"a + 1e308*10", "1e200*a"} {
		m := mixture(t, Problem{
			Quantities: plain, Objective: bind(t, text, names...),
			Constraints: []Function{bind(t, "b - 9", names...)}, Maximize: true,
		}, 1)
		if v := m.LogEI(at(0), []float64{0.5}); !math.IsInf(v, -1) {
			t.Errorf("%s: the acquisition is %v", text, v)
		}
		if p := m.Predict(at(0)); p.Undefined != m.Components() || p.Feasible < 0.99 {
			t.Errorf("%s: %+v", text, p)
		}
	}
}

// Law: an incumbent is the best value of what keeps every constraint, and the worst of all where nothing does.
func TestIncumbent(t *testing.T) {
	names := []string{"a", "b", "p"}
	p := Problem{
		Quantities: []Scale{{Center: 1, Spread: 2}, {Log: true, Spread: 1}}, Parameters: 1, Maximize: true,
		Objective: bind(t, "a*p", names...), Constraints: []Function{bind(t, "b - 2", names...)},
	}
	draw := [][]float64{{1, 0}, {2, 1}, {0.5, 0.5}, {3, 0.1}} // a = 3, 5, 2, 7; b = 1, e, e^½, e^0.1
	parameters := [][]float64{{1}, {1}, {3}, {0.1}}
	if best, feasible := p.Incumbent(draw, parameters); best != 6 || !feasible {
		t.Errorf("the best is %v, %v", best, feasible)
	}
	p.Constraints = []Function{bind(t, "b", names...)}
	if best, feasible := p.Incumbent(draw, parameters); !(math.Abs(best-0.7) <= 1e-15) || feasible {
		t.Errorf("where nothing is feasible it is %v, %v", best, feasible)
	}
	p.Maximize = false
	if best, _ := p.Incumbent(draw, parameters); best != 6 {
		t.Errorf("minimized, it is %v", best)
	}
}

// Law: shares of the variance are those of the linearized objective.
func TestShares(t *testing.T) {
	names := []string{"a", "b"}
	m := mixture(t, Problem{Quantities: []Scale{{Spread: 3}, {Spread: 1}}, Objective: bind(t, "2*a - 0.5*b", names...)}, 1)
	shares := m.Shares(Posterior{Means: [][]float64{{0}, {1}}, SDs: []float64{0.5, 4}})
	near(t, "the first share", shares[0], 9.0/13, 1e-15)
	near(t, "the second share", shares[1], 4.0/13, 1e-15)
	certain := m.Shares(Posterior{Means: [][]float64{{0}, {1}}, SDs: []float64{0, 0}})
	if certain[0] != 0 || certain[1] != 0 {
		t.Errorf("where nothing is uncertain they are %v", certain)
	}
	// Of a product, at the first member.
	m = mixture(t, Problem{Quantities: plain, Objective: bind(t, "a*b", names...)}, 2)
	shares = m.Shares(Posterior{Means: [][]float64{{3, 1}, {4}}, SDs: []float64{0.1, 0.1}})
	near(t, "the first share", shares[0], 16.0/25, 1e-15)
}

// Law: where all is certain the improvement is the difference, and nothing is a NaN.
func TestCertain(t *testing.T) {
	names := []string{"a", "b"}
	m := mixture(t, Problem{
		Quantities: plain, Objective: bind(t, "a*b", names...),
		Constraints: []Function{bind(t, "b - 3", names...)}, Maximize: true,
	}, 1)
	at := Posterior{Means: [][]float64{{2}, {1.5}}, SDs: []float64{0, 0}}
	var g Gradient
	near(t, "the acquisition", m.LogEIGrad(at, []float64{1}, &g), math.Log(2), 1e-14)
	near(t, "a derivative", g.Means[0][0], 1.5/2, 1e-13)
	near(t, "the derivative of the points' mean", g.SDs[0], 0, 0.01)
	at.Means[1][0] = 3.5
	if v := m.LogEIGrad(at, []float64{1}, &g); !math.IsInf(v, -1) || g.Means[0][0] != 0 {
		t.Errorf("of what breaks the constraint it is %v, %v", v, g)
	}
}

// Law: too many quantities in one function are refused; in several they may be more.
func TestTooManyQuantities(t *testing.T) {
	names := []string{"a", "b", "c", "d", "e"}
	scales := []Scale{{Spread: 1}, {Spread: 1}, {Spread: 1}, {Spread: 1}, {Spread: 1}}
	if _, err := New(Problem{Quantities: scales, Objective: bind(t, "a*b*c*d*e", names...)}, 1); err == nil {
		t.Error("a function of five quantities is taken")
	}
	_, err := New(Problem{
		Quantities: scales, Objective: bind(t, "a*b*c*d", names...), Constraints: []Function{bind(t, "c*d*e", names...)},
	}, 1)
	if err != nil {
		t.Error(err)
	}
}

// Law: where nothing is sought the acquisition is the logarithm of the probability that all constraints are kept,
// with its gradient.
func TestConstraintsAlone(t *testing.T) {
	names := []string{"a", "b", "p"}
	m := mixture(t, Problem{
		Quantities: []Scale{{Center: 3, Spread: 2}, {Spread: 0.5}}, Parameters: 1,
		Constraints: []Function{bind(t, "a*b - p", names...), bind(t, "a - 4", names...)},
	}, 1)
	at := Posterior{Means: [][]float64{{0.4}, {1.1}}, SDs: []float64{0.6, 0.9}, Parameters: []float64{1.5}}
	log := func() float64 { return math.Log(m.Predict(at).Feasible) }
	var gradient Gradient
	near(t, "the acquisition", m.LogEIGrad(at, []float64{0}, &gradient), log(), 1e-13)
	for what, c := range map[string]struct {
		of  *float64
		got float64
	}{
		"a mean": {&at.Means[0][0], gradient.Means[0][0]}, "a deviation": {&at.SDs[1], gradient.SDs[1]},
		"the parameter": {&at.Parameters[0], gradient.Parameters[0]},
	} {
		const h = 1e-5
		was := *c.of
		*c.of = was + h
		up := log()
		*c.of = was - h
		near(t, "the derivative by "+what, c.got, (up-log())/(2*h), 1e-7)
		*c.of = was
	}
}
