package seek_test

import (
	"math"
	"testing"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/files/builtin"
	"github.com/campaignd/campaignd/internal/num/channel"
	"github.com/campaignd/campaignd/internal/study/studytest"
	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/policies"
	"github.com/campaignd/campaignd/policies/next"
	"github.com/campaignd/campaignd/policies/seek"
	"github.com/campaignd/campaignd/projections/quantity"
)

// summed seeks the sum of two quantities whose models, and the one of the sum, have the same hyperparameters.
func summed(t *testing.T, of string) (policies.View, *quantity.Model) {
	t.Helper()
	text := "name: summed\nparameters: [{name: x, min: 0, max: 1}]\nquantities: [{name: a}, {name: b}]\n" +
		"objective: {maximize: " + of + "}\nbudget: {experiments: 30}\ninstrument: manual\n"
	var rows []studytest.Row
	for i, x := range []float64{0.05, 0.3, 0.55, 0.75} {
		rows = append(rows, studytest.Row{At: definition.Point{"x": definition.Number(x)}, Gave: map[string]float64{
			"a": []float64{0.3, 1.2, 0.1, -0.7}[i], "b": []float64{-0.4, 0.6, 1.1, 0.9}[i]}})
	}
	v := must.Get(studytest.ViewOf(t.Context(), text, rows, func(quantity string) *events.ObjectiveFit {
		fit := &events.ObjectiveFit{Kernel: "matern52", Lengthscales: []float64{0.25}, OutputScale: 1, Noise: 0.02, Scale: 1, Observations: 4}
		if quantity != "a" && quantity != "b" {
			fit.OutputScale, fit.Noise = 2, 0.04
		}
		return fit
	}))(t)
	said := channel.Answers{Labels: []channel.Label{{Point: 0, Reject: true}, {Point: 1}, {Point: 2, Reject: true}}, Orders: [][]int{{1, 3}}}
	learned, err := channel.Condition(t.Context(), v.Objective().GP(), [][]float64{{0.1}, {0.42}, {0.65}, {0.9}},
		[]channel.Answers{said}, channel.Config{})
	if err != nil {
		t.Fatal(err)
	}
	return v, v.Objective().Given(learned.Objective)
}

func informedOf(t *testing.T, v policies.View, m *quantity.Model) *seek.Problem {
	t.Helper()
	p := must.Get(seek.NewProblem(v.Campaign, v.Space, v.Models))(t)
	return p.Informed(m)
}

// Law: of an affine objective, where all models have the same hyperparameters, the models of the quantities and what was
// said of the whole give what one model of the values gives, given the same answers.
func TestAnswersAboutAffine(t *testing.T) {
	v, informed := summed(t, "a + b")
	w := must.Get(informedOf(t, v, informed).NewPredictor())(t)
	moved := 0.0
	for x := 0.02; x < 1; x += 0.07 {
		mean, sd := informed.Posterior([]float64{x})
		before, _ := v.Objective().Posterior([]float64{x})
		moved = max(moved, math.Abs(mean-before))
		got := w.At([]float64{x}).Value
		if got == nil || math.Abs(got.Mean-informed.Untransform(mean)) > 1e-9 || math.Abs(got.SD-sd) > 1e-9 {
			t.Errorf("at %.2f it is %+v, want %v ± %v", x, got, informed.Untransform(mean), sd)
		}
	}
	if moved < 0.05 {
		t.Errorf("the answers move nothing: by %v at most", moved)
	}
}

// Law: the gradient of the acquisition is its slope, where answers about the whole move a formula too.
func TestAnswersGradient(t *testing.T) {
	v, informed := summed(t, "a*b + x")
	rule := must.Get(builtin.Registry().Methods.Searched(v.Campaign.Definition.Policy))(t)
	p := informedOf(t, v, informed)
	composer := rule.(next.Composer)
	if !composer.Composes(p, informed) {
		t.Fatal("the quantities do not decide")
	}
	c := must.Get(composer.Compose(next.Several{Problem: p, Objective: informed, Seed: 3}))(t)
	grad := make([]float64, 1)
	for x := 0.03; x < 1; x += 0.11 {
		const h = 1e-5
		c.Acquisition([]float64{x}, grad)
		slope := (c.Acquisition([]float64{x + h}, nil) - c.Acquisition([]float64{x - h}, nil)) / (2 * h)
		if math.Abs(grad[0]-slope) > 1e-4*max(1, math.Abs(slope)) {
			t.Errorf("at %.2f the gradient is %v, the slope %v", x, grad[0], slope)
		}
	}
}
