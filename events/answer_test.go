package events_test

import (
	"encoding/json"
	"errors"
	"slices"
	"testing"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
)

// Law: each form has answers of its own, and "can't tell" answers every form; what
// answers none is refused with ErrAnswer.
func TestAnswerCheck(t *testing.T) {
	point := definition.Point{"x": definition.Number(1)}
	answers := map[string]events.Answer{
		"accept": {Label: events.LabelAccept}, "reject": {Label: events.LabelReject}, "refuse": {Label: "refuse"},
		"unsure": {}, "order": {Order: []int{2, 0, 1}}, "best": {Order: []int{2}}, "twice": {Order: []int{2, 2}},
		"outside": {Order: []int{3}}, "below": {Order: []int{-1}}, "point": {Point: point},
		"point and order": {Point: point, Order: []int{0}}, "labeled order": {Label: events.LabelAccept, Order: []int{0}},
		"labeled point": {Label: events.LabelAccept, Point: point},
	}
	right := map[events.Form][]string{
		events.FormLabel:      {"unsure", "accept", "reject"},
		events.FormComparison: {"unsure", "order", "best"},
		events.FormPinpoint:   {"unsure", "point"},
	}
	for _, form := range events.Forms() {
		if right[form] == nil {
			t.Errorf("no answers to a %s are here: add them", form)
		}
		for name, a := range answers {
			err := a.Check(form, 3)
			if (err == nil) != slices.Contains(right[form], name) || err != nil && !errors.Is(err, events.ErrAnswer) {
				t.Errorf("%q to a %s: %v", name, form, err)
			}
		}
	}
	if err := answers["accept"].Check("", 1); !errors.Is(err, events.ErrAnswer) {
		t.Errorf("an answer to a question of no form: %v", err)
	}
}

// Law: a label is about one composition, a comparison about two at least, a pinpoint
// about none, and there are no other forms.
func TestFormCheck(t *testing.T) {
	for form, want := range map[events.Form][]int{
		events.FormLabel: {1}, events.FormComparison: {2, 3, 4}, events.FormPinpoint: {0}, "": nil, "ranking": nil,
	} {
		for options := range 5 {
			if err := form.Check(options); (err == nil) != slices.Contains(want, options) {
				t.Errorf("a %q about %d compositions: %v", form, options, err)
			}
		}
	}
}

// Law: an answer is stored as the part that it is, and as nothing where the expert
// cannot tell.
func TestAnswerJSON(t *testing.T) {
	for want, a := range map[string]events.Answer{
		`{}`:                  {},
		`{"label":"accept"}`:  {Label: events.LabelAccept},
		`{"order":[1,0]}`:     {Order: []int{1, 0}},
		`{"point":{"x":0.5}}`: {Point: definition.Point{"x": definition.Number(0.5)}},
	} {
		text, err := json.Marshal(a)
		if err != nil || string(text) != want {
			t.Errorf("%v is stored as %s, %v, want %s", a, text, err, want)
		}
		var back events.Answer
		if err := json.Unmarshal(text, &back); err != nil || !back.Equal(a) || back.Unsure() != (want == "{}") {
			t.Errorf("%s was read as %v, %v", text, back, err)
		}
	}
}

// Law: an answer is named in words by the part that it is: the order, the composition, or
// accept or reject; where the expert cannot tell, that is said.
func TestAnswerString(t *testing.T) {
	for _, c := range []struct {
		a    events.Answer
		want string
	}{
		{events.Answer{}, "unsure"},
		{events.Answer{Label: events.LabelAccept}, "accept"},
		{events.Answer{Label: events.LabelReject}, "reject"},
		{events.Answer{Order: []int{2, 0, 1}}, "[2 0 1]"},
		{events.Answer{Order: []int{0}}, "[0]"},
		{events.Answer{Point: definition.Point{"x": definition.Number(0.5), "solvent": definition.Category("EC")}}, "map[solvent:EC x:0.5]"},
	} {
		if got := c.a.String(); got != c.want {
			t.Errorf("%#v is %q, want %q", c.a, got, c.want)
		}
	}
}
