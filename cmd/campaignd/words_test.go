package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/policies/trust"
)

func ptr[T any](x T) *T { return &x }

var salty = &definition.Campaign{
	Parameters: []definition.Parameter{
		{Name: "salt", Unit: "mol/kg", Min: ptr(0.2), Max: ptr(2.1)},
		{Name: "ec", Min: ptr(0.3), Max: ptr(0.52)},
		{Name: "dose", Unit: "µL", Min: ptr(0.0), Max: ptr(100.0)},
		{Name: "level", Values: []float64{1, 2.5}},
		{Name: "kind", Categories: []definition.CategoryDef{{Name: "LiPF6"}}},
	},
	Objective:  definition.Objective{Name: "conductivity", Unit: "mS/cm", Goal: definition.Maximize},
	Instrument: definition.Instrument{Steps: map[string]float64{"dose": 0.25}},
}

// Law: every kind of event is told in words, and questions of every form.
func TestEveryKindInWords(t *testing.T) {
	for _, info := range events.Kinds() {
		name := fmt.Sprintf("%s.v%d*.json", info.Kind, info.Version)
		files, err := filepath.Glob(filepath.Join("..", "..", "events", "testdata", "golden", name))
		if err != nil || len(files) == 0 {
			t.Fatalf("there is no example of %s: %v", info.Kind, err)
		}
		for _, file := range files {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			e := events.Event{Kind: info.Kind, Version: info.Version, Actor: "person:ada", Data: data}
			payload, err := events.Decode(e)
			if err != nil {
				t.Fatal(err)
			}
			n := narrator{def: salty}
			if line, _ := n.one(e, payload); line == "" || line == string(info.Kind) || strings.Contains(line, "%!") {
				t.Errorf("%s is told as %q", file, line)
			}
		}
	}
}

// Words are those a person would use: their order, their units, the decimals
// that matter.
func TestWords(t *testing.T) {
	point := definition.Point{
		"ec": definition.Number(0.34), "salt": definition.Number(1.1), "dose": definition.Number(12.5),
		"level": definition.Number(2.5), "kind": definition.Category("LiPF6"),
	}
	n := narrator{def: salty}
	tell := func(actor string, payload events.Payload) string {
		return strings.Join(n.tell(events.Event{Kind: events.KindOf(payload), Actor: actor}, payload), "\n")
	}
	salt := func(x float64) definition.Point { return definition.Point{"salt": definition.Number(x)} }
	label := func(label events.Label, comment string, volunteered bool) events.Payload {
		return &events.QuestionAnswered{
			Question: "q12", Form: events.FormLabel, Expert: "ada", Options: []definition.Point{salt(1)},
			Answer: events.Answer{Label: label}, Comment: comment, Volunteered: volunteered,
		}
	}
	for _, test := range []struct {
		actor   string
		payload events.Payload
		want    string
	}{
		{"instrument:acme", &events.ExperimentMeasured{Experiment: "e7", Measurement: events.Measurement{Actual: point, Objective: definition.Quantity{Value: 13.4217, Unit: "mS/cm"}}},
			"e7 measured 13.42 mS/cm (salt 1.10, ec 0.340, dose 12.50, level 2.5, kind LiPF6)"},
		{"expert:ada", label(events.LabelReject, "too viscous", false),
			"ada rejected q12 (salt 1.00): too viscous"},
		{"person:grace", label("", "", false), "ada cannot tell about q12 (salt 1.00), told by grace"},
		{"person:ada", &events.QuestionSuperseded{Question: "q12", Form: events.FormLabel, Expert: "ada", Answer: events.Answer{Label: events.LabelAccept}, Reason: "looked again"},
			"ada now accepted q12: looked again"},
		{"expert:ada", &events.QuestionAnswered{Question: "q5", Form: events.FormComparison, Expert: "ada", Options: []definition.Point{salt(1), salt(2)}, Answer: events.Answer{Order: []int{1, 0}}},
			"ada prefers B (salt 2.00) to A (salt 1.00) in q5"},
		{"expert:ada", &events.QuestionAnswered{Question: "q6", Form: events.FormPinpoint, Expert: "ada"}, "ada has no suggestion for q6"},
		{"person:ada", &events.MeasurementCorrected{Experiment: "e7", Old: definition.Quantity{Value: 1e-7, Unit: "S"}, New: &definition.Quantity{Value: 0, Unit: "S"}, Reason: "zero"},
			"ada corrected e7 from 1e-07 S to 0 S: zero"},
		{"expert:ada", label(events.LabelAccept, "", true), ""},
		{"expert:ada", label(events.LabelReject, "", true), ""},
		{"engine", &events.ExperimentDispatched{Experiment: "e1"}, "ada gave 2 initial labels: 1 accepted, 1 rejected"},
		{"engine", &events.ExperimentStarted{Experiment: "e1"}, ""},
	} {
		if got := tell(test.actor, test.payload); got != test.want {
			t.Errorf("%s by %s is told as\n%q, want\n%q", events.KindOf(test.payload), test.actor, got, test.want)
		}
	}
}

// Law: who names a composition that is not taken hears why, in the next line; who
// names one that is taken hears nothing more.
func TestNamedAndNotTaken(t *testing.T) {
	named := definition.Point{"salt": definition.Number(1.1)}
	other := definition.Point{"salt": definition.Number(0.9)}
	for name, c := range map[string]struct {
		tests []events.Test
		taken definition.Point
		want  string
	}{
		"taken":       {trust.NoHarm(1, 2, 1, 1, 3), named, ""},
		"bad":         {trust.NoHarm(2, 1, 1, 1, 3), other, "ada's composition (q6) is not measured next: the model expects less of it, even at its best, than it is sure to find elsewhere (campaignd explain d9)"},
		"bad, known":  {trust.NoHarm(2, 1, 9, 1, 3), other, "expects less of it"},
		"known":       {trust.NoHarm(1, 2, 9, 1, 3), other, "the model knows that place so well already"},
		"other cause": {nil, other, "is not measured next: the space was narrowed (campaignd explain d9)"},
	} {
		n := narrator{def: salty}
		n.tell(events.Event{Kind: events.KindQuestionAnswered}, &events.QuestionAnswered{Question: "q6", Form: events.FormPinpoint, Expert: "ada", Answer: events.Answer{Point: named}})
		d := &events.DecisionMade{Decision: "d9", Action: events.ActionRun, Chosen: "chosen", Tests: c.tests, Reason: "the space was narrowed.",
			Candidates: []events.Candidate{{Name: "chosen", Parameters: c.taken}}}
		if got := strings.Join(n.tell(events.Event{Kind: events.KindDecisionMade}, d), "\n"); (c.want == "") != (got == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: it says %q", name, got)
		}
		if again := n.tell(events.Event{Kind: events.KindDecisionMade}, d); again != nil {
			t.Errorf("%s: it says it again: %q", name, again)
		}
	}
}

// Law: there are words for every form of question, and a command that answers it.
func TestEveryFormHasWords(t *testing.T) {
	for _, form := range events.Forms() {
		words, command := formsInWords[form], formsInCommands[form]
		if words.initial == "" || words.decided == nil || words.asks == nil || words.does == nil {
			t.Errorf("there are no words for a %s", form)
		}
		if command.read == nil || command.may == nil || command.blank == nil || command.lines == nil {
			t.Errorf("no command answers a %s", form)
		}
	}
}
