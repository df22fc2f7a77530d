package engine

import (
	"fmt"
	"maps"
	"slices"

	"github.com/campaignd/campaignd/adapters/instruments"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/projections/campaign"
)

// concludedAct returns the events for an instrument's answer to the command of an act, as [Concluded]
// does for an experiment's.
func concludedAct(
	c Now, a *campaign.Act, o instruments.Outcome, failed error, from instruments.Description,
) []events.Payload {
	if failed != nil {
		if !a.Command.UnderWay() {
			return nil // that the line is gone says nothing new
		}
		o = instruments.Outcome{Status: instruments.Unknown, Cause: failed.Error()}
	}
	o = o.Recordable()
	known := o.Status == instruments.Done || isKnown(o.Status)
	switch {
	case !a.Open() && known:
		return []events.Payload{&events.InstrumentAnswered{
			Act: a.ID, Command: a.Command.ID, Instrument: a.Command.Instrument,
			Answer: string(actStatus(o.Status)), Text: late(o),
		}}
	case !known && !a.Command.UnderWay():
		if o.Cause == "" {
			return nil
		}
		return []events.Payload{lateNote(a.ID, o)}
	case !known:
		return []events.Payload{UnresolvedFor(c.Order(a.ID), unknownCause(o))}
	}
	ended := &events.ActEnded{
		Act: a.ID, Command: a.Command.ID, Instrument: a.Command.Instrument,
		Status: actStatus(o.Status), Cause: o.Cause, Rejected: o.Rejected,
	}
	if ended.Status == events.ActDone {
		ended.Cause = ""
		ended.Gave = gave(c.State, a, o, from)
	}
	payloads := []events.Payload{ended}
	return append(payloads, filesOf(c.State, a.Experiments[0], o)...)
}

// recordableCause is a cause that the log can hold.
func recordableCause(text string) string {
	return instruments.Outcome{Cause: text}.Recordable().Cause
}

// actStatus is the outcome of an act by the status that its instrument gave.
func actStatus(s instruments.Status) events.ActStatus {
	switch s {
	case instruments.Measured, instruments.Done:
		return events.ActDone
	case instruments.Infeasible:
		return events.ActInfeasible
	case instruments.Deferred:
		return events.ActDeferred
	case instruments.Cancelled:
		return events.ActCancelled
	}
	return events.ActFailed
}

// gave are the results of an act that is done, for each of its experiments. A stage that is to give quantities
// has failed for an experiment without any.
func gave(
	s *campaign.State, a *campaign.Act, o instruments.Outcome, from instruments.Description,
) (all []events.Given) {
	stage := s.Batch(a.Batch).Stage(a.Stage)
	reported := o.Gave
	if o.Measurement != nil && len(a.Experiments) == 1 {
		reported = append(slices.Clone(reported), events.Given{Experiment: a.Experiments[0], Measurement: o.Measurement})
	}
	for _, id := range a.Experiments {
		said := events.Of(reported, id)
		given := events.Given{Experiment: id, Cause: recordableCause(said.Cause)}
		switch said.Status {
		case events.ActDone:
			if given = admittedBy(s, stage, id, said.Measurement, from); given.Status == "" && given.Measurement == nil {
				continue
			}
		case events.ActInfeasible:
			given.Status = events.ActInfeasible
		default:
			given.Status = events.ActFailed
		}
		all = append(all, given)
	}
	return all
}

// admittedBy is the result of a stage for an experiment, as it enters the campaign. A stage that gives
// nothing may still say which composition it made.
func admittedBy(
	s *campaign.State, stage *definition.Stage, id string, reported *events.Measurement, from instruments.Description,
) events.Given {
	given := events.Given{Experiment: id}
	failed := func(cause string) events.Given {
		given.Status, given.Cause = events.ActFailed, recordableCause(cause)
		return given
	}
	if reported == nil {
		if len(stage.Gives) > 0 {
			return failed("the instrument gave nothing")
		}
		return given
	}
	tidied, _ := tidyMeasurement(*reported)
	said := tidied.Actual != nil && CheckComposition("actual", tidied.Actual) == nil
	tidied.Actual = made(s, id, tidied.Actual)
	if len(stage.Gives) == 0 {
		if said {
			given.Measurement = &events.Measurement{Actual: tidied.Actual}
		}
		return given
	}
	m, err := instruments.Admit(*s.Definition.Giving(stage.Gives), tidied)
	if err != nil {
		return failed(err.Error() + "; it gave " + verbatim(reported))
	}
	definition.Default(&m.Identity, from.Identity)
	given.Measurement = &m
	return given
}

// made is the composition of an experiment as an instrument reports it, which may have been sent a part
// of it, and further settings.
func made(s *campaign.State, id string, reported definition.Point) definition.Point {
	all := maps.Clone(s.Experiment(id).Parameters)
	for name, value := range reported {
		if _, varied := all[name]; varied {
			all[name] = value
		}
	}
	return all
}

// act settles an act whose fate is unknown, or that a person carries out.
func (r *Resolve) act(c Now, a *campaign.Act) ([]events.Payload, error) {
	byHand := c.Definition.At(a.Resource).ByHand
	if a.Command.Fate != campaign.Unknown && !(byHand && a.Open()) {
		return nil, conflict(a.ID, "%s is %s: only an act whose fate is unknown can be resolved", a.ID, a.Command.Fate)
	}
	resolved := &events.ActResolved{Act: a.ID, Reason: r.Reason}
	switch r.Resolution {
	case events.ResolvedMeasured, events.ResolvedDone:
		resolved.Status = events.ActDone
		given, err := r.given(c, a)
		if err != nil {
			return nil, err
		}
		resolved.Gave = given
	case events.ResolvedFailed:
		resolved.Status = events.ActFailed
	case events.ResolvedInfeasible:
		resolved.Status = events.ActInfeasible
	case events.ResolvedNotPerformed:
		resolved.Status = events.ActDeferred
	default:
		return nil, notPossible("%q is not a resolution of an act: it is done, failed, infeasible or not-performed", r.Resolution)
	}
	payloads := []events.Payload{resolved}
	if !byHand && !a.Command.AtRest() {
		payloads = append(payloads, (&Cancel{Voided: r.Voided, Reason: r.Reason}).order(c.Order(a.ID), ""))
	}
	return payloads, nil
}

// given are the results of an act by a person's word: where its stage gives quantities, for one
// experiment.
func (r *Resolve) given(c Now, a *campaign.Act) ([]events.Given, error) {
	stage := c.Batch(a.Batch).Stage(a.Stage)
	if len(stage.Gives) == 0 {
		if r.hasResult() {
			return nil, notPossible("%s measures nothing: it has no value", stage.Name).About(a.ID)
		}
		return nil, nil
	}
	if len(a.Experiments) > 1 {
		return nil, notPossible("%s serves %s, which have values each: say that it failed, or measure again",
			a.ID, events.ExperimentList(a.Experiments)).About(a.ID)
	}
	values := slices.Concat(r.Quantities, r.Further)
	if r.Value != nil {
		sought := c.Definition.Sought()
		values = append(values, definition.Quantity{Name: sought.Name, Value: *r.Value, Unit: sought.Unit, SD: r.SD})
	}
	reported := events.Measurement{Actual: r.Actual, Further: values, Missing: r.Missing}
	given := admittedBy(c.State, stage, a.Experiments[0], &reported, instruments.Description{Identity: ""})
	if given.Status != "" {
		return nil, notPossible("%s", given.Cause).About(a.ID)
	}
	return []events.Given{given}, nil
}

// scrap takes a batch out of the procedure: its open experiments have failed, and its places are free.
func (r *Resolve) scrap(c Now, b *campaign.Batch) ([]events.Payload, error) {
	switch {
	case b.Over:
		return nil, conflict(b.ID, "%s has ended", b.ID)
	case r.Resolution != events.ResolvedFailed:
		return nil, notPossible("a batch as a whole can be given up alone: resolve it as failed").About(b.ID)
	case c.UnderWay(b):
		return nil, notNow(b.ID, "an act of %s is open: settle it first, or call it off", b.ID)
	}
	reason := r.Reason
	definition.Default(&reason, "a person took it out")
	var payloads []events.Payload
	for _, id := range b.Experiments {
		if c.Experiment(id).Status.Open() {
			payloads = append(payloads, &events.ExperimentFailed{Experiment: id, Instrument: "person", Cause: reason})
		}
	}
	return append(payloads, &events.BatchEnded{Batch: b.ID, Scrapped: true, Reason: r.Reason}), nil
}

// SimulatedBy reports whether the act of an instrument for an experiment was a simulation's.
func SimulatedBy(s *campaign.State, x *campaign.Experiment, instrument string) bool {
	b := s.Batch(x.Batch)
	if b == nil {
		return false
	}
	for a := range s.ActsOf(b) {
		if a.Serves(x.ID) && a.Command.Instrument == instrument && !a.Command.Real {
			return true
		}
	}
	return false
}

// NotDue says why an act could not begin, by the log alone; "" where it could.
func NotDue(c Now, next Due) string {
	b := c.Batch(next.Batch)
	if unresolved(c.State, b) {
		return fmt.Sprintf("the fate of an act of %s was unknown", b.ID)
	}
	for o := range c.Orders() {
		if o.Resource == next.Resource && holds(o.Command) {
			return fmt.Sprintf("%s holds %s: its fate was unknown", o.Subject, next.Resource)
		}
	}
	may := func(d Due) bool {
		return d.Stage == next.Stage && slices.Equal(d.Experiments, next.Experiments)
	}
	if !slices.ContainsFunc(due(c, b, c.Now), may) {
		return fmt.Sprintf("%s of %s was not due for %s", next.Stage, b.ID, events.ExperimentList(next.Experiments))
	}
	return ""
}
