package view

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/ground/problem"
	"github.com/campaignd/campaignd/policies/trust"
)

func ptr[T any](x T) *T { return &x }

// how names a remedy as the tests expect it.
func how(r problem.Remedy) string { return strings.TrimSpace(string(r.Action) + " " + r.Subject) }

var salty = &definition.Campaign{
	Parameters: []definition.Parameter{
		{Name: "salt", Unit: "mol/kg", Min: ptr(0.2), Max: ptr(2.1)},
		{Name: "ec", Min: ptr(0.3), Max: ptr(0.52)},
		{Name: "kind", Categories: []definition.CategoryDef{{Name: "LiPF6"}}},
	},
	Objective: definition.Objective{Name: "conductivity", Unit: "mS/cm", Goal: definition.Maximize},
}

// Law: every kind of event is told, by a row of the table: what is missing is named.
// It says something of its payload, whether the definition is known or not, and of a
// question whatever its form.
func TestEveryKindIsTold(t *testing.T) {
	kinds := make(map[events.Kind]bool)
	for _, info := range events.Kinds() {
		kinds[info.Kind] = true
		if tellings[info.Kind] == nil {
			t.Errorf("%s has no row in the table of the story", info.Kind)
			continue
		}
		for _, payload := range ofEveryForm(filled(info.New())) {
			for _, story := range []*Story{NewStory(salty), NewStory(nil)} {
				entry := story.Entry(events.Event{Kind: info.Kind, Actor: "person:ada"}, payload)
				line := entry.Line(how)
				silent := false // it has no text of its own
				switch payload.(type) {
				case *events.CampaignAmended, *events.MeasurementsJudged:
					silent = true
				}
				if !strings.Contains(line, "xX") && !silent || line == "" || strings.Contains(line, "%!") {
					t.Errorf("%s is told as %q", info.Kind, line)
				}
			}
		}
	}
	for kind := range tellings {
		if !kinds[kind] {
			t.Errorf("the table of the story has a row for %s, which is not a kind of event", kind)
		}
	}
}

// ofEveryForm returns a payload once for each form of question it may have.
func ofEveryForm(payload events.Payload) (all []events.Payload) {
	for _, form := range events.Forms() {
		switch p := payload.(type) {
		case *events.QuestionAsked:
			of := *p
			of.Form = form
			all = append(all, &of)
		case *events.QuestionAnswered:
			of := *p
			of.Form = form
			all = append(all, &of)
		case *events.QuestionSuperseded:
			of := *p
			of.Form = form
			all = append(all, &of)
		case *events.QuestionContested:
			of := *p
			of.Form = form
			all = append(all, &of)
		default:
			return []events.Payload{payload}
		}
	}
	return all
}

// Law: every form of question has all its words, and there are words for nothing else.
func TestEveryFormHasWords(t *testing.T) {
	for _, form := range events.Forms() {
		words := reflect.ValueOf(forms[form])
		for i := range words.NumField() {
			if words.Field(i).IsZero() {
				t.Errorf("a %s has no words for what is %s", form, words.Type().Field(i).Name)
			}
		}
	}
	for form := range forms {
		if !slices.Contains(events.Forms(), form) {
			t.Errorf("there are words for %s, which is not a form of question", form)
		}
	}
}

// filled sets the texts of a payload.
func filled(payload events.Payload) events.Payload {
	fill(reflect.ValueOf(payload).Elem())
	return payload
}

func fill(v reflect.Value) {
	for i := range v.NumField() {
		f := v.Field(i)
		switch {
		case !f.CanSet():
		case f.Kind() == reflect.String:
			f.SetString("xX" + v.Type().Field(i).Name)
		case f.Kind() == reflect.Struct && f.Type().PkgPath() != "time":
			fill(f)
		}
	}
}

// Words are those a person would use: their order, their units, the decimals
// that matter.
func TestStory(t *testing.T) {
	point := definition.Point{"ec": definition.Number(0.34), "salt": definition.Number(1.1),
		"kind": definition.Category("LiPF6")}
	other := definition.Point{"ec": definition.Number(0.4), "salt": definition.Number(1.1),
		"kind": definition.Category("LiPF6")}
	salt := definition.Point{"salt": definition.Number(1)}
	story := NewStory(salty)
	for _, test := range []struct {
		actor   string
		payload events.Payload
		want    string
	}{
		{"instrument:acme", &events.ExperimentMeasured{
			Experiment: "e7",
			Measurement: events.Measurement{
				Actual:    point,
				Objective: definition.Quantity{Value: 13.4217, Unit: "mS/cm"},
				Further:   []definition.Quantity{{Name: "viscosity", Value: 3.2, Unit: "mPa·s"}},
				Unread:    []events.Unread{{Field: "a"}, {Field: "b"}, {Field: "c"}, {Field: "d"}},
			},
		}, "e7 measured 13.42 mS/cm, viscosity 3.200 mPa·s (salt 1.10, ec 0.340, kind LiPF6);" +
			" not used, and kept in the log: a, b, c, 1 more"},
		{"expert:ada", &events.QuestionAnswered{
			Question: "q12", Form: events.FormLabel, Expert: "ada", Options: []definition.Point{salt},
			Answer: events.Answer{Label: events.LabelReject}, Comment: "too viscous",
		}, "ada rejected q12 (salt 1.00): too viscous"},
		{"person:grace", &events.QuestionAnswered{
			Question: "q12", Form: events.FormLabel, Expert: "ada", Options: []definition.Point{salt},
		}, "ada cannot tell about q12 (salt 1.00), reported by grace"},
		{"person:ada", &events.QuestionSuperseded{
			Question: "q12", Form: events.FormLabel, Expert: "ada", Options: []definition.Point{salt},
			Answer: events.Answer{Label: events.LabelAccept}, Reason: "looked again",
		}, "ada now accepted q12: looked again"},
		{"person:bob", &events.QuestionContested{
			Question: "q12", Form: events.FormLabel, Expert: "ada", Counts: "41", Options: []definition.Point{salt},
			Answer: events.Answer{Label: events.LabelReject}, Comment: "too viscous",
		}, "ada rejected q12, not knowing of the answer that counts, reported by bob: too viscous"},
		{"expert:ada", &events.QuestionAnswered{
			Question: "q6", Form: events.FormPinpoint, Expert: "ada", Answer: events.Answer{Point: salt},
		}, "ada wants (salt 1.00) measured (q6)"},
		{"expert:ada", &events.QuestionAnswered{Question: "q6", Form: events.FormPinpoint, Expert: "ada"},
			"ada has no suggestion for q6"},
		{"expert:ada", &events.QuestionAnswered{
			Question: "q7", Form: events.FormEstimate, Expert: "ada", Options: []definition.Point{point, other, salt},
			Answer: events.Answer{Estimates: []events.Estimate{{Option: 0, Value: 11.2}, {Option: 2, Value: 9}}}, Comment: "as LP57",
		}, "ada estimates 2 of the 3 compositions in q7: as LP57"},
		{"person:bob", &events.QuestionSuperseded{
			Question: "q7", Form: events.FormEstimate, Expert: "ada", Options: []definition.Point{point, other, salt},
			Answer: events.Answer{Estimates: []events.Estimate{{Option: 1, Value: 11.2}}}, Reason: "a row too low",
		}, "ada now estimates 1 of the 3 compositions in q7, reported by bob: a row too low"},
		{"expert:ada", &events.QuestionAnswered{
			Question: "q7", Form: events.FormEstimate, Expert: "ada", Options: []definition.Point{point, other},
		}, "ada cannot tell what to expect in q7"},
		{"expert:ada", &events.QuestionAnswered{
			Question: "q13", Form: events.FormComparison, Expert: "ada",
			Options: []definition.Point{point, other}, Answer: events.Answer{Order: []int{1, 0}},
		}, "ada prefers B (salt 1.10, ec 0.400, kind LiPF6) to A (salt 1.10, ec 0.340, kind LiPF6) in q13"},
		{"expert:ada", &events.QuestionAnswered{
			Question: "q14", Form: events.FormComparison, Expert: "ada",
			Options: []definition.Point{{}, {}, {}}, Answer: events.Answer{Order: []int{2}},
		}, "ada prefers C () to the others in q14"},
		{"expert:ada", &events.QuestionAnswered{
			Question: "q15", Form: events.FormComparison, Expert: "ada",
			Options: []definition.Point{{}, {}, {}}, Answer: events.Answer{Order: []int{2, 0, 1}},
		}, "ada ranks C (), then A (), then B () in q15"},
		{"expert:ada", &events.QuestionAnswered{
			Question: "q16", Form: events.FormComparison, Expert: "ada", Options: []definition.Point{{}, {}},
		}, "ada cannot tell between A () and B () in q16"},
		{"person:ada", &events.MeasurementCorrected{
			Experiment: "e7", Reason: "zero",
			Old: definition.Quantity{Value: 1e-7, Unit: "S"}, New: &definition.Quantity{Value: 0, Unit: "S"},
		}, "ada corrected e7 from 1e-07 S to 0 S: zero"},
		{"person:ada", &events.MeasurementCorrected{
			Experiment: "e7", Reason: "noisier",
			Old: definition.Quantity{Value: 2, SD: ptr(0.1), Unit: "S"},
			New: &definition.Quantity{Value: 2, SD: ptr(0.2), Unit: "S"},
		}, "ada corrected e7 to a standard deviation of 0.2000: noisier"},
		{"person:ada", &events.MeasurementCorrected{
			Experiment: "e7", Reason: "it counts",
			Old: definition.Quantity{Value: 2, SD: ptr(0.1), Unit: "S"},
			New: &definition.Quantity{Value: 2, SD: ptr(0.1), Unit: "S"},
		}, "ada corrected e7, which counts (2.000 S): it counts"},
		{"person:ada", &events.MeasurementCorrected{Experiment: "e7", Reason: "bad", Excluded: true}, // of several quantities
			"ada excluded e7: bad"},
		{"person:ada", &events.MeasurementCorrected{Experiment: "e7", Reason: "it counts"},
			"ada corrected e7, which counts: it counts"},
		{"person:ada", &events.ExperimentMeasured{Experiment: "e7", Measurement: events.Measurement{Actual: salt}},
			"e7 has ended, and all that it gives is still to arrive (salt 1.00)"},
		{"instrument:acme", &events.InstrumentStalled{Instrument: "acme", Experiment: "e7", Waited: 90},
			"acme has been silent about e7 for 1 min 30 s"},
		{"engine", &events.ExperimentUnresolved{Experiment: "e7", Cause: "the lights went out"},
			"the fate of e7 is UNKNOWN: the lights went out. Look at the instrument, then `resolve e7`"},
		{"person:ada", &events.CampaignPaused{Reason: "lunch\nand\x1bmore"},
			`ada paused the campaign: lunch and\u001bmore`},
		{"engine", &events.ExperimentStarted{Experiment: "e1"}, ""},
	} {
		if got := tell(story, test.actor, test.payload); got != test.want {
			t.Errorf("%s by %s is told as\n%q, want\n%q", events.KindOf(test.payload), test.actor, got, test.want)
		}
	}
}

// tell returns the lines that an event adds to a story.
func tell(story *Story, actor string, payload events.Payload) string {
	var lines []string
	told := story.Tell(events.Event{Kind: events.KindOf(payload), Actor: actor}, payload)
	for _, entry := range append(told, story.Rest()...) {
		lines = append(lines, entry.Line(how))
	}
	return strings.Join(lines, "\n")
}

// Law: the initial answers of an expert are told together, once something else
// happens: another expert's, another form's, or any other event.
func TestInitialAnswersAreToldTogether(t *testing.T) {
	label := func(expert string, label events.Label) events.Payload {
		return &events.QuestionAnswered{
			Question: "q1", Form: events.FormLabel, Expert: expert,
			Answer: events.Answer{Label: label}, Volunteered: true,
		}
	}
	compared := &events.QuestionAnswered{
		Question: "q4", Form: events.FormComparison, Expert: "ada", Volunteered: true,
	}
	story := NewStory(salty)
	for i, test := range []struct {
		payload events.Payload
		want    string
	}{
		{label("ada", events.LabelAccept), ""},
		{label("ada", events.LabelReject), ""},
		{label("grace", events.LabelReject), "ada gave 2 initial labels: 1 accepted, 1 rejected"},
		{compared, "grace gave 1 initial label: 0 accepted, 1 rejected"},
		{compared, ""},
		{&events.QuestionAnswered{
			Question: "q6", Form: events.FormLabel, Expert: "ada",
			Answer: events.Answer{Label: events.LabelAccept},
		}, "ada gave 2 initial comparisons\nada accepted q6"},
		{&events.ExperimentDispatched{Experiment: "e1"}, ""},
	} {
		if got := tell(story, "expert:ada", test.payload); got != test.want {
			t.Errorf("%d: %q, want %q", i, got, test.want)
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
		"taken": {trust.NoHarm(1, 2, 1, 1, 3), named, ""},
		"bad": {trust.NoHarm(2, 1, 1, 1, 3), other, "ada's composition (q6) is not measured next: the model expects" +
			" less of it, even at its best, than it is sure to find elsewhere (explain d9)"},
		"bad, known":  {trust.NoHarm(2, 1, 9, 1, 3), other, "expects less of it"},
		"known":       {trust.NoHarm(1, 2, 9, 1, 3), other, "the model knows that place so well already"},
		"other cause": {nil, other, "is not measured next: the space was narrowed (explain d9)"},
	} {
		story := NewStory(salty)
		tell(story, "expert:ada", &events.QuestionAnswered{
			Question: "q6", Form: events.FormPinpoint, Expert: "ada", Answer: events.Answer{Point: named},
		})
		d := &events.DecisionMade{
			Decision: "d9", Action: events.ActionRun, Chosen: "chosen",
			Tests: c.tests, Reason: "the space was narrowed.",
			Candidates: []events.Candidate{{Name: "chosen", Parameters: c.taken}},
		}
		if got := tell(story, "engine", d); (c.want == "") != (got == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: it says %q", name, got)
		}
		if again := tell(story, "engine", d); again != "" {
			t.Errorf("%s: it says it again: %q", name, again)
		}
	}
}

// Law: experiments of which the same is said, one after the other, are one entry; another
// instrument, cause or kind begins another one, and nothing is lost or told twice.
func TestLostTogetherIsToldOnce(t *testing.T) {
	story := NewStory(nil)
	var got []string
	take := func(entries []Entry) {
		for _, entry := range entries {
			got = append(got, entry.Line(how))
		}
	}
	say := func(payload events.Payload) {
		take(story.Tell(events.Event{Kind: events.KindOf(payload), Actor: "engine"}, payload))
	}
	for i := range 24 {
		say(&events.InstrumentStalled{Experiment: events.ExperimentID(i + 1), Instrument: "reader", Waited: 60})
	}
	for i := range 24 {
		say(&events.ExperimentStarted{Experiment: "e30"}) // routine, and no part of the story
		say(&events.ExperimentUnresolved{Experiment: events.ExperimentID(i + 1), Instrument: "reader", Cause: "it jammed"})
	}
	say(&events.ExperimentUnresolved{Experiment: "e25", Instrument: "reader", Cause: "it broke"})
	say(&events.ExperimentUnresolved{Experiment: "e26", Instrument: "arm", Cause: "it broke"})
	say(&events.ExperimentFailed{Experiment: "e27", Cause: "it broke"})
	if before := story.Rest(); before != nil {
		t.Errorf("held back after another event: %v", before)
	}
	say(&events.ExperimentUnresolved{Experiment: "e28", Instrument: "arm", Cause: "it broke"})
	take(story.Rest())
	want := []string{
		"reader has been silent about e1-e24 for 1 min 0 s",
		"the fate of e1-e24 is UNKNOWN: it jammed. Look at the instrument, then `resolve e1-e24`",
		"the fate of e25 is UNKNOWN: it broke. Look at the instrument, then `resolve e25`",
		"the fate of e26 is UNKNOWN: it broke. Look at the instrument, then `resolve e26`",
		"e27 failed: it broke",
		"the fate of e28 is UNKNOWN: it broke. Look at the instrument, then `resolve e28`",
	}
	if !slices.Equal(got, want) {
		t.Errorf("told as\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// Law: an act is told by what it is and for whom, and by its identifier alone where its dispatch is
// not known; a plate's act is one line, and that of one experiment none where it is done.
func TestActsAreTold(t *testing.T) {
	def := *salty
	def.Procedure = []definition.Stage{{Name: "load", On: "arm"}, {Name: "measure", On: "meter"}}
	plate := []string{"e1", "e2"}
	story := NewStory(&def)
	for _, test := range []struct {
		payload events.Payload
		want    string
	}{
		{&events.ActEnded{Act: "a1", Instrument: "acme", Status: events.ActDone}, "a1 is done at acme"},
		{&events.ActDispatched{Act: "a2", Batch: "b1", Stage: "load", Experiments: plate}, ""},
		{&events.InstrumentStalled{Act: "a2", Instrument: "acme", Waited: 90},
			"arm has been silent about a2 (load of b1) for 1 min 30 s"},
		{&events.ActUnresolved{Act: "a2", Instrument: "acme", Cause: "it jammed"},
			"the fate of a2 (load of b1) is UNKNOWN: it jammed. Look at the instrument, then `resolve a2`"},
		{&events.CancellationOrdered{Act: "a2", Reason: "a leak"},
			"ada called off a2 (load of b1): its instrument is ordered to stop it, and never to begin it: a leak"},
		{&events.ActResolved{Act: "a2", Status: events.ActDeferred, Reason: "it stands still"},
			"ada settled a2 (load of b1): not-performed: it stands still"},
		{&events.InstrumentAnswered{Act: "a2", Instrument: "acme", Text: "done"},
			"acme answered on a2 (load of b1), which was settled before: done (explain a2)"},
		{&events.ActEnded{
			Act: "a2", Status: events.ActDone,
			Gave: []events.Given{{Experiment: "e1"}, {Experiment: "e2", Status: events.ActFailed, Cause: "a bubble"}},
		}, "a2 (load of b1) is done at arm, but not for e2 (a bubble)"},
		{&events.ActDispatched{Act: "a3", Batch: "b1", Stage: "measure", Experiments: plate[:1]}, ""},
		{&events.ActEnded{Act: "a3", Status: events.ActDeferred, Cause: "busy"},
			"a3 (measure of e1) did not take place at meter, and is to be tried again: busy"},
		{&events.ActEnded{Act: "a3", Status: events.ActDone}, ""},
		{&events.RecoveryDone{Commands: []events.RecoveredCommand{{Act: "a3", Fate: "running"}}},
			"taken up again; the instrument says: a3 (measure of e1) is running"},
		{&events.BatchEnded{Batch: "b1"}, ""},
		{&events.BatchEnded{Batch: "b1", Scrapped: true, Reason: "it fell"}, "ada took b1 out of the procedure: it fell"},
	} {
		if got := tell(story, "person:ada", test.payload); got != test.want {
			t.Errorf("%s is told as\n%q, want\n%q", events.KindOf(test.payload), got, test.want)
		}
	}
}
