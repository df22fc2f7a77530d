package unaided_test

import (
	"testing"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/events/memlog"
	"github.com/campaignd/campaignd/internal/builtin"
	"github.com/campaignd/campaignd/internal/study"
	"github.com/campaignd/campaignd/policies"
	"github.com/campaignd/campaignd/policies/next"
	"github.com/campaignd/campaignd/policies/unaided"
	"github.com/campaignd/campaignd/projections/campaign"
)

// Law: of a list each composition is measured once, by every method of the family; then the
// campaign ends and says that nothing is left, whatever is left of its budget.
func TestListIsTriedOnce(t *testing.T) {
	var list []definition.Point
	for i := range 5 {
		list = append(list, definition.Point{"x1": definition.Number(float64(i)), "x2": definition.Number(float64(2 * i))})
	}
	for _, m := range unaided.Family.Methods {
		def, err := study.Define("branin", 1, 9, func(def *definition.Campaign) {
			def.Policy, def.Candidates = m.Policy, list
			two := 2
			def.Initial.Experiments = &two
		})
		if err != nil {
			t.Fatal(err)
		}
		core, err := study.Simulate(t.Context(), memlog.New(), def)
		if err != nil {
			t.Fatal(err)
		}
		s := core.State()
		tried := make(map[string]bool)
		for _, x := range s.Experiments {
			key, err := core.View().Space.Key(x.Parameters)
			if err != nil || tried[key] {
				t.Errorf("%s: %v is tried again, %v", m.Name, x.Parameters, err)
			}
			tried[key] = true
		}
		if s.Status != campaign.Completed || s.Reason != events.CompletedExhausted || len(tried) != len(list) {
			t.Errorf("%s: after %d of %d it is %s (%s)", m.Name, len(tried), len(list), s.Status, s.Reason)
		}
	}
}

// Law: what an expert has just accepted or chosen is measured, whichever policy asked: also by
// one that asks nobody, which an amendment put in the place of another while the question was
// open. A reject changes nothing.
func TestAnswerToAnotherPolicy(t *testing.T) {
	def, err := study.Define("branin", 1, 6, func(def *definition.Campaign) { def.Policy = policies.Alone(next.LCB{}.Choice()) })
	if err != nil {
		t.Fatal(err)
	}
	core, err := study.Simulate(t.Context(), memlog.New(), def)
	if err != nil {
		t.Fatal(err)
	}
	def.Budget.Experiments = 20
	here, there := definition.Point{"x1": definition.Number(1.5), "x2": definition.Number(2.5)}, definition.Point{"x1": definition.Number(7), "x2": definition.Number(9)}
	one := []events.Option{{Parameters: here}}
	two := []events.Option{{Candidate: policies.Unaided, Parameters: here}, {Candidate: policies.Aided, Parameters: there}}
	for _, c := range []struct {
		name         string
		form         events.Form
		options      []events.Option
		answer       events.Answer
		rule, chosen string
		at           definition.Point // where that is what the answer says
	}{
		{"accepted", events.FormLabel, one, events.Answer{Label: events.LabelAccept}, policies.RuleAccepted, policies.Aided, here},
		{"rejected", events.FormLabel, one, events.Answer{Label: events.LabelReject}, policies.RuleUnaided, policies.Unaided, nil},
		{"chosen", events.FormComparison, two, events.Answer{Order: []int{1, 0}}, policies.RuleChosen, policies.Aided, there},
		{"can't tell", events.FormComparison, two, events.Answer{}, policies.RuleNoAnswer, policies.Unaided, here},
	} {
		view, state := core.View(), *core.State()
		state.Decisions++
		state.Questions = []campaign.Question{{
			ID: "q1", Decision: campaign.DecisionID(state.Decisions - 1), Status: campaign.Answered,
			Form: c.form, Expert: "ada", Options: c.options, Answer: c.answer,
		}}
		view.Campaign = &state
		p, err := builtin.Registry().Methods.New(def)
		if err != nil {
			t.Fatal(err)
		}
		d, err := p.Decide(t.Context(), view, 3)
		if err != nil || d.Action != events.ActionRun || d.Rule != c.rule || d.Chosen != c.chosen {
			t.Errorf("%s: it is to %s %q by %q, %v; want %q by %q", c.name, d.Action, d.Chosen, d.Rule, err, c.chosen, c.rule)
			continue
		}
		if run := d.Candidate(); c.at != nil && (run == nil || view.Space.Format(run.Parameters) != view.Space.Format(c.at)) {
			t.Errorf("%s: it runs %+v, want %v", c.name, run, c.at)
		}
	}
}
