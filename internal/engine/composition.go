package engine

import (
	"fmt"
	"math"
	"strings"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/ground/problem"
	"github.com/campaignd/campaignd/projections/campaign"
	"github.com/campaignd/campaignd/projections/space"
)

// plausible rejects a composition named by a person that the campaign could not request: a
// wrong sum, a number outside the bounds. A composition that was made is a fact, but such a one
// is nearly always a slip of the hand. made is set if it was made rather than requested.
//
// It can be overridden by the person (WayAnyway): the rule is ours, the fact
// theirs.
func plausible(c Now, point definition.Point, made bool) error {
	if strays := c.space.Strays(point, made); strays != nil {
		return notPossible("%s", strings.Join(strays, "; ")).With(problem.Remedy{
			Text: "if it is right, take it", Action: problem.Complete,
			Ways: []string{problem.WayAnyway},
		})
	}
	return nil
}

// Elsewhere returns the engine's remark that the composition made differs from the one
// requested. The measurement counts where it was made. It repeats no other, and asking again
// cannot repeat it.
//
// It follows from the request and the measurement alone, so that it is written
// in the batch of the measurement and an audit makes it again. Categories are
// equal or not.
func Elsewhere(c Now, x *campaign.Experiment, actual definition.Point) []events.Payload {
	var apart []string
	for i, p := range c.Definition.Parameters {
		asked, made := x.Parameters[p.Name], actual[p.Name]
		a, _ := asked.Float()
		b, numeric := made.Float()
		if numeric && math.Abs(a-b) <= space.Nearby*c.space.Span(i) || !numeric && asked == made {
			continue
		}
		apart = append(apart,
			fmt.Sprintf("%s is %s and was to be %s", p.Name,
				strings.TrimSpace(made.String()+" "+p.Unit), asked))
	}
	if apart == nil {
		return nil
	}
	return []events.Payload{&events.MeasurementFlagged{Experiment: x.ID, Verdict: events.VerdictElsewhere,
		Predicted: events.Prediction{Unit: sought(c.State).Unit},
		Reason: fmt.Sprintf(
			"What was made is not what was asked for (%s). It counts where it was made, and judges no other measurement.",
			strings.Join(apart, ", "),
		)}}
}
