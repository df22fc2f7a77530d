package preference_test

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/campaignd/campaignd/adapters/instruments/manual"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/files/builtin"
	"github.com/campaignd/campaignd/internal/files/campaignfile"
	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/projections"
	"github.com/campaignd/campaignd/projections/preference"
	"github.com/campaignd/campaignd/projections/projectiontest"
)

func ptr[T any](x T) *T { return &x }

func at(a, b float64) definition.Point {
	return definition.Point{"a": definition.Number(a), "b": definition.Number(b)}
}

// definition is a campaign over the unit square in which ada and bob compare.
func defined(t *testing.T, method string) definition.Campaign {
	t.Helper()
	m, ok := builtin.Registry().Methods.Method(method)
	if !ok {
		t.Fatalf("there is no method %s", method)
	}
	def := definition.Campaign{
		Name: "square", Seed: 1, Objective: definition.Objective{Name: "y", Goal: definition.Maximize}, Policy: m.Policy,
		Parameters: []definition.Parameter{{Name: "a", Min: ptr(0.0), Max: ptr(1.0)}, {Name: "b", Min: ptr(0.0), Max: ptr(1.0)}},
		Budget:     definition.Budget{Experiments: 9}, Instrument: definition.Instrument{Driver: manual.Choose(manual.Settings{})},
		Experts: []definition.Expert{{Name: "ada"}, {Name: "bob"}},
	}
	if !def.Measures() {
		def.Budget, def.Instrument = definition.Budget{Comparisons: 9}, definition.Instrument{}
		def.Experts[0].Anchors = []definition.Point{at(0.5, 0.5)}
	}
	return campaignfile.Complete(builtin.Registry(), def)
}

// projection is that of a campaign of a method.
func projection(t *testing.T, method string) *preference.Projection {
	t.Helper()
	p := preference.New()
	p.Configure(builtin.Registry().Methods.Needs(defined(t, method)).Preference)
	return p
}

// course is what happens to the projection's campaign: comparisons that are
// answered out of order, changed and taken back, anchors, fits that succeed and
// fail, and an amendment.
func course(t *testing.T, method string) []events.Event {
	t.Helper()
	live := projection(t, method)
	var history []events.Event
	happens := func(payload events.Payload) {
		t.Helper()
		data := must.Get(json.Marshal(payload))(t)
		n := len(history) + 1
		e := events.Event{ID: fmt.Sprint(n), Campaign: "square", Sequence: events.Sequence(n), Kind: events.KindOf(payload), Version: 1, Data: data}
		history = append(history, e)
		must.Do(t, live.Apply(e, payload))
	}
	fit := func(expert string) {
		t.Helper()
		if !live.Stale(expert) {
			return
		}
		fit := must.Get(live.Fit(t.Context(), expert, 1))(t)
		happens(&events.ModelFitted{Model: events.ModelPreference, Expert: expert, Preference: &fit})
	}
	def := defined(t, method)
	happens(&events.CampaignDefined{Definition: def})
	happens(answered(2, "ada", []int{0, 1}))
	happens(answered(1, "ada", []int{1, 0}))
	happens(answered(3, "bob", nil)) // "can't tell"
	fit("ada")
	fit("bob")
	happens(answered(4, "ada", []int{0}))
	happens(&events.AnchorsDeclared{Expert: "ada", Points: []definition.Point{at(0.2, 0.9)}})
	happens(&events.AnchorsDeclared{Expert: "ada", Points: []definition.Point{at(0.3, 0.8)}, Instead: true, Reason: "misread"})
	happens(&events.ModelFitFailed{Model: events.ModelPreference, Expert: "ada", Cause: "a trial"})
	happens(superseded(answered(2, "ada", []int{1, 0})))
	fit("ada")
	happens(answered(5, "bob", []int{0, 1})) // a composition with itself
	happens(answered(6, "bob", []int{0, 1}))
	fit("bob")
	happens(superseded(answered(4, "ada", nil)))
	def.Parameters[0].Max = ptr(0.9)
	happens(&events.CampaignAmended{Definition: def})
	fit("ada")
	return history
}

// Law: live, replayed and restored are the same.
func TestReplayed(t *testing.T) {
	for _, method := range []string{"coexbo", "prior-sampling", "raeubo", "mr-lpf", "lcb"} {
		t.Run(method, func(t *testing.T) {
			projectiontest.Run(t, func() []projections.Projection { return []projections.Projection{preference.New()} }, course(t, method))
		})
	}
}

// predicted is all that a model says at some points.
func predicted(t *testing.T, m *preference.Model) (values []float64) {
	t.Helper()
	for _, x := range [][]float64{{0.1, 0.2}, {0.5, 0.9}, {0.93, 0.4}} {
		switch {
		case m.Score != nil:
			mean, variance := m.Score.NewPredictor().At(x, nil, nil)
			values = append(values, mean, variance, m.Scaling.ScoreMean, m.Choice.Preference(x, []float64{0.3, 0.3}).Mean)
		case m.Utility != nil:
			posterior := must.Get(m.Utility.Posterior(t.Context(), 5))(t)
			mean, sd := posterior.Posterior(x)
			values = append(values, mean, sd, m.Utility.Noise(x, nil))
		}
	}
	return values
}

// Law: anchors can be taken back. The expert then has those that were named instead,
// and those of the definition.
func TestAnchorsInstead(t *testing.T) {
	declared := func(payloads ...*events.AnchorsDeclared) string {
		p := projection(t, "raeubo")
		must.Do(t, p.Apply(events.Event{}, &events.CampaignDefined{Definition: defined(t, "raeubo")}))
		for _, payload := range payloads {
			must.Do(t, p.Apply(events.Event{}, payload))
		}
		snapshot := must.Get(p.Snapshot())(t)
		var state struct{ Experts []preference.Expert }
		must.Do(t, json.Unmarshal(snapshot, &state))
		return fmt.Sprint(state.Experts[0].Declared)
	}
	wrong := &events.AnchorsDeclared{Expert: "ada", Points: []definition.Point{at(0.2, 0.9), at(0.1, 0.1)}}
	right := events.AnchorsDeclared{Expert: "ada", Points: []definition.Point{at(0.9, 0.2)}}
	want := declared(&right)
	right.Instead = true
	if got := declared(wrong, &right); got != want {
		t.Errorf("instead of others: %s, want %s", got, want)
	}
	if got, want := declared(wrong, &events.AnchorsDeclared{Expert: "ada", Instead: true}), declared(); got != want {
		t.Errorf("taken back: %s, want %s", got, want)
	}
}

// Law: a model is a function of the state: one that has been remembered over
// many events says, bit for bit, what one of a projection restored from a snapshot
// says, after every event.
func TestModelFollowsFromState(t *testing.T) {
	for _, method := range []string{"coexbo", "raeubo"} {
		live, models := projection(t, method), 0
		for _, e := range course(t, method) {
			payload := must.Get(events.Decode(e))(t)
			must.Do(t, live.Apply(e, payload))
			snapshot := must.Get(live.Snapshot())(t)
			restored := projection(t, method)
			must.Do(t, restored.Restore(snapshot))
			for _, expert := range []string{"ada", "bob", "eve"} {
				m, err := live.Model(t.Context(), expert)
				again, errAgain := restored.Model(t.Context(), expert)
				if (m == nil) != (again == nil) || fmt.Sprint(err) != fmt.Sprint(errAgain) {
					t.Fatalf("after %s the model of %s is %v (%v), restored %v (%v)", e.Kind, expert, m, err, again, errAgain)
				}
				if m == nil {
					continue
				}
				models++
				bits := func(a, b float64) bool { return math.Float64bits(a) == math.Float64bits(b) }
				if a, b := predicted(t, m), predicted(t, again); !slices.EqualFunc(a, b, bits) || len(a) == 0 {
					t.Errorf("%s: after %s (%s) the model of %s says %v, restored %v", method, e.ID, e.Kind, expert, a, b)
				}
			}
		}
		if models < 10 {
			t.Errorf("%s: only %d models were compared", method, models)
		}
	}
}

// answered is an answer to a comparison of two compositions; no order: "can't tell".
func answered(q int, expert string, order []int) *events.QuestionAnswered {
	x := float64(q) / 10
	return &events.QuestionAnswered{
		Question: fmt.Sprintf("q%d", q), Form: events.FormComparison, Expert: expert,
		Options: []definition.Point{at(x, 0.5), at(1-x, x)}, Answer: events.Answer{Order: order},
	}
}

// superseded is an answer in place of an earlier one to the same question.
func superseded(p *events.QuestionAnswered) *events.QuestionSuperseded {
	return &events.QuestionSuperseded{
		Question: p.Question, Form: p.Form, Expert: p.Expert, Options: p.Options, Answer: p.Answer,
	}
}

// Law: a model does not depend on the order in which questions were answered, and an
// answer that is taken back is as one that was never given.
func TestOrderOfAnswers(t *testing.T) {
	def := defined(t, "coexbo")
	given := func(q int, order ...int) events.Payload { return answered(q, "ada", order) }
	changed := func(q int, order ...int) events.Payload { return superseded(answered(q, "ada", order)) }
	unsure := given(11)
	fold := func(payloads ...events.Payload) *preference.Model {
		p := projection(t, "coexbo")
		for _, payload := range append([]events.Payload{&events.CampaignDefined{Definition: def}}, payloads...) {
			must.Do(t, p.Apply(events.Event{}, payload))
		}
		fit := must.Get(p.Fit(t.Context(), "ada", 1))(t)
		if err := p.Apply(events.Event{}, &events.ModelFitted{Model: events.ModelPreference, Expert: "ada", Preference: &fit}); err != nil {
			t.Fatal(err)
		}
		return must.Get(p.Model(t.Context(), "ada"))(t)
	}
	want := predicted(t, fold(given(2, 0, 1), given(10, 1, 0)))
	for name, m := range map[string]*preference.Model{
		"answered late": fold(given(10, 1, 0), given(2, 0, 1)),
		"changed":       fold(given(2, 0, 1), given(10, 0, 1), changed(10, 1, 0)),
		"taken back":    fold(given(2, 0, 1), given(10, 1, 0), given(11, 0, 1), changed(11)),
		"can't tell":    fold(given(2, 0, 1), unsure, given(10, 1, 0)),
	} {
		if got := predicted(t, m); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
}
