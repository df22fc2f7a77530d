package campaign_test

import (
	"errors"
	"testing"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/projections"
	"github.com/campaignd/campaignd/projections/campaign"
)

// Law: an answer is folded only where it is an answer of the question's form, by the
// expert who was asked, about the compositions that were asked about; any other is
// refused and changes nothing.
func TestAnswersFitTheirQuestion(t *testing.T) {
	at := func(xs ...float64) (points []definition.Point) {
		for _, x := range xs {
			points = append(points, definition.Point{"x": definition.Number(x)})
		}
		return points
	}
	reject := events.Answer{Label: events.LabelReject}
	turned := events.Answer{Order: []int{1, 0}}
	about := map[events.Form][]definition.Point{
		events.FormLabel: at(1), events.FormComparison: at(1, 2), events.FormPinpoint: nil,
	}
	for name, c := range map[string]struct {
		asked, form events.Form // of the question and of the answer
		expert      string
		options     []definition.Point
		answer      events.Answer
		fits        bool
	}{
		"a label":                {events.FormLabel, events.FormLabel, "ada", at(1), reject, true},
		"can't tell":             {events.FormLabel, events.FormLabel, "ada", at(1), events.Answer{}, true},
		"an order":               {events.FormComparison, events.FormComparison, "ada", at(1, 2), turned, true},
		"a composition":          {events.FormPinpoint, events.FormPinpoint, "ada", nil, events.Answer{Point: at(3)[0]}, true},
		"a word that is none":    {events.FormLabel, events.FormLabel, "ada", at(1), events.Answer{Label: "refuse"}, false},
		"another form":           {events.FormComparison, events.FormLabel, "ada", at(1), reject, false},
		"another form's answer":  {events.FormLabel, events.FormLabel, "ada", at(1), events.Answer{Order: []int{0}}, false},
		"another expert's":       {events.FormLabel, events.FormLabel, "bob", at(1), reject, false},
		"of another composition": {events.FormLabel, events.FormLabel, "ada", at(2), reject, false},
		"the other way round":    {events.FormComparison, events.FormComparison, "ada", at(2, 1), turned, false},
	} {
		p := campaign.New()
		asked := &events.QuestionAsked{Question: "q1", Form: c.asked, Expert: "ada"}
		for _, point := range about[c.asked] {
			asked.Options = append(asked.Options, events.Option{Parameters: point})
		}
		for i, payload := range []events.Payload{&events.CampaignDefined{}, asked} {
			if err := p.Apply(events.Event{Sequence: events.Sequence(i + 1), Kind: events.KindOf(payload)}, payload); err != nil {
				t.Fatal(err)
			}
		}
		answered := &events.QuestionAnswered{Question: "q1", Form: c.form, Expert: c.expert, Options: c.options, Answer: c.answer}
		err := p.Apply(events.Event{Sequence: 3, ID: "3", Kind: events.KindQuestionAnswered}, answered)
		var inconsistent *projections.InconsistentError
		if c.fits != (err == nil) || err != nil && !errors.As(err, &inconsistent) {
			t.Errorf("%s: %v", name, err)
		}
		want, said := campaign.Asked, events.Answer{}
		if c.fits {
			want, said = campaign.Answered, c.answer
		}
		if got := p.State().Questions[0]; got.Status != want || !got.Answer.Equal(said) {
			t.Errorf("%s: the question is %s, its answer %v", name, got.Status, got.Answer)
		}
	}
}
