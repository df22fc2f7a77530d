package campaign

import (
	"fmt"
	"strings"
	"testing"

	"github.com/campaignd/campaignd/events"
)

// The state machine of experiments, drawn from its table.
func Example_transitions() {
	join := func(statuses []ExperimentStatus) string {
		words := make([]string, len(statuses))
		for i, s := range statuses {
			words[i] = string(s)
		}
		return strings.Join(words, ", ")
	}
	for _, info := range events.Kinds() {
		row, ok := transitions[info.Kind]
		if !ok {
			continue
		}
		fmt.Printf("%s: %s", info.Kind, join(row.from))
		if len(row.to) > 0 {
			fmt.Printf(" → %s", join(row.to))
		}
		fmt.Println()
	}
	// Output:
	// experiment.dispatched: requested → dispatched
	// experiment.started: dispatched → started
	// experiment.measured: requested, dispatched, started, unresolved → measured
	// quantity.arrived: measured
	// experiment.failed: requested, dispatched, started, unresolved → failed
	// experiment.cancelled: requested, dispatched, started, unresolved → cancelled
	// experiment.unresolved: dispatched, started → unresolved
	// experiment.resolved: unresolved → measured, failed, infeasible, cancelled
	// experiment.infeasible: requested, dispatched, started, unresolved → infeasible
	// experiment.deferred: requested, dispatched, started, unresolved → deferred
	// experiment.corrected: measured, failed, infeasible, deferred, cancelled → measured, failed, infeasible, cancelled
	// cancellation.ordered: dispatched, started, unresolved, measured, failed, infeasible, deferred, cancelled
	// cancellation.answered: dispatched, started, unresolved, measured, failed, infeasible, deferred, cancelled → dispatched, started, unresolved, measured, failed, infeasible, deferred, cancelled
	// instrument.answered: dispatched, started, unresolved, measured, failed, infeasible, deferred, cancelled
	// measurement.flagged: measured
	// measurement.corrected: measured
	// instrument.stalled: dispatched, started
}

// newKind is the payload of a kind that was added to the vocabulary and not to the fold.
type newKind struct{}

func (newKind) Subject() string { return "" }

// Law: no kind of event is passed over in silence: each changes the state, or is said to
// change nothing of it.
func TestEveryKindIsFolded(t *testing.T) {
	const passedOver = "what it changes is not known"
	fold := func(payload events.Payload) string {
		state := State{Status: Running}
		return state.apply(events.Event{Kind: events.KindOf(payload)}, payload)
	}
	for _, info := range events.Kinds() {
		if problem := fold(info.New()); problem == passedOver {
			t.Errorf("%s: %s: add a case to State.apply, or to the kinds there that change nothing", info.Kind, problem)
		}
	}
	if problem := fold(newKind{}); problem != passedOver {
		t.Errorf("a kind that is not folded: %q", problem)
	}
}
