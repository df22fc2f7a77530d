package engine

import (
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/projections/campaign"
)

// WithFollowUps returns a payload with its consequences, to be recorded in the same batch: an
// experiment that was put off is requested again, with the same composition and for the same
// reason, unless the campaign has ended or the composition has been excluded since. A
// measurement of another composition than the requested one is flagged, and so is one that
// equals the one before, and one in doubt that cannot be measured again is kept.
//
// One batch, so that a crash can never leave the one without the other, and so
// that an audit can hold each to the first. Outcomes that people report go
// through it as well as those of instruments.
func WithFollowUps(c Now, payload events.Payload) []events.Payload {
	payloads := []events.Payload{payload}
	switch p := payload.(type) {
	case *events.ExperimentMeasured:
		x := c.Experiment(p.Experiment)
		if x == nil {
			break // a person's own
		}
		if elsewhere := Elsewhere(c, x, p.Actual); elsewhere != nil {
			return append(payloads, elsewhere...)
		}
		return append(payloads, Same(c, x, p.Instrument, &p.Measurement)...)
	case *events.ExperimentCancelled:
		if p.Once {
			return append(payloads, keep(c, p.Experiment)...)
		}
	case *events.ExperimentDeferred:
		if x := c.Experiment(p.Experiment); x != nil && !c.Status.Ended() && c.space.Contains(x.Parameters) == nil {
			return append(payloads, Retry(c.State, x, x.Replicate))
		}
	}
	return payloads
}

// Retry requests an experiment's composition once more. Origin and decision stay, so that its
// result counts for the same decision; the number is the next free one.
func Retry(s *campaign.State, x *campaign.Experiment, replicate int) *events.ExperimentRequested {
	return &events.ExperimentRequested{
		Experiment: events.ExperimentID(len(s.Experiments) + 1), Parameters: x.Parameters,
		Origin: x.Origin, Decision: x.Decision, Replicate: replicate,
	}
}
