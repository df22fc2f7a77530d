package simulate

import (
	"time"

	"github.com/campaignd/campaignd/events"
)

// stopwatch is the meter of a campaign: the time of suggesting each experiment, or each comparison
// if nothing is measured, including every fit and question before it. It is the only part that
// reads the machine's clock.
type stopwatch struct {
	compares bool
	pending  time.Duration
	seconds  []float64
}

// Trace implements drive.Meter.
func (w *stopwatch) Trace(parent, _ string) (string, func(error)) { return parent, func(error) {} }

// ObserveDuration implements drive.Meter. Other durations, such as those of the
// instrument, are not the method's.
func (w *stopwatch) ObserveDuration(what string, d time.Duration) {
	if what == "fit" || what == "decision" || what == "proposal" {
		w.pending += d
	}
}

// CountEvent implements drive.Meter. The time since the request before is the price of this one; of
// several requests of one decision the first bears all.
func (w *stopwatch) CountEvent(e events.Event) {
	request := events.KindExperimentRequested
	if w.compares {
		request = events.KindQuestionAsked
	}
	if e.Kind == request {
		w.seconds = append(w.seconds, w.pending.Seconds())
		w.pending = 0
	}
}
