package humans_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/campaignd/campaignd/adapters/humans"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
)

// Law: no text makes the reader of orders panic. What it takes names options once each,
// answers a comparison, and reads the same when it is written in letters; what it
// refuses wraps ErrAnswer.
func FuzzParseOrder(f *testing.F) {
	for _, text := range []string{"A", "b > a", "C; A, B", "BA", "", "A A", "Ⓐ", "ß", "\x00\xff", "ſ",
		"ABCDEFGHIJKLMNOPQRSTUVWXYZ["} {
		f.Add(text, 3)
	}
	f.Fuzz(func(t *testing.T, text string, n int) {
		if n < 2 || n > 26 {
			return
		}
		order, err := humans.ParseOrder(text, n)
		if err != nil {
			if !errors.Is(err, events.ErrAnswer) || order != nil {
				t.Errorf("%q of %d: %v, %v", text, n, order, err)
			}
			return
		}
		seen := make([]bool, n)
		letters := ""
		for _, i := range order {
			if i < 0 || i >= n || seen[i] {
				t.Fatalf("%q of %d: %v", text, n, order)
			}
			seen[i] = true
			letters += humans.OptionName(i)
		}
		if len(order) == 0 || len(order) == n-1 {
			t.Errorf("%q of %d: %v leaves one out", text, n, order)
		}
		if err := (events.Answer{Order: order}).Check(events.FormComparison, n, nil); err != nil {
			t.Errorf("%q of %d: %v is not an answer: %v", text, n, order, err)
		}
		for _, written := range []string{letters, strings.ToLower(letters), strings.Join(strings.Split(letters, ""),
			" > ")} {
			if again, err := humans.ParseOrder(written, n); err != nil || !slices.Equal(again, order) {
				t.Errorf("%q of %d is %v, and written as %q %v (%v)", text, n, order, written, again, err)
			}
		}
	})
}

// Law: a reply that is taken says one thing: accept or reject to a label, an order to a
// comparison, a composition to a pinpoint, numbers to an estimate, or to any form nothing, which is that the person
// can't tell. Only what is rejected can be excluded.
func FuzzReply(f *testing.F) {
	f.Add("label", "accept", []byte{}, []byte{}, false, false, 1)
	f.Add("label", "reject", []byte{}, []byte{}, false, true, 1)
	f.Add("label", "reject", []byte{0}, []byte{}, false, true, 1)
	f.Add("comparison", "", []byte{1, 0}, []byte{}, false, false, 2)
	f.Add("comparison", "unsure", []byte{1, 2, 3}, []byte{}, true, false, 3)
	f.Add("comparison", "", []byte{}, []byte{}, false, true, 3)
	f.Add("pinpoint", "", []byte{}, []byte{}, true, false, 0)
	f.Add("estimate", "", []byte{}, []byte{0, 2, 255}, false, false, 3)
	f.Add("estimate", "", []byte{0}, []byte{1, 0}, true, true, 3)
	f.Add("", "refuse", []byte{255}, []byte{}, false, false, 1)
	f.Fuzz(func(t *testing.T, form, word string, order, estimated []byte, named, exclude bool, options int) {
		if options < 0 || options > 50 {
			return
		}
		r := humans.Reply{Answer: events.Answer{Label: events.Label(word)}, Exclude: exclude}
		repeats, outside := false, false
		for _, b := range order {
			i := int(int8(b))
			repeats = repeats || slices.Contains(r.Answer.Order, i)
			outside = outside || i < 0 || i >= options
			r.Answer.Order = append(r.Answer.Order, i)
		}
		rising := true
		for k, b := range estimated {
			i := int(int8(b))
			rising = rising && 0 <= i && i < options && (k == 0 || i > int(int8(estimated[k-1])))
			r.Answer.Estimates = append(r.Answer.Estimates, events.Estimate{Option: i, Value: float64(i)})
		}
		if named {
			r.Answer.Point = definition.Point{"x": definition.Number(1)}
		}
		says := 0 // how many things it says
		for _, said := range []bool{word != "", len(order) > 0, len(estimated) > 0, named} {
			if said {
				says++
			}
		}
		var want bool
		switch {
		case says == 0:
			want = true
		case says > 1:
		case form == "label":
			want = word == "accept" || word == "reject"
		case form == "comparison":
			want = len(order) > 0 && !repeats && !outside
		case form == "pinpoint":
			want = named
		case form == "estimate":
			want = len(estimated) > 0 && rising
		}
		if exclude && word != "reject" {
			want = false
		}
		if err := r.Check(events.Form(form), options, &conductivity); (err == nil) != want ||
			err != nil && !errors.Is(err, events.ErrAnswer) {
			t.Errorf("%+v to a %q of %d: %v", r, form, options, err)
		}
	})
}
