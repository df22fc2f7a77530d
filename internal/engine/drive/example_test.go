package drive_test

import (
	"context"
	"fmt"
	"time"

	"github.com/campaignd/campaignd/adapters/instruments"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/memlog"
	"github.com/campaignd/campaignd/internal/attest/decisions"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/engine/drive"
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

// A runner is the loop around a core. It drives a campaign to its end: here a simulated one,
// in memory.
func ExampleRunner() {
	registry := builtin.Registry()
	file, err := campaignfile.Parse(registry, "example.yaml", []byte(exampleFile))
	if err != nil {
		fmt.Println(err)
		return
	}
	def := file.Definition

	ctx := context.Background()
	log := memlog.New()
	defer log.Close()
	began := time.Date(2026, 3, 1, 9, 30, 0, 0, time.UTC)
	defined := events.CampaignDefined{Instance: "EXAMPLE", Definition: def, Source: exampleFile}
	if err := engine.Define(ctx, log, defined, "person:ada", began, ""); err != nil {
		fmt.Println(err)
		return
	}

	driver, _ := registry.Driver(def.Instrument.Driver.Name)
	instrument, err := driver.Open(ctx, def, instruments.Environment{})
	if err != nil {
		fmt.Println(err)
		return
	}
	runner := drive.Runner{
		Registry:   registry,
		Log:        log,
		Campaign:   def.Name,
		Instrument: instrument,
		Eager:      true, // nobody waits for the clock
	}
	if err := runner.Start(ctx); err != nil {
		fmt.Println(err)
		return
	}
	if err := runner.Run(ctx); err != nil {
		fmt.Println(err)
		return
	}

	// What the campaign found, and whether all that led to it can be made again.
	summary, err := runner.Core().Summarize(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(summary.Experiments, "experiments; stopped:", summary.Stopped)
	fmt.Printf("best: %.0f %s\n", summary.BestByModel.Mean, summary.BestByModel.Unit)

	report, err := decisions.Audit(ctx, registry, log, def.Name, events.Build{}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("audit: %d of %d decisions came out again, %d mismatches\n",
		report.Reproduced, report.Decisions, len(report.Mismatches))
	// Output:
	// 8 experiments; stopped: budget
	// best: 13 mS/cm
	// audit: 6 of 6 decisions came out again, 0 mismatches
}
