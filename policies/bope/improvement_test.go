package bope_test

import (
	"math"
	"testing"

	humansim "github.com/campaignd/campaignd/adapters/humans/simulated"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/events/memlog"
	"github.com/campaignd/campaignd/internal/study/studytest"
	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/policies/bope"
	"github.com/campaignd/campaignd/policies/next"
	"github.com/campaignd/campaignd/policies/seek"
)

// Law: the slopes of the acquisition are those of central differences, of quantities that are measured, modelled by their
// logarithm, or follow from the parameters, with something under way and with a bound on outcomes.
func TestSlopesOfTheImprovement(t *testing.T) {
	def, err := studytest.Define("electrolyte", 6, 7, studytest.WithPreference(humansim.Settings{}), func(def *definition.Campaign) {
		def.ConstraintsOnOutcomes = []definition.OutcomeConstraint{{Require: "viscosity <= 6"}}
	})
	if err != nil {
		t.Fatal(err)
	}
	core := must.Get(studytest.Simulate(t.Context(), memlog.New(), def))(t)
	v := must.Get(core.View(t.Context()))(t)
	p := must.Get(seek.NewProblem(v.Campaign, v.Space, v.Models))(t)
	known := v.Preferences[0].Outcomes
	preferences := must.Get(p.Preferences(t.Context(), known))(t)
	expecting := must.Get(v.Objective().Fantasize(t.Context(), [][]float64{{0.3, 0.4, 0.9}}))(t)
	f := must.Get(bope.Improvement(p, known, preferences).Compose(
		next.Several{Problem: p, Objective: expecting, Seed: 3}))(t)
	const h = 1e-5
	for _, x := range [][]float64{{0.2, 0.3, 0.5}, {0.31, 0.1, 0.95}, {0.7, 0.6, 0.2}} {
		grad := make([]float64, len(x))
		value := f.Acquisition(x, grad)
		if plain := f.Acquisition(x, nil); math.Abs(plain-value) > 1e-9*(1+math.Abs(value)) {
			t.Errorf("at %v it is %v, with slopes %v", x, plain, value)
		}
		for j := range x {
			was := x[j]
			x[j] = was + h
			up := f.Acquisition(x, nil)
			x[j] = was - h
			down := f.Acquisition(x, nil)
			x[j] = was
			if want := (up - down) / (2 * h); math.Abs(grad[j]-want) > 1e-4*(1+math.Abs(want)) {
				t.Errorf("at %v the slope %d is %v, finite difference %v", x, j, grad[j], want)
			}
		}
	}
}
