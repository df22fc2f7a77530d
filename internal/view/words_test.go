package view_test

import (
	"strings"
	"testing"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/ground/problem"
	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/internal/view"
	"github.com/campaignd/campaignd/projections/campaign"
)

// Law: an estimate that lacks numbers is refused, with what may be said; one
// that names its rows may leave others out.
func TestEstimatesInWords(t *testing.T) {
	def := &byHand().Definition
	q := &campaign.Question{
		ID: "q6", Form: events.FormEstimate, Options: make([]events.Option, 3),
		Scale: events.ScaleOf(def.Objective, false),
	}
	_, err := view.ParseAnswer(def, q, "1; 2")
	refused := problem.FromError(err)
	if err == nil || refused.Code != problem.Invalid ||
		!strings.Contains(err.Error(), "2 numbers for 3 rows; say ") {
		t.Errorf("two numbers for three rows: %v", err)
	}
	reply, err := view.ParseAnswer(def, q, "2=7.5")
	if err != nil || len(reply.Answer.Estimates) != 1 ||
		reply.Answer.Estimates[0] != (events.Estimate{Option: 1, Value: 7.5}) {
		t.Errorf("one row by its number: %+v, %v", reply.Answer.Estimates, err)
	}
}

// Law: a star marks the composition that was chosen, by the policy or by a
// person, and none while neither has.
func TestStarMarksTheChosen(t *testing.T) {
	asked := &campaign.Question{
		Form: events.FormComparison,
		Options: []events.Option{
			{Candidate: "expert", Parameters: salt(1)},
			{Candidate: "model", Parameters: salt(2)},
		},
	}
	d := view.Decision{
		Definition: &byHand().Definition,
		Decision: &events.DecisionMade{
			Decision: "d3",
			Candidates: []events.Candidate{
				{Name: "expert", Parameters: salt(1)}, {Name: "model", Parameters: salt(2)},
			},
		},
		Asked: asked,
	}
	stars := func() (names []string) {
		t.Helper()
		var text strings.Builder
		must.Do(t, d.Write(&text, how))
		for name := range strings.FieldsSeq(text.String()) {
			names = append(names, name)
		}
		var starred []string
		for i, name := range names {
			if name == "*" && (names[i-1] == "expert" || names[i-1] == "model") {
				starred = append(starred, names[i-1])
			}
		}
		return starred
	}
	if got := stars(); got != nil {
		t.Errorf("before the answer %q are marked", got)
	}
	asked.Status = campaign.Answered
	asked.Answer = events.Answer{Order: []int{1, 0}}
	if got := stars(); len(got) != 1 || got[0] != "model" {
		t.Errorf("after the answer %q are marked, not the model's", got)
	}
	d.Asked = nil
	d.Decision.Chosen = "expert"
	if got := stars(); len(got) != 1 || got[0] != "expert" {
		t.Errorf("what the policy chose: %q are marked, not the expert's", got)
	}
}

// Law: the belief of the only expert is theirs without being named; of several
// experts each has their own.
func TestWhoseBelief(t *testing.T) {
	def := byHand().Definition
	interval := func(lower, upper float64) *events.Interval {
		return &events.Interval{Lower: lower, Upper: upper}
	}
	write := func(p view.Prediction) string {
		t.Helper()
		p.Parameters = salt(1)
		var text strings.Builder
		must.Do(t, view.WritePredictions(&text, &def, []view.Prediction{p}))
		return text.String()
	}
	one := write(view.Prediction{Belief: interval(1, 2)})
	if !strings.Contains(one, "belief of ada") || !strings.Contains(one, "1.000 … 2.000") {
		t.Errorf("of one expert it says\n%s", one)
	}
	grace := def.Experts[0]
	grace.Name = "grace"
	def.Experts = []definition.Expert{def.Experts[0], grace}
	two := write(view.Prediction{
		Belief:  interval(1, 2),
		Beliefs: map[string]*events.Interval{"grace": interval(3, 4)},
	})
	if strings.Contains(two, "belief of ada") || !strings.Contains(two, "belief of grace") ||
		strings.Contains(two, "1.000 …") || !strings.Contains(two, "3.000 … 4.000") {
		t.Errorf("of two experts, of whom one has a belief, it says\n%s", two)
	}
}
