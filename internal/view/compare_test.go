package view_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/view"
	"github.com/campaignd/campaignd/projections/campaign"
)

// courseOf is a course of values at x = 1, 2, …, of which NaN failed.
func courseOf(values ...float64) *view.Course {
	c := &view.Course{CostUnit: "EUR"}
	begun := time.Date(2026, 1, 1, 8, 0, 0, 0, time.UTC)
	for i, v := range values {
		ended, cost := begun.Add(time.Duration(i)*time.Hour), 2.0
		x := view.CourseExperiment{
			Status: campaign.Measured, Counts: true, Values: []*float64{&v}, Ended: &ended, Cost: &cost,
			Parameters: definition.Point{"x": definition.Number(float64(i + 1))},
		}
		if math.IsNaN(v) {
			x.Status, x.Counts, x.Values = campaign.Failed, false, []*float64{nil}
		}
		c.Experiments = append(c.Experiments, x)
	}
	return c
}

// Law: the best so far goes on over what failed or does not count, in the direction that is sought;
// a value is reached by the first that is as good; costs and hours add up.
func TestProgress(t *testing.T) {
	less := definition.Objective{Name: "loss", Goal: definition.Minimize}
	c := courseOf(5, math.NaN(), 7, 3, 1)
	c.Experiments[4].Counts = false
	p := view.ProgressOf(c, less)
	if got := fmt.Sprint(p.Best, p.Cost, p.Hours); got != "[5 5 5 3 3] [2 4 6 8 10] [0 1 2 3 4]" {
		t.Error(got)
	}
	for value, want := range map[float64]int{9: 1, 5: 1, 4: 4, 3: 4, 1: 0} {
		if got := p.Reaches(value, less); got != want {
			t.Errorf("%v is reached after %d experiments, want %d", value, got, want)
		}
	}
}

// Law: two courses share what both measured at the same compositions from the first experiment on,
// whatever they measured there.
func TestSharedStart(t *testing.T) {
	a, b := courseOf(1, 2, 3, 4), courseOf(9, 8, 7)
	if got := view.SharedStart(a, b); got != 3 {
		t.Errorf("all of the shorter one: %d", got)
	}
	b.Experiments[1].Parameters = definition.Point{"x": definition.Number(2.5)}
	if got := view.SharedStart(a, b); got != 1 {
		t.Errorf("up to the first other composition: %d", got)
	}
	if one, other := view.SharedStart(a, courseOf(math.NaN(), 1)), view.SharedStart(courseOf(math.NaN(), 1), a); one+other != 0 {
		t.Errorf("a failure is shared: %d, %d", one, other)
	}
}
