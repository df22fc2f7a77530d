package seek

import (
	"slices"

	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/projections/space"
)

// axis is a numeric parameter: its coordinate in the unit cube, and the values
// that 0 and 1 stand for.
type axis struct {
	name        string
	coordinate  int
	lower, span float64
}

// axes are the numeric parameters, in the order of the definition.
type axes []axis

// axesOf finds the numeric parameters in the unit cube.
func axesOf(def *definition.Campaign, sp *space.Space) (all axes) {
	coordinates := sp.Coordinates()
	for i, d := range def.Parameters {
		lower := d.Min
		if len(d.Values) > 0 {
			least := slices.Min(d.Values)
			lower = &least
		}
		if lower == nil { // it has categories
			continue
		}
		all = append(all, axis{name: d.Name, coordinate: coordinates[i][0], lower: *lower, span: sp.Span(i)})
	}
	return all
}

func (a axes) names() []string {
	names := make([]string, len(a))
	for i := range a {
		names[i] = a[i].name
	}
	return names
}

// at fills the first places of dst with the parameters at a point of the unit cube.
func (a axes) at(dst, x []float64) {
	for i, axis := range a {
		dst[i] = axis.lower + float64(axis.span*x[axis.coordinate])
	}
}

// addGrad adds the contribution of derivatives by the parameters, times a factor, to a gradient
// in the unit cube.
func (a axes) addGrad(grad, byParameter []float64, factor float64) {
	for i, axis := range a {
		grad[axis.coordinate] += float64(factor*byParameter[i]) * axis.span
	}
}
