package campaign

import (
	"fmt"
	"slices"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
)

// statusOf is the status to which a person settles or corrects an outcome.
var statusOf = map[events.Resolution]ExperimentStatus{
	events.ResolvedMeasured: Measured, events.ResolvedFailed: Failed,
	events.ResolvedInfeasible: Infeasible, events.ResolvedNotPerformed: Cancelled,
}

// correctOutcome folds a person's word that an experiment ended otherwise. When it
// ended stays: the correction is about what happened then.
func (s *State) correctOutcome(e events.Event, p *events.ExperimentCorrected) (problem string) {
	status, known := statusOf[p.Outcome]
	x := s.Experiment(p.Experiment)
	switch {
	case !known:
		return fmt.Sprintf("%q is not an outcome", p.Outcome)
	case (status == Measured) != (p.Measurement != nil):
		return "its outcome and its measurement do not go together"
	case x == nil:
		return fmt.Sprintf("there is no experiment %s", p.Experiment)
	case x.Status.Open():
		return fmt.Sprintf("experiment %s is %s", x.ID, x.Status)
	case x.Source != p.Supersedes:
		return fmt.Sprintf("it corrects event %s, but the result of %s stands in event %s", p.Supersedes, x.ID, x.Source)
	case p.Was != x.Status.Outcome():
		return fmt.Sprintf("it says that %s was %s, which is %s", x.ID, p.Was, x.Status)
	}
	if x.Measurement != nil {
		x.Retracted = x.Measurement
	}
	switch {
	case status == Measured:
		m := *p.Measurement
		x.Retracted, x.Cause = nil, ""
		x.Measurement = &m
		if x.Instrument == "" {
			x.Instrument = "person"
		}
	case x.Status != status || x.Excluded == p.Excluded:
		x.Measurement, x.Cause = nil, p.Reason
	}
	x.Status, x.Excluded, x.Source, x.LastEvent, x.Trace = status, p.Excluded, e.ID, e.ID, e.Trace
	x.Flag, x.Elsewhere, x.Once = nil, false, false // a person's word is the last
	if status == Cancelled {
		s.reopen()
	}
	return ""
}

// Merge returns the quantities with some corrected or added.
func Merge(quantities, corrected []definition.Quantity) []definition.Quantity {
	if corrected == nil {
		return quantities
	}
	merged := slices.Clone(quantities)
	for _, q := range corrected {
		i := slices.IndexFunc(merged, func(m definition.Quantity) bool { return m.Name == q.Name })
		if i < 0 {
			merged = append(merged, q)
			continue
		}
		merged[i] = q
	}
	return merged
}
