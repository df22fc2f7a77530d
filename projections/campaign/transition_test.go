package campaign

import (
	"cmp"
	"fmt"
	"strings"
	"testing"

	"github.com/campaignd/campaignd/events"
)

// draw prints the row of a kind of event, if it has one.
func draw[S ~string](rows map[events.Kind]transition[S], kind events.Kind) {
	row, ok := rows[kind]
	if !ok {
		return
	}
	join := func(statuses []S) string {
		words := make([]string, len(statuses))
		for i, s := range statuses {
			words[i] = cmp.Or(string(s), "unsent")
		}
		return strings.Join(words, ", ")
	}
	fmt.Printf("%s: %s", kind, join(row.from))
	if len(row.to) > 0 {
		fmt.Printf(" → %s", join(row.to))
	}
	fmt.Println()
}

// The state machines of experiments and of their commands, drawn from their tables.
func Example_transitions() {
	for _, info := range events.Kinds() {
		draw(transitions, info.Kind)
	}
	fmt.Println()
	for _, info := range events.Kinds() {
		draw(commands, info.Kind)
	}
	// Output:
	// experiment.measured: requested, dispatched, started, unresolved → measured
	// quantity.arrived: measured
	// experiment.failed: requested, dispatched, started, unresolved → failed
	// experiment.cancelled: requested, dispatched, started, unresolved → cancelled
	// experiment.resolved: unresolved → measured, failed, infeasible, cancelled
	// experiment.infeasible: requested, dispatched, started, unresolved → infeasible
	// experiment.deferred: requested, dispatched, started, unresolved → deferred
	// experiment.corrected: measured, failed, infeasible, deferred, cancelled → measured, failed, infeasible, cancelled
	// measurement.flagged: measured
	// measurement.corrected: measured
	//
	// experiment.dispatched: unsent → sent
	// experiment.started: sent → begun
	// experiment.unresolved: sent, begun → unknown
	// cancellation.ordered: sent, begun, unknown, over
	// cancellation.answered: sent, begun, unknown, over → sent, begun, unknown, over
	// instrument.answered: sent, begun, unknown, over
	// instrument.stalled: sent, begun
	// instrument.signalled: sent, begun, unknown
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
