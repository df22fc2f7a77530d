package seek_test

import (
	"testing"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/study/studytest"
	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/policies"
	"github.com/campaignd/campaignd/policies/seek"
)

// columnOf is what a policy sees of a campaign with one parameter and two quantities
// after some measurements of them, with little noise.
func columnOf(t *testing.T, seeks string, xs, as, bs []float64) policies.View {
	t.Helper()
	var rows []studytest.Row
	for i, x := range xs {
		rows = append(rows, studytest.Row{At: definition.Point{"x": definition.Number(x)},
			Gave: map[string]float64{"a": as[i], "b": bs[i]}})
	}
	text := "name: column\nparameters: [{name: x, min: 0, max: 1}]\nquantities: [{name: a}, {name: b}]\n" +
		"budget: {experiments: 30}\ninstrument: manual\n" + seeks
	v := must.Get(studytest.ViewOf(t.Context(), text, rows, func(string) *events.ObjectiveFit {
		return &events.ObjectiveFit{Kernel: "matern52", Lengthscales: []float64{0.1}, OutputScale: 1, Noise: 0.01,
			Shift: 4, Scale: 1, Observations: len(xs)}
	}))(t)
	return v
}

// Law: where nothing keeps the constraints with a probability that anyone could see,
// the composition comes closest that breaks them least, and not the one that is
// known least. Here b is to be at most 1: at 0.2 it was 3.0, five times, and at
// 0.8 it was 3.1, once.
func TestClosestBreaksLeast(t *testing.T) {
	xs, as := []float64{0.2, 0.2, 0.2, 0.2, 0.2, 0.5, 0.8}, []float64{4, 4, 4, 4, 4, 6, 2}
	bs := []float64{3, 3, 3, 3, 3, 7, 3.1}
	const requires = "constraints_on_outcomes: [b <= 1]\n"
	v := columnOf(t, "objective: {maximize: a}\n"+requires, xs, as, bs)
	best := must.Get(seek.BestOf(v.Campaign, v.Space, v.Models))(t)
	if best.Confident || best.Index != 0 {
		t.Errorf("it is observation %d (confident: %v), want the first", best.Index, best.Confident)
	}
	probable, err := seek.MostProbable(v.Campaign, v.Space, v.Models)
	if err != nil || probable.Index != 6 {
		t.Errorf("the most probable one is %+v (%v): the test tells nothing", probable, err)
	}

	v = columnOf(t, "objective: {tradeoff: [{maximize: a}, {minimize: b}]}\n"+requires, xs, as, bs)
	f := frontOf(t, v)
	if f.Closest == nil || f.Closest.Experiment != "e1" {
		t.Errorf("of the trade-off it is %+v, want e1", f.Closest)
	}
}

// Law: where a probability can be seen it decides, however much the constraint is
// expected to be broken.
func TestClosestIsTheMostProbable(t *testing.T) {
	v := columnOf(t, "objective: {maximize: a}\nconstraints_on_outcomes: [b <= 2.9]\n",
		[]float64{0.2, 0.2, 0.2, 0.2, 0.2, 0.5, 0.8}, []float64{4, 4, 4, 4, 4, 6, 2}, []float64{3.1, 3.1, 3.1, 3.1, 3.1, 7, 3.12})
	best := must.Get(seek.BestOf(v.Campaign, v.Space, v.Models))(t)
	if best.Index != 6 {
		t.Errorf("it is observation %d, which keeps it with probability %v", best.Index, best.Outlook.Feasible.Probability)
	}
}

func frontOf(t *testing.T, v policies.View) *seek.Front {
	t.Helper()
	p := must.Get(seek.NewProblem(v.Campaign, v.Space, v.Models))(t)
	s := must.Get(p.Standing())(t)
	return must.Get(p.Front(v.Campaign, s))(t)
}

// Law: an objective that is the same everywhere decides nothing: the front is the
// composition that is best in the other one, and the spread of the constant one's
// model is shown nowhere.
func TestConstantObjectiveDecidesNothing(t *testing.T) {
	const seeks = "objective: {tradeoff: [{maximize: a}, {minimize: b}]}\n"
	xs := []float64{0.1, 0.3, 0.5, 0.7, 0.9}
	sevens := []float64{7, 7, 7, 7, 7}
	f := frontOf(t, columnOf(t, seeks, xs, []float64{3.5, 4.2, 4.6, 4.4, 3.2}, sevens))
	if len(f.Members) != 1 || f.Members[0].Experiment != "e3" || f.Compromise == nil || f.Compromise.Experiment != "e3" {
		t.Errorf("the front is %+v, the compromise %+v, want e3 alone", f.Members, f.Compromise)
	}
	if a, b := f.Objectives[0], f.Objectives[1]; a.Constant || !b.Constant || a.Best != "e3" || b.Best != "" {
		t.Errorf("the objectives are %+v", f.Objectives)
	}
	for _, m := range f.Members {
		if q := m.Quantities[1]; q.SD != 0 {
			t.Errorf("%s of %s is %v ± %v", q.Quantity, m.Experiment, q.Mean, q.SD)
		}
	}
	if f := frontOf(t, columnOf(t, seeks, xs, sevens, sevens)); len(f.Members) != 0 || f.Compromise != nil {
		t.Errorf("with all of them equal the front is %+v", f.Members)
	}
	// One that varies a little is no constant, and one composition makes none.
	if f := frontOf(t, columnOf(t, seeks, xs, []float64{3.5, 4.2, 4.6, 4.4, 3.2}, []float64{7, 7, 7, 7, 6})); f.Objectives[1].Constant {
		t.Error("b varies, and is called constant")
	}
	if f := frontOf(t, columnOf(t, seeks, []float64{0.3, 0.3}, []float64{4.2, 4.3}, []float64{7, 7})); f.Objectives[1].Constant || len(f.Members) != 1 {
		t.Errorf("after one composition the front is %+v of %+v", f.Members, f.Objectives)
	}
}
