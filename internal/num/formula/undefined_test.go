package formula_test

import (
	"math"
	"testing"

	"github.com/campaignd/campaignd/internal/num/formula"
	"github.com/campaignd/campaignd/internal/tests/must"
)

// Law: a formula without a finite value names the first operation that has none although
// what it is applied to has, and at what; one that has a value names nothing.
func TestUndefined(t *testing.T) {
	for _, c := range []struct {
		formula string
		values  []float64 // of the names, in their order
		want    string
	}{
		{"ln((a - b)/c) - d/b", []float64{1, 3, 2, 1}, "ln((a - b)/c) is not defined at -1"},
		{"ln((a - b)/c) - d/b", []float64{3, 1, 2, 1}, ""},
		{"1 + sqrt(a)", []float64{-4}, "sqrt(a) is not defined at -4"},
		{"log10(a) + ln(b)", []float64{1, 0}, "ln(b) is not defined at 0"},
		{"a/(b - c)", []float64{1, 2, 2}, "a/(b - c) divides by 0"},
		{"a^b", []float64{-2, 0.5}, "a^b is not defined at -2 to the power of 0.5"},
		{"exp(a)", []float64{1000}, "exp(a) is too large for a number"},
		{"a < 0 ? ln(b) : ln(a)", []float64{1, -1}, ""},
		{"a < 0 ? ln(b) : ln(a)", []float64{-1, -1}, "ln(b) is not defined at -1"},
		{"a < 0 ? ln(b) : ln(c)", []float64{1, -1, 0}, "ln(c) is not defined at 0"},
		{"ln(a)", []float64{math.NaN()}, ""},
	} {
		f := must.Get(formula.Parse(c.formula))(t)
		if got := f.Undefined(c.values); got != c.want {
			t.Errorf("%s at %v: %q, want %q", c.formula, c.values, got, c.want)
		}
	}
}
