package report

import (
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/format"
)

// compositionFormat writes the values of each parameter as precisely as is
// needed to make the composition again. A composition that is printed with fewer
// digits could not be made again from the report alone, which may be all that is
// left in ten years.
type compositionFormat struct{ format.Compositions }

// newCompositionFormat returns the format for a definition's parameters.
func newCompositionFormat(def *definition.Campaign) compositionFormat {
	return compositionFormat{format.CompositionsToMake(def)}
}

// value writes the value of the i-th parameter at a composition; "–" where the
// composition has none. A cell that is empty would look like a fault of the
// page.
func (f compositionFormat) value(i int, point definition.Point) string {
	if text, ok := f.Value(i, point); ok {
		return text
	}
	return "–"
}

// line writes a composition on one line, with units.
func (f compositionFormat) line(point definition.Point) string { return f.LineWithUnits(point) }
