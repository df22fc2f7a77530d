package preference_test

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/num/bope"
	"github.com/campaignd/campaignd/internal/num/pref"
	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/projections"
	"github.com/campaignd/campaignd/projections/preference"
	"github.com/campaignd/campaignd/projections/projectiontest"
)

// tasted is a campaign in which ada compares strength and price, of which the price is modelled by its logarithm and
// better the lower.
func tasted(better string) definition.Campaign {
	return definition.Campaign{
		Name: "square", Seed: 1, Parameters: []definition.Parameter{{Name: "a", Min: ptr(0.0), Max: ptr(1.0)}},
		Quantities: []definition.QuantityDef{{Name: "strength"}, {Name: "price", Scale: definition.ScaleLog, Better: better}},
		Objective:  definition.Objective{Name: "strength", Goal: definition.Maximize, Preference: &definition.Preference{Over: []string{"strength", "price"}}},
		Experts:    []definition.Expert{{Name: "ada"}},
	}
}

// standard is one of them.
var standard = []events.OutcomeScale{{Quantity: "strength", Center: 10, Spread: 2}, {Quantity: "price", Log: true, Center: 1, Spread: 0.5}}

func gives(strength, price float64) events.Outcome {
	return events.Outcome{Quantities: []definition.Quantity{{Name: "strength", Value: strength}, {Name: "price", Value: price}}}
}

func askedOutcomes(q int, standard []events.OutcomeScale) events.Payload {
	return &events.QuestionAsked{Question: fmt.Sprint("q", q), Form: events.FormOutcomes, Expert: "ada", Standard: standard}
}

func chose(q int, a, b events.Outcome, order ...int) *events.QuestionAnswered {
	return &events.QuestionAnswered{Question: fmt.Sprint("q", q), Form: events.FormOutcomes, Expert: "ada",
		Outcomes: []events.Outcome{a, b}, Answer: events.Answer{Order: order}}
}

func instead(q int, a, b events.Outcome, order ...int) *events.QuestionSuperseded {
	p := chose(q, a, b, order...)
	return &events.QuestionSuperseded{Question: p.Question, Form: p.Form, Expert: p.Expert, Outcomes: p.Outcomes, Answer: p.Answer}
}

// foldOutcomes is a projection after a definition and some events.
func foldOutcomes(t *testing.T, def definition.Campaign, payloads ...events.Payload) *preference.Projection {
	t.Helper()
	p := preference.New()
	p.Configure(preference.Needs{Form: events.PreferenceOutcomes})
	for _, payload := range append([]events.Payload{&events.CampaignDefined{Definition: def}}, payloads...) {
		must.Do(t, p.Apply(events.Event{}, payload))
	}
	return p
}

// utilities are what a projection expects of three outcomes, after a fit where there is one to be made.
func utilities(t *testing.T, p *preference.Projection) (values []float64) {
	t.Helper()
	if p.Stale("ada") {
		fit := must.Get(p.Fit(t.Context(), "ada", 1))(t)
		if err := p.Apply(events.Event{}, &events.ModelFitted{Model: events.ModelPreference, Expert: "ada", Preference: &fit}); err != nil {
			t.Fatal(err)
		}
	}
	m, err := p.Model(t.Context(), "ada")
	if err != nil || m == nil {
		t.Fatalf("there is no model: %v, %v", m, err)
	}
	posterior := must.Get(m.Outcomes.Utility(t.Context(), nil))(t)
	for _, o := range []events.Outcome{gives(8, 2), gives(12, 3), gives(14, 9)} {
		mean, sd := posterior.Posterior(m.Outcomes.Point(o.Quantities))
		values = append(values, mean, sd)
	}
	return values
}

// Law: a utility does not depend on the order in which questions were answered; one that was answered anew is as if it had been
// answered so at first, and what was taken back, or could not be told, as if it had not been asked.
func TestOrderOfChoices(t *testing.T) {
	a, b, c := gives(8, 2), gives(12, 3), gives(11, 6)
	ask := askedOutcomes(1, standard)
	want := utilities(t, foldOutcomes(t, tasted(""), ask, chose(1, a, b, 1, 0), chose(2, b, c, 0, 1)))
	for name, payloads := range map[string][]events.Payload{
		"late":       {ask, chose(2, b, c, 0, 1), chose(1, a, b, 1, 0)},
		"anew":       {ask, chose(1, a, b, 0, 1), chose(2, b, c, 0, 1), instead(1, a, b, 1, 0)},
		"taken back": {ask, chose(1, a, b, 1, 0), chose(2, b, c, 0, 1), chose(3, a, c, 0, 1), instead(3, a, c)},
		"can't tell": {ask, chose(1, a, b, 1, 0), chose(3, a, c), chose(2, b, c, 0, 1)},
		"itself":     {ask, chose(1, a, b, 1, 0), chose(3, a, a, 0, 1), chose(2, b, c, 0, 1)},
		"other quantities": {ask, chose(1, a, b, 1, 0), chose(3, events.Outcome{Quantities: a.Quantities[:1]},
			events.Outcome{Quantities: c.Quantities[:1]}, 0, 1), chose(2, b, c, 0, 1)},
		"another standard later": {ask, chose(1, a, b, 1, 0), askedOutcomes(2, []events.OutcomeScale{
			{Quantity: "strength", Center: 0, Spread: 9}, {Quantity: "price", Log: true, Center: 0, Spread: 9}}), chose(2, b, c, 0, 1)},
	} {
		if got := utilities(t, foldOutcomes(t, tasted(""), payloads...)); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
}

// Law: the utility is the posterior of package pref, by expectation propagation, of the choices between standardized
// outcomes and of the directions that are declared, at the fitted hyperparameters.
func TestUtilityIsThePosterior(t *testing.T) {
	a, b := gives(8, 2), gives(12, 3)
	p := foldOutcomes(t, tasted(definition.BetterLower), askedOutcomes(1, standard), chose(1, a, b, 1, 0))
	got := utilities(t, p)
	m := must.Get(p.Model(t.Context(), "ada"))(t)
	y := func(o events.Outcome) []float64 {
		return []float64{(o.Quantities[0].Value - 10) / 2, (math.Log(o.Quantities[1].Value) - 1) / 0.5}
	}
	duels, err := pref.NewDuels([][]float64{y(b)}, [][]float64{y(a)}, func([]float64) float64 { return 1 })
	if err != nil {
		t.Fatal(err)
	}
	duels = bope.Declare(duels, [][]float64{{0, 0}, y(a)}, []bope.Better{bope.Undeclared, bope.Smaller}, bope.Certain)
	h := pref.Hyper{Lengthscales: m.Fit.Lengthscales, OutputScale: m.Fit.OutputScale, Slope: bope.Slope}
	k := must.Get(h.Kernel("rbf", 2))(t)
	result := must.Get(pref.EP(t.Context(), duels, pref.Probit, k, pref.EPConfig{}))(t)
	for i, o := range []events.Outcome{gives(8, 2), gives(12, 3), gives(14, 9)} {
		mean, sd := result.Posterior.Posterior(y(o))
		if math.Abs(got[2*i]-mean) > 1e-9 || math.Abs(got[2*i+1]-sd) > 1e-9 {
			t.Errorf("%v: %v ± %v, want %v ± %v", o.Quantities, got[2*i], got[2*i+1], mean, sd)
		}
	}
}

// Law: thirty choices by a utility that saturates predict most of the others, and each new choice counts at once, before any fit.
func TestChoicesAreLearned(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 1))
	draw := func() events.Outcome { return gives(10+2*rng.NormFloat64(), math.Exp(1+0.5*rng.NormFloat64())) }
	worth := func(o events.Outcome) float64 {
		return math.Tanh((o.Quantities[0].Value-10)/2) - 0.4*o.Quantities[1].Value
	}
	payloads := []events.Payload{askedOutcomes(1, standard)}
	for q := range 30 {
		a, b := draw(), draw()
		order := []int{0, 1}
		if worth(b) > worth(a) {
			order = []int{1, 0}
		}
		payloads = append(payloads, chose(q+1, a, b, order...))
	}
	p := foldOutcomes(t, tasted(""), payloads...)
	before := utilities(t, p)
	m := must.Get(p.Model(t.Context(), "ada"))(t)
	posterior := must.Get(m.Outcomes.Utility(t.Context(), nil))(t)
	right := 0
	for range 300 {
		a, b := draw(), draw()
		first, _ := posterior.Posterior(m.Outcomes.Point(a.Quantities))
		second, _ := posterior.Posterior(m.Outcomes.Point(b.Quantities))
		if (first > second) == (worth(a) > worth(b)) {
			right++
		}
	}
	if right < 255 {
		t.Errorf("%d of 300 other choices are predicted", right)
	}
	if err := p.Apply(events.Event{}, chose(31, gives(8, 2), gives(12, 3), 0, 1)); err != nil || p.Stale("ada") {
		t.Fatalf("one more of thirty calls for a fit, or not: %v", err)
	}
	if after := utilities(t, p); slices.Equal(after, before) {
		t.Error("a new choice changes nothing before the next fit")
	}
}

// Law: live, replayed and restored are the same.
func TestOutcomesReplayed(t *testing.T) {
	a, b, c := gives(8, 2), gives(12, 3), gives(11, 6)
	var history []events.Event
	for n, payload := range []events.Payload{
		&events.CampaignDefined{Definition: tasted("")}, askedOutcomes(1, standard), chose(2, b, c, 0, 1), chose(1, a, b, 1, 0),
		instead(2, b, c, 1, 0), chose(3, a, c), &events.CampaignAmended{Definition: tasted(definition.BetterLower)}, instead(1, a, b),
	} {
		data := must.Get(json.Marshal(payload))(t)
		history = append(history, events.Event{ID: fmt.Sprint(n + 1), Campaign: "square", Sequence: events.Sequence(n + 1),
			Kind: events.KindOf(payload), Version: 1, Data: data})
	}
	projectiontest.Run(t, func() []projections.Projection { return []projections.Projection{preference.New()} }, history)
}
