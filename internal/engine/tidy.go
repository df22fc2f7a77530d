package engine

import (
	"fmt"

	"github.com/campaignd/campaignd/adapters/instruments"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/projections/campaign"
)

// Reports of instruments and experts are recorded whatever they contain: a result must not be
// lost because a program writes too much. Their texts are cut to a length that a person reads,
// and characters that must not reach a terminal are spelt out.

// maxFurther is the greatest sum of the texts of a measurement's further
// quantities, in bytes.
const maxFurther = 1 << 20

// recordable returns an instrument's answer to a command as it can be recorded, with remarks on
// omissions that this required, and on contradictions.
//
// It comes before any judgment of the outcome, so that nothing later meets a
// text that cannot be recorded.
func recordable(
	s *campaign.State, experiment string, o instruments.Outcome,
) (instruments.Outcome, []events.Payload) {
	o.Status, o.Cause = instruments.Status(legible(string(o.Status))), legible(o.Cause)
	if o.Measurement == nil {
		return o, nil
	}
	var remarks []events.Payload
	remark := func(format string, args ...any) {
		text := fmt.Sprintf(format, args...)
		remarks = append(remarks, &events.NoteAdded{About: experiment, Text: text})
	}
	measurement, left := tidyMeasurement(*o.Measurement)
	o.Measurement = &measurement
	given := o.Status == instruments.Failed && s.Definition.Several()
	if o.Status != instruments.Measured && !given { // of two minds: a person has to say which
		o.Measurement = nil
		remark("the instrument answered %q and gave a measurement all the same: %s; "+
			"if it is right, %s has to be corrected", o.Status, verbatim(&measurement), experiment)
	}
	if left > 0 {
		remark("the instrument gave %d further quantities, too many to be recorded: "+
			"the last %d were left out", len(measurement.Further)+left, left)
	}
	return o, remarks
}

// tidyMeasurement cuts the texts of a measurement, and its further quantities where they are
// more than an event can hold. It also returns the number it left out.
func tidyMeasurement(m events.Measurement) (events.Measurement, int) {
	m.Identity = legible(m.Identity)
	var kept []definition.Quantity
	size := 0
	for _, q := range m.Further {
		q.Name, q.Unit = legible(q.Name), legible(q.Unit)
		const numbers = 100 // bytes of a quantity without its texts, at most
		if size += len(q.Name) + len(q.Unit) + numbers; size > maxFurther {
			break
		}
		kept = append(kept, q)
	}
	left := len(m.Further) - len(kept)
	m.Further = kept
	return m, left
}

// legible returns a text with every hidden character spelt out, cut to
// [maxText] characters with a word on how long it was.
func legible(s string) string { return instruments.Legible(s, maxText) }
