package main

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"github.com/campaignd/campaignd/adapters/humans"
	humansimulated "github.com/campaignd/campaignd/adapters/humans/simulated"
	"github.com/campaignd/campaignd/adapters/humans/terminal"
	"github.com/campaignd/campaignd/adapters/instruments"
	"github.com/campaignd/campaignd/adapters/instruments/manual"
	"github.com/campaignd/campaignd/adapters/instruments/process"
	"github.com/campaignd/campaignd/adapters/instruments/simulated"
	"github.com/campaignd/campaignd/adapters/instruments/table"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/console"
	"github.com/campaignd/campaignd/internal/space"
)

// outside is what adapters need from the program that runs them.
type outside struct {
	// base is the folder that relative paths of the definition start from.
	base string
	// store is the campaign's store, empty where there is none.
	store string
	// prompter asks whoever sits at the terminal.
	prompter console.Prompter
	// logf takes remarks of adapters, a line each.
	logf func(format string, args ...any)
}

// instrumentTable is the list of instruments.
var instrumentTable = []struct {
	name  string
	named func(definition.Instrument) bool
	open  func(definition.Campaign, outside) (instruments.Instrument, error)
}{
	{"simulated",
		func(i definition.Instrument) bool { return i.Simulated != nil },
		func(def definition.Campaign, o outside) (instruments.Instrument, error) {
			return simulated.New(*def.Instrument.Simulated, def)
		}},
	{"table",
		func(i definition.Instrument) bool { return i.Table != nil },
		func(def definition.Campaign, o outside) (instruments.Instrument, error) {
			return table.New(*def.Instrument.Table, def, o.base)
		}},
	{"manual",
		func(i definition.Instrument) bool { return i.Manual != nil },
		func(def definition.Campaign, o outside) (instruments.Instrument, error) {
			return manual.New(*def.Instrument.Manual, def, o.prompter), nil
		}},
	{"process",
		func(i definition.Instrument) bool { return i.Process != nil },
		func(def definition.Campaign, o outside) (instruments.Instrument, error) {
			i, err := process.New(*def.Instrument.Process, def, o.base, o.logf)
			if err != nil {
				return nil, err
			}
			if o.store != "" {
				i.KeepRecord(filepath.Join(o.store, "instrument.json"))
			}
			return i, nil
		}},
}

// reviewerTable is the list of experts.
var reviewerTable = []struct {
	name  string
	named func(definition.Expert) bool
	open  func(definition.Expert, definition.Campaign, outside) (humans.Reviewer, error)
}{
	{"simulated",
		func(e definition.Expert) bool { return e.Simulated != nil },
		func(e definition.Expert, def definition.Campaign, _ outside) (humans.Reviewer, error) {
			sp, err := space.New(def)
			if err != nil {
				return nil, err
			}
			return humansimulated.New(e, def, func(n int, seed uint64) []definition.Point {
				points, err := sp.Sample(n, seed)
				if err != nil {
					return nil // the adapter reports that it has none to choose from
				}
				return points
			})
		}},
	{"terminal",
		func(e definition.Expert) bool { return e.Terminal != nil },
		func(e definition.Expert, _ definition.Campaign, o outside) (humans.Reviewer, error) {
			return terminal.New(e.Name, o.prompter, time.Now), nil
		}},
}

// openInstrument returns the instrument that the definition names: nil in a
// campaign that measures nothing. Close it with closeInstrument.
func openInstrument(def definition.Campaign, o outside) (instruments.Instrument, error) {
	if def.Policy.Duel.Set() {
		return nil, nil
	}
	for _, row := range instrumentTable {
		if row.named(def.Instrument) {
			instrument, err := row.open(def, o)
			if err != nil {
				return nil, inputError{err}
			}
			return instrument, nil
		}
	}
	return nil, badInput("the campaign names no instrument that this campaignd can drive")
}

func closeInstrument(i instruments.Instrument) error {
	if c, ok := i.(io.Closer); ok {
		return c.Close()
	}
	return nil
}

// openReviewers returns the experts of the definition, by name.
func openReviewers(def definition.Campaign, o outside) (map[string]humans.Reviewer, error) {
	reviewers := make(map[string]humans.Reviewer, len(def.Experts))
	for _, expert := range def.Experts {
		for _, row := range reviewerTable {
			if !row.named(expert) {
				continue
			}
			reviewer, err := row.open(expert, def, o)
			if err != nil {
				return nil, inputError{err}
			}
			reviewers[expert.Name] = reviewer
		}
		if reviewers[expert.Name] == nil {
			return nil, badInput("the expert %s is of no kind that this campaignd can ask", expert.Name)
		}
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
