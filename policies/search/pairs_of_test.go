package search

import (
	"errors"
	"math"
	"testing"

	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/projections/space"
)

// Law: of points that cannot be taken to a composition only the first is tried, and all others are
// used as ever: two that are left make a pair. With fewer it is said why.
func TestPairsOfWhatCanBeMade(t *testing.T) {
	within := func(name string) definition.Parameter {
		lo, hi := 0.0, 1.0
		return definition.Parameter{Name: name, Min: &lo, Max: &hi}
	}
	equals := 2.073132 // the middle and hardly any other step of 0.001
	sp := must.Get(space.New(definition.Campaign{
		Parameters: []definition.Parameter{
			{Name: "k", Values: []float64{0, 1}}, within("a"), within("b"), within("c"),
		},
		Constraints: []definition.Constraint{
			{Terms: map[string]float64{"a": 1, "b": 1.414213, "c": 1.732051}, Equals: &equals},
		},
		Instrument: definition.Instrument{Steps: map[string]float64{"a": 0.001, "b": 0.001, "c": 0.001}},
	}))(t)
	far, middle, other := []float64{0, 0, 1, 0.38}, []float64{0, 0.5, 0.5, 0.5}, []float64{1, 0.5, 0.5, 0.5}
	sum := func(x, y, _, _ []float64) (value float64) {
		for i := range x {
			value += x[i] - 2*y[i]
		}
		return value
	}
	for _, c := range []struct {
		name   string
		points [][]float64
		pairs  int
		err    error
	}{
		{"all can be made", [][]float64{middle, other}, 1, nil},
		{"one cannot", [][]float64{far, middle, other}, 1, nil},
		{"several cannot", [][]float64{middle, far, far, other, far}, 1, nil},
		{"one can", [][]float64{far, middle, middle}, 0, space.ErrUndecided},
		{"none can", [][]float64{far, far}, 0, space.ErrUndecided},
		{"one, and it can", [][]float64{middle}, 0, nil},
	} {
		pairs, err := pairsOf(sp, sum, c.points)
		if len(pairs) != c.pairs || !errors.Is(err, c.err) {
			t.Errorf("%s: %d pairs, %v; want %d, %v", c.name, len(pairs), err, c.pairs, c.err)
		}
	}
	undefined := func(x, y, _, _ []float64) float64 { return math.Inf(int(1 - 2*x[0])) }
	if pairs, err := pairsOf(sp, undefined, [][]float64{middle, other}); len(pairs) != 0 || err != nil {
		t.Errorf("where nothing is defined there are %d pairs, %v", len(pairs), err)
	}
}

// Law: a point is taken to a composition that can be made, with the value there; where it has none it
// is +Inf, the worst there is.
func TestSnapsToAValue(t *testing.T) {
	lo, hi := 0.0, 1.0
	sp := must.Get(space.New(definition.Campaign{
		Parameters: []definition.Parameter{{Name: "k", Values: []float64{0, 1}}, {Name: "a", Min: &lo, Max: &hi}},
		Instrument: definition.Instrument{Steps: map[string]float64{"a": 0.1}},
	}))(t)
	for value, want := range map[float64]float64{3: 3, -2: -2, math.NaN(): math.Inf(1)} {
		m := newMixed(t.Context(), sp, func(x, _ []float64) float64 { return value * x[0] }, nil)
		p, err := m.snap([]float64{0.9, 0.32})
		if err != nil || !p.whole || p.value != want || p.x[0] != 1 || math.Abs(p.x[1]-0.3) > 1e-9 {
			t.Errorf("where the value is %v: %+v, %v", value, p, err)
		}
	}
}
