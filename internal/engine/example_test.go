package engine_test

import (
	"fmt"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/files/builtin"
	"github.com/campaignd/campaignd/internal/files/campaignfile"
)

// exampleFile is a campaign file, as people write it.
const exampleFile = `
name: example
parameters:
  - {name: lipf6, unit: mol/kg, min: 0.2, max: 2.1}
  - {name: ec, unit: kg/kg, min: 0.30, max: 0.52}
  - {name: dmc, min: 0, max: 1}
objective: {name: conductivity, unit: mS/cm, goal: maximize}
initial: {experiments: 3}
policy: lcb
budget: {experiments: 8}
instrument: {simulated: electrolyte}
`

// A core folds events and says the next step as data. It does nothing itself: whoever drives it
// does the step, records what came of it, folds that, and asks again.
func ExampleCore() {
	file, err := campaignfile.Parse(builtin.Registry(), "example.yaml", []byte(exampleFile))
	if err != nil {
		fmt.Println(err)
		return
	}
	made := definition.Point{
		"lipf6": definition.Number(1.1),
		"ec":    definition.Number(0.4),
		"dmc":   definition.Number(0.5),
	}
	measurement := events.Measurement{
		Actual:    made,
		Objective: definition.Quantity{Name: "conductivity", Value: 12.9, Unit: "mS/cm"},
	}
	history := []events.Payload{
		&events.CampaignDefined{Definition: file.Definition},
		&events.ExperimentRequested{Experiment: "e1", Parameters: made, Origin: events.OriginInitial, Replicate: 1},
		&events.ExperimentDispatched{Experiment: "e1", Command: "example/e1"},
		&events.ExperimentMeasured{
			Experiment:  "e1",
			Command:     "example/e1",
			Requested:   made,
			Measurement: measurement,
		},
	}

	core := engine.NewCore(builtin.Registry())
	for i, fact := range history {
		e, err := events.New("example", fact)
		if err != nil {
			fmt.Println(err)
			return
		}
		e.Sequence = events.Sequence(i + 1)
		if err := core.Apply(e); err != nil {
			fmt.Println(err)
			return
		}
		step, err := core.Next(engine.World{Now: e.Time, Resources: engine.Only(engine.Resource{Capacity: 1})})
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("after %s: ", e.Kind)
		switch step := step.(type) {
		case engine.Record:
			fmt.Println("record", events.KindOf(step.Payloads[0]))
		case engine.Dispatch:
			fmt.Println("send", step.Experiment, "to the instrument")
		case engine.Recover: // nobody in this process waits for it: as after a crash
			fmt.Println("ask the instrument what became of", step.Subjects)
		default:
			fmt.Printf("%T\n", step)
		}
	}
	// Output:
	// after campaign.defined: record experiment.requested
	// after experiment.requested: send e1 to the instrument
	// after experiment.dispatched: ask the instrument what became of [e1]
	// after experiment.measured: record experiment.requested
}
