package app

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/campaignd/campaignd/adapters/console"
	"github.com/campaignd/campaignd/adapters/humans"
	"github.com/campaignd/campaignd/adapters/instruments"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/registry"
	"github.com/campaignd/campaignd/projections/space"
)

// openInstrument returns the instrument that the definition names: nil in a
// campaign that measures nothing. Close it with closeInstrument.
func openInstrument(ctx context.Context, reg registry.Registry, def definition.Campaign, env instruments.Environment) (instruments.Instrument, error) {
	if !def.Measures() {
		return nil, nil
	}
	driver, ok := reg.Driver(def.Instrument.Driver.Name)
	if !ok {
		return nil, badInput("the campaign names no instrument that this campaignd can drive")
	}
	instrument, err := driver.Open(ctx, def, env)
	if err != nil {
		return nil, inputError{err}
	}
	return instrument, nil
}

func closeInstrument(i instruments.Instrument) error {
	if c, ok := i.(io.Closer); ok {
		return c.Close()
	}
	return nil
}

// openReviewers returns the experts of the definition, by name. prompter asks
// whoever sits at the terminal.
func openReviewers(ctx context.Context, reg registry.Registry, def definition.Campaign, prompter console.Prompter) (map[string]humans.Reviewer, error) {
	sp, err := space.New(def)
	if err != nil {
		return nil, inputError{err}
	}
	env := humans.Environment{
		Prompter: prompter,
		Now:      time.Now,
		Sample: func(n int, seed uint64) []definition.Point {
			points, err := sp.Sample(n, seed)
			if err != nil {
				return nil // the adapter reports that it has none to choose from
			}
			return points
		},
	}
	reviewers := make(map[string]humans.Reviewer, len(def.Experts))
	for _, expert := range def.Experts {
		channel, ok := reg.Channel(expert.Channel.Name)
		if !ok {
			return nil, badInput("this campaignd has no way to ask %s", expert.Name)
		}
		reviewer, err := channel.Open(ctx, expert, def, env)
		if err != nil {
			return nil, inputError{err}
		}
		reviewers[expert.Name] = reviewer
	}
	return reviewers, nil
}

// withCandidates completes a definition by the compositions that its
// instrument lists as the only ones it can measure.
func withCandidates(ctx context.Context, def definition.Campaign, i instruments.Instrument) (definition.Campaign, error) {
	list, ok := i.(instruments.Candidates)
	if !ok || def.Candidates != nil {
		return def, nil
	}
	points, err := list.Candidates(ctx)
	if err != nil {
		return def, fmt.Errorf("the instrument's list of compositions: %w", err)
	}
	def.Candidates = points
	return def, nil
}
