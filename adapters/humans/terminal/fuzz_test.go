package terminal

import (
	"errors"
	"maps"
	"strings"
	"testing"

	"github.com/campaignd/campaignd/adapters/humans"
	"github.com/campaignd/campaignd/events"
)

// Law: no line that a person types makes the reader panic. What it takes answers the
// question, within what is allowed, and a composition reads the same when it is
// written out; what it refuses it repeats or explains.
func FuzzAnswerLines(f *testing.F) {
	for _, line := range []string{
		"a", "r too viscous", "w", "won't: smells", "? never seen", "can't tell", "A", "B > A: less viscous", "b a c", "1.1 EC", "lipf6=1.1 solvent=EC: as last year",
		"ok", "OK: why not", "ok,", "lipf6=9 solvent=EC:DMC", "lipf6=", "=", ":", "", " ", "lipf6=1e999 solvent=EC", "\x00", "\xff", "ok\u2028", "İ", "K", "? never seen \u2003",
	} {
		f.Add(line, 2)
	}
	lo, hi := 0.0, 2.0
	parameters := []events.Parameter{
		{Name: "lipf6", Unit: "mol/kg", Min: &lo, Max: &hi}, {Name: "solvent", Categories: []events.CategoryDef{{Name: "EC"}, {Name: "EC:DMC"}}},
		{Name: "t", Values: []float64{25, 35}},
	}
	suggested := events.Point{"lipf6": events.Number(1), "solvent": events.Category("EC"), "t": events.Number(25)}
	errBeyond := errors.New("lipf6 must be at most 2 mol/kg")
	allowed := func(p events.Point) error {
		if x, _ := p["lipf6"].Float(); !(x >= lo && x <= hi) {
			return errBeyond
		}
		return nil
	}
	f.Fuzz(func(t *testing.T, line string, n int) {
		n = 2 + (n%7+7)%7
		label := humans.Question{Expert: "ada", Parameters: parameters, Point: suggested}
		comparison := humans.Question{Expert: "ada", Parameters: parameters, Form: humans.Comparison, Options: make([]events.Option, n)}
		pinpoint := humans.Question{Expert: "ada", Parameters: parameters, Form: humans.Pinpoint, Allowed: allowed}
		suggestion := pinpoint
		suggestion.Point = suggested
		for _, q := range []humans.Question{label, comparison, pinpoint, suggestion} {
			a, err := parse(q, line)
			if err != nil {
				if len(err.Error()) < 10 {
					t.Errorf("%q to a %q is refused with %q", line, q.Form, err)
				}
				continue
			}
			if err := a.Check(q.Form, len(q.Options)); err != nil {
				t.Errorf("%q to a %q is taken as %+v, which is no answer: %v", line, q.Form, a, err)
			}
			if a.Comment != strings.TrimSpace(a.Comment) {
				t.Errorf("%q to a %q has the comment %q", line, q.Form, a.Comment)
			}
			if a.Point == nil {
				continue
			}
			if len(a.Point) != len(parameters) || allowed(a.Point) != nil {
				t.Errorf("%q is taken as %v", line, a.Point)
			}
			if _, category := a.Point["solvent"].Float(); category || a.Point["solvent"].Name() == "" {
				t.Errorf("%q is taken as %v", line, a.Point)
			}
			x, _ := a.Point["lipf6"].Float()
			t25, _ := a.Point["t"].Float()
			written := "lipf6=" + plain(x) + " solvent=" + a.Point["solvent"].Name() + " t=" + plain(t25)
			if again, err := parse(q, written); err != nil || !maps.Equal(again.Point, a.Point) {
				t.Errorf("%q is %v, and written as %q %v (%v)", line, a.Point, written, again.Point, err)
			}
		}
	})
}
