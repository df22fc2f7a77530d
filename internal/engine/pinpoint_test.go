package engine_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/campaignd/campaignd/adapters/humans"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/memlog"
)

// unsureExpert is an expert who keeps what they were asked and cannot tell.
type unsureExpert struct{ asked []humans.Question }

func (*unsureExpert) Describe() humans.Description { return humans.Description{Expert: "ada"} }

func (u *unsureExpert) Ask(_ context.Context, q humans.Question) (humans.Answer, error) {
	u.asked = append(u.asked, q)
	return humans.Answer{Answer: events.AnswerUnsure}, nil
}

// Law: who is asked for a composition sees the one that the campaign would measure: the
// first candidate of the decision, with its prediction, as the log has it.
func TestPinpointShowsTheSuggestion(t *testing.T) {
	def := electrolyte(t, 1, 6, func(def *events.Definition) {
		belief := events.Belief{Feedback: events.FeedbackPinpoint, Confidence: ptr(0.5)}
		def.Policy.Trust.COBOL = &events.COBOL{Belief: belief}
		def.Experts[0] = events.Expert{Name: "ada", Terminal: &events.TerminalExpert{}}
		def.Initial.Labels = ptr(0)
		def.Instrument.Simulated.FailureRate = 0
	})
	log, ada := memlog.New(), new(unsureExpert)
	r, _ := start(t, log, def, nil)
	r.Reviewers = map[string]humans.Reviewer{"ada": ada}
	if err := run(t, r)(); err != nil {
		t.Fatal(err)
	}
	var first *events.Candidate
	shown := 0
	for _, e := range history(t, log) {
		payload, err := events.Decode(e)
		if err != nil {
			t.Fatal(err)
		}
		switch p := payload.(type) {
		case *events.DecisionMade:
			if p.Action == events.ActionPinpoint {
				first = &p.Candidates[0]
			}
		case *events.PinpointRequested:
			if p.Suggestion == nil {
				t.Fatalf("%s has no suggestion", p.Question)
			}
			equal := cmp.AllowUnexported(events.Value{})
			if diff := cmp.Diff(first.Parameters, p.Suggestion.Parameters, equal); diff != "" {
				t.Errorf("%s suggests another composition:\n%s", p.Question, diff)
			}
			if diff := cmp.Diff(first.Parameters, ada.asked[shown].Point, equal); diff != "" {
				t.Errorf("%s shows another composition:\n%s", p.Question, diff)
			}
			if diff := cmp.Diff(first.Prediction, ada.asked[shown].Prediction); diff != "" || first.Prediction == nil {
				t.Errorf("%s shows another prediction:\n%s", p.Question, diff)
			}
			shown++
		}
	}
	if shown == 0 {
		t.Error("nobody was asked for a composition")
	}
}
