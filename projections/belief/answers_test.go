package belief_test

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/projections/belief"
)

// Law: an accept is believed as an accept and a reject as a reject; "can't tell" is no
// label; an answer in place of an earlier one replaces it; a pinpoint is not a label. The
// labels stand in the order of their questions, whoever was faster.
func TestLabelsAreReadAsTheyAreSaid(t *testing.T) {
	at := func(x float64) definition.Point { return definition.Point{"x": definition.Number(x)} }
	answered := func(q string, x float64, label events.Label) events.Payload {
		return &events.QuestionAnswered{
			Question: q, Form: events.FormLabel, Expert: "ada", Options: []definition.Point{at(x)}, Answer: events.Answer{Label: label},
		}
	}
	superseded := func(q string, x float64, label events.Label) events.Payload {
		return &events.QuestionSuperseded{
			Question: q, Form: events.FormLabel, Expert: "ada", Options: []definition.Point{at(x)}, Answer: events.Answer{Label: label},
		}
	}
	p := belief.New()
	for _, payload := range []events.Payload{
		answered("q10", 10, events.LabelAccept), answered("q2", 2, events.LabelReject), answered("q3", 3, ""),
		answered("q4", 4, events.LabelAccept), superseded("q4", 4, events.LabelReject),
		answered("q5", 5, events.LabelReject), superseded("q5", 5, ""),
		&events.QuestionAnswered{Question: "q6", Form: events.FormPinpoint, Expert: "ada", Answer: events.Answer{Point: at(6)}},
	} {
		must.Do(t, p.Apply(events.Event{Kind: events.KindOf(payload)}, payload))
	}
	snapshot := must.Get(p.Snapshot())(t)
	var state struct{ Experts []belief.Expert }
	must.Do(t, json.Unmarshal(snapshot, &state))
	want := []belief.Label{
		{Question: "q2", Point: at(2), Reject: true}, {Question: "q4", Point: at(4), Reject: true}, {Question: "q10", Point: at(10)},
	}
	if got := state.Experts[0].Labels; !reflect.DeepEqual(got, want) {
		t.Errorf("the labels are %+v, want %+v", got, want)
	}
}

// Law: a rule reads the belief that is built from its own form of feedback, and from no other;
// one that has none reads no belief.
func TestReads(t *testing.T) {
	forms := []string{
		belief.FeedbackLabel, belief.FeedbackComparison, belief.FeedbackRanking, belief.FeedbackPinpoint, belief.FeedbackGaussian,
	}
	for _, own := range append(forms, "") {
		trust := definition.NewChoice("a rule", belief.Settings{Feedback: own})
		for _, feedback := range forms {
			if got := belief.Reads(trust, feedback); got != (own == feedback) {
				t.Errorf("a rule with the feedback %q reads a belief from %q: %v", own, feedback, got)
			}
		}
	}
}
