package console

import (
	"fmt"
	"math"
	"slices"
	"testing"
)

// Law: what has no value comes last in a table, in whichever order values came and whichever
// direction is asked for.
func TestNoValueComesLast(t *testing.T) {
	none := math.NaN()
	for _, values := range [][]float64{{none, 2, 1}, {2, none, 1}, {2, 1, none}, {none, 1, none, 2}} {
		for _, down := range []bool{false, true} {
			got := slices.Clone(values)
			slices.SortStableFunc(got, func(a, b float64) int { return before(a, b, down) })
			want := "[1 2"
			if down {
				want = "[2 1"
			}
			if text := fmt.Sprint(got); text != want+" NaN]" && text != want+" NaN NaN]" {
				t.Errorf("%v becomes %s", values, text)
			}
		}
	}
}
