package view_test

import (
	"fmt"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/ground/problem"
	"github.com/campaignd/campaignd/internal/view"
)

// A story tells events in plain words. What a person can do about one is a remedy; whoever shows
// it says how that is done.
func ExampleStory() {
	least, greatest := 150.0, 250.0
	story := view.NewStory(&definition.Campaign{
		Parameters: []definition.Parameter{{Name: "temperature", Unit: "°C", Min: &least, Max: &greatest}},
		Objective:  definition.Objective{Name: "taste", Goal: definition.Maximize},
	})
	how := func(r problem.Remedy) string { return "campaignd " + string(r.Action) + " " + r.Subject }

	told := []struct {
		actor   string
		payload events.Payload
	}{
		{"person:ada", &events.NoteAdded{Text: "new bag of flour"}},
		{"engine", &events.ExperimentFailed{Experiment: "e1", Instrument: "oven", Cause: "the door was open"}},
		{"engine", &events.ExperimentUnresolved{Experiment: "e2", Cause: "the power was out"}},
	}
	for _, t := range told {
		e := events.Event{Kind: events.KindOf(t.payload), Actor: t.actor}
		fmt.Println(story.Entry(e, t.payload).Line(how))
	}
	// Output:
	// ada notes: new bag of flour
	// e1 failed: the door was open
	// the fate of e2 is UNKNOWN: the power was out. Look at the instrument, then `campaignd resolve e2`
}
