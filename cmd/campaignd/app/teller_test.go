package app

import (
	"testing"

	"github.com/campaignd/campaignd/events"
)

// Law: a line that waits for those that go on with it is printed though nothing else happens, once.
func TestHeldBackIsPrinted(t *testing.T) {
	printed := make(chan []string, 10)
	story := newTeller(nil, func(lines []string) { printed <- lines })
	for _, id := range []string{"e1", "e2"} {
		payload := &events.ExperimentUnresolved{Experiment: id, Instrument: "reader", Cause: "it jammed"}
		story.tell(events.Event{Kind: events.KindOf(payload), Actor: "engine"}, payload, false)
	}
	if lines := <-printed; len(lines) != 1 || lines[0] != "the fate of e1, e2 is UNKNOWN: it jammed. Look at the instrument, then `campaignd resolve e1,e2`" {
		t.Errorf("printed %q", lines)
	}
	story.rest()
	if len(printed) > 0 {
		t.Errorf("printed again: %q", <-printed)
	}
}
