package turn_test

import (
	"testing"
	"time"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/policies/turn"
	"github.com/campaignd/campaignd/projections/campaign"
	"github.com/campaignd/campaignd/projections/space"
)

// Law: an expert's time is that of the compositions they were asked to judge and have answered, or are being asked
// about; neither what they volunteer nor what expired or was withdrawn takes any, and no clock is read. It is spent
// once no further composition fits.
func TestTimeTaken(t *testing.T) {
	day := func(n int) time.Time { return time.Date(2026, 3, n, 8, 0, 0, 0, time.UTC) }
	s := &campaign.State{Questions: []campaign.Question{
		{Expert: "ada", Status: campaign.Answered, Form: events.FormLabel, Options: make([]events.Option, 1), AskedAt: day(1), AnsweredAt: day(9)},
		{Expert: "ada", Status: campaign.Answered, Form: events.FormEstimate, Options: make([]events.Option, 20)},
		{Expert: "ada", Status: campaign.Answered, Form: events.FormPinpoint},
		{Expert: "ada", Status: campaign.Asked, Form: events.FormComparison, Options: make([]events.Option, 2)},
		{Expert: "ada", Status: campaign.Answered, Form: events.FormLabel, Options: make([]events.Option, 1), Volunteered: true},
		{Expert: "ada", Status: campaign.Expired, Form: events.FormLabel, Options: make([]events.Option, 1)},
		{Expert: "ada", Status: campaign.Withdrawn, Form: events.FormLabel, Options: make([]events.Option, 1)},
		{Expert: "bo", Status: campaign.Answered, Form: events.FormLabel, Options: make([]events.Option, 1)},
	}}
	ada := &definition.Expert{Name: "ada", AnswerTakes: definition.Duration(15 * time.Second)}
	if taken := turn.TimeTaken(s, ada); taken != 24*15*time.Second {
		t.Errorf("%v are taken", taken)
	}
	for limit, spent := range map[time.Duration]bool{0: false, 24 * 15 * time.Second: true, 25*15*time.Second - 1: true, 25 * 15 * time.Second: false} {
		ada.Time = definition.Duration(limit)
		if turn.TimeSpent(s, ada) != spent {
			t.Errorf("of %v, all is spent: %v", limit, !spent)
		}
	}
	def := &definition.Campaign{Experts: []definition.Expert{*ada, {Name: "bo"}}}
	def.Experts[0].Time = 1
	for turns, spent := range []bool{true, false, true} {
		s.Turns = turns
		if turn.QuestionsSpent(s, def) != spent || spent && turn.WhyNotAsked(s, def) != "the time of ada is spent" {
			t.Errorf("in turn %d: %v, %s", turns, !spent, turn.WhyNotAsked(s, def))
		}
	}
}

// Law: what an expert was asked about a composition before is their latest
// question about it, the very first one included, and no other's.
func TestAskedBefore(t *testing.T) {
	low, high := 0.0, 1.0
	def := definition.Campaign{Parameters: []definition.Parameter{{Name: "x", Min: &low, Max: &high}}}
	sp := must.Get(space.New(def))(t)
	at := func(x float64) definition.Point { return definition.Point{"x": definition.Number(x)} }
	asked := func(id, expert string, x float64) campaign.Question {
		return campaign.Question{ID: id, Expert: expert, Form: events.FormLabel,
			Options: []events.Option{{Parameters: at(x)}}}
	}
	s := &campaign.State{Questions: []campaign.Question{
		asked("q1", "ada", 0.1), asked("q2", "ada", 0.2), asked("q3", "bo", 0.1), asked("q4", "ada", 0.2),
	}}
	for _, c := range []struct {
		expert string
		x      float64
		want   string
	}{{"ada", 0.1, "q1"}, {"ada", 0.2, "q4"}, {"bo", 0.1, "q3"}, {"bo", 0.2, ""}, {"ada", 0.3, ""}} {
		got := ""
		if q := turn.AskedBefore(s, sp, c.expert, at(c.x)); q != nil {
			got = q.ID
		}
		if got != c.want {
			t.Errorf("of %s about %v: %q, want %q", c.expert, c.x, got, c.want)
		}
	}
}
