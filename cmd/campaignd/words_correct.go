package main

import (
	"fmt"
	"strings"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/format"
)

// measuredInWords writes a result: the objective, then the further quantities.
func measuredInWords(m *events.Measurement) string {
	return strings.Join(append([]string{format.Quantity(m.Objective.Value, m.Objective.Unit)}, furtherInWords(m.Further)...), ", ")
}

func furtherInWords(quantities []events.Quantity) []string {
	texts := make([]string, len(quantities))
	for i, q := range quantities {
		texts[i] = q.Name + " " + format.Quantity(q.Value, q.Unit)
	}
	return texts
}

// outcomeInWords writes an outcome that a person corrects, or corrects to.
var outcomeInWords = map[string]string{
	events.ResolvedMeasured: "measured", events.ResolvedFailed: "failed",
	events.ResolvedInfeasible: "cannot be done", events.ResolvedNotPerformed: "not performed",
}

// outcomeCorrected says that an experiment ended otherwise.
func (n *narrator) outcomeCorrected(e events.Event, p *events.ExperimentCorrected) string {
	to := outcomeInWords[p.Outcome]
	switch {
	case p.Was == p.Outcome && p.Excluded:
		return fmt.Sprintf("%s excluded %s (%s): %s", events.ActorName(e.Actor), p.Experiment, to, p.Reason)
	case p.Was == p.Outcome:
		return fmt.Sprintf("%s corrected %s, which counts (%s): %s", events.ActorName(e.Actor), p.Experiment, to, p.Reason)
	case p.Measurement != nil:
		to = fmt.Sprintf("measured %s (%s)", measuredInWords(p.Measurement), format.CompositionsOf(n.def).Line(p.Measurement.Actual))
	}
	if p.Excluded {
		to += ", and excluded it"
	}
	return fmt.Sprintf("%s corrected %s from %s to %s: %s", events.ActorName(e.Actor), p.Experiment, outcomeInWords[p.Was], to, p.Reason)
}

// measurementCorrected says what changed of a measurement.
func (n *narrator) measurementCorrected(e events.Event, p *events.MeasurementCorrected) string {
	var changes []string
	if p.New != nil && p.New.Value != p.Old.Value {
		changes = append(changes, fmt.Sprintf("from %s to %s", format.Quantity(p.Old.Value, p.Old.Unit), format.Quantity(p.New.Value, p.New.Unit)))
	}
	if p.New != nil && p.New.SD != nil && (p.Old.SD == nil || *p.New.SD != *p.Old.SD) {
		changes = append(changes, "to a standard deviation of "+format.Short(*p.New.SD))
	}
	changes = append(changes, furtherInWords(p.Further)...)
	if p.Actual != nil {
		changes = append(changes, "to the composition "+format.CompositionsOf(n.def).Line(p.Actual))
	}
	if changes == nil {
		return fmt.Sprintf("%s corrected %s, which counts (%s): %s", events.ActorName(e.Actor), p.Experiment, format.Quantity(p.Old.Value, p.Old.Unit), p.Reason)
	}
	return fmt.Sprintf("%s corrected %s %s: %s", events.ActorName(e.Actor), p.Experiment, strings.Join(changes, ", "), p.Reason)
}
