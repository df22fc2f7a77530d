package engine

import (
	"fmt"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/projections/campaign"
)

// nextEstimates asks an expert, once, what they expect of compositions spread
// evenly over the space, all in one sitting, and says whether they sit over it.
// Persons and simulated experts are asked alike. A sitting that the campaign
// itself called off, because what it was about may not be measured any more, is
// made up for.
func (c *Core) nextEstimates(
	s *campaign.State, w World, expert definition.Expert,
) (step Step, sitting bool, err error) {
	def := s.Definition
	if def.Initial.Estimates == nil || *def.Initial.Estimates < 2 {
		return nil, false, nil
	}
	for i := range s.Questions {
		q := &s.Questions[i]
		if q.Expert == expert.Name && q.Form == events.FormEstimate && q.Decision == "" &&
			!q.Volunteered && !q.Moot {
			return nil, q.Status == campaign.Asked, nil
		}
	}
	seed := seedFor(def.Seed, "initial estimates", expert.Name)
	points, err := c.space.Design(definition.DesignSobol, *def.Initial.Estimates, seed)
	if err != nil || len(points) < 2 { // fewer where the space has no more
		return nil, false, err
	}
	options := make([]events.Option, len(points))
	for i, p := range points {
		options[i].Parameters = p
	}
	return Record{[]events.Payload{&events.QuestionAsked{
		Question: events.QuestionID(len(s.Questions) + 1), Form: events.FormEstimate, Expert: expert.Name,
		Options: options, Scale: c.scale(events.FormEstimate),
		Explanation: fmt.Sprintf("Initial estimates, of %d compositions spread evenly over the space.", len(points)),
		Expires:     c.Expiry(w, expert.Name, events.FormEstimate, len(points), true), ByHand: &w.ByHand,
	}}}, true, nil
}
