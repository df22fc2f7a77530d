package humans_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/campaignd/campaignd/adapters/humans"
	"github.com/campaignd/campaignd/events"
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
		{"", 2, nil}, {" ,", 2, nil}, {"C", 2, nil}, {"A A", 2, nil}, {"A?", 2, nil}, {"prefer A", 2, nil},
		{"É", 8, nil},
	} {
		got, err := humans.ParseOrder(c.text, c.n)
		if !slices.Equal(got, c.want) || errors.Is(err, events.ErrAnswer) != (c.want == nil) {
			t.Errorf("%q of %d: %v, %v, want %v", c.text, c.n, got, err, c.want)
		}
	}
}

// Law: only a composition that is rejected can be excluded.
func TestCheck(t *testing.T) {
	label := func(l events.Label) events.Answer { return events.Answer{Label: l} }
	for _, c := range []struct {
		form   events.Form
		reply  humans.Reply
		answer bool
	}{
		{events.FormLabel, humans.Reply{Answer: label(events.LabelReject)}, true},
		{events.FormLabel, humans.Reply{Answer: label(events.LabelReject), Exclude: true}, true},
		{events.FormLabel, humans.Reply{Answer: label(events.LabelAccept), Exclude: true}, false},
		{events.FormLabel, humans.Reply{Exclude: true}, false},
		{events.FormLabel, humans.Reply{Answer: label("refuse")}, false},
		{events.FormComparison, humans.Reply{Comment: "never seen"}, true},
		{events.FormComparison, humans.Reply{Answer: events.Answer{Order: []int{1}}, Exclude: true}, false},
		{events.FormPinpoint, humans.Reply{Answer: label(events.LabelReject), Exclude: true}, false},
		{events.FormEstimate, humans.Reply{Answer: events.Answer{Estimates: []events.Estimate{{Option: 1, Value: 9}}}}, true},
		{events.FormEstimate, humans.Reply{Answer: label(events.LabelReject), Exclude: true}, false},
	} {
		if err := c.reply.Check(c.form, 2, &conductivity); (err == nil) != c.answer ||
			err != nil && !errors.Is(err, events.ErrAnswer) {
			t.Errorf("%+v to a %s: %v", c.reply, c.form, err)
		}
	}
}
