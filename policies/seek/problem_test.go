package seek_test

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/study/studytest"
	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/policies"
	"github.com/campaignd/campaignd/policies/seek"
)

// lab is a campaign with one parameter and a category, of which the models say nothing.
const lab = `
name: lab
parameters: [{name: x, min: 0, max: 2}, {name: salt, categories: [A, B]}]
quantities:
  - {name: a}
  - {name: b}
  - {name: v, scale: log}
  - {name: price, from: 1/x}
budget: {experiments: 30}
instrument: manual
`

// gave is what experiments gave: a, b and v, each apart from the others by many lengthscales.
var gave = [][4]float64{ // x, a, b, v
	{0, 4, 5, 0.9}, {0.5, 6, 2, 2}, {1, 5, 4, 3}, {1.5, 8, 3, 8}, {2, 2, 1, 0.5},
}

// view is what a policy sees of it. without are quantities that have no model.
func view(t *testing.T, text string, noise float64, without ...string) policies.View {
	t.Helper()
	var rows []studytest.Row
	for i, g := range gave {
		at := definition.Point{"x": definition.Number(g[0]), "salt": definition.Category("A")}
		row := studytest.Row{At: at, Gave: map[string]float64{"a": g[1], "b": g[2], "v": g[3]}}
		if i == 1 { // another one was asked for
			row.At, row.Made = definition.Point{"x": definition.Number(0.6), "salt": definition.Category("A")}, at
		}
		rows = append(rows, row)
	}
	rows = append(rows, studytest.Row{At: definition.Point{"x": definition.Number(0.25), "salt": definition.Category("B")}})
	v := must.Get(studytest.ViewOf(t.Context(), lab+text, rows, func(quantity string) *events.ObjectiveFit {
		if slices.Contains(without, quantity) {
			return nil
		}
		fit := &events.ObjectiveFit{Kernel: "rbf", Lengthscales: []float64{0.02, 0.1, 0.1}, OutputScale: 1, Noise: noise,
			Shift: 4, Scale: 2, Observations: 5}
		if quantity == "v" {
			fit.Shift, fit.Scale, fit.Log = 0.8, 0.9, true
		}
		return fit
	}))(t)
	return v
}

func problem(t *testing.T, v policies.View) *seek.Problem {
	t.Helper()
	return must.Get(seek.NewProblem(v.Campaign, v.Space, v.Models))(t)
}

// Law: a standing is what one computes by hand of what was measured, where that is without noise: the scores; the
// reference, a tenth of the front's range behind it, or what is given, or a bound in the objective's own direction; below
// a bound against it; the front; and what it covers.
func TestStandingByHand(t *testing.T) {
	for _, c := range []struct {
		text      string
		reference []float64 // as it is recorded
		front     string
		covered   float64
	}{
		// a, b: (4,5) (6,2) (5,4) (8,3) (2,1). The front of a ↑, b ↓ is e2, e4, e5.
		{"objective: {tradeoff: [{maximize: a}, {minimize: b}]}", []float64{2 - 0.6, 3 + 0.2}, "e2 e4 e5",
			(2-1.4)*(3.2-1) + (6-2)*(3.2-2) + (8-6)*(3.2-3)},
		{"objective: {tradeoff: [{maximize: a, worst: 5}, {minimize: b}]}", []float64{5, 3 + 0.1}, "e2 e4", (6-5)*(3.1-2) + (8-6)*(3.1-3)},
		{"objective: {tradeoff: [{maximize: a, worst: 3}, {minimize: b, worst: 6}]}\nconstraints_on_outcomes: [a >= 5.5, b <= 9]", []float64{5.5, 6}, "e2 e4",
			(6-5.5)*(6-2) + (8-6)*(6-3)},
		// Against its direction: e4 is beyond the bound. The front is e2 and e5.
		{"objective: {tradeoff: [{maximize: a}, {minimize: b}]}\nconstraints_on_outcomes: [a <= 7]", []float64{2 - 0.4, 2 + 0.1}, "e2 e5",
			(2-1.6)*(2.1-1) + (6-2)*(2.1-2)},
		{"objective: {tradeoff: [{minimize: v, worst: 4}, {maximize: a, worst: 3}]}", []float64{4, 3}, "e1 e2",
			(4-3)*(math.Log(4)-math.Log(0.9)) + (6-4)*(math.Log(4)-math.Log(2))},
		// The price has no value at e1.
		{"objective: {tradeoff: [{minimize: price, worst: 3}, {maximize: a, worst: 1}]}", []float64{3, 1}, "e4 e5",
			(3-1/1.5)*(8-1) + (1/1.5-0.5)*(2-1)},
		// Nothing keeps the bound: all counts for the reference, a range below it.
		{"objective: {tradeoff: [{maximize: a}, {minimize: b, worst: 6}]}\nconstraints_on_outcomes: [a <= 1]", []float64{1 - 6, 6}, "", 0},
	} {
		s, err := problem(t, view(t, c.text, 1e-6)).Standing()
		if err != nil {
			t.Fatal(c.text, err)
		}
		recorded := problem(t, view(t, c.text, 1e-6)).Recorded(s)
		for k, want := range c.reference {
			if math.Abs(recorded.Reference[k]-want) > 1e-3 {
				t.Errorf("%s: the reference is %v, want %v", c.text, recorded.Reference, c.reference)
			}
		}
		if front := strings.Join(recorded.Front, " "); front != c.front || math.Abs(recorded.Hypervolume-c.covered) > 1e-2*max(1, c.covered) {
			t.Errorf("%s: %q covers %v, want %q and %v", c.text, front, recorded.Hypervolume, c.front, c.covered)
		}
		if _, err := json.Marshal(recorded); err != nil {
			t.Errorf("%s: it cannot be recorded: %v", c.text, err)
		}
	}
}

// Law: what is compared is expected as it was measured, where that is without noise, and by its formula, in
// whatever order a file names the two.
func TestComparedByHand(t *testing.T) {
	for _, over := range [][]string{{"price", "a", "b"}, {"a", "price", "b"}} {
		p := problem(t, view(t, "experts: [{name: ada, terminal: {}}]\nobjective: {preference: {over: ["+strings.Join(over, ", ")+"]}}", 1e-6))
		compared := p.NewCompared(slices.Repeat([]events.OutcomeScale{{Spread: 1}}, len(over)))
		compared.At([]float64{0.5, 1, 0}) // x is 1
		want := map[string]float64{"price": 1, "a": 5, "b": 4}
		for j, name := range over {
			if math.Abs(compared.Mean[j]-want[name]) > 1e-3 {
				t.Errorf("of %v %s is expected to be %v, want %v", over, name, compared.Mean[j], want[name])
			}
		}
	}
}

// Law: where nothing keeps a bound against an objective's direction, there is an improvement still, whose greatest value
// is where the bound is kept; and where an objective follows from the parameters and has no value, there is none, and no
// fault.
func TestImprovementIsThere(t *testing.T) {
	for text, worse := range map[string][2]float64{ // where it is greater, and less
		"objective: {tradeoff: [{maximize: a}, {minimize: b}]}\nconstraints_on_outcomes: [a <= 1]":        {1.8, 1.5},
		"objective: {tradeoff: [{minimize: price, worst: 3}, {maximize: a, worst: 1}]}":                   {1.2, 0},
		"objective: {tradeoff: [{maximize: a}, {minimize: price}]}\nconstraints_on_outcomes: [v >= 0.01]": {1.2, 0},
	} {
		p := problem(t, view(t, text, 1e-6))
		s, err := p.Standing()
		if err != nil {
			t.Fatal(text, err)
		}
		f, err := p.Improvement(s, nil, 16, 1)
		if err != nil {
			t.Fatal(text, err)
		}
		at := func(x float64) float64 {
			value := f.Log([]float64{x / 2, 1, 0}, make([]float64, 3))
			if math.IsNaN(value) || math.IsInf(value, 1) {
				t.Errorf("%s: at %v it is %v", text, x, value)
			}
			return value
		}
		if more, less := at(worse[0]), at(worse[1]); !(more > less) {
			t.Errorf("%s: at %v it is %v, at %v %v", text, worse[0], more, worse[1], less)
		}
	}
}

// Law: the best composition by the models is the best of those that keep the constraints with their confidence, and
// where none does the one that most probably keeps them; a formula is computed from the quantities; a trade-off has none.
func TestBestOf(t *testing.T) {
	for _, c := range []struct {
		text      string
		best      int // −1 for none
		value     float64
		confident bool
	}{
		{"objective: {maximize: a}", 3, 8, true},
		{"objective: {maximize: a}\nconstraints_on_outcomes: [b <= 2.5]", 1, 6, true},
		{"objective: {minimize: a}\nconstraints_on_outcomes: [b >= 2.5, v <= 2]", 0, 4, true},
		{"objective: {maximize: a}\nconstraints_on_outcomes: [b <= 0.99]", 4, 2, false},
		{"objective: {maximize: a}\nconstraints_on_outcomes: [{require: b <= 0.99, confidence: 0.001}]", 4, 2, true},
		{"objective: {maximize: a/v}", 0, 4 / 0.9, true},
		{"objective: {maximize: a/v}\nconstraints_on_outcomes: [v*x >= 0.5]", 4, 4, true},
		{"objective: {minimize: a*b + 100*x}\nconstraints_on_outcomes: [v <= reference.v]\nreference: {experiment: e5}", 4, 202, false},
		{"objective: {desirability: [{quantity: a, from: 0, to: 10}, {quantity: v, from: 10, to: 0}]}", 1, math.Sqrt(0.6 * 0.8), true},
		{"objective: {tradeoff: [{maximize: a}, {minimize: b}]}", -1, 0, false},
	} {
		v := view(t, c.text, 1e-5)
		best, err := seek.BestOf(v.Campaign, v.Space, v.Models)
		switch {
		case err != nil:
			t.Fatal(c.text, err)
		case (best == nil) != (c.best < 0):
			t.Errorf("%s: %+v", c.text, best)
		case best != nil && (best.Index != c.best || math.Abs(best.Value.Mean-c.value) > 0.02*c.value || best.Confident != c.confident):
			t.Errorf("%s: e%d, %v, %t; want e%d, %v, %t", c.text, best.Index+1, best.Value.Mean, best.Confident, c.best+1, c.value, c.confident)
		}
	}
}

// Law: a constraint waits, with the reason, while a quantity of it has no model, and while there is no such experiment to
// compare with; one that was asked for is compared with by what is expected of it, and one that was measured by what was
// made. What is sought has to have a model.
func TestWaiting(t *testing.T) {
	const relative = "objective: {maximize: a}\nconstraints_on_outcomes: [b <= 1.5*reference.b, v <= 4]\nreference: "
	for _, c := range []struct {
		text    string
		without string
		waiting string
	}{
		{relative + "{experiment: e2}", "", ""},
		{relative + "{experiment: e6}", "", ""}, // under way
		{relative + "{composition: {x: 1.1, salt: B}}", "", ""},
		{relative + "{experiment: e9}", "", "b <= 1.5*reference.b: there is no experiment e9 yet to compare with"},
		{relative + "{experiment: e2}", "v", "v <= 4: there is no model of v yet"},
		{relative + "{experiment: e2}", "b", "b <= 1.5*reference.b: there is no model of b yet"},
		{"objective: {maximize: a}\nconstraints_on_outcomes: [b <= 3, a*v >= 2]", "b", "b <= 3: there is no model of b yet"},
	} {
		v := view(t, c.text, 1e-6, c.without)
		p := problem(t, v)
		var waiting []string
		for _, w := range p.Waiting {
			waiting = append(waiting, w.Require+": "+w.Because)
		}
		if got := strings.Join(waiting, "; "); got != c.waiting {
			t.Errorf("%s without %q: it waits for %q, want %q", c.text, c.without, got, c.waiting)
		}
		w := must.Get(p.NewPredictor())(t)
		if f := w.At([]float64{0.5, 1, 0}).Feasible; f == nil || len(f.Constraints) != 2-len(waiting) {
			t.Errorf("%s without %q: of what can be judged it says %+v", c.text, c.without, f)
		}
	}
	v := view(t, "objective: {maximize: a*v}", 1e-6, "v")
	if _, err := seek.NewProblem(v.Campaign, v.Space, v.Models); err == nil || !strings.Contains(err.Error(), "no model of v") {
		t.Errorf("what is sought has no model: %v", err)
	}
	// 1.5 times what e2 gave: 3.
	w := must.Get(problem(t, view(t, relative+"{experiment: e2}", 1e-6)).NewPredictor())(t)
	for i, g := range gave {
		p := w.At([]float64{g[0] / 2, 1, 0}).Feasible.Constraints[0].Probability
		if g[2] != 3 && math.Abs(p-map[bool]float64{true: 1}[g[2] < 3]) > 1e-3 {
			t.Errorf("e%d gave %v, and keeps b <= 3 with probability %v", i+1, g[2], p)
		}
	}
}

// Law: the probability that constraints are kept, of each and of all together, and the value of a formula, are those of
// independent draws of the quantities, computed one by one.
func TestOutlookBySampling(t *testing.T) {
	text := "objective: {maximize: a*sqrt(v)}\nconstraints_on_outcomes: [b <= 4.5, a*b >= 12, v <= 3, a <= b + 2*v]"
	v := view(t, text, 0.3)
	w := must.Get(problem(t, v).NewPredictor())(t)
	rng := rand.New(rand.NewPCG(1, 2))
	for _, x := range []float64{0.01, 0.5, 0.77, 1.49} {
		u := []float64{x / 2, 1, 0}
		draw := func(name string) float64 {
			m := v.Models.Of(name)
			mean, sd := m.Posterior(u)
			return m.Untransform(mean + sd*rng.NormFloat64())
		}
		const n = 200_000
		var kept [5]float64 // the last of all
		sum, squares := 0.0, 0.0
		for range n {
			a, b, viscosity := draw("a"), draw("b"), draw("v")
			all := 1.0
			for j, k := range []bool{b <= 4.5, a*b >= 12, viscosity <= 3, a <= b+2*viscosity} {
				if k {
					kept[j] += 1.0 / n
				} else {
					all = 0
				}
			}
			kept[4] += all / n
			value := a * math.Sqrt(viscosity)
			sum, squares = sum+value/n, squares+value*value/n
		}
		out := w.At(u)
		for j, c := range out.Feasible.Constraints {
			if math.Abs(c.Probability-kept[j]) > 0.02 {
				t.Errorf("at %v, %s: %v, by draws %v", x, c.Require, c.Probability, kept[j])
			}
		}
		if math.Abs(out.Feasible.Probability-kept[4]) > 0.02 {
			t.Errorf("at %v all are kept with %v, by draws %v", x, out.Feasible.Probability, kept[4])
		}
		if sd := math.Sqrt(squares - sum*sum); math.Abs(out.Value.Mean-sum) > 0.03*sd || math.Abs(out.Value.SD-sd) > 0.1*sd {
			t.Errorf("at %v the value is %v, by draws %v ± %v", x, out.Value, sum, sd)
		}
	}
}

// Law: the probability that a quantity keeps its bounds is that of the normal distribution of its model, of its logarithm
// where that is modelled, however far in a tail: of one bound, of several as the interval that they leave, and of one on
// what is sought.
func TestBoundsAreExact(t *testing.T) {
	v := view(t, "objective: {maximize: a}\nconstraints_on_outcomes: [2*v >= 120, b <= 4, v <= 200, a <= 5]", 0.1)
	w := must.Get(problem(t, v).NewPredictor())(t)
	for _, x := range []float64{0.03, 0.3, 1.48} {
		u := []float64{x / 2, 1, 0}
		probability := func(name string, bound float64, most float64) float64 {
			mean, sd := v.Models.Of(name).Posterior(u)
			return 0.5 * math.Erfc(-most*(bound-mean)/sd/math.Sqrt2)
		}
		logarithm := func(v float64) float64 { return (math.Log(v) - 0.8) / 0.9 }
		mean, sd := v.Objective().Posterior(u)
		scale := v.Objective().Scale()
		sought := 0.5 * math.Erfc(-(5-scale.Value(mean))/(math.Abs(scale.Spread)*sd)/math.Sqrt2)
		want := []float64{probability("v", logarithm(60), -1), probability("b", 0, 1), probability("v", logarithm(200), 1), sought}
		feasible := w.At(u).Feasible
		for j, c := range feasible.Constraints {
			if math.Abs(c.Probability-want[j]) > 1e-9*want[j] {
				t.Errorf("at %v, %s: %v, want %v", x, c.Require, c.Probability, want[j])
			}
		}
		all := (want[0] - probability("v", logarithm(200), -1)) * want[1] * want[3]
		if math.Abs(feasible.Probability-all) > 1e-9*all {
			t.Errorf("at %v all are kept with %v, want %v", x, feasible.Probability, all)
		}
	}
}
