package view_test

import (
	"math"
	"testing"

	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/view"
)

// Law: fronts of courses are measured by one reference, in percent of what they cover
// together; what counts for nothing changes nothing. The areas are worked out by hand.
func TestCoveringsOfCourses(t *testing.T) {
	zero, ten := 0.0, 10.0
	def := &definition.Campaign{
		Quantities: []definition.QuantityDef{{Name: "yield", Unit: "%"}, {Name: "cost", Unit: "EUR"}},
	}
	def.Objective.Tradeoff = []definition.Aim{
		{Name: "yield", Goal: definition.Maximize, Worst: &zero}, {Name: "cost", Goal: definition.Minimize, Worst: &ten},
	}
	// Beyond yield 0 and cost 10: boxes of 2·5, of 4·2, and both with 2·2 in common.
	one := [][]float64{nil, {2, 5}, {1, 9}, {4, 8}}
	two := [][]float64{{5, 4}, {20, 11}}
	covered, beyond := view.Coverings(def, [][][]float64{one, two})
	const together = 5 * 6.0 // (5, 4) is better than the others in both; (20, 11) costs too much
	want := [][]float64{{math.NaN(), 10 / together * 100, 10 / together * 100, 14 / together * 100}, {100, 100}}
	for i, course := range covered {
		for n, v := range course {
			if w := want[i][n]; math.Abs(v-w) > 1e-9 || math.IsNaN(v) != math.IsNaN(w) {
				t.Errorf("course %d covers %v after %d, want %v", i, v, n+1, w)
			}
		}
	}
	if beyond[0].Value != 0 || beyond[1].Value != 10 || beyond[1].Unit != "EUR" {
		t.Errorf("it is measured beyond %v", beyond)
	}
	// What is not given comes from the measurements of all; a logarithm counts as such, and is
	// written as the value that it is of.
	def.Objective.Tradeoff[1].Worst = nil
	def.Quantities[1].Scale = definition.ScaleLog
	_, beyond = view.Coverings(def, [][][]float64{{{2, 1}}, {{4, 100}}})
	if want := 100 * math.Pow(100, 0.1); math.Abs(beyond[1].Value-want) > 1e-9*want {
		t.Errorf("inferred is cost %v, want %v", beyond[1].Value, want)
	}
	if covered, beyond := view.Coverings(def, [][][]float64{{nil}}); !math.IsNaN(covered[0][0]) || beyond != nil {
		t.Errorf("of nothing: %v beyond %v", covered, beyond)
	}
}
