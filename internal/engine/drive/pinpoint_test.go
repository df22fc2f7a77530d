package drive_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/campaignd/campaignd/adapters/humans"
	"github.com/campaignd/campaignd/adapters/humans/terminal"
	"github.com/campaignd/campaignd/adapters/instruments/simulated"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/events/memlog"
	"github.com/campaignd/campaignd/internal/study/studytest"
	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/policies/cobol"
	"github.com/campaignd/campaignd/projections/belief"
)

// unsureExpert is an expert who keeps what they were asked and cannot tell.
type unsureExpert struct{ asked []humans.Question }

func (*unsureExpert) Describe() humans.Description { return humans.Description{Expert: "ada"} }

func (u *unsureExpert) Ask(_ context.Context, q humans.Question) (humans.Reply, error) {
	u.asked = append(u.asked, q)
	return humans.Reply{}, nil
}

// Law: who is asked for a composition sees the one that the campaign would measure: the
// first candidate of the decision, with its prediction, as the log has it.
func TestPinpointShowsTheSuggestion(t *testing.T) {
	def := electrolyte(t, 1, 6, func(def *definition.Campaign) {
		feedback := belief.Settings{Feedback: belief.FeedbackPinpoint, Confidence: ptr(0.5)}
		def.Policy.Trust = cobol.COBOL{Settings: feedback}.Choice()
		def.Experts[0] = definition.Expert{Name: "ada", Channel: terminal.Choose(terminal.Settings{})}
		def.Initial.Labels = ptr(0)
		studytest.Simulated(def, func(s *simulated.Settings) { s.FailureRate = 0 })
	})
	log, ada := memlog.New(), new(unsureExpert)
	r, _ := start(t, log, def, nil)
	r.Reviewers = map[string]humans.Reviewer{"ada": ada}
	must.Do(t, run(t, r)())
	var first *events.Candidate
	shown := 0
	for _, e := range history(t, log) {
		payload := must.Get(events.Decode(e))(t)
		switch p := payload.(type) {
		case *events.DecisionMade:
			if p.Form == events.FormPinpoint {
				first = &p.Candidates[0]
			}
		case *events.QuestionAsked:
			if p.Suggestion == nil || ada.asked[shown].Suggestion == nil {
				t.Fatalf("%s has no suggestion", p.Question)
			}
			equal := cmp.AllowUnexported(definition.Value{})
			if diff := cmp.Diff(first.Parameters, p.Suggestion.Parameters, equal); diff != "" {
				t.Errorf("%s suggests another composition:\n%s", p.Question, diff)
			}
			if diff := cmp.Diff(p.Suggestion, ada.asked[shown].Suggestion, equal); diff != "" {
				t.Errorf("%s shows another suggestion:\n%s", p.Question, diff)
			}
			if diff := cmp.Diff(first.Prediction, p.Suggestion.Prediction); diff != "" || first.Prediction == nil {
				t.Errorf("%s shows another prediction:\n%s", p.Question, diff)
			}
			shown++
		}
	}
	if shown == 0 {
		t.Error("nobody was asked for a composition")
	}
}
