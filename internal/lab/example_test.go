package lab_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/campaignd/campaignd/adapters/instruments"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/files/builtin"
	"github.com/campaignd/campaignd/internal/files/campaignfile"
	"github.com/campaignd/campaignd/internal/lab"
	"github.com/campaignd/campaignd/internal/lab/equip"
)

const file = `
name: branin
parameters:
  - {name: x1, min: -5, max: 10}
  - {name: x2, min: 0, max: 15}
objective: {name: value, goal: minimize}
initial: {experiments: 3}
budget: {experiments: 5}
policy: lcb
instrument: {simulated: {task: branin}}
`

// A campaign from its file to its end, in a store of its own. Any number of campaigns of a
// store can be run like this at the same time.
func ExampleLocal() {
	ctx := context.Background()
	folder, err := os.MkdirTemp("", "example")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(folder)
	options := lab.LocalOptions{Registry: builtin.Registry()}
	h, err := lab.OpenLocal(ctx, filepath.Join(folder, "lab.campaign"), options)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer h.Close()

	parsed, err := campaignfile.Parse(options.Registry, "branin.yaml", []byte(file))
	if err != nil {
		fmt.Println(err)
		return
	}
	environment := instruments.Environment{Folder: folder}
	equipment, err := equip.Open(ctx, options.Registry, parsed.Definition, environment)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer equipment.Close()
	def, err := equipment.Prepare(ctx, parsed.Definition, parsed.Source)
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := h.Define(ctx, events.CampaignDefined{Definition: def}, engine.Request{Actor: "person:ada"}); err != nil {
		fmt.Println(err)
		return
	}

	campaign, err := h.Start(ctx, def.Name, equipment, lab.Hooks{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(len(h.Status().Campaigns), "campaign is run")
	if err := campaign.Run(ctx); err != nil {
		fmt.Println(err)
		return
	}
	state := campaign.Core().State()
	fmt.Println(state.Status, "after", state.Spent(), "experiments")
	// Output:
	// 1 campaign is run
	// completed after 5 experiments
}
