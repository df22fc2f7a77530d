package policies_test

import (
	"context"
	"fmt"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/files/builtin"
	"github.com/campaignd/campaignd/internal/files/campaignfile"
	"github.com/campaignd/campaignd/policies"
	"github.com/campaignd/campaignd/policies/cobol"
	"github.com/campaignd/campaignd/policies/unaided"
)

// A policy sees a folded campaign and decides the next step. Same view and seed, same decision.
func ExamplePolicy() {
	file, err := campaignfile.Parse(builtin.Registry(), "bread.yaml", []byte(`
name: bread
parameters: [{name: temperature, unit: °C, values: [180, 200, 220]}]
objective: {name: taste, goal: maximize}
initial: {experiments: 1}
policy: sobol
budget: {experiments: 2}
instrument: manual
`))
	if err != nil {
		fmt.Println(err)
		return
	}
	policy, err := builtin.Registry().Methods.New(file.Definition)
	if err != nil {
		fmt.Println(err)
		return
	}

	warm := definition.Point{"temperature": definition.Number(200)}
	history := []events.Payload{
		&events.CampaignDefined{Definition: file.Definition},
		&events.ExperimentRequested{Experiment: "e1", Parameters: warm, Origin: events.OriginInitial, Replicate: 1},
		&events.ExperimentDispatched{Experiment: "e1", Command: "bread/e1"},
		&events.ExperimentFailed{Experiment: "e1", Command: "bread/e1", Cause: "burnt"},
	}
	core := engine.NewCore(builtin.Registry())
	for i, payload := range history {
		e, err := events.New("bread", payload)
		if err != nil {
			fmt.Println(err)
			return
		}
		e.Sequence = events.Sequence(i + 1)
		if err := core.Apply(e); err != nil {
			fmt.Println(err)
			return
		}
	}

	ctx := context.Background()
	view, err := core.View(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	decision, err := policy.Decide(ctx, view, 1)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(decision.Action, decision.Candidate().Parameters)
	fmt.Println(decision.Rule+":", decision.Reason)
	// Output:
	// run map[temperature:220]
	// design: Point 1 of the sobol design.
}

// A registry is the table of families: the names that a campaign file can use are looked up in it.
func ExampleRegistry() {
	table := policies.Registry{unaided.Family, cobol.Family}

	method, ok := table.Method("cobol")
	fmt.Println(ok, method.Name+":", method.Summary)
	fmt.Println("source:", method.Source)
	fmt.Println("an expert is asked to", method.Asks)
	fmt.Println("trust is", method.Policy.Trust.Name)

	_, ok = table.Method("coexbo")
	fmt.Println(ok)
	fmt.Println("rules of handover:", table.RuleNames(policies.Handover))
	// Output:
	// true cobol: accept or reject, with no-harm and handover
	// source: Xu et al. 2024, Alg. 1
	// an expert is asked to accept or reject
	// trust is cobol
	// false
	// rules of handover: [never width]
}
