package campaign_test

import (
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/projections/campaign"
)

var (
	accept = events.Answer{Label: events.LabelAccept}
	reject = events.Answer{Label: events.LabelReject}
)

func ordered(order ...int) events.Answer { return events.Answer{Order: order} }

func pinpointed(x float64) events.Answer { return events.Answer{Point: point(x)} }

// estimated says x of the first of some compositions.
func estimated(x float64) events.Answer {
	return events.Answer{Estimates: []events.Estimate{{Option: 0, Value: x}}}
}

// scale is that of a form which has one.
func scale(form events.Form) *events.Scale {
	if form != events.FormEstimate {
		return nil
	}
	return &events.Scale{Quantity: "y", Unit: "mS", Better: events.BetterHigher}
}

func points(xs ...float64) (list []definition.Point) {
	for _, x := range xs {
		list = append(list, point(x))
	}
	return list
}

func options(xs ...float64) (list []events.Option) {
	for _, x := range xs {
		list = append(list, events.Option{Parameters: point(x)})
	}
	return list
}

// given are the outcomes of the compositions at xs, where a form compares that.
func given(form events.Form, xs ...float64) (list []events.Outcome) {
	if form != events.FormOutcomes {
		return nil
	}
	for i, x := range xs {
		y := definition.Quantity{Name: "y", Value: 2 * x, Unit: "mS"}
		if i > 0 {
			sd := 0.5
			y.SD = &sd
		}
		list = append(list, events.Outcome{Experiment: []string{"e1", ""}[min(i, 1)], Quantities: []definition.Quantity{y}})
	}
	return list
}

// asked is a question to ada about the compositions at xs.
func asked(id string, form events.Form, xs ...float64) *events.QuestionAsked {
	q := &events.QuestionAsked{Question: id, Form: form, Expert: "ada", Options: options(xs...), Scale: scale(form)}
	for i, o := range given(form, xs...) {
		q.Options[i].Outcome = &o
	}
	return q
}

// answered is an answer of ada's about the compositions at xs.
func answered(id string, form events.Form, a events.Answer, xs ...float64) *events.QuestionAnswered {
	return &events.QuestionAnswered{
		Question: id, Form: form, Expert: "ada", Options: points(xs...), Scale: scale(form),
		Outcomes: given(form, xs...), Answer: a, Comment: "so",
	}
}

// volunteered is one that nobody asked for.
func volunteered(id string, form events.Form, a events.Answer, xs ...float64) *events.QuestionAnswered {
	given := answered(id, form, a, xs...)
	given.Volunteered = true
	return given
}

// changed is one in place of that in the event source.
func changed(id, source string, form events.Form, a events.Answer, xs ...float64) *events.QuestionSuperseded {
	return &events.QuestionSuperseded{
		Question: id, Form: form, Expert: "ada", Options: points(xs...), Scale: scale(form),
		Outcomes: given(form, xs...), Supersedes: source, Answer: a,
	}
}

func expired(id string) events.Payload { return &events.QuestionExpired{Question: id} }

func withdrawn(id string, moot bool) events.Payload {
	return &events.QuestionWithdrawn{Question: id, Moot: moot, Reason: "why"}
}

// forms are what questions of each form are about here, and two answers to them.
var forms = map[events.Form]struct {
	about        []float64
	first, later events.Answer
}{
	events.FormLabel:      {[]float64{1}, accept, reject},
	events.FormComparison: {[]float64{1, 2}, ordered(1, 0), events.Answer{}},
	events.FormPinpoint:   {nil, pinpointed(3), pinpointed(4)},
	events.FormEstimate:   {[]float64{1, 2, 3}, estimated(11.2), estimated(12)},
	events.FormOutcomes:   {[]float64{1, 2}, ordered(1, 0), ordered(0, 1)},
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
	for _, form := range events.Forms() {
		c, here := forms[form]
		if !here {
			t.Fatalf("no answers to a %s are here: add them", form)
		}
		ask := func(id string) events.Payload { return asked(id, form, c.about...) }
		give := func(id, expert string) events.Payload {
			p := answered(id, form, c.first, c.about...)
			p.Expert = expert
			return p
		}
		supersede := func(expert, source string) events.Payload {
			p := changed("q1", source, form, c.later, c.about...)
			p.Expert = expert
			return p
		}
		for _, line := range lines[1:] {
			for i, from := range strings.Fields(lines[0])[1:] {
				cells := strings.Fields(line)
				f := begin(t)
				f.must(ask("q1")) // i2
				switch from {
				case "answered":
					f.must(give("q1", "ada")) // i3
				case "expired":
					f.must(expired("q1"))
				case "withdrawn":
					f.must(withdrawn("q1", true))
				}
				var err error
				switch cells[0] {
				case "given":
					f.refuses(give("q1", "bob"), give("q2", "ada"))
					err = f.try(give("q1", "ada"))
				case "superseded":
					f.refuses(supersede("bob", "i3"), supersede("ada", "i2"), supersede("ada", ""))
					err = f.try(supersede("ada", "i3"))
				case "expired":
					f.refuses(expired("q2"))
					err = f.try(expired("q1"))
				case "withdrawn":
					f.refuses(withdrawn("q2", false))
					err = f.try(withdrawn("q1", false))
				}
				if (err == nil) != (cells[i+1] != "-") {
					t.Errorf("%s of a %s that is %s: %v", cells[0], form, from, err)
				}
				q := f.State().Question("q1")
				want := cells[i+1]
				if want == "-" {
					want = from
				}
				if string(q.Status) != want || q.Moot != (want == "withdrawn" && cells[i+1] == "-") {
					t.Errorf("%s of a %s that is %s: it is %s, moot %v", cells[0], form, from, q.Status, q.Moot)
				}
			}
		}
		// The latest answer counts, and is the one to supersede.
		f := begin(t)
		f.must(ask("q1"), give("q1", "ada"), supersede("ada", "i3"), supersede("ada", "i4"))
		f.refuses(supersede("ada", "i3"), ask("q1"), ask("q3"))
		q := f.State().Question("q1")
		if !q.Answer.Equal(c.later) || q.Source != "i5" || q.LastEvent != "i5" || q.Trace != "t5" || q.Comment != "so" {
			t.Errorf("after two more answers to a %s: %+v", form, *q)
		}
	}
}

// Law: an answer that came beside another one is kept with who gave it, and counts for nothing;
// it names the answer that counts, and so does an answer that was replaced stay.
func TestAnswersBeside(t *testing.T) {
	for _, form := range events.Forms() {
		c := forms[form]
		contest := func(counts string, a events.Answer) *events.QuestionContested {
			return &events.QuestionContested{
				Question: "q1", Form: form, Expert: "ada", Counts: counts, Options: points(c.about...), Scale: scale(form),
				Outcomes: given(form, c.about...), Answer: a,
			}
		}
		f := begin(t)
		f.must(asked("q1", form, c.about...)) // i2
		f.refuses(contest("i2", c.later), contest("", c.later))
		f.must(answered("q1", form, c.first, c.about...)) // i3
		f.refuses(contest("i2", c.later))
		f.must(contest("i3", c.later)) // i4
		if q := f.State().Question("q1"); !q.Answer.Equal(c.first) || q.Source != "i3" {
			t.Errorf("beside the answer to a %s came another: %+v", form, *q)
		}
		f.must(changed("q1", "i3", form, c.later, c.about...)) // i5
		f.refuses(contest("i3", c.later))
		q := f.State().Question("q1")
		if !q.Answer.Equal(c.later) || q.Source != "i5" || len(q.Aside) != 2 {
			t.Fatalf("the answer to a %s was changed: %+v", form, *q)
		}
		came, was := q.Aside[0], q.Aside[1]
		if came.ID != "i4" || came.Replaced || !came.Answer.Equal(c.later) || came.Actor == "" {
			t.Errorf("what came beside the answer to a %s: %+v", form, came)
		}
		if was.ID != "i3" || !was.Replaced || !was.Answer.Equal(c.first) || was.Actor == "" {
			t.Errorf("what was the answer to a %s: %+v", form, was)
		}
	}
}

// Law: an answer is folded only where it is an answer of the question's form, by the
// expert who was asked, about the compositions that were asked about; any other is
// refused and changes nothing.
func TestAnswersFitTheirQuestion(t *testing.T) {
	turned := ordered(1, 0)
	about := map[events.Form][]definition.Point{
		events.FormLabel: points(1), events.FormComparison: points(1, 2), events.FormPinpoint: nil,
		events.FormEstimate: points(1, 2),
	}
	for name, c := range map[string]struct {
		asked, form events.Form // of the question and of the answer
		expert      string
		options     []definition.Point
		answer      events.Answer
		fits        bool
	}{
		"a label":       {events.FormLabel, events.FormLabel, "ada", points(1), reject, true},
		"can't tell":    {events.FormLabel, events.FormLabel, "ada", points(1), events.Answer{}, true},
		"an order":      {events.FormComparison, events.FormComparison, "ada", points(1, 2), turned, true},
		"a composition": {events.FormPinpoint, events.FormPinpoint, "ada", nil, pinpointed(3), true},
		"a number":      {events.FormEstimate, events.FormEstimate, "ada", points(1, 2), estimated(3), true},
		"a number of nothing": {events.FormEstimate, events.FormEstimate, "ada", points(1, 2),
			events.Answer{Estimates: []events.Estimate{{Option: 2, Value: 3}}}, false},
		"a word that is none":    {events.FormLabel, events.FormLabel, "ada", points(1), events.Answer{Label: "refuse"}, false},
		"another form":           {events.FormComparison, events.FormLabel, "ada", points(1), reject, false},
		"another form's answer":  {events.FormLabel, events.FormLabel, "ada", points(1), ordered(0), false},
		"another expert's":       {events.FormLabel, events.FormLabel, "bob", points(1), reject, false},
		"of another composition": {events.FormLabel, events.FormLabel, "ada", points(2), reject, false},
		"the other way round":    {events.FormComparison, events.FormComparison, "ada", points(2, 1), turned, false},
	} {
		f := begin(t)
		question := &events.QuestionAsked{Question: "q1", Form: c.asked, Expert: "ada", Scale: scale(c.asked)}
		for _, point := range about[c.asked] {
			question.Options = append(question.Options, events.Option{Parameters: point})
		}
		f.must(question)
		err := f.try(&events.QuestionAnswered{
			Question: "q1", Form: c.form, Expert: c.expert, Options: c.options, Scale: scale(c.form), Answer: c.answer,
		})
		if (err == nil) != c.fits {
			t.Errorf("%s: %v", name, err)
		}
		want, said := campaign.Asked, events.Answer{}
		if c.fits {
			want, said = campaign.Answered, c.answer
		}
		if got := f.State().Questions[0]; got.Status != want || !got.Answer.Equal(said) {
			t.Errorf("%s: the question is %s, its answer %v", name, got.Status, got.Answer)
		}
	}
}

// Law: outcomes are compared only where each option has one, and an answer is about those that
// were shown, to the last digit and with their origin; no other form has any.
func TestOutcomesFitTheirQuestion(t *testing.T) {
	f := begin(t)
	bare := asked("q1", events.FormOutcomes, 1, 2)
	bare.Options[1].Outcome = nil
	label := asked("q1", events.FormLabel, 1)
	label.Options[0].Outcome = &given(events.FormOutcomes, 1)[0]
	f.refuses(bare, label)
	f.must(asked("q1", events.FormOutcomes, 1, 2))
	for name, change := range map[string]func(*events.QuestionAnswered){
		"none":          func(p *events.QuestionAnswered) { p.Outcomes = nil },
		"one":           func(p *events.QuestionAnswered) { p.Outcomes = p.Outcomes[:1] },
		"another value": func(p *events.QuestionAnswered) { p.Outcomes[0].Quantities[0].Value += 1e-9 },
		"another unit":  func(p *events.QuestionAnswered) { p.Outcomes[0].Quantities[0].Unit = "S" },
		"no sd":         func(p *events.QuestionAnswered) { p.Outcomes[1].Quantities[0].SD = nil },
		"measured":      func(p *events.QuestionAnswered) { p.Outcomes[1].Experiment = "e2" },
	} {
		p := answered("q1", events.FormOutcomes, ordered(1, 0), 1, 2)
		change(p)
		if err := f.try(p); err == nil {
			t.Errorf("%s: it is folded", name)
		}
	}
	f.must(answered("q1", events.FormOutcomes, ordered(1, 0), 1, 2))
}

// Law: what is asked, volunteered or said instead fits its form: a label is of one
// composition, a comparison of two or more, a pinpoint of none, and what answers them is
// about the same compositions. What does not fit is refused and changes nothing.
func TestMisplacedQuestionsAndAnswers(t *testing.T) {
	const label, comparison, pinpoint = events.FormLabel, events.FormComparison, events.FormPinpoint
	f := begin(t)
	f.must(asked("q1", label, 1), asked("q2", comparison, 1, 2), asked("q3", pinpoint))
	f.refuses(
		asked("q4", label), asked("q4", label, 1, 2), asked("q4", comparison, 1), asked("q4", pinpoint, 1), asked("q4", "ranking", 1, 2), asked("q4", "", 1),

		answered("q1", label, accept), answered("q1", label, events.Answer{}), answered("q1", label, events.Answer{Label: "yes"}, 1),
		answered("q2", comparison, ordered(0), 1),
		answered("q2", comparison, ordered(0, 2), 1, 2), answered("q2", comparison, ordered(-1, 0), 1, 2), answered("q2", comparison, ordered(0, 0), 1, 2),
		answered("q3", pinpoint, accept), answered("q3", pinpoint, pinpointed(3), 3),

		volunteered("q4", comparison, ordered(0, 0), 1, 2), volunteered("q4", comparison, ordered(0), 1), volunteered("q4", label, accept),
		volunteered("q4", label, ordered(0), 1), volunteered("q4", "", events.Answer{}, 1),
		volunteered("q5", label, accept, 1), volunteered("q1", label, accept, 1),
	)
	f.must(answered("q1", label, accept, 1), answered("q2", comparison, ordered(0, 1), 1, 2), answered("q3", pinpoint, pinpointed(3))) // i5, i6, i7
	f.refuses(
		changed("q1", "i5", label, reject, 2), changed("q1", "i5", label, ordered(0), 1), changed("q1", "i5", label, events.Answer{Label: "refuse"}, 1),
		changed("q1", "i5", comparison, ordered(0), 1),
		changed("q2", "i6", comparison, ordered(1, 1), 1, 2), changed("q2", "i6", comparison, ordered(1, 0), 1, 3), changed("q2", "i5", comparison, ordered(1, 0), 1, 2),
		changed("q3", "i7", pinpoint, reject), changed("q3", "i7", label, events.Answer{}),
	)
	f.must(volunteered("q4", comparison, ordered(2), 1, 2, 3))
}

// Law: what was asked is kept as it was shown, with when it was asked and answered.
func TestQuestionsRememberThemselves(t *testing.T) {
	f := begin(t)
	at := func(n int) time.Time { return began.Add(time.Duration(n) * time.Minute) }
	shown := []events.Option{{
		Candidate: "c1", Parameters: point(1), Prediction: &events.Prediction{Mean: 1, SD: 2}, Belief: &events.Interval{Lower: -1, Upper: 3},
	}}
	pair, attributions := options(1, 2), &events.Attributions{}
	byBob := answered("q2", events.FormComparison, events.Answer{}, 1, 2)
	byBob.Expert, byBob.Comment = "bob", "both good"
	unasked := volunteered("q4", events.FormLabel, reject, 4)
	unasked.Expert, unasked.Comment = "bob", "no"
	f.must(request(1), // i2
		&events.QuestionAsked{Question: "q1", Form: events.FormLabel, Expert: "ada", Options: shown, Explanation: "it is far", Decision: "d1", Expires: at(9)},
		&events.QuestionAsked{Question: "q2", Form: events.FormComparison, Expert: "bob", Options: pair, Attributions: attributions,
			Explanation: "close", Decision: "d2", Expires: at(8)},
		&events.QuestionAsked{Question: "q3", Form: events.FormPinpoint, Expert: "ada", Suggestion: &pair[1], Explanation: "yours", Decision: "d3", Expires: at(7)},
		unasked, // i6
		volunteered("q5", events.FormComparison, ordered(1), 1, 2), // i7
		byBob, // i8
		answered("q3", events.FormPinpoint, pinpointed(3)),   // i9
		answered("q1", events.FormLabel, accept, 1),          // i10
		asked("q6", events.FormPinpoint),                     // i11
		answered("q6", events.FormPinpoint, events.Answer{}), // i12
	)
	want := []campaign.Question{
		{ID: "q1", Status: campaign.Answered, Form: "label", Expert: "ada", Options: shown, Explanation: "it is far", Decision: "d1", Turn: 1, Answer: accept, Comment: "so",
			Source: "i10", AnsweredBy: "person:ada", AskedAt: at(3), Expires: at(9), AnsweredAt: at(10), Experiments: 1, LastEvent: "i10", Trace: "t10"},
		{ID: "q2", Status: campaign.Answered, Form: "comparison", Expert: "bob", Options: pair, Attributions: attributions, Explanation: "close", Decision: "d2", Turn: 1,
			Comment: "both good", Source: "i8", AnsweredBy: "person:ada", AskedAt: at(4), Expires: at(8), AnsweredAt: at(8), Experiments: 1, LastEvent: "i8", Trace: "t8"},
		{ID: "q3", Status: campaign.Answered, Form: "pinpoint", Expert: "ada", Suggestion: &pair[1], Explanation: "yours", Decision: "d3", Turn: 1, Answer: pinpointed(3),
			Comment: "so", Source: "i9", AnsweredBy: "person:ada", AskedAt: at(5), Expires: at(7), AnsweredAt: at(9), Experiments: 1, LastEvent: "i9", Trace: "t9"},
		{ID: "q4", Status: campaign.Answered, Form: "label", Expert: "bob", Options: options(4), Answer: reject, Comment: "no", Source: "i6", AnsweredBy: "person:ada", Volunteered: true,
			AskedAt: at(6), AnsweredAt: at(6), Experiments: 1, LastEvent: "i6", Trace: "t6"},
		{ID: "q5", Status: campaign.Answered, Form: "comparison", Expert: "ada", Options: pair, Answer: ordered(1), Comment: "so", Source: "i7", AnsweredBy: "person:ada", Volunteered: true,
			AskedAt: at(7), AnsweredAt: at(7), Experiments: 1, LastEvent: "i7", Trace: "t7"},
		{ID: "q6", Status: campaign.Answered, Form: "pinpoint", Expert: "ada", Comment: "so", Source: "i12", AnsweredBy: "person:ada",
			AskedAt: at(11), AnsweredAt: at(12), Experiments: 1, LastEvent: "i12", Trace: "t12"},
	}
	if diff := cmp.Diff(want, f.State().Questions, cmp.AllowUnexported(definition.Value{})); diff != "" {
		t.Error(diff)
	}
	// What a question is about or was answered with, and which option won.
	for id, want := range map[string]struct {
		composition definition.Point
		winner      *events.Option
		unsure      bool
	}{
		"q1": {point(1), nil, false}, "q2": {nil, nil, true}, "q3": {point(3), nil, false},
		"q4": {point(4), nil, false}, "q5": {nil, &pair[1], false}, "q6": {nil, nil, true},
	} {
		q := f.State().Question(id)
		if !maps.Equal(q.Composition(), want.composition) || q.Unsure() != want.unsure {
			t.Errorf("the composition of %s is %v, unsure %v", id, q.Composition(), q.Unsure())
		}
		if diff := cmp.Diff(want.winner, q.Winner(), cmp.AllowUnexported(definition.Value{})); diff != "" {
			t.Errorf("the best of %s:\n%s", id, diff)
		}
	}
}

// Law: an estimate has a scale and other forms have none, and its numbers are on the scale
// that was asked for, first and changed, or are refused.
func TestNumbersAreOnTheScaleAskedFor(t *testing.T) {
	marks := &events.Scale{Quantity: "y", Better: events.BetterHigher, Marks: events.Marks}
	without, label := asked("q1", events.FormEstimate, 1, 2), asked("q1", events.FormLabel, 1)
	without.Scale, label.Scale = nil, marks
	begin(t).refuses(without, label)

	f := begin(t)
	f.must(asked("q1", events.FormEstimate, 1, 2)) // i2
	for _, other := range []*events.Scale{nil, marks} {
		wrong := answered("q1", events.FormEstimate, estimated(3), 1, 2)
		wrong.Scale = other
		f.refuses(wrong)
	}
	f.must(answered("q1", events.FormEstimate, estimated(3), 1, 2)) // i3
	wrong := changed("q1", "i3", events.FormEstimate, estimated(4), 1, 2)
	wrong.Scale = marks
	f.refuses(wrong)

	given := volunteered("q2", events.FormEstimate, estimated(5), 1, 2)
	given.Scale = marks
	f.must(given)
	if q := f.State().Question("q2"); !q.Scale.Equal(marks) || !q.Answer.Equal(estimated(5)) {
		t.Errorf("a mark that nobody asked for: %+v", *q)
	}
	given = volunteered("q3", events.FormEstimate, estimated(6), 1, 2)
	given.Scale = marks
	f.refuses(given)
}

// Law: labels, comparisons and questions are counted by what was answered: whoever
// can't tell gives no label; who answers unasked was not asked.
func TestAnswersAreCounted(t *testing.T) {
	const label, comparison, pinpoint = events.FormLabel, events.FormComparison, events.FormPinpoint
	f := begin(t)
	count := func(labels, comparisons, asked int) {
		t.Helper()
		s := f.State()
		if s.Labels() != labels || s.Comparisons() != comparisons || s.AskedCount() != asked {
			t.Errorf("%d labels, %d comparisons, %d asked; want %d, %d, %d", s.Labels(), s.Comparisons(), s.AskedCount(), labels, comparisons, asked)
		}
	}
	// Every word that an answer may be, and whether it is a label.
	for i, word := range []events.Label{events.LabelAccept, events.LabelReject, ""} {
		id := fmt.Sprintf("q%d", i+1)
		f.must(asked(id, label, 1))
		if q := f.State().Question(id); q.IsLabel() || q.Unsure() {
			t.Errorf("an open question is answered: %+v", *q)
		}
		f.must(answered(id, label, events.Answer{Label: word}, 1))
		if q := f.State().Question(id); q.IsLabel() != (word != "") || q.Unsure() != (word == "") {
			t.Errorf("%q is a label: %v, unsure: %v", word, q.IsLabel(), q.Unsure())
		}
	}
	f.must(asked("q4", label, 1))
	count(2, 0, 4)
	f.must(answered("q4", label, accept, 1))
	count(3, 0, 4)
	f.must(asked("q5", label, 1))
	count(3, 0, 5)
	f.must(expired("q5"))
	count(3, 0, 5)
	f.must(answered("q5", label, accept, 1))
	count(4, 0, 5)
	f.must(volunteered("q6", label, accept, 2))
	count(5, 0, 5)
	f.must(volunteered("q7", comparison, ordered(0, 1), 1, 2))
	count(5, 1, 5)
	f.must(asked("q8", comparison, 1, 2), answered("q8", comparison, events.Answer{}, 1, 2))
	count(5, 1, 6)
	f.must(changed("q8", f.State().LastEvent, comparison, ordered(1, 0), 1, 2))
	count(5, 2, 6)
	f.must(asked("q9", pinpoint), answered("q9", pinpoint, pinpointed(3)))
	count(5, 2, 7)
	f.must(changed("q6", f.State().Question("q6").Source, label, events.Answer{}, 2))
	count(4, 2, 7)
}
