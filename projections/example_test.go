package projections_test

import (
	"fmt"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/files/builtin"
	"github.com/campaignd/campaignd/internal/files/campaignfile"
	"github.com/campaignd/campaignd/projections"
	"github.com/campaignd/campaignd/projections/campaign"
)

// A projection folds the events of a campaign, in order, into its state. A snapshot restores it
// to the last bit, which digests show.
func Example() {
	file, err := campaignfile.Parse(builtin.Registry(), "bread.yaml", []byte(`
name: bread
parameters: [{name: temperature, unit: °C, min: 150, max: 250}]
objective: {name: taste, goal: maximize}
budget: {experiments: 10}
instrument: manual
`))
	if err != nil {
		fmt.Println(err)
		return
	}
	hot := definition.Point{"temperature": definition.Number(220)}
	history := []events.Payload{
		&events.CampaignDefined{Definition: file.Definition},
		&events.ExperimentRequested{Experiment: "e1", Parameters: hot, Origin: events.OriginInitial, Replicate: 1},
		&events.ExperimentDispatched{Experiment: "e1", Command: "bread/e1"},
		&events.ExperimentFailed{Experiment: "e1", Command: "bread/e1", Cause: "burnt"},
	}

	live := campaign.New()
	for i, payload := range history {
		e, err := events.New("bread", payload)
		if err != nil {
			fmt.Println(err)
			return
		}
		e.Sequence = events.Sequence(i + 1)
		if err := live.Apply(e, payload); err != nil {
			fmt.Println(err)
			return
		}
	}
	for _, e := range live.State().Experiments {
		fmt.Println(e.ID, e.Status)
	}

	snapshot, err := live.Snapshot()
	if err != nil {
		fmt.Println(err)
		return
	}
	restored := campaign.New()
	if err := restored.Restore(snapshot); err != nil {
		fmt.Println(err)
		return
	}
	a, err := projections.Digest(live)
	if err != nil {
		fmt.Println(err)
		return
	}
	b, err := projections.Digest(restored)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("equal to the last bit:", a == b)
	// Output:
	// e1 failed
	// equal to the last bit: true
}
