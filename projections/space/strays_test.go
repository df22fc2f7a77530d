package space

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/tests/must"
)

// Law: what a campaign can ask for is never called astray.
func TestNothingSuggestedIsAstray(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := open(t, definitions().Draw(t, "definition"))
		points, err := s.Sample(3, rapid.Uint64().Draw(t, "seed"))
		if err != nil {
			t.Skip(err)
		}
		for _, p := range points {
			if strays := slices.Concat(s.Strays(p, false), s.Strays(p, true)); strays != nil {
				t.Fatalf("%v: %v", p, strays)
			}
		}
	})
}

// Law: a slip of the hand is named with its numbers, rounding and the accuracy of
// dosing are no slip, and what was made need not lie on a grid.
func TestStrays(t *testing.T) {
	def := mixture()
	def.Parameters = append(def.Parameters,
		definition.Parameter{Name: "t", Unit: "°C", Values: []float64{25, 35, 60}},
		definition.Parameter{Name: "salt", Categories: []definition.CategoryDef{{Name: "x"}, {Name: "y"}}})
	s := must.Get(New(def))(t)
	for _, test := range []struct {
		ec, dmc, emc, fec, t float64
		asked, made          []string
	}{
		{0.3, 0.4, 0.25, 0.05, 25, nil, nil},
		{0.3, 0.4, 0.3, 0.05, 25, []string{"ec + dmc + emc + fec = 1.05, the campaign says 1"}, []string{"ec + dmc + emc + fec = 1.05, the campaign says 1"}},
		{0.3, 0.4, 0.253, 0.05, 25, []string{"emc = 0.253 is not a multiple of its dosing step 0.01"}, nil},
		{0.301, 0.4, 0.25, 0.05, 27, []string{"ec = 0.301 is not a multiple of its dosing step 0.01", "t = 27 °C is none of 25, 35, 60"}, nil},
		{0.55, 0.2, 0.14, 0.11, 25, []string{"ec + fec = 0.66, the campaign says at most 0.6"}, []string{"ec + fec = 0.66, the campaign says at most 0.6"}},
		{0.05, 0.9, 0, 0.05, 61, []string{"ec = 0.05 is below 0.1", "dmc = 0.9 is above 0.8", "t = 61 °C is above 60"},
			[]string{"ec = 0.05 is below 0.1", "dmc = 0.9 is above 0.8", "t = 61 °C is above 60"}},
	} {
		p := definition.Point{"ec": definition.Number(test.ec), "dmc": definition.Number(test.dmc), "emc": definition.Number(test.emc),
			"fec": definition.Number(test.fec), "t": definition.Number(test.t), "salt": definition.Category("x")}
		if got := s.Strays(p, false); !slices.Equal(got, test.asked) {
			t.Errorf("asked for %v: %q, want %q", p, got, test.asked)
		}
		if got := s.Strays(p, true); !slices.Equal(got, test.made) {
			t.Errorf("made %v: %q, want %q", p, got, test.made)
		}
	}
}
