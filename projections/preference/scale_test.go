package preference_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/files/builtin"
	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/projections/preference"
)

// waves is a utility over the unit square of mean 0 and variance 1.
func waves(p definition.Point) float64 {
	a, _ := p["a"].Float()
	b, _ := p["b"].Float()
	return 2 * math.Cos(4*math.Pi*a) * math.Cos(3*math.Pi*b)
}

// learn is the fit of n comparisons of compositions at random, judged by the utility √variance·waves
// with noise of variance 1 at either side, and the model that follows.
func learn(t *testing.T, n int, variance float64, change func(*definition.Utility)) (events.PreferenceFit, *preference.Model) {
	t.Helper()
	def := defined(t, "eubo")
	def.Experts[0].Anchors = nil
	change(&def.Model.Utility)
	p := preference.New()
	p.Configure(builtin.Registry().Methods.Needs(def).Preference)
	apply := func(payload events.Payload) {
		must.Do(t, p.Apply(events.Event{}, payload))
	}
	apply(&events.CampaignDefined{Definition: def})
	rng := rand.New(rand.NewPCG(5, 5))
	for i := range n {
		options := []definition.Point{at(rng.Float64(), rng.Float64()), at(rng.Float64(), rng.Float64())}
		difference := math.Sqrt(variance)*(waves(options[0])-waves(options[1])) + math.Sqrt2*rng.NormFloat64()
		order := []int{0, 1}
		if difference < 0 {
			order = []int{1, 0}
		}
		apply(&events.QuestionAnswered{Question: fmt.Sprint("q", i), Form: events.FormComparison, Expert: "ada", Options: options,
			Answer: events.Answer{Order: order}})
	}
	fit := must.Get(p.Fit(t.Context(), "ada", 1))(t)
	apply(&events.ModelFitted{Model: events.ModelPreference, Expert: "ada", Preference: &fit})
	m := must.Get(p.Model(t.Context(), "ada"))(t)
	return fit, m
}

// Law: how much utilities differ beside the noise of judgment is learned from the comparisons:
// of a utility whose variance is s times that of the noise the output scale is s times the
// noise that the campaign sets, within a factor of 2.5, whatever that is.
func TestScaleIsLearned(t *testing.T) {
	for _, c := range []struct{ s, noise float64 }{{0.5, 1}, {4, 0.01}, {30, 1}} {
		fit, _ := learn(t, 150, c.s, func(u *definition.Utility) { u.Noise = &c.noise })
		if ratio := fit.OutputScale / (c.s * c.noise); !(ratio > 0.4 && ratio < 2.5) {
			t.Errorf("a variance of %g times the noise %g: output scale %g", c.s, c.noise, fit.OutputScale)
		}
	}
}

// Law: with a learned output scale the noise is the unit of utilities alone. With another one
// every utility is another number and every comparison has the same probability, by each
// link and posterior.
func TestNoiseIsTheUnit(t *testing.T) {
	for _, c := range []struct {
		link, posterior string
		unit            func(noise float64) float64 // of utilities
	}{
		{definition.LinkProbit, definition.PosteriorEP, math.Sqrt},
		{definition.LinkProbit, definition.PosteriorLaplace, math.Sqrt},
		{definition.LinkLogistic, definition.PosteriorLaplace, func(noise float64) float64 { return noise }},
	} {
		var means, wins []float64
		for _, noise := range []float64{0.01, 1} {
			_, m := learn(t, 60, 10, func(u *definition.Utility) { u.Link, u.Posterior, u.Noise = c.link, c.posterior, &noise })
			posterior := must.Get(m.Utility.Posterior(t.Context(), 1))(t)
			x, y := []float64{0.5, 0.67}, []float64{0.25, 0.67}
			mean, _ := posterior.Posterior(x)
			means = append(means, mean/c.unit(noise))
			wins = append(wins, posterior.WinProbability(m.Utility.Link, x, y, noise, noise))
		}
		if math.Abs(means[0]-means[1]) > 1e-3 || math.Abs(wins[0]-wins[1]) > 1e-4 || wins[1] < 0.7 {
			t.Errorf("%s, %s: utilities %v, probabilities %v", c.link, c.posterior, means, wins)
		}
	}
}

// Law: a fixed output scale is 1, with lengthscales in [0.1, 1]; so it is where a definition
// does not say, as those of 0.1.0 do not.
func TestFixedScale(t *testing.T) {
	for _, scale := range []string{definition.ScaleFixed, ""} {
		fit, _ := learn(t, 60, 30, func(u *definition.Utility) { u.OutputScale = scale })
		if fit.OutputScale != 1 {
			t.Errorf("%q: output scale %v", scale, fit.OutputScale)
		}
		for _, l := range fit.Lengthscales {
			if l < 0.1 || l > 1 {
				t.Errorf("%q: lengthscale %v", scale, l)
			}
		}
	}
}
