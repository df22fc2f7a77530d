package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/engine"
)

func (a *app) importCommand() *cobra.Command {
	var again bool
	cmd := &cobra.Command{
		Use:   "import [TARGET] FILE.csv",
		Short: "Take over measurements that someone already has: warm start",
		Long: `Take over measurements from a CSV file. Its header names the parameters and the
objective, in the campaign's units, and nothing else. All rows are taken or none.
They do not count against the budget, and serve as the initial design. Given a
campaign file that has no store yet, the store is made.`,
		Example: `  campaignd import electrolyte.yaml last-year.csv
  campaignd import last-year.csv`,
		Args: cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			t, args, err := a.targetAndArgs(args, 1)
			if err != nil {
				return err
			}
			return a.importRows(cmd.Context(), t, args[0], again)
		},
	}
	cmd.Flags().BoolVar(&again, "again", false, "take rows over though the same were imported before")
	return cmd
}

func (a *app) importRows(ctx context.Context, t target, path string, again bool) error {
	if _, err := a.actor(); err != nil {
		return err
	}
	var rows []engine.Tell
	read := func(core *engine.Core) (err error) {
		rows, err = a.readImport(core, path, again)
		return err
	}
	if exists, err := t.hasStore(); err != nil {
		return err
	} else if !exists {
		s, err := a.openOrDefine(ctx, t, read)
		if err != nil {
			return err
		}
		if err := s.close(); err != nil {
			return err
		}
	}
	s, stored, err := a.submit(ctx, t, func(s *session) (engine.Request, error) {
		if rows == nil { // not read for a new store
			core, err := s.core(ctx)
			if err == nil && t.file != nil {
				err = compare(ctx, t, core.State())
			}
			if err == nil {
				err = read(core)
			}
			if err != nil {
				return engine.Request{}, err
			}
		}
		return engine.Request{Import: rows}, nil
	})
	if err != nil {
		return err
	}
	defer s.close()
	if a.json {
		return a.printRecorded(ctx, s, stored)
	}
	a.printf("Imported %s from %s.\n", plural(len(rows), "measurement"), path)
	return nil
}

// readImport reads and checks the rows of a file. Every fault is named.
func (a *app) readImport(core *engine.Core, path string, again bool) ([]engine.Tell, error) {
	def := core.State().Definition
	s, err := a.readSheet(def, path, def.Objective.Name)
	if err != nil {
		return nil, err
	}
	imported, err := importedBefore(core)
	if err != nil {
		return nil, err
	}
	var faults []error
	fault := func(line int, err error) { faults = append(faults, fmt.Errorf("%s:%d: %w", s.name, line, err)) }
	rows := make([]engine.Tell, len(s.rows))
	for i, row := range s.rows {
		value, err := number(def.Objective.Name, row.extra[def.Objective.Name])
		if err != nil {
			fault(row.line, err)
			continue
		}
		rows[i] = engine.Tell{Parameters: row.point, Value: value}
		if _, err := core.Handle(engine.Request{Import: rows[i : i+1]}); err != nil {
			text := strings.TrimPrefix(strings.TrimPrefix(err.Error(), "row 1: "), engine.ErrRefused.Error()+": ")
			fault(row.line, errors.New(text))
			continue
		}
		key, err := core.Space().Key(row.point)
		if err != nil {
			return nil, err
		}
		if x, ok := imported[importKey(key, value)]; ok && !again {
			fault(row.line, fmt.Errorf("this row was imported already, as %s; leave it out, or import it --again", x))
		}
	}
	if faults != nil {
		return nil, rowFaults(faults)
	}
	return rows, nil
}

// importedBefore returns the experiments that were imported, by composition
// and value.
func importedBefore(core *engine.Core) (map[string]string, error) {
	imported := make(map[string]string)
	s := core.State()
	for i := range s.Experiments {
		x := &s.Experiments[i]
		if x.Origin != events.OriginImport || x.Measurement == nil {
			continue
		}
		key, err := core.Space().Key(x.Parameters)
		if err != nil {
			return nil, err
		}
		imported[importKey(key, x.Measurement.Objective.Value)] = x.ID
	}
	return imported, nil
}

func importKey(point string, value float64) string { return fmt.Sprintf("%s\x00%x", point, value) }
