package page

import (
	"testing"

	"github.com/campaignd/campaignd/internal/study/simulate"
)

// A difference is written in digits that can be read, however small it is.
func TestTinyDifferences(t *testing.T) {
	for _, c := range []struct {
		d    simulate.Interval
		want string
	}{
		{simulate.Interval{Mean: -0.123, Lower: -0.2, Upper: -0.05}, "−0.123 [−0.200, −0.050]"},
		{simulate.Interval{Mean: -2.1e-8, Lower: -4e-8, Upper: 1e-9}, "−2.1e−08 [−4.0e−08, +1.0e−09]"},
	} {
		if got := intervalText(&c.d); len(got) > 40 || got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}
