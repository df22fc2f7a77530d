package engine

import (
	"errors"
	"fmt"

	"github.com/campaignd/campaignd/adapters/humans"
	"github.com/campaignd/campaignd/adapters/instruments"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
)

// What instruments and experts tell is recorded whatever they say: a result must
// not be lost because a program writes too much. Their texts are cut to what a
// person reads, and characters that must not reach a terminal are spelt out.

// maxFurther is the greatest sum of the texts of a measurement's further
// quantities, in bytes.
const maxFurther = 1 << 20

// tidy returns a message that can be recorded, with remarks on what had to be
// left out for that, or contradicts itself.
func tidy(m message) (message, []events.Payload) {
	var remarks []events.Payload
	if m.err != nil {
		m.err = errors.New(legible(m.err.Error()))
	}
	if m.outcome != nil {
		outcome := *m.outcome
		outcome.Status, outcome.Cause = instruments.Status(legible(string(outcome.Status))), legible(outcome.Cause)
		if outcome.Measurement != nil {
			measurement, left := tidyMeasurement(*outcome.Measurement)
			outcome.Measurement = &measurement
			if outcome.Status != instruments.Measured { // of two minds: a person has to say which
				outcome.Measurement = nil
				remarks = append(remarks, &events.NoteAdded{About: m.experiment, Text: fmt.Sprintf(
					"the instrument answered %q and gave a measurement all the same: %s; if it is right, %s has to be corrected",
					outcome.Status,
					verbatim(&measurement),
					m.experiment,
				)})
			}
			if left > 0 {
				remarks = append(remarks, &events.NoteAdded{About: m.experiment, Text: fmt.Sprintf(
					"the instrument gave %d further quantities, too many to be recorded: the last %d were left out",
					len(measurement.Further)+left,
					left,
				)})
			}
		}
		m.outcome = &outcome
	}
	if m.answer != nil {
		m.answer = tidyReply(*m.answer)
	}
	return m, remarks
}

// tidyMeasurement also says how many further quantities it left out.
func tidyMeasurement(m events.Measurement) (events.Measurement, int) {
	m.Identity = legible(m.Identity)
	var kept []definition.Quantity
	size := 0
	for _, q := range m.Further {
		q.Name, q.Unit = legible(q.Name), legible(q.Unit)
		const numbers = 100 // bytes of a quantity beside its texts, at most
		if size += len(q.Name) + len(q.Unit) + numbers; size > maxFurther {
			break
		}
		kept = append(kept, q)
	}
	left := len(m.Further) - len(kept)
	m.Further = kept
	return m, left
}

func tidyReply(r humans.Reply) *humans.Reply {
	r.Comment = legible(r.Comment)
	return &r
}

// legible returns a text with every hidden character spelt out, cut to
// [maxText] characters with a word on how long it was.
func legible(s string) string { return instruments.Legible(s, maxText) }
