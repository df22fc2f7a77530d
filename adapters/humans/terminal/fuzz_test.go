package terminal

import (
	"errors"
	"maps"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/campaignd/campaignd/adapters/humans"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/tests/draws"
)

// sat types the line again and again into a sitting, which goes on until it is agreed to;
// what it comes to is then an answer.
func sat(t *testing.T, q humans.Question, line string) {
	form := form(q, time.Time{})
	for k := range 2 * len(q.Options) {
		all, next := form.Then(line)
		if next == nil && !agreed(line) {
			t.Errorf("%q, typed %d times, ends a sitting of %d with %q", line, k+1, len(q.Options), all)
		}
		if next == nil {
			break
		}
		form = *next
	}
	for _, line := range []string{"end", "ok: so"} {
		all, next := form.Then(line)
		if next != nil {
			form = *next
			continue
		}
		if r, err := forms[q.Form].parse(q, all); err != nil || r.Comment != "so" || r.Check(q.Form, len(q.Options), q.Scale) != nil {
			t.Errorf("%q in a sitting of %d is %q, which is %+v, %v", line, len(q.Options), all, r, err)
		}
		return
	}
	t.Errorf("%q keeps a sitting of %d from ending", line, len(q.Options))
}

// Law: no line that a person types makes the reader panic. What it takes answers the
// question, within what is allowed, and a composition reads the same when it is
// written out; what it refuses it repeats or explains.
func FuzzAnswerLines(f *testing.F) {
	for _, line := range []string{
		"a", "r too viscous", "w", "won't: smells", "? never seen", "can't tell", "A",
		"B > A: less viscous", "b a c", "1.1 EC", "lipf6=1.1 solvent=EC: as last year",
		"ok", "OK: why not", "ok,", "lipf6=9 solvent=EC:DMC", "lipf6=", "=", ":", "", " ",
		"lipf6=1e999 solvent=EC", "\x00", "\xff", "ok\u2028", "İ", "K", "? never seen \u2003", "1=4 2=-", "4, 5, , 1: as ever", "3 4", "back", "11,2", "end", "? 3 4",
	} {
		f.Add(line, 2)
	}
	long := strings.Repeat("k", 300_000)
	for _, line := range []string{long, "lipf6=" + long, "b > " + long + ": " + long, strings.Repeat("1 ", 150_000)} {
		f.Add(line, 2)
	}
	lo, hi := 0.0, 2.0
	parameters := []definition.Parameter{
		{Name: "lipf6", Unit: "mol/kg", Min: &lo, Max: &hi}, {Name: "solvent",
			Categories: []definition.CategoryDef{{Name: "EC"}, {Name: "EC:DMC"}}},
		{Name: "t", Values: []float64{25, 35}},
	}
	suggested := definition.Point{"lipf6": definition.Number(1), "solvent": definition.Category("EC"),
		"t": definition.Number(25)}
	errBeyond := errors.New("lipf6 must be at most 2 mol/kg")
	allowed := func(p definition.Point) error {
		if x, _ := p["lipf6"].Float(); !(x >= lo && x <= hi) {
			return errBeyond
		}
		return nil
	}
	plain := func(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }
	f.Fuzz(func(t *testing.T, line string, n int) {
		n = 2 + (n%7+7)%7
		shown := events.Option{Parameters: suggested}
		label := humans.Question{
			Expert:     "ada",
			Parameters: parameters,
			Form:       events.FormLabel,
			Options:    []events.Option{shown},
		}
		comparison := humans.Question{
			Expert:     "ada",
			Parameters: parameters,
			Form:       events.FormComparison,
			Options:    make([]events.Option, n),
		}
		pinpoint := humans.Question{Expert: "ada", Parameters: parameters, Form: events.FormPinpoint, Allowed: allowed}
		suggestion := pinpoint
		suggestion.Suggestion = &shown
		estimate := comparison
		estimate.Form, estimate.Scale = events.FormEstimate, &events.Scale{Quantity: "y", Unit: "mS", Better: events.BetterHigher}
		for i := range estimate.Options {
			estimate.Options[i] = shown
		}
		marks := estimate
		marks.Scale = &events.Scale{Quantity: "y", Better: events.BetterHigher, Marks: events.Marks}
		for _, q := range []humans.Question{estimate, marks} {
			draws.Answers(t, func() { sat(t, q, line) })
		}
		for _, q := range []humans.Question{label, comparison, pinpoint, suggestion, estimate, marks} {
			parse := forms[q.Form].parse
			var r humans.Reply
			var err error
			draws.Answers(t, func() { r, err = parse(q, line) })
			if err != nil {
				if len(err.Error()) < 10 {
					t.Errorf("%q to a %q is refused with %q", line, q.Form, err)
				}
				continue
			}
			if err := r.Check(q.Form, len(q.Options), q.Scale); err != nil {
				t.Errorf("%q to a %q is taken as %+v, which is not an answer: %v", line, q.Form, r, err)
			}
			if r.Comment != strings.TrimSpace(r.Comment) {
				t.Errorf("%q to a %q has the comment %q", line, q.Form, r.Comment)
			}
			point := r.Answer.Point
			if point == nil {
				continue
			}
			if len(point) != len(parameters) || allowed(point) != nil {
				t.Errorf("%q is taken as %v", line, point)
			}
			if _, category := point["solvent"].Float(); category || point["solvent"].Name() == "" {
				t.Errorf("%q is taken as %v", line, point)
			}
			x, _ := point["lipf6"].Float()
			t25, _ := point["t"].Float()
			written := "lipf6=" + plain(x) + " solvent=" + point["solvent"].Name() + " t=" + plain(t25)
			if again, err := parse(q, written); err != nil || !maps.Equal(again.Answer.Point, point) {
				t.Errorf("%q is %v, and written as %q %v (%v)", line, point, written, again.Answer.Point, err)
			}
		}
	})
}
