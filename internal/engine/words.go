package engine

import (
	"fmt"
	"time"

	"github.com/campaignd/campaignd/events"
)

// Computation describes the computation that runs in the background.
type Computation struct {
	// What says it in words, "fitting the model of 2,000 measurements".
	What string
	// Since is when it began.
	Since time.Time
}

// InWords describes the computation of a step; nil is the summary. It is for status lines and
// pages; nothing of it is recorded.
func InWords(c Now, step Step) string {
	measurements := countOf(c.objective.Observed(), "measurement")
	switch step := step.(type) {
	case Fit:
		if step.Model == events.ModelObjective {
			return "fitting the model of " + measurements
		}
		if step.Model == events.ModelQuantity {
			return "fitting the model of the " + step.Quantity
		}
		return fmt.Sprintf("fitting the model of what %s says", step.Expert)
	case Decide:
		if !c.Definition.Measures() {
			return "deciding the next comparison"
		}
		return "deciding the next experiment, from " + measurements
	case Judge:
		return "comparing " + measurements + " with what was expected of them"
	}
	return "working out the best composition of " + measurements
}

// countOf writes a number of things, in groups of three digits.
func countOf(n int, thing string) string {
	text := fmt.Sprint(n)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	if n != 1 {
		thing += "s"
	}
	return text + " " + thing
}
