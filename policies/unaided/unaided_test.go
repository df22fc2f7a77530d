package unaided_test

import (
	"errors"
	"testing"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/events/memlog"
	"github.com/campaignd/campaignd/internal/files/builtin"
	"github.com/campaignd/campaignd/internal/study/studytest"
	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/policies"
	"github.com/campaignd/campaignd/policies/next"
	"github.com/campaignd/campaignd/policies/unaided"
	"github.com/campaignd/campaignd/projections/campaign"
	"github.com/campaignd/campaignd/projections/quantity"
	"github.com/campaignd/campaignd/projections/space"
)

// Law: of a list each composition is measured once, by every method of the family; then the
// campaign ends and says that nothing is left, whatever is left of its budget.
func TestListIsTriedOnce(t *testing.T) {
	var list []definition.Point
	for i := range 5 {
		list = append(list, definition.Point{"x1": definition.Number(float64(i)), "x2": definition.Number(float64(2 * i))})
	}
	for _, m := range unaided.Family.Methods {
		def := must.Get(studytest.Define("branin", 1, 9, func(def *definition.Campaign) {
			def.Policy, def.Candidates = m.Policy, list
			two := 2
			def.Initial.Experiments = &two
		}))(t)
		core := must.Get(studytest.Simulate(t.Context(), memlog.New(), def))(t)
		view := must.Get(core.View(t.Context()))(t)
		s := core.State()
		tried := make(map[string]bool)
		for _, x := range s.Experiments {
			key, err := view.Space.Key(x.Parameters)
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
	def, err := studytest.Define("branin", 1, 6, func(def *definition.Campaign) { def.Policy = policies.Alone(next.LCB{}.Choice()) })
	if err != nil {
		t.Fatal(err)
	}
	core := must.Get(studytest.Simulate(t.Context(), memlog.New(), def))(t)
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
		view := must.Get(core.View(t.Context()))(t)
		state := *core.State()
		state.Decisions++
		state.Questions = []campaign.Question{{
			ID: "q1", Decision: events.DecisionID(state.Decisions), Turn: state.Turns + 1, Status: campaign.Answered,
			Form: c.form, Expert: "ada", Options: c.options, Answer: c.answer,
		}}
		view.Campaign = &state
		p := must.Get(builtin.Registry().Methods.New(def))(t)
		d, err := p.Decide(t.Context(), view, 3)
		if err != nil || d.Action != events.ActionRun || d.Rule != c.rule || d.Chosen != c.chosen {
			t.Errorf("%s: it is to %s %q by %q, %v; want %q by %q", c.name, d.Action, d.Chosen, d.Rule, err, c.chosen, c.rule)
			continue
		}
		if c.at == nil {
			continue
		}
		// Nothing is searched for beside it.
		if len(d.Candidates) != 1 || view.Space.Format(d.Candidates[0].Parameters) != view.Space.Format(c.at) {
			t.Errorf("%s: the candidates are %+v, want %v alone", c.name, d.Candidates, c.at)
		}
	}
}

// Law: a design that is the policy is the one of its name, and says so; it is not the initial
// design once more. Where there is a
// model of a target that cannot be used it says that, too.
func TestDesignOfItsName(t *testing.T) {
	for name, kind := range map[string]string{next.SobolName: definition.DesignSobol, next.RandomName: definition.DesignRandom} {
		def := must.Get(studytest.Define("branin", 1, 6, func(def *definition.Campaign) {
			def.Policy = policies.Alone(definition.NewChoice(name, nil))
		}))(t)
		sp := must.Get(space.New(def))(t)
		p := must.Get(builtin.Registry().Methods.New(def))(t)
		view := policies.View{Campaign: &campaign.State{Definition: &def}, Space: sp}
		initial := must.Get(sp.Design(kind, 6, def.Seed))(t)
		for _, trouble := range []error{nil, errors.New("it is singular")} {
			view.Models = quantity.Models{{Err: trouble}}
			d, err := p.Decide(t.Context(), view, 3)
			want := "Point 1 of the " + kind + " design."
			if trouble != nil {
				want += " The model cannot be used: it is singular."
			}
			if err != nil || d.Rule != policies.RuleDesign || d.Reason != want {
				t.Errorf("%s: by %q, %q, %v; want %q", name, d.Rule, d.Reason, err, want)
			}
			for i, p := range initial {
				if sp.Format(p) == sp.Format(d.Candidate().Parameters) {
					t.Errorf("%s: the first point is that of the initial design at %d", name, i)
				}
			}
		}
	}
}
