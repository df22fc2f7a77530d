package campaign_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/projections/campaign"
)

// form is how questions of one form are asked, answered, and answered otherwise.
type form struct {
	ask       func(id string) events.Payload
	give      func(id, expert string) events.Payload
	supersede func(id, expert, source string) events.Payload
	expire    func(id string) events.Payload
	withdraw  func(id string, moot bool) events.Payload
}

func expired(id string) events.Payload { return &events.QuestionExpired{Question: id} }

func withdrawn(id string, moot bool) events.Payload {
	return &events.QuestionWithdrawn{Question: id, Moot: moot, Reason: "why"}
}

func options(xs ...float64) (list []events.Option) {
	for _, x := range xs {
		list = append(list, events.Option{Parameters: point(x)})
	}
	return list
}

var forms = map[string]form{
	"label": {
		ask: func(id string) events.Payload {
			return &events.LabelRequested{Question: id, Expert: "ada", Parameters: point(1)}
		},
		give: func(id, expert string) events.Payload {
			return &events.LabelGiven{Question: id, Expert: expert, Parameters: point(1), Answer: events.AnswerAccept, Comment: "so"}
		},
		supersede: func(id, expert, source string) events.Payload {
			return &events.LabelSuperseded{Question: id, Expert: expert, Parameters: point(1), Supersedes: source, Answer: events.AnswerReject}
		},
		expire:   func(id string) events.Payload { return &events.LabelExpired{Question: id} },
		withdraw: func(id string, moot bool) events.Payload { return &events.LabelWithdrawn{Question: id, Moot: moot} },
	},
	"comparison": {
		ask: func(id string) events.Payload {
			return &events.ComparisonRequested{Question: id, Expert: "ada", Options: options(1, 2)}
		},
		give: func(id, expert string) events.Payload {
			return &events.ComparisonGiven{Question: id, Expert: expert, Options: []events.Point{point(1), point(2)}, Order: []int{1, 0}, Comment: "so"}
		},
		supersede: func(id, expert, source string) events.Payload {
			return &events.ComparisonSuperseded{Question: id, Expert: expert, Options: []events.Point{point(1), point(2)}, Supersedes: source}
		},
		expire: expired, withdraw: withdrawn,
	},
	"pinpoint": {
		ask: func(id string) events.Payload { return &events.PinpointRequested{Question: id, Expert: "ada"} },
		give: func(id, expert string) events.Payload {
			return &events.PinpointGiven{Question: id, Expert: expert, Parameters: point(3), Comment: "so"}
		},
		supersede: func(id, expert, source string) events.Payload {
			return &events.PinpointSuperseded{Question: id, Expert: expert, Supersedes: source}
		},
		expire: expired, withdraw: withdrawn,
	},
}

// Law: a question of any form is answered once, also when it has expired, but not
// when it was withdrawn; an answer is superseded by naming the event it stands in.
func TestQuestionsGoTheirWay(t *testing.T) {
	const transitions = `
.            asked     answered  expired   withdrawn
given        answered  -         answered  -
superseded   -         answered  -         -
expired      expired   -         -         -
withdrawn    withdrawn -         -         -
`
	lines := strings.Split(strings.TrimSpace(transitions), "\n")
	for name, form := range forms {
		for _, line := range lines[1:] {
			for i, from := range strings.Fields(lines[0])[1:] {
				cells := strings.Fields(line)
				f := begin(t)
				f.must(form.ask("q1")) // i2
				switch from {
				case "answered":
					f.must(form.give("q1", "ada")) // i3
				case "expired":
					f.must(form.expire("q1"))
				case "withdrawn":
					f.must(form.withdraw("q1", true))
				}
				var err error
				switch cells[0] {
				case "given":
					f.refuses(form.give("q1", "bob"), form.give("q2", "ada"))
					err = f.try(form.give("q1", "ada"))
				case "superseded":
					f.refuses(form.supersede("q1", "bob", "i3"), form.supersede("q1", "ada", "i2"), form.supersede("q1", "ada", ""))
					err = f.try(form.supersede("q1", "ada", "i3"))
				case "expired":
					err = f.try(form.expire("q1"))
				case "withdrawn":
					err = f.try(form.withdraw("q1", false))
				}
				if (err == nil) != (cells[i+1] != "-") {
					t.Errorf("%s of a %s that is %s: %v", cells[0], name, from, err)
				}
				q := f.State().Question("q1")
				want := cells[i+1]
				if want == "-" {
					want = from
				}
				if string(q.Status) != want || q.Moot != (want == "withdrawn" && cells[i+1] == "-") {
					t.Errorf("%s of a %s that is %s: it is %s, moot %v", cells[0], name, from, q.Status, q.Moot)
				}
			}
		}
		// The latest answer is the one to supersede.
		f := begin(t)
		f.must(form.ask("q1"), form.give("q1", "ada"), form.supersede("q1", "ada", "i3"), form.supersede("q1", "ada", "i4"))
		f.refuses(form.supersede("q1", "ada", "i3"), form.ask("q1"), form.ask("q3"))
		if q := f.State().Question("q1"); q.Source != "i5" || q.LastEvent != "i5" || q.Trace != "t5" || q.Comment != "so" {
			t.Errorf("after two more answers to a %s: %+v", name, *q)
		}
		for other := range forms {
			if other != name {
				f = begin(t)
				f.must(form.ask("q1"))
				f.refuses(forms[other].give("q1", "ada"))
			}
		}
	}
}

// Law: an answer is to what was asked: the same compositions, an order of them.
func TestMisplacedAnswers(t *testing.T) {
	f := begin(t)
	pair := []events.Point{point(1), point(2)}
	f.must(forms["label"].ask("q1"), forms["comparison"].ask("q2"))
	f.refuses(
		&events.LabelGiven{Question: "q1", Expert: "ada", Parameters: point(2), Answer: events.AnswerAccept},
		&events.LabelGiven{Question: "q1", Expert: "ada", Answer: events.AnswerAccept},
		&events.ComparisonGiven{Question: "q2", Expert: "ada", Options: []events.Point{point(2), point(1)}, Order: []int{0, 1}},
		&events.ComparisonGiven{Question: "q2", Expert: "ada", Options: pair[:1], Order: []int{0}},
		&events.ComparisonGiven{Question: "q2", Expert: "ada", Options: pair, Order: []int{0, 2}},
		&events.ComparisonGiven{Question: "q2", Expert: "ada", Options: pair, Order: []int{-1, 0}},
		&events.ComparisonGiven{Question: "q2", Expert: "ada", Options: pair, Order: []int{0, 0}},
		&events.ComparisonGiven{Question: "q3", Expert: "ada", Options: pair, Order: []int{0, 0}, Volunteered: true},
		&events.LabelGiven{Question: "q4", Expert: "ada", Parameters: point(1), Answer: events.AnswerAccept, Volunteered: true},
		&events.LabelGiven{Question: "q1", Expert: "ada", Parameters: point(1), Answer: events.AnswerAccept, Volunteered: true},
	)
	f.must(forms["label"].give("q1", "ada"), forms["comparison"].give("q2", "ada"))
	f.refuses(
		&events.LabelSuperseded{Question: "q1", Expert: "ada", Parameters: point(2), Supersedes: "i4", Answer: events.AnswerReject},
		&events.ComparisonSuperseded{Question: "q2", Expert: "ada", Options: pair, Order: []int{1, 1}, Supersedes: "i5"},
		&events.ComparisonSuperseded{Question: "q2", Expert: "ada", Options: []events.Point{point(1), point(3)}, Order: []int{1, 0}, Supersedes: "i5"},
	)
}

// Law: what was asked is kept as it was shown, with when it was asked and answered.
func TestQuestionsRememberThemselves(t *testing.T) {
	f := begin(t)
	at := func(n int) time.Time { return began.Add(time.Duration(n) * time.Minute) }
	prediction, belief, shown := &events.Prediction{Mean: 1, SD: 2}, &events.Interval{Lower: -1, Upper: 3}, &events.Attributions{}
	pair := options(1, 2)
	f.must(request(1), // i2
		&events.LabelRequested{Question: "q1", Expert: "ada", Parameters: point(1), Prediction: prediction, Belief: belief,
			Explanation: "it is far", Decision: "d1", Expires: at(9)}, // i3
		&events.ComparisonRequested{Question: "q2", Expert: "bob", Options: pair, Attributions: shown, Explanation: "close", Decision: "d2", Expires: at(8)},
		&events.PinpointRequested{Question: "q3", Expert: "ada", Suggestion: &pair[1], Explanation: "yours", Decision: "d3", Expires: at(7)},
		&events.LabelGiven{Question: "q4", Expert: "bob", Parameters: point(4), Answer: events.AnswerReject, Volunteered: true, Comment: "no"},
		&events.ComparisonGiven{Question: "q5", Expert: "ada", Options: []events.Point{point(1), point(2)}, Order: []int{1}, Volunteered: true},
		&events.ComparisonGiven{Question: "q2", Expert: "bob", Options: []events.Point{point(1), point(2)}, Comment: "both good"}, // i8
		&events.PinpointGiven{Question: "q3", Expert: "ada", Comment: "no idea"},                                                  // i9
		&events.LabelGiven{Question: "q1", Expert: "ada", Parameters: point(1), Answer: events.AnswerAccept})                      // i10
	want := []campaign.Question{
		{ID: "q1", Status: campaign.Answered, Expert: "ada", Parameters: point(1), Prediction: prediction, Belief: belief, Explanation: "it is far",
			Decision: "d1", Answer: "accept", Source: "i10", AskedAt: at(3), Expires: at(9), AnsweredAt: at(10), Experiments: 1, LastEvent: "i10", Trace: "t10"},
		{ID: "q2", Status: campaign.Answered, Form: campaign.Comparison, Expert: "bob", Options: pair, Attributions: shown, Explanation: "close",
			Decision: "d2", Answer: "unsure", Comment: "both good", Source: "i8", AskedAt: at(4), Expires: at(8), AnsweredAt: at(8), Experiments: 1, LastEvent: "i8", Trace: "t8"},
		{ID: "q3", Status: campaign.Answered, Form: campaign.Pinpoint, Expert: "ada", Suggestion: &pair[1], Explanation: "yours", Decision: "d3",
			Answer: "unsure", Comment: "no idea", Source: "i9", AskedAt: at(5), Expires: at(7), AnsweredAt: at(9), Experiments: 1, LastEvent: "i9", Trace: "t9"},
		{ID: "q4", Status: campaign.Answered, Expert: "bob", Parameters: point(4), Answer: "reject", Comment: "no", Source: "i6", Volunteered: true,
			AskedAt: at(6), AnsweredAt: at(6), Experiments: 1, LastEvent: "i6", Trace: "t6"},
		{ID: "q5", Status: campaign.Answered, Form: campaign.Comparison, Expert: "ada", Options: pair, Order: []int{1}, Source: "i7", Volunteered: true,
			AskedAt: at(7), AnsweredAt: at(7), Experiments: 1, LastEvent: "i7", Trace: "t7"},
	}
	if diff := cmp.Diff(want, f.State().Questions, cmp.AllowUnexported(events.Value{})); diff != "" {
		t.Error(diff)
	}
	if w := f.State().Question("q5").Winner(); w == nil || w.Parameters["x"] != events.Number(2) {
		t.Errorf("the best of q5 is %v", w)
	}
	if f.State().Question("q2").Winner() != nil {
		t.Error("there is a best of what could not be told")
	}
}

// Law: labels, comparisons and questions are counted by what was answered: whoever
// can't tell gives no label; who answers unasked was not asked.
func TestAnswersAreCounted(t *testing.T) {
	f := begin(t)
	pair := []events.Point{point(1), point(2)}
	count := func(labels, comparisons, asked int) {
		t.Helper()
		s := f.State()
		if s.Labels() != labels || s.Comparisons() != comparisons || s.AskedCount() != asked {
			t.Errorf("%d labels, %d comparisons, %d asked; want %d, %d, %d", s.Labels(), s.Comparisons(), s.AskedCount(), labels, comparisons, asked)
		}
	}
	// Every word that an answer may be, and whether it is a label.
	for i, answer := range []string{"accept", "reject", "unsure"} {
		id := fmt.Sprintf("q%d", i+1)
		f.must(forms["label"].ask(id))
		f.refuses( // a request to refuse is recorded as a reject and a region
			&events.LabelGiven{Question: id, Expert: "ada", Parameters: point(1), Answer: "refuse"},
			&events.LabelGiven{Question: id, Expert: "ada", Parameters: point(1), Answer: "yes"},
			&events.LabelGiven{Question: id, Expert: "ada", Parameters: point(1)})
		f.must(&events.LabelGiven{Question: id, Expert: "ada", Parameters: point(1), Answer: answer})
		f.refuses(&events.LabelSuperseded{Question: id, Expert: "ada", Parameters: point(1), Answer: "refuse", Supersedes: f.State().LastEvent})
		if is := f.State().Question(id).IsLabel(); is != (answer != "unsure") {
			t.Errorf("%q is a label: %v", answer, is)
		}
	}
	f.must(forms["label"].ask("q4"))
	count(2, 0, 4)
	f.must(forms["label"].give("q4", "ada"))
	count(3, 0, 4)
	f.must(forms["label"].ask("q5"))
	count(3, 0, 5)
	f.must(forms["label"].expire("q5"))
	count(3, 0, 5)
	f.must(forms["label"].give("q5", "ada"))
	count(4, 0, 5)
	f.must(&events.LabelGiven{Question: "q6", Expert: "ada", Parameters: point(2), Answer: events.AnswerAccept, Volunteered: true})
	count(5, 0, 5)
	f.must(&events.ComparisonGiven{Question: "q7", Expert: "ada", Options: pair, Order: []int{0, 1}, Volunteered: true})
	count(5, 1, 5)
	f.must(forms["comparison"].ask("q8"), &events.ComparisonGiven{Question: "q8", Expert: "ada", Options: pair})
	count(5, 1, 6)
	f.must(&events.ComparisonSuperseded{Question: "q8", Expert: "ada", Options: pair, Order: []int{1, 0}, Supersedes: f.State().Question("q8").Source})
	count(5, 2, 6)
	f.must(forms["pinpoint"].ask("q9"), forms["pinpoint"].give("q9", "ada"))
	count(5, 2, 7)
	f.must(&events.LabelSuperseded{Question: "q6", Expert: "ada", Parameters: point(2), Answer: events.AnswerUnsure, Supersedes: f.State().Question("q6").Source})
	count(4, 2, 7)
}

// Law: what is corrected leaves the state as if it had been reported so from the
// start; only where it stands, and when the last word was said, tell that it was.
func TestCorrectionsAreAsReportedFromTheStart(t *testing.T) {
	bookkeeping := cmp.Options{
		cmp.AllowUnexported(events.Value{}), cmpopts.EquateEmpty(),
		cmpopts.IgnoreFields(campaign.State{}, "Sequence", "LastEvent"),
		cmpopts.IgnoreFields(campaign.Experiment{}, "Source", "LastEvent", "Trace", "EndedAt", "Retracted"),
		cmpopts.IgnoreFields(campaign.Question{}, "Source", "LastEvent", "Trace", "AnsweredAt"),
	}
	pair := []events.Point{point(1), point(2)}
	cc, sd := 0.5, 0.1
	further := func(q ...events.Quantity) []events.Quantity { return q }
	measured := func(m events.Measurement) *events.ExperimentMeasured {
		return &events.ExperimentMeasured{Experiment: "e1", Instrument: "i", Requested: point(1), Measurement: m}
	}
	full := result(1, 5)
	full.Further, full.Identity = further(events.Quantity{Name: "pH", Value: 7}, events.Quantity{Name: "T", Value: 20}), "serial 7"
	fixed := full
	fixed.Objective = events.Quantity{Name: "y", Value: 6, SD: &sd}
	fixed.Further = further(events.Quantity{Name: "pH", Value: 8}, events.Quantity{Name: "T", Value: 20}, events.Quantity{Name: "Rh", Value: cc})
	moved := full
	moved.Actual = point(1.2)
	for _, c := range []struct {
		name  string
		first []events.Payload // the first of them stands in i3
		fix   []events.Payload
		right []events.Payload
	}{
		{"another value, and further quantities",
			[]events.Payload{measured(full)},
			[]events.Payload{&events.MeasurementCorrected{Experiment: "e1", Corrects: "i3", New: &fixed.Objective,
				Further: further(events.Quantity{Name: "pH", Value: 8}, events.Quantity{Name: "Rh", Value: cc})}},
			[]events.Payload{measured(fixed)}},
		{"another composition",
			[]events.Payload{measured(full), &events.MeasurementFlagged{Experiment: "e1", Verdict: events.VerdictElsewhere}},
			[]events.Payload{&events.MeasurementCorrected{Experiment: "e1", Corrects: "i3", Actual: point(1.2)}},
			[]events.Payload{measured(moved)}},
		{"taken back in",
			[]events.Payload{measured(full), &events.MeasurementFlagged{Experiment: "e1", Verdict: events.VerdictOverturned}},
			[]events.Payload{&events.MeasurementCorrected{Experiment: "e1", Corrects: "i3"}},
			[]events.Payload{measured(full)}},
		{"a failure that was none",
			[]events.Payload{&events.ExperimentFailed{Experiment: "e1", Instrument: "i", Cause: "leak"}},
			[]events.Payload{&events.ExperimentCorrected{Experiment: "e1", Supersedes: "i3", Was: "failed", Outcome: "measured", Measurement: &full}},
			[]events.Payload{&events.ExperimentMeasured{Experiment: "e1", Instrument: "person", Requested: point(1), Measurement: full}}},
		{"a failure that was the composition's",
			[]events.Payload{&events.ExperimentFailed{Experiment: "e1", Cause: "leak"}},
			[]events.Payload{&events.ExperimentCorrected{Experiment: "e1", Supersedes: "i3", Was: "failed", Outcome: "infeasible", Reason: "solid"}},
			[]events.Payload{&events.ExperimentInfeasible{Experiment: "e1", Cause: "solid"}}},
		{"a failure that did not take place, corrected twice",
			[]events.Payload{&events.ExperimentFailed{Experiment: "e1", Cause: "leak"}},
			[]events.Payload{&events.ExperimentCorrected{Experiment: "e1", Supersedes: "i3", Was: "failed", Outcome: "infeasible", Reason: "solid"},
				&events.ExperimentCorrected{Experiment: "e1", Supersedes: "i4", Was: "infeasible", Outcome: "not-performed", Reason: "asleep"}},
			[]events.Payload{&events.ExperimentCancelled{Experiment: "e1", Reason: "asleep"}}},
		{"a label",
			[]events.Payload{&events.LabelGiven{Question: "q1", Expert: "ada", Parameters: point(1), Answer: "accept", Volunteered: true}},
			[]events.Payload{&events.LabelSuperseded{Question: "q1", Expert: "ada", Parameters: point(1), Answer: "unsure", Supersedes: "i3"},
				&events.LabelSuperseded{Question: "q1", Expert: "ada", Parameters: point(1), Answer: "reject", Supersedes: "i4"}},
			[]events.Payload{&events.LabelGiven{Question: "q1", Expert: "ada", Parameters: point(1), Answer: "reject", Volunteered: true}}},
		{"a comparison",
			[]events.Payload{&events.ComparisonGiven{Question: "q1", Expert: "ada", Options: pair, Order: []int{0, 1}, Volunteered: true}},
			[]events.Payload{&events.ComparisonSuperseded{Question: "q1", Expert: "ada", Options: pair, Order: []int{1, 0}, Supersedes: "i3"}},
			[]events.Payload{&events.ComparisonGiven{Question: "q1", Expert: "ada", Options: pair, Order: []int{1, 0}, Volunteered: true}}},
		{"a comparison that cannot be told after all",
			[]events.Payload{&events.ComparisonGiven{Question: "q1", Expert: "ada", Options: pair, Order: []int{0, 1}, Volunteered: true}},
			[]events.Payload{&events.ComparisonSuperseded{Question: "q1", Expert: "ada", Options: pair, Supersedes: "i3"}},
			[]events.Payload{&events.ComparisonGiven{Question: "q1", Expert: "ada", Options: pair, Volunteered: true}}},
	} {
		wrong, right := begin(t), begin(t)
		for _, f := range []*fold{wrong, right} {
			f.must(request(1)) // i2
		}
		wrong.must(slices.Concat(c.first, c.fix)...)
		right.must(c.right...)
		if diff := cmp.Diff(right.State(), wrong.State(), bookkeeping); diff != "" {
			t.Errorf("%s (− from the start, + corrected):\n%s", c.name, diff)
		}
	}
	// A pinpoint, asked and answered.
	wrong, right := begin(t), begin(t)
	wrong.must(forms["pinpoint"].ask("q1"), &events.PinpointGiven{Question: "q1", Expert: "ada"},
		&events.PinpointSuperseded{Question: "q1", Expert: "ada", Supersedes: "i3", Parameters: point(3)})
	right.must(forms["pinpoint"].ask("q1"), &events.PinpointGiven{Question: "q1", Expert: "ada", Parameters: point(3)})
	if diff := cmp.Diff(right.State(), wrong.State(), bookkeeping); diff != "" {
		t.Errorf("a pinpoint:\n%s", diff)
	}
}

// Law: a failure that teaches nothing keeps its cause; a measurement that was none is
// kept beside, for whoever corrects that again; who is to be measured anew has no
// flag. A correction names the event in which the outcome stands, and what it was.
func TestCorrectedOutcomes(t *testing.T) {
	f := begin(t)
	m := result(1, 5)
	f.must(request(1), &events.ExperimentMeasured{Experiment: "e1", Requested: point(1), Measurement: m}, // i3
		&events.MeasurementFlagged{Experiment: "e1", Verdict: events.VerdictElsewhere})
	f.refuses(
		&events.ExperimentCorrected{Experiment: "e1", Supersedes: "i4", Was: "measured", Outcome: "failed"},
		&events.ExperimentCorrected{Experiment: "e1", Supersedes: "i3", Was: "failed", Outcome: "failed"},
		&events.ExperimentCorrected{Experiment: "e1", Supersedes: "i3", Was: "measured", Outcome: "lost"},
		&events.MeasurementCorrected{Experiment: "e1", Corrects: "i2"},
	)
	f.must(&events.ExperimentCorrected{Experiment: "e1", Supersedes: "i3", Was: "measured", Outcome: "failed", Reason: "leak"}) // i5
	x := f.State().Experiment("e1")
	if x.Retracted == nil || x.Retracted.Objective.Value != 5 || x.Flag != nil || x.Elsewhere || x.Cause != "leak" || x.Source != "i5" || !x.EndedAt.Equal(began.Add(3*time.Minute)) {
		t.Errorf("a measurement that was none: %+v", *x)
	}
	f.must(&events.ExperimentCorrected{Experiment: "e1", Supersedes: "i5", Was: "failed", Outcome: "failed", Excluded: true, Reason: "a bubble"}) // i6
	if x := f.State().Experiment("e1"); !x.Excluded || x.Cause != "leak" || x.Retracted == nil {
		t.Errorf("a failure that teaches nothing: %+v", *x)
	}
	f.must(&events.ExperimentCorrected{Experiment: "e1", Supersedes: "i6", Was: "failed", Outcome: "failed", Excluded: true, Reason: "two bubbles"}) // i7
	if x := f.State().Experiment("e1"); !x.Excluded || x.Cause != "two bubbles" {
		t.Errorf("a failure for another reason: %+v", *x)
	}
	f.must(&events.ExperimentCorrected{Experiment: "e1", Supersedes: "i7", Was: "failed", Outcome: "measured", Measurement: &m, Reason: "found"})
	if x := f.State().Experiment("e1"); x.Excluded || x.Cause != "" || x.Retracted != nil || x.Instrument != "person" || x.Measurement == nil || x.Measurement == &m {
		t.Errorf("a measurement after all: %+v", *x)
	}
	g := begin(t)
	g.must(request(1), &events.ExperimentMeasured{Experiment: "e1", Instrument: "i", Requested: point(1), Measurement: m},
		&events.MeasurementFlagged{Experiment: "e1", Verdict: events.VerdictSuspect},
		&events.MeasurementCorrected{Experiment: "e1", Corrects: "i3", Excluded: true}) // i5
	if x := g.State().Experiment("e1"); !x.Excluded || x.Flag != nil || x.Measurement.Objective.Value != 5 || x.Source != "i5" {
		t.Errorf("excluded: %+v", *x)
	}
	g.refuses(&events.MeasurementCorrected{Experiment: "e1", Corrects: "i3"})
	if m.Objective.Value != 5 {
		t.Error("an event has changed")
	}
}

// Law: corrected quantities take the place of those of their name, others stay, new
// ones come last; no correction changes nothing. What is given is not changed.
func TestMerge(t *testing.T) {
	q := func(name string, v float64) events.Quantity { return events.Quantity{Name: name, Value: v} }
	old := []events.Quantity{q("a", 1), q("b", 2), q("c", 3)}
	for _, c := range []struct{ corrected, want []events.Quantity }{
		{nil, old},
		{[]events.Quantity{q("b", 9)}, []events.Quantity{q("a", 1), q("b", 9), q("c", 3)}},
		{[]events.Quantity{q("d", 4), q("a", 0)}, []events.Quantity{q("a", 0), q("b", 2), q("c", 3), q("d", 4)}},
	} {
		if got := campaign.Merge(old, c.corrected); !slices.Equal(got, c.want) {
			t.Errorf("with %v: %v, want %v", c.corrected, got, c.want)
		}
	}
	if old[0].Value != 1 || old[1].Value != 2 {
		t.Error("what was given is changed")
	}
}
