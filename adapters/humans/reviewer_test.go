package humans_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/campaignd/campaignd/adapters/humans"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
)

// An order may be written in many ways, and says each option once at most.
func TestParseOrder(t *testing.T) {
	for _, c := range []struct {
		text string
		n    int
		want []int // nil: no order
	}{
		{"A", 2, []int{0, 1}}, {"b", 2, []int{1, 0}}, {"B > A", 2, []int{1, 0}},
		{"B", 3, []int{1}}, {"BA", 3, []int{1, 0, 2}}, {"c; a, b", 3, []int{2, 0, 1}}, {"D A", 4, []int{3, 0}},
		{"", 2, nil}, {" ,", 2, nil}, {"C", 2, nil}, {"A A", 2, nil}, {"A?", 2, nil}, {"prefer A", 2, nil}, {"É", 8, nil},
	} {
		got, err := humans.ParseOrder(c.text, c.n)
		if !slices.Equal(got, c.want) || errors.Is(err, humans.ErrAnswer) != (c.want == nil) {
			t.Errorf("%q of %d: %v, %v, want %v", c.text, c.n, got, err, c.want)
		}
	}
}

// Each form has answers of its own; "can't tell" answers all of them.
func TestCheck(t *testing.T) {
	point := definition.Point{"x": definition.Number(1)}
	answers := map[string]humans.Answer{
		"accept": {Answer: events.AnswerAccept}, "refuse": {Answer: events.AnswerRefuse}, "unsure": {Answer: events.AnswerUnsure, Comment: "never seen"},
		"order": {Order: []int{2, 0, 1}}, "best": {Order: []int{2}}, "twice": {Order: []int{2, 2}}, "outside": {Order: []int{3}},
		"point": {Point: point}, "point and order": {Point: point, Order: []int{0}}, "nothing": {}, "unsure order": {Answer: events.AnswerUnsure, Order: []int{0}},
		"unsure point": {Answer: events.AnswerUnsure, Point: point}, "labelled point": {Answer: events.AnswerAccept, Point: point},
	}
	for form, right := range map[humans.Form][]string{
		"":                {"accept", "refuse", "unsure"},
		humans.Label:      {"accept", "refuse", "unsure"},
		humans.Comparison: {"unsure", "order", "best"},
		humans.Pinpoint:   {"unsure", "point"},
	} {
		for name, a := range answers {
			if err := a.Check(form, 3); (err == nil) != slices.Contains(right, name) {
				t.Errorf("%q to a %q: %v", name, form, err)
			}
		}
	}
}
