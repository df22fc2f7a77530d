package engine

import (
	"testing"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
)

// Law: what a decision asks is a question of its form, whichever form that is.
func TestEveryFormIsPut(t *testing.T) {
	d := &events.DecisionMade{Action: events.ActionAsk, Chosen: "aided"}
	for i, name := range []string{"unaided", "aided"} {
		d.Candidates = append(d.Candidates, events.Candidate{Name: name, Parameters: definition.Point{"x": definition.Number(float64(i))}})
	}
	for _, form := range events.Forms() {
		put := forms[form].put
		if put == nil {
			t.Errorf("the engine does not know how to ask for a %s", form)
			continue
		}
		options, _ := put(d)
		var scale *events.Scale
		if forms[form].scaled {
			scale = events.ScaleOf(definition.Objective{Name: "y", Goal: definition.Maximize}, false)
		}
		if err := form.Check(len(options), scale); err != nil {
			t.Errorf("the engine asks for a %s: %v", form, err)
		}
	}
}
