package console

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/ground/problem"
	"github.com/campaignd/campaignd/internal/lab"
	"github.com/campaignd/campaignd/internal/view/figure"
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

// Law: a composition differs from another in its categories first, then in the numbers that differ
// by the largest shares of their ranges; two differences are named, and none that is too small to see.
func TestHowCompositionsDiffer(t *testing.T) {
	def := &definition.Campaign{Parameters: []definition.Parameter{
		{Name: "x", Min: new(0.0), Max: new(1.0)}, {Name: "y", Min: new(0.0), Max: new(100.0)},
		{Name: "salt", Categories: []definition.CategoryDef{{Name: "A"}, {Name: "B"}}},
	}}
	point := func(x, y float64, salt string) definition.Point {
		return definition.Point{"x": definition.Number(x), "y": definition.Number(y), "salt": definition.Category(salt)}
	}
	for want, to := range map[string]definition.Point{
		"":                               point(0.52, 48, "A"),
		"more x":                         point(0.6, 50, "A"),
		"less y and more x":              point(0.6, 20, "A"),
		"salt B instead of A":            point(0.5, 50, "B"),
		"salt B instead of A and less y": point(0.6, 0, "B"),
	} {
		if got := (&reference{def: def}).differences(point(0.5, 50, "A"), to); got != want {
			t.Errorf("%v differs by %q, not %q", to, got, want)
		}
	}
}

// Law: what a refusal says to do is a link or a button where a page does it, and stays words where
// none does, or where it is about a campaign and there is none.
func TestRemediesLead(t *testing.T) {
	const bench = "/campaigns/bench"
	for _, c := range []struct {
		action   problem.Action
		campaign string
		want     way
	}{
		{problem.LogIn, "", way{Link: "/login"}},
		{problem.LogIn, "bench", way{Link: "/login"}},
		{problem.Confirm, "bench", way{Link: "/confirm?next=%2Fcampaigns%2Fbench"}},
		{problem.Start, "", way{Link: "/new"}},
		{problem.Run, "bench", way{Post: bench + "/run"}},
		{problem.Resolve, "bench", way{Link: bench + "/experiments/e1"}},
		{problem.Answer, "bench", way{Link: "/questions/bench/e1"}},
		{problem.Tell, "bench", way{Link: bench + "/results"}},
		{problem.Tell, "", way{}},
		{problem.Unlock, "bench", way{}},
	} {
		c.want.Text = "do it"
		if got := wayOf(problem.Remedy{Text: "do it", Action: c.action, Subject: "e1"}, c.campaign); got != c.want {
			t.Errorf("%s in %q leads to %+v, not %+v", c.action, c.campaign, got, c.want)
		}
	}
}
