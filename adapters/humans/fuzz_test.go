package humans_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/campaignd/campaignd/adapters/humans"
	"github.com/campaignd/campaignd/events"
)

// Law: no text makes the reader of orders panic. What it takes names options once each,
// answers a comparison, and reads the same when it is written in letters; what it
// refuses wraps ErrAnswer.
func FuzzParseOrder(f *testing.F) {
	for _, text := range []string{"A", "b > a", "C; A, B", "BA", "", "A A", "Ⓐ", "ß", "\x00\xff", "ſ", "ABCDEFGHIJKLMNOPQRSTUVWXYZ["} {
		f.Add(text, 3)
	}
	f.Fuzz(func(t *testing.T, text string, n int) {
		if n < 2 || n > 26 {
			return
		}
		order, err := humans.ParseOrder(text, n)
		if err != nil {
			if !errors.Is(err, humans.ErrAnswer) || order != nil {
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
		if err := (humans.Answer{Order: order}).Check(humans.Comparison, n); err != nil {
			t.Errorf("%q of %d: %v is no answer: %v", text, n, order, err)
		}
		for _, written := range []string{letters, strings.ToLower(letters), strings.Join(strings.Split(letters, ""), " > ")} {
			if again, err := humans.ParseOrder(written, n); err != nil || !slices.Equal(again, order) {
				t.Errorf("%q of %d is %v, and written as %q %v (%v)", text, n, order, written, again, err)
			}
		}
	})
}

// Law: an answer that is taken says one thing: one of the four words to a label, an
// order to a comparison, a composition to a pinpoint, or that the person can't tell.
func FuzzAnswer(f *testing.F) {
	f.Add("label", "accept", []byte{}, false, 0)
	f.Add("comparison", "", []byte{1, 0}, false, 2)
	f.Add("comparison", "unsure", []byte{1, 2, 3}, true, 3)
	f.Add("pinpoint", "", []byte{}, true, 0)
	f.Add("", "refuse", []byte{255}, false, 1)
	f.Fuzz(func(t *testing.T, form, word string, order []byte, named bool, options int) {
		if options < 0 || options > 50 {
			return
		}
		a := humans.Answer{Answer: word}
		repeats, outside := false, false
		for _, b := range order {
			i := int(int8(b))
			repeats = repeats || slices.Contains(a.Order, i)
			outside = outside || i < 0 || i >= options
			a.Order = append(a.Order, i)
		}
		if named {
			a.Point = events.Point{"x": events.Number(1)}
		}
		says := 0 // how many things it says
		for _, said := range []bool{word != "", len(order) > 0, named} {
			if said {
				says++
			}
		}
		var want bool
		switch humans.Form(form) {
		case humans.Comparison:
			want = says == 1 && (word == "unsure" || len(order) > 0 && !repeats && !outside)
		case humans.Pinpoint:
			want = says == 1 && (word == "unsure" || named)
		default:
			want = says == 1 && slices.Contains([]string{"accept", "reject", "unsure", "refuse"}, word)
		}
		if err := a.Check(humans.Form(form), options); (err == nil) != want || err != nil && !errors.Is(err, humans.ErrAnswer) {
			t.Errorf("%+v to a %q of %d: %v", a, form, options, err)
		}
	})
}
