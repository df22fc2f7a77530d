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

// GoesWith reports whether an experiment with this end can have this measurement, or none: a
// measured one has a measurement, a failed one may have one where the campaign declares its
// quantities.
func (s *State) GoesWith(outcome events.Resolution, m *events.Measurement) bool {
	switch {
	case outcome == events.ResolvedMeasured:
		return m != nil
	case m == nil:
		return true
	}
	return outcome == events.ResolvedFailed && s.Definition.Several()
}

// resolvable returns the fault of a person's word on an experiment of unknown fate.
func resolvable(s *State, _ *Experiment, p *events.ExperimentResolved) (problem string) {
	_, known := statusOf[p.Resolution]
	switch {
	case !known:
		return fmt.Sprintf("%q is not a resolution", p.Resolution)
	case !s.GoesWith(p.Resolution, p.Measurement):
		return "its resolution and its measurement do not go together"
	}
	return ""
}

// resolve folds a person's word on an experiment of unknown fate.
func resolve(s *State, x *Experiment, e events.Event, p *events.ExperimentResolved) {
	x.Status = statusOf[p.Resolution]
	x.end(e)
	x.Measurement = p.Measurement
	s.await(x)
	if x.Status != Measured {
		x.Cause = p.Reason
	}
}

// superseded says that a correction names another event than the one in which
// the outcome stands: its author had not seen the latest. Two people who
// correct the same result at once would otherwise undo each other without
// either knowing.
func superseded(x *Experiment, source string) (problem string) {
	if x.Source == source {
		return ""
	}
	return fmt.Sprintf(
		"it corrects event %s, but the result of %s stands in event %s", source, x.ID, x.Source,
	)
}

// remeasurable returns the fault of the correction of a measurement.
func remeasurable(s *State, x *Experiment, p *events.MeasurementCorrected) (problem string) {
	if x == nil || x.Status.Open() {
		return "" // the status says it
	}
	for _, v := range p.Values {
		if s.Definition.Quantity(v.Name) == nil {
			return fmt.Sprintf("it corrects %q, which the campaign does not declare", v.Name)
		}
	}
	return superseded(x, p.Corrects)
}

// remeasure folds the correction of a measurement.
func remeasure(s *State, x *Experiment, e events.Event, p *events.MeasurementCorrected) {
	corrected := *x.Measurement // the event that holds it must not change
	if p.New != nil {
		corrected.Objective = *p.New
	}
	if p.Actual != nil {
		corrected.Actual, x.Elsewhere = p.Actual, false
	}
	corrected.Further = Merge(corrected.Further, p.Further)
	for _, v := range p.Values {
		x.Without = slices.DeleteFunc(slices.Clone(x.Without),
			func(name string) bool { return name == v.Name })
		if v.Excluded {
			x.Without = append(x.Without, v.Name)
		}
		if v.New != nil {
			corrected = With(s.Definition, corrected, *v.New)
		}
	}
	x.Measurement = &corrected
	x.Source = e.ID
	x.Excluded = p.Excluded || x.Reference()
	x.Flag = nil // a person's word is the last
}

// correctable returns the fault of a person's word that an experiment ended otherwise.
func correctable(s *State, x *Experiment, p *events.ExperimentCorrected) (problem string) {
	_, known := statusOf[p.Outcome]
	switch {
	case !known:
		return fmt.Sprintf("%q is not an outcome", p.Outcome)
	case !s.GoesWith(p.Outcome, p.Measurement):
		return "its outcome and its measurement do not go together"
	case x == nil || x.Status.Open():
		return "" // the status says it
	}
	if problem := superseded(x, p.Supersedes); problem != "" {
		return problem
	}
	if p.Was != x.Status.Outcome() {
		return fmt.Sprintf("it says that %s was %s, which is %s", x.ID, p.Was, x.Status)
	}
	return ""
}

// correct folds a person's word that an experiment ended otherwise. When it
// ended stays: the correction is about what happened then. A measurement that
// is taken back is kept as Retracted, so that a later correction need not be
// typed anew.
func correct(s *State, x *Experiment, e events.Event, p *events.ExperimentCorrected) {
	status := statusOf[p.Outcome]
	switch {
	case p.Measurement != nil:
		m := *p.Measurement
		x.Measurement = &m
		x.Retracted = nil
		x.Cause = ""
		if status != Measured {
			x.Cause = p.Reason
		}
		if x.Command.Instrument == "" {
			x.Command.Instrument = "person"
		}
	case x.Status != status || x.Excluded == p.Excluded:
		if x.Measurement != nil {
			x.Retracted = x.Measurement
		}
		x.Measurement, x.Cause = nil, p.Reason
	}
	x.Status = status
	x.Excluded = p.Excluded || x.Reference()
	x.Source = e.ID
	x.Flag = nil
	x.Elsewhere = false
	x.Once = false // a person's word is the last
	s.await(x)
	if status == Cancelled {
		s.reopen()
	}
}

// With returns a measurement with the value of a declared quantity, in place of
// the one it had, or of none. Values stand in the order of the definition. What
// the given measurement shares with its event does not change.
func With(
	def *definition.Campaign, m events.Measurement, value definition.Quantity,
) events.Measurement {
	named := func(q definition.Quantity) bool { return q.Name == value.Name }
	if m.Objective.Name == value.Name {
		m.Objective = value
		return m
	}
	m.Missing = slices.DeleteFunc(slices.Clone(m.Missing),
		func(q events.Missing) bool { return q.Name == value.Name })
	m.Further = slices.DeleteFunc(slices.Clone(m.Further), named)
	all := append(slices.DeleteFunc(slices.Clone(m.Quantities), named), value)
	m.Quantities = nil
	for _, q := range def.Declared() {
		i := slices.IndexFunc(all, func(v definition.Quantity) bool { return v.Name == q.Name })
		if i >= 0 {
			m.Quantities = append(m.Quantities, all[i])
		}
	}
	return m
}

// Merge returns the quantities with some corrected or added. The list is
// cloned, since the event that holds it must not change.
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
