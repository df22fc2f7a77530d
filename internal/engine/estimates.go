package engine

import (
	"fmt"
	"slices"
	"strings"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/projections/campaign"
)

// nextEstimates asks an expert, once, for estimates of compositions spread evenly over the
// space, all in one sitting, and reports whether they are at it. Persons and simulated experts
// are asked alike. A sitting that the campaign itself called off, because its compositions may
// not be measured any more, is repeated. Quantities that the expert is to estimate since an
// amendment have a sitting of their own, about the same compositions.
func nextEstimates(c Now, expert definition.Expert) (step Step, sitting bool, err error) {
	def := c.Definition
	if def.Initial.Estimates == nil || *def.Initial.Estimates < 2 {
		return nil, false, nil
	}
	wanted := slices.Clone(expert.Quantities)
	for i := range c.Questions {
		q := &c.Questions[i]
		if q.Expert != expert.Name || q.Form != events.FormEstimate || q.Decision != "" || q.Volunteered || q.Moot {
			continue
		}
		if q.Status == campaign.Asked {
			return nil, true, nil
		}
		wanted = slices.DeleteFunc(wanted, func(name string) bool { return asksFor(q.Scale, name) })
		if len(wanted) == 0 {
			return nil, false, nil
		}
	}
	seed := seedFor(def.Seed, "initial estimates", expert.Name)
	points, err := c.space.Design(definition.DesignSobol, *def.Initial.Estimates, seed)
	if err != nil || len(points) < 2 { // fewer where the space has no more
		return nil, false, err
	}
	scale, what := scale(c.State, events.FormEstimate), "estimates"
	if wanted != nil {
		scale, what = events.ScaleOfQuantities(def, wanted), "estimates of "+strings.Join(wanted, ", ")
	}
	return Record{[]events.Payload{put(c, events.QuestionAsked{
		Form: events.FormEstimate, Expert: expert.Name, Options: optionsAt(points), Scale: scale,
		Explanation: fmt.Sprintf("Initial %s, of %d compositions spread evenly over the space.", what, len(points)),
	})}}, true, nil
}

// asksFor reports whether a scale asks for numbers of a quantity. Without columns it asks for
// numbers, or marks, of the objective.
func asksFor(scale *events.Scale, quantity string) bool {
	return scale != nil && slices.ContainsFunc(scale.Columns, func(c events.Column) bool { return c.Quantity == quantity })
}
