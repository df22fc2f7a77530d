package report

import (
	"slices"
	"strings"
	"testing"

	humansim "github.com/campaignd/campaignd/adapters/humans/simulated"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/study/studytest"
	"github.com/campaignd/campaignd/policies"
	"github.com/campaignd/campaignd/policies/coexbo"
	"github.com/campaignd/campaignd/policies/duel"
)

// choosing is a campaign in which an expert chooses between two candidates.
func choosing(experiments int) definition.Campaign {
	def := electrolyte(experiments)
	studytest.SimulatedExpert(&def, 0, func(s *humansim.Settings) { s.Accuracy = pointer(2.0) })
	def.Policy = definition.Policy{Trust: coexbo.CoExBO{}.Choice(), Handover: coexbo.Choose{}.Choice()}
	def.Initial.Comparisons = pointer(20)
	return def
}

// Law: each choice is in the report with its candidates, Shapley values that add up, the
// plane, the answer, what was measured, and whether it was right; nothing speaks of labels.
func TestChoices(t *testing.T) {
	c := newTrial(t, choosing(8)).run(nil)
	h := c.history()
	all, left, err := choicesOf(h)
	if err != nil || left != 0 || len(all) == 0 {
		t.Fatalf("%d choices, %d left out, %v", len(all), left, err)
	}
	page := parse(t, c.html())
	page.wellFormed()
	reviewed := 0
	for _, choice := range all {
		text := page.id(choice.ID + "-choice")
		for _, want := range []string{choice.Question, "chosen", "A ", "B ", "What each parameter does",
			"what the model says", "Expected conductivity", choice.Experiment, choice.Measured} {
			if want == "" || !strings.Contains(text, want) {
				t.Errorf("%s does not say %q", choice.ID, want)
			}
		}
		if strings.Contains(text, "right with probability") {
			reviewed++
		}
	}
	if reviewed == 0 {
		t.Error("no choice was looked back at")
	}
	experts := page.id("experts")
	if !strings.Contains(experts, "ada compare") || !strings.Contains(experts, "Were the choices right?") ||
		strings.Contains(experts, "Labels asked") {
		t.Errorf("the section on experts says %q", experts)
	}
}

// preference is a campaign that measures nothing, with two experts.
func preference(rule definition.Choice, comparisons int) definition.Campaign {
	def := electrolyte(0)
	def.Objective.Noise, def.Instrument, def.Budget = nil, definition.Instrument{}, definition.Budget{Comparisons: comparisons}
	def.Policy = definition.Policy{Duel: rule}
	def.Experts = []definition.Expert{
		{Name: "ada", Channel: humansim.Choose(humansim.Settings{Accuracy: pointer(2.0), Task: "electrolyte"})},
		{Name: "bob",
			Channel: humansim.Choose(humansim.Settings{Accuracy: pointer(2.0), Task: "electrolyte", UnsureRate: 0.3})},
	}
	return def
}

// Law: the report of a campaign that measures nothing says what each expert prefers and shows
// every comparison; no section of it is about measurements, and none is empty.
func TestPreferences(t *testing.T) {
	for name, rule := range map[string]definition.Choice{"mr-lpf": duel.MRLPF{}.Choice(),
		"eubo": duel.EUBO{}.Choice()} {
		t.Run(name, func(t *testing.T) {
			c := newTrial(t, preference(rule, 24)).run(nil)
			page := parse(t, c.html())
			page.wellFormed()
			whole := textOf(page.root)
			for _, want := range []string{"SIMULATED", "What each expert prefers", "24 comparisons",
				"can't tell", "budget of comparisons is spent"} {
				if !strings.Contains(whole, want) {
					t.Errorf("the report does not say %q", want)
				}
			}
			for _, bad := range []string{"Best composition", "Every experiment", "What the model learned",
				"predicted ± sd", "NOTHING MEASURED", "budget 0", "instrument"} {
				if strings.Contains(whole, bad) {
					t.Errorf("the report says %q", bad)
				}
			}
			comparisons := page.id("comparisons")
			for _, q := range c.history().state.Questions {
				if !strings.Contains(comparisons, q.ID+" "+q.Expert) {
					t.Errorf("%s is missing among the comparisons", q.ID)
				}
			}
			if name == "eubo" && !strings.Contains(page.id("utility"), "Only differences count") {
				t.Error("the utility is not explained")
			}
		})
	}
}

// A campaign that has only been defined has a report too, whatever its method.
func TestPreferencesBeforeTheFirst(t *testing.T) {
	page := parse(t, newTrial(t, preference(duel.RAEUBO{}.Choice(), 24)).html())
	page.wellFormed()
	if text := textOf(page.root); !strings.Contains(text, "Nothing has been compared yet.") ||
		!strings.Contains(text, "NOTHING COMPARED YET") {
		t.Error("the report does not say that nothing has been compared")
	}
}

// Law: an answer has led to the experiment that was decided from it, and to none where the
// campaign had gone on without it.
func TestLateAnswerLedToNothing(t *testing.T) {
	for rule, want := range map[string]string{policies.RuleChosen: "e1", policies.RuleNoAnswer: ""} {
		c := newTrial(t, choosing(8))
		first, second := somePoint(t, c.def, 1), somePoint(t, c.def, 2)
		answered := &events.QuestionAnswered{
			Question: "q1", Form: events.FormComparison, Expert: "ada",
			Options: []definition.Point{first, second}, Answer: events.Answer{Order: []int{1, 0}},
		}
		c.record(
			&events.DecisionMade{
				Decision: "d1", Action: events.ActionAsk, Form: events.FormComparison, Expert: "ada", Rule: policies.RuleAsk,
				Candidates: []events.Candidate{{Name: policies.Unaided, Parameters: first}, {Name: policies.Aided, Parameters: second}},
			},
			&events.QuestionAsked{
				Question: "q1", Form: events.FormComparison, Expert: "ada", Decision: "d1",
				Options: []events.Option{{Parameters: first, Candidate: policies.Unaided}, {Parameters: second, Candidate: policies.Aided}},
			},
		)
		if rule == policies.RuleChosen {
			c.record(answered)
		}
		c.record(
			&events.DecisionMade{
				Decision: "d2", Action: events.ActionRun, Chosen: policies.Unaided, Rule: rule,
				Candidates: []events.Candidate{{Name: policies.Unaided, Parameters: first}},
			},
			&events.ExperimentRequested{
				Experiment: "e1", Parameters: first, Origin: events.OriginPolicy, Decision: "d2", Replicate: 1,
			},
		)
		if rule != policies.RuleChosen {
			c.record(answered)
		}
		if all, _, err := choicesOf(c.history()); err != nil || len(all) != 1 || all[0].Experiment != want {
			t.Errorf("%s: the choice led to %+v, want %q: %v", rule, all, want, err)
		}
	}
}

// Law: the comparisons that count against the budget are those of the status, without those that
// no one was asked for; and what was preferred has a point of the line for every few
// comparisons, also where one of them expired.
func TestComparisonsThatExpire(t *testing.T) {
	c := newTrial(t, preference(duel.Random{}.Choice(), 2*standings)) // a point for every two
	compare := func(q string, volunteered bool) *events.QuestionAnswered {
		return &events.QuestionAnswered{
			Question: q, Form: events.FormComparison, Expert: "ada", Volunteered: volunteered,
			Options: []definition.Point{somePoint(t, c.def, 1), somePoint(t, c.def, 2)},
			Answer:  events.Answer{Order: []int{0, 1}},
		}
	}
	ask := func(q string) *events.QuestionAsked {
		asked := &events.QuestionAsked{Question: q, Form: events.FormComparison, Expert: "ada"}
		for _, p := range compare(q, false).Options {
			asked.Options = append(asked.Options, events.Option{Parameters: p})
		}
		return asked
	}
	c.record(ask("q1"), compare("q1", false), ask("q2"), &events.QuestionExpired{Question: "q2"})
	c.record(ask("q3"), compare("q3", false), compare("q4", true), ask("q5"), compare("q5", false))
	h := c.history()
	var at []int
	for _, s := range h.standings {
		at = append(at, s.comparisons)
	}
	if want := []int{3, 4}; !slices.Equal(at, want) {
		t.Errorf("points at %v comparisons, want %v", at, want)
	}
	if n := numbersOf(h)[0]; n.Value != "4" {
		t.Errorf("%+v count, want 4", n)
	}
}
