package engine

import (
	"testing"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/files/registry"
)

// Law: what a decision asks is a question of its form, whichever form that is.
func TestEveryFormIsPut(t *testing.T) {
	d := &events.DecisionMade{Action: events.ActionAsk, Chosen: "aided"}
	for i, name := range []string{"unaided", "aided"} {
		d.Candidates = append(d.Candidates, events.Candidate{Name: name, Parameters: definition.Point{"x": definition.Number(float64(i))}})
	}
	core := NewCore(registry.Registry{})
	core.State().Definition = &definition.Campaign{Objective: definition.Objective{Name: "y", Goal: definition.Maximize}}
	for _, form := range events.Forms() {
		put := forms[form].put
		if put == nil {
			t.Errorf("the engine does not know how to ask for a %s", form)
			continue
		}
		d.Form, d.Expert = form, "ada"
		asked := ask(core.At(World{}), d, "Well?").(*events.QuestionAsked)
		if err := form.Check(len(asked.Options), asked.Scale); err != nil {
			t.Errorf("the engine asks for a %s: %v", form, err)
		}
	}
}
