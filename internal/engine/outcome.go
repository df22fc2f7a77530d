package engine

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/campaignd/campaignd/adapters/instruments"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/projections/campaign"
)

// Concluded returns the events for an instrument's answer to a command, or for the lack of one;
// none if the answer is not new. from is the instrument as it described itself.
//
// failed is an error of the call and not of the experiment: the line is gone,
// the program has died. Then the fate is unknown, whatever the instrument did.
// The experiment exists, since the engine had it dispatched.
func Concluded(
	c Now, about string, o instruments.Outcome, failed error, from instruments.Description,
) []events.Payload {
	if a := c.Act(about); a != nil {
		return concludedAct(c, a, o, failed, from)
	}
	experiment := about
	x := c.Experiment(experiment)
	o, remarks := recordable(c.State, experiment, o)
	if failed != nil {
		if !x.Command.UnderWay() {
			return nil // that the line is gone says nothing new
		}
		o = instruments.Outcome{Status: instruments.Unknown, Cause: legible(failed.Error())}
	}
	var payloads []events.Payload
	if payload := conclude(c, x, o, from); payload != nil {
		payloads = WithFollowUps(c, payload)
	}
	return append(append(payloads, remarks...), filesOf(c.State, experiment, o)...)
}

// conclude turns an outcome into an event; nil if it is not new. A measurement that the
// campaign did not ask for is rejected, with the instrument's answer kept.
//
// The first switch is for answers that come too late: a person's word has settled the
// experiment and is final, so the instrument's answer is kept unchanged, and a person can
// correct the experiment from it.
func conclude(
	c Now, x *campaign.Experiment, o instruments.Outcome, from instruments.Description,
) events.Payload {
	o = o.Recordable()
	known := isKnown(o.Status)
	switch {
	case !x.Status.Open() && known:
		return &events.InstrumentAnswered{
			Experiment: x.ID, Command: x.Command.ID, Instrument: x.Command.Instrument,
			Answer: string(o.Status), Text: late(o),
		}
	case !known && !x.Command.UnderWay():
		if o.Cause == "" {
			return nil
		}
		return lateNote(x.ID, o)
	}
	switch o.Status {
	case instruments.Measured:
		return admitted(c.State, x, o.Measurement, from)
	case instruments.Failed:
		if o.Once && RepeatsSuspect(c, x.ID) {
			return &events.ExperimentCancelled{
				Experiment: x.ID, Command: x.Command.ID, Reason: o.Cause, Once: true,
			}
		}
		return failed(c.State, x, o, from)
	case instruments.Infeasible:
		return &events.ExperimentInfeasible{
			Experiment: x.ID, Command: x.Command.ID, Instrument: x.Command.Instrument, Cause: o.Cause,
		}
	case instruments.Deferred:
		return &events.ExperimentDeferred{
			Experiment: x.ID, Command: x.Command.ID, Instrument: x.Command.Instrument, Cause: o.Cause,
		}
	case instruments.Cancelled:
		return &events.ExperimentCancelled{Experiment: x.ID, Command: x.Command.ID, Reason: o.Cause}
	}
	return UnresolvedFor(c.Order(x.ID), unknownCause(o))
}

// unknownCause says why an outcome does not tell the fate of its command.
func unknownCause(o instruments.Outcome) string {
	if o.Status == instruments.Unknown {
		return o.Cause
	}
	return strings.TrimSuffix(fmt.Sprintf("the instrument answered with the status %q: %s", o.Status, o.Cause), ": ")
}

// failed returns the event of a failure, with the quantities measured in spite of it. Unusable
// values are kept as the instrument gave them.
func failed(
	s *campaign.State, x *campaign.Experiment, o instruments.Outcome, from instruments.Description,
) events.Payload {
	failed := &events.ExperimentFailed{
		Experiment: x.ID, Command: x.Command.ID, Instrument: x.Command.Instrument, Cause: o.Cause, Rejected: o.Rejected,
	}
	if o.Measurement == nil {
		return failed
	}
	m, err := instruments.Admit(*s.Definition, *o.Measurement)
	if err != nil {
		failed.Cause = legible(failed.Cause + "; of what it measured: " + err.Error())
		failed.Rejected = verbatim(o.Measurement)
		return failed
	}
	definition.Default(&m.Identity, from.Identity)
	failed.Measurement = &m
	return failed
}

// isKnown reports whether an instrument can end a command with a status. Any other status does
// not tell the command's fate.
func isKnown(s instruments.Status) bool {
	switch s {
	case instruments.Measured, instruments.Failed, instruments.Infeasible, instruments.Deferred,
		instruments.Cancelled:
		return true
	}
	return false
}

// admitted is the event of a measurement: a failure if the campaign did not ask for it. The
// identity that the device described stands in where the measurement names none.
func admitted(
	s *campaign.State, x *campaign.Experiment, reported *events.Measurement, from instruments.Description,
) events.Payload {
	failed := &events.ExperimentFailed{
		Experiment: x.ID, Command: x.Command.ID, Instrument: x.Command.Instrument,
	}
	if reported == nil {
		failed.Cause = "the instrument reported a measurement without a value"
		return failed
	}
	m, err := instruments.Admit(*s.Definition, *reported)
	if err != nil {
		failed.Cause, failed.Rejected = legible(err.Error()), verbatim(reported)
		return failed
	}
	definition.Default(&m.Identity, from.Identity)
	return &events.ExperimentMeasured{
		Experiment: x.ID, Command: x.Command.ID, Instrument: x.Command.Instrument,
		Requested: x.Parameters, Measurement: m,
	}
}

// LateAnswer begins the remark on an answer that tells no fate and came too late.
const LateAnswer = "the instrument answered late: "

// lateNote is the remark on an answer that tells no fate and came too late.
func lateNote(about string, o instruments.Outcome) events.Payload {
	return &events.NoteAdded{About: about, Text: LateAnswer + late(o)}
}

// late says an outcome that came too late to count.
func late(o instruments.Outcome) string {
	switch {
	case o.Measurement == nil:
		return fmt.Sprintf("%s, %s", o.Status, o.Cause)
	case o.Status == instruments.Measured:
		return "measured " + verbatim(o.Measurement)
	}
	return fmt.Sprintf("%s, %s, and measured %s", o.Status, o.Cause, verbatim(o.Measurement))
}

// verbatim keeps a rejected result, also one that JSON cannot express.
func verbatim(m *events.Measurement) string {
	text := fmt.Sprintf("%+v", *m)
	if data, err := json.Marshal(m); err == nil {
		text = string(data)
	}
	return instruments.Legible(text, instruments.MaxRejected)
}
