package space_test

import (
	"testing"

	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/projections/space"
)

// Law: what was asked for decides where something was asked for, and what was made
// where it lies in an excluded region, or nothing was asked for that belongs to
// the space. These are the cases of the rule.
func TestOutside(t *testing.T) {
	def := definition.Campaign{
		Parameters: []definition.Parameter{
			{Name: "T", Unit: "C", Min: new(20.0), Max: new(80.0)},
			{Name: "n", Values: []float64{1, 2, 4}},
			{Name: "a", Min: new(0.0), Max: new(1.0)},
			{Name: "b", Min: new(0.0), Max: new(1.0)},
			{Name: "s", Categories: []definition.CategoryDef{{Name: "THF"}, {Name: "DMF"}}},
		},
		Constraints: []definition.Constraint{
			{Terms: map[string]float64{"a": 1, "b": 1}, Equals: new(1.0)},
			{Terms: map[string]float64{"T": 1, "n": -10}, AtLeast: new(15.0)},
		},
		Excluded:   []definition.Region{{Name: "lid", Where: map[string]definition.RegionSide{"T": {Min: new(70.0), Max: new(75.0)}, "s": {Is: "DMF"}}}},
		Instrument: definition.Instrument{Steps: map[string]float64{"T": 5}},
	}
	bounds := must.Get(space.NewBounds(def))(t)
	p := func(T, n, a, b float64, s string) definition.Point {
		return definition.Point{"T": definition.Number(T), "n": definition.Number(n), "a": definition.Number(a),
			"b": definition.Number(b), "s": definition.Category(s)}
	}
	good := p(60, 2, 0.5, 0.5, "THF")
	for _, c := range []struct {
		name        string
		asked, made definition.Point
		outside     bool
		astray      bool
	}{
		{"as asked", good, good, false, false},
		{"a device is off by 4 % of a range", p(80, 2, 0.5, 0.5, "THF"), p(82.4, 2, 0.53, 0.5, "THF"), false, false},
		{"rounding of floats", p(80, 2, 0.5, 0.5, "THF"), p(80.0000000001, 2, 0.5, 0.5, "THF"), false, false},
		{"and one off by more", p(80, 2, 0.5, 0.5, "THF"), p(84, 2, 0.5, 0.5, "THF"), true, true},
		{"another category, made by mistake", p(72, 2, 0.5, 0.5, "THF"), p(72, 2, 0.5, 0.5, "DMF"), true, true},
		{"on the end of a region, next to what was asked", p(69.9999999, 2, 0.5, 0.5, "DMF"), p(70, 2, 0.5, 0.5, "DMF"), true, true},
		{"next to the region, but for a float's rounding", p(69.99999994, 2, 0.5, 0.5, "DMF"), p(69.999999940001, 2, 0.5, 0.5, "DMF"), false, false},
		{"asked for outside, and made within", p(90, 2, 0.5, 0.5, "THF"), p(79, 2, 0.5, 0.5, "THF"), false, false},

		{"imported on a bound", p(80, 2, 0.5, 0.5, "THF"), p(80, 2, 0.5, 0.5, "THF"), false, false},
		{"imported beyond it", p(80.2, 2, 0.5, 0.5, "THF"), p(80.2, 2, 0.5, 0.5, "THF"), true, false},
		{"with printed fractions", p(60, 2, 0.333, 0.666, "THF"), p(60, 2, 0.333, 0.666, "THF"), false, false},
		{"with another sum", p(60, 2, 0.5, 0.4, "THF"), p(60, 2, 0.5, 0.4, "THF"), true, false},
		{"off an order", p(50, 4, 0.5, 0.5, "THF"), p(50, 4, 0.5, 0.5, "THF"), true, false},
		{"off a step", p(62, 2, 0.5, 0.5, "THF"), p(62, 2, 0.5, 0.5, "THF"), false, false},
		{"off a list", p(60, 3, 0.5, 0.5, "THF"), p(60, 3, 0.5, 0.5, "THF"), true, false},
		{"in a region", p(70, 2, 0.5, 0.5, "DMF"), p(70, 2, 0.5, 0.5, "DMF"), true, false},
		{"the same in another category", p(70, 2, 0.5, 0.5, "THF"), p(70, 2, 0.5, 0.5, "THF"), false, false},
		{"of a category that there is not", p(60, 2, 0.5, 0.5, "water"), p(60, 2, 0.5, 0.5, "water"), true, false},
	} {
		why, astray := bounds.Outside(c.asked, c.made)
		if (why != "") != c.outside || astray != c.astray {
			t.Errorf("%s: it says %q, astray %v", c.name, why, astray)
		}
	}

	listed := definition.Campaign{Parameters: def.Parameters[:1], Candidates: []definition.Point{
		{"T": definition.Number(30)}, {"T": definition.Number(50)}}}
	bounds = must.Get(space.NewBounds(listed))(t)
	for at, outside := range map[float64]bool{30: false, 30.000001: false, 40: true} {
		made := definition.Point{"T": definition.Number(at)}
		if why, _ := bounds.Outside(made, made); (why != "") != outside {
			t.Errorf("of a list of candidates, %v: it says %q", at, why)
		}
	}
}
