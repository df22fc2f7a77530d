package sources

import (
	"fmt"
	"math"

	"github.com/campaignd/campaignd/internal/num/gp"
)

// Data are n measurements of one quantity in d dimensions. Nothing here changes
// them.
type Data struct {
	X      [][]float64 // n points of d coordinates
	Source []float64   // where each value is from: a fidelity, or a source's number
	Y      []float64   // n values
}

// validate panics on mismatched shapes and reports bad numbers, and sources for
// which may is false, with gp.ErrData.
func (d Data) validate(may func(source float64) bool) error {
	if len(d.Source) != len(d.X) || len(d.Y) != len(d.X) {
		panic(fmt.Sprintf("sources: %d points, %d sources, %d values", len(d.X), len(d.Source), len(d.Y)))
	}
	if len(d.X) == 0 {
		return fmt.Errorf("%w: there are none, at least one is needed", gp.ErrData)
	}
	for i, x := range d.X {
		if len(x) != len(d.X[0]) || len(x) == 0 {
			panic(fmt.Sprintf("sources: point %d has %d coordinates, point 0 has %d",
				i, len(x), len(d.X[0])))
		}
		for j, v := range x {
			if math.IsNaN(v) || math.IsInf(v, 0) {
				return fmt.Errorf("%w: coordinate %d of point %d is %v", gp.ErrData, j, i, v)
			}
		}
		if v := d.Y[i]; math.IsNaN(v) || math.IsInf(v, 0) {
			return fmt.Errorf("%w: value %d is %v", gp.ErrData, i, v)
		}
		if s := d.Source[i]; !may(s) {
			return fmt.Errorf("%w: value %d is from %v, which is not a source", gp.ErrData, i, s)
		}
	}
	return nil
}
