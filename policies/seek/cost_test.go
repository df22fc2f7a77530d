package seek_test

import (
	"math"
	"strings"
	"testing"

	"github.com/campaignd/campaignd/policies/seek"
	"github.com/campaignd/campaignd/projections/quantity"
)

// Law: what is weighed is ln of the expected cost, never less than that of a thousandth of the
// median, with its gradient: of a formula its value, of a measured quantity the mean of what is
// lognormal.
func TestLogarithmOfTheCost(t *testing.T) {
	const step = 1e-5
	for of, value := range map[string]func(heat, sugar float64) float64{
		"{of: 1 + heat*sugar, unit: h}": func(heat, sugar float64) float64 { return math.Log(1 + heat*sugar) },
		"price":                         func(_, sugar float64) float64 { return math.Log(2 + 3*sugar) },
		"exp(20*heat - 20)":             func(heat, _ float64) float64 { return 20*heat - 20 },
		"minutes":                       nil,
	} {
		core, p := baked(t, strings.Replace(bounded("minutes <= 60"), "\nbudget:", "\ncost: "+of+"\nbudget:", 1), 25)
		minutes := p.Models[1]
		c, err := seek.NewCost(core.State(), core.Space(), quantity.Models{{Quantity: "crust", Model: p.Models[0]}, {Quantity: "minutes", Model: minutes}})
		if err != nil || c == nil || c.Measured() != (value == nil) {
			t.Fatalf("%s: %v, %v", of, c, err)
		}
		if value == nil {
			value = func(heat, sugar float64) float64 {
				mean, sd := minutes.Posterior([]float64{heat, sugar})
				scale := minutes.Scale()
				sd *= scale.Spread
				return scale.Center + scale.Spread*mean + sd*sd/2
			}
		}
		least := math.Log(1e-3 * core.State().Cost().Median)
		for _, x := range [][]float64{{0.1, 0.9}, {0.52, 0.33}, {0.7, 0.05}, {0.95, 0.6}} {
			if got, want := c.Log(x, nil), math.Max(value(x[0], x[1]), least); math.Abs(got-want) > 1e-9 {
				t.Errorf("%s: at %v it is %v, want %v", of, x, got, want)
			}
			grad := []float64{7, 7} // of before
			if c.Log(x, grad) != c.Log(x, nil) {
				t.Errorf("%s: at %v it depends on whether a slope is asked for", of, x)
			}
			for j := range x {
				up, down := append([]float64{}, x...), append([]float64{}, x...)
				up[j], down[j] = x[j]+step, x[j]-step
				if want := (c.Log(up, nil) - c.Log(down, nil)) / (2 * step); math.Abs(grad[j]-want) > 1e-5*(1+math.Abs(want)) {
					t.Errorf("%s: at %v the slope by %d is %v, want %v", of, x, j, grad[j], want)
				}
			}
		}
	}
	core, p := baked(t, bounded("minutes <= 60"), 5)
	if c, err := seek.NewCost(core.State(), core.Space(), quantity.Models{{Quantity: "crust", Model: p.Models[0]}}); c != nil || err != nil {
		t.Errorf("without a cost: %v, %v", c, err)
	}
}
