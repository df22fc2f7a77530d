package shewhart_test

import (
	"math"
	"slices"
	"testing"

	"github.com/campaignd/campaignd/internal/num/shewhart"
)

// Law: the limits are those of the textbook. Montgomery, 7th ed., Example 6.5 with Table 6.6: the
// costs of processing loans in 20 weeks have the center 300.5 and the limits 279.78 and 321.22, with
// d₂ rounded to 1.128.
func TestTextbook(t *testing.T) {
	costs := []float64{310, 288, 297, 298, 307, 303, 294, 297, 308, 306, 294, 299, 297, 299, 314, 295, 293, 306, 301, 304}
	l := shewhart.Individuals(append(costs, 300))[20]
	if l.Center != 300.5 || math.Abs(l.Lower-279.78) > 0.02 || math.Abs(l.Upper-321.22) > 0.02 {
		t.Errorf("limits %+v", *l)
	}
}

// Law: a value is judged by those before it, of which there are a few; by nothing as long as they are
// all equal; and what lay outside its limits widens no later ones.
func TestJudgedByThoseBefore(t *testing.T) {
	steady := []float64{1, 2, 1, 2, 1, 2, 1, 2}
	limits := shewhart.Individuals(slices.Concat(steady, []float64{9, 9, 1}))
	for i, l := range limits {
		if known := l != nil; known != (i >= len(steady)) {
			t.Errorf("value %d has limits: %t", i+1, known)
		}
	}
	if *limits[8] != *limits[10] || limits[8].Contain(9) || !limits[10].Contain(1) {
		t.Errorf("before the outliers %+v, after them %+v", *limits[8], *limits[10])
	}
	for i, l := range shewhart.Individuals([]float64{3, 3, 3, 3, 3, 3, 3, 3, 3, 4, 3}) {
		if (l != nil) != (i == 10) {
			t.Errorf("value %d of equal ones has the limits %+v", i+1, l)
		}
	}
}

// Law: what limits are made from is bounded, so that a slow drift does not take them along.
func TestEnough(t *testing.T) {
	var values []float64
	for i := range 60 {
		values = append(values, float64(i%2))
	}
	limits := shewhart.Individuals(values)
	if *limits[shewhart.Enough] != *limits[59] || *limits[shewhart.Enough-1] == *limits[59] {
		t.Errorf("of the first %d: %+v, later %+v", shewhart.Enough, *limits[shewhart.Enough], *limits[59])
	}
}
