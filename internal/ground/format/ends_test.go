package format_test

import (
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/ground/format"
)

// Law: a composition is never written on the forbidden side of a bound or of the
// end of an excluded region, as someone would make it there; and where rounding
// crosses none, it is written as the nearest number.
func TestWrittenOnTheAllowedSide(t *testing.T) {
	def := func(min, max float64, regions ...definition.RegionSide) *definition.Campaign {
		d := &definition.Campaign{Parameters: []definition.Parameter{{Name: "T", Min: &min, Max: &max}}}
		for _, side := range regions {
			d.Barred = append(d.Barred, definition.Region{Where: map[string]definition.RegionSide{"T": side}})
		}
		return d
	}
	from := func(x float64) definition.RegionSide { return definition.RegionSide{Min: &x} }
	upTo := func(x float64) definition.RegionSide { return definition.RegionSide{Max: &x} }
	for _, c := range []struct {
		def  *definition.Campaign
		x    float64
		want string
	}{
		{def(20, 120), 80.9999999, "81.0"},
		{def(20, 120, from(81)), 80.9999999, "80.9"},
		{def(20, 120, from(81)), 80.94, "80.9"},
		{def(20, 120, from(81)), 81, "81.0"},    // it was made there
		{def(20, 120, from(81)), 95.26, "95.3"}, // so was this
		{def(20, 120, upTo(40)), 40.0000001, "40.1"},
		{def(20, 120, from(80.96)), 80.9599, "80.9"},
		{def(20, 179.96), 179.96, "179.9"},
		{def(20, 120), 120, "120.0"},
		{def(20.04, 220), 20.04, "20.1"},
		{def(20, 120, upTo(80.92), from(80.98)), 80.95, "80.95"}, // between two, with a digit more
		{def(-1, 1, from(0)), -1e-9, "-0.001"},
	} {
		if text, _ := format.CompositionsToMake(c.def).Value(0, definition.Point{"T": definition.Number(c.x)}); text != c.want {
			t.Errorf("%v is written as %s, want %s", c.x, text, c.want)
		}
	}

	rng := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		lo := rng.Float64()
		width := rng.Float64() * []float64{1e-4, 0.1, 1, 300}[rng.IntN(4)]
		a, b := lo+0.3*width, lo+0.6*width
		d := def(lo, lo+width, definition.RegionSide{Min: &a, Max: &b})
		allowed := func(x float64) bool { return x >= lo && x <= lo+width && (x < a || x > b) }
		x := lo + width*rng.Float64()
		if near := []float64{lo, a - width*1e-9, b + width*1e-9, lo + width}; rng.IntN(2) == 0 {
			x = near[rng.IntN(4)]
		}
		for _, write := range []format.Compositions{format.CompositionsOf(d), format.CompositionsToMake(d)} {
			text, _ := write.Value(0, definition.Point{"T": definition.Number(x)})
			if y, err := strconv.ParseFloat(text, 64); err != nil || allowed(x) && !allowed(y) {
				t.Fatalf("%v in %v to %v without %v to %v is written as %s", x, lo, lo+width, a, b, text)
			}
		}
	}
}
