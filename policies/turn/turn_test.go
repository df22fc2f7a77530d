package turn_test

import (
	"testing"
	"time"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/policies/turn"
	"github.com/campaignd/campaignd/projections/campaign"
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
