// Package studytest runs whole simulated campaigns in memory, for tests.
package studytest

import (
	"context"
	"fmt"

	humansim "github.com/campaignd/campaignd/adapters/humans/simulated"
	"github.com/campaignd/campaignd/adapters/instruments"
	"github.com/campaignd/campaignd/adapters/instruments/process"
	"github.com/campaignd/campaignd/adapters/instruments/simulated"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/engine/drive"
	"github.com/campaignd/campaignd/internal/files/builtin"
	"github.com/campaignd/campaignd/internal/files/campaignfile"
	"github.com/campaignd/campaignd/internal/study"
	"github.com/campaignd/campaignd/internal/study/tasks"
	"github.com/campaignd/campaignd/policies/cobol"
)

// initial is the default number of initial experiments of a test or a study: recorded results began
// with that number.
const initial = 3

// Define returns the complete definition of a campaign on a task with its
// simulated instrument, after the given changes, with three initial experiments
// evenly spread where they name no others.
func Define(
	task string, seed uint64, experiments int, changes ...func(*definition.Campaign),
) (definition.Campaign, error) {
	t, ok := tasks.Lookup(task)
	if !ok {
		return definition.Campaign{}, fmt.Errorf("there is no task %q; the tasks are %v", task, tasks.Names())
	}
	def := definition.Campaign{
		Name:        task,
		Seed:        seed,
		Parameters:  t.Parameters,
		Constraints: t.Constraints,
		Objective:   t.Objective,
		Budget:      definition.Budget{Experiments: experiments},
		Instrument:  definition.Instrument{Driver: simulated.Choose(simulated.Settings{Task: task})},
	}
	for _, change := range changes {
		change(&def)
	}
	if def.Measures() && len(def.Initial.Points) == 0 {
		definition.DefaultTo(&def.Initial.Experiments, initial)
		definition.Default(&def.Initial.Design, definition.DesignSobol)
	}
	return campaignfile.Complete(builtin.Registry(), def), nil
}

// WithExpert adds a simulated expert of the given accuracy a, who labels for
// COBOL where no rule of trust has been chosen before.
func WithExpert(accuracy float64) func(*definition.Campaign) {
	return func(def *definition.Campaign) {
		if def.Policy.Trust.IsZero() && def.Policy.Duel.IsZero() {
			def.Policy.Trust = cobol.COBOL{}.Choice()
		}
		def.Experts = append(def.Experts, Expert("ada", humansim.Settings{Accuracy: &accuracy}))
	}
}

// Expert returns a simulated expert.
func Expert(name string, settings humansim.Settings) definition.Expert {
	return definition.Expert{Name: name, Channel: humansim.Choose(settings)}
}

// Simulated changes the settings of a definition's simulated instrument.
func Simulated(def *definition.Campaign, change func(*simulated.Settings)) {
	settings, err := simulated.SettingsOf(*def)
	if err != nil {
		panic(err) // a definition of this package, whose instrument is simulated
	}
	change(&settings)
	def.Instrument.Driver = simulated.Choose(settings)
}

// SimulatedExpert changes the settings of a definition's i-th expert, a simulated one.
func SimulatedExpert(def *definition.Campaign, i int, change func(*humansim.Settings)) {
	settings, err := humansim.SettingsOf(def.Experts[i])
	if err != nil {
		panic(err) // a definition of this package, whose experts are simulated
	}
	change(&settings)
	def.Experts[i].Channel = humansim.Choose(settings)
}

// identity is the name that a simulated instrument gives itself.
func identity(def definition.Campaign) string {
	name, _ := simulated.Driver.Identify(def)
	return name
}

// WithNoise gives the instrument a known noise, in the objective's unit.
func WithNoise(sd float64) func(*definition.Campaign) {
	return func(def *definition.Campaign) {
		def.Objective.Noise = &sd
		Simulated(def, func(s *simulated.Settings) { s.Noise = sd })
	}
}

// Runner returns a runner of the definition's campaign on the log, opening the
// campaign where the log does not hold it. instrument may be nil for the
// simulated one; for any other, the definition names it as a program, since an
// audit compares the log with the definition.
func Runner(
	ctx context.Context, log events.Log, def definition.Campaign, instrument instruments.Instrument,
) (*drive.Runner, error) {
	if instrument == nil && def.Driver().Name == simulated.Name {
		var err error
		if instrument, err = simulated.Driver.Open(ctx, def, instruments.Environment{}); err != nil {
			return nil, err
		}
	}
	reviewers, err := study.Reviewers(def)
	if err != nil {
		return nil, err
	}
	sequence, err := log.LastSequence(ctx, def.Name)
	if err != nil {
		return nil, err
	}
	if sequence == 0 {
		if instrument != nil {
			description, err := instrument.Describe(ctx)
			if err != nil {
				return nil, err
			}
			byHand := def.ByHand() // the instrument of a campaign run by hand may be any
			if !byHand && (def.Driver().Name != simulated.Name || description.Name != identity(def)) {
				def.Instrument.Driver = process.Choose(process.Settings{Command: []string{description.Name}})
				def = campaignfile.Complete(builtin.Registry(), def)
			}
		}
		if err := engine.Define(ctx, log, events.CampaignDefined{Definition: def}, "person:study", study.Epoch,
			""); err != nil {
			return nil, err
		}
	}
	r := &drive.Runner{
		Registry:   builtin.Registry(),
		Log:        log,
		Campaign:   def.Name,
		Instrument: instrument,
		Reviewers:  reviewers,
		Now:        study.Clock(),
		Eager:      true,
	}
	return r, r.Start(ctx)
}

// Simulate runs a campaign to its end and returns its core.
func Simulate(ctx context.Context, log events.Log, def definition.Campaign) (*engine.Core, error) {
	r, err := Runner(ctx, log, def, nil)
	if err != nil {
		return nil, err
	}
	return r.Core(), r.Run(ctx)
}
