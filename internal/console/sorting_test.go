package console

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/campaignd/campaignd/internal/figure"
	"github.com/campaignd/campaignd/internal/lab"
)

// Law: of two campaigns the one with more experiments, and the one that was changed last, comes
// first where the list is in that order.
func TestTheMostComesFirst(t *testing.T) {
	var few, many lab.Standing
	few.Done, many.Done = 3, 7
	few.Last = time.Unix(10, 0)
	many.Last = time.Unix(20, 0)
	for _, word := range []string{"experiments", "last"} {
		if order(word, many, few) >= 0 || order(word, few, many) <= 0 || order(word, few, few) != 0 {
			t.Errorf("by %s it is the other way round", word)
		}
	}
}

// Law: the scale of what was measured marks the best, where there is one.
func TestScaleMarksTheBest(t *testing.T) {
	best, shown := 3.0, figure.Span{Low: 1, High: 3}
	with, without := scale([]float64{1, 3}, &best, shown, nil), scale([]float64{1, 3}, nil, shown, nil)
	if strings.Count(string(with), "incumbent") != 1 || strings.Contains(string(without), "incumbent") {
		t.Errorf("%s\n%s", with, without)
	}
}

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
