package humans

import (
	"strings"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/ground/format"
)

// OutcomeLine writes an outcome in a line: "conductivity 10.4 mS/cm, price 5 EUR/kg".
// What is expected has its standard deviation.
func OutcomeLine(o events.Outcome) string {
	parts := make([]string, len(o.Quantities))
	for i, q := range o.Quantities {
		value := format.Result(q)
		if q.SD != nil {
			value = format.PlusMinus(q.Value, *q.SD, q.Unit)
		}
		parts[i] = q.Name + " " + value
	}
	return strings.Join(parts, ", ")
}

// OutcomeOrigin says where an outcome comes from.
func OutcomeOrigin(o events.Outcome) string {
	if o.Experiment != "" {
		return "measured in " + o.Experiment
	}
	return "expected, not measured"
}
