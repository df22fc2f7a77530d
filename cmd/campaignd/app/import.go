package app

import (
	"io"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/files/exchange"
	"github.com/campaignd/campaignd/internal/ground/format"
	"github.com/campaignd/campaignd/internal/ground/input"
)

var importCommand = command{
	name: "import",
	args: cobra.RangeArgs(1, 2),
	new: func(flags *pflag.FlagSet) runner {
		// A fault of a row is reported with the flag that would take it.
		o := tableImport{Import: exchange.Import{Words: exchange.Words{
			Again: "import it --again", Anyway: "take it --anyway", Note: "with --note NAME",
			Ignore: "with --ignore NAME",
			Column: `with --column "THAT NAME=NAME"`,
		}}}
		flags.BoolVar(&o.Again, "again", false, "take rows over though the campaign has the same")
		flags.BoolVar(&o.Once, "once", false,
			"leave out rows that the campaign has already, instead of refusing the file")
		flags.BoolVar(&o.Anyway, "anyway", false,
			"take rows that the campaign could not ask for: outside its bounds, with another sum, or simulated")
		flags.StringSliceVar(&o.Notes, "note", nil, "`columns` whose cells are kept as notes: sample,comment")
		flags.StringSliceVar(&o.Ignore, "ignore", nil, "`columns` that are left out: plate,operator; * for all others")
		columns := flags.StringArray("column", nil,
			"a column that the file has under another name: `\"salt (mol/kg)=salt\"`; may be given several times")
		return func(c *call, args []string) error {
			t, args, err := c.targetAndArgs(args, 1)
			if err != nil {
				return err
			}
			o.call = c
			o.Registry = c.registry
			o.Words.Clause = c.clause
			o.Columns = make(map[string]string)
			for _, text := range *columns {
				column, name, err := exchange.ParseColumn(text)
				if err != nil {
					return badInput("--column: %w", err)
				}
				o.Columns[column] = name
			}
			return o.rows(t, args[0])
		}
	},
}

// tableImport is one call of `campaignd import`.
type tableImport struct {
	*call
	exchange.Import
}

// rows reads a table and sends its rows as one request: all are recorded or none.
//
// The table can be read once only, because it may be standard input. For a new
// store it is read before the store is made, so that a bad table leaves none
// behind; otherwise within the request, against the campaign as it is.
//
// The import is filled by read, and used for the printed counts afterwards. A
// request that is sent again is the same one: the rows are read once.
func (a *tableImport) rows(t target, path string) (err error) {
	if a.Actor, err = a.actor(); err != nil {
		return err
	}
	read := func(core *engine.Core) error {
		a.Core = core
		name, in, err := a.openTable(path)
		if err != nil {
			return err
		}
		defer in.Close()
		return a.Read(name, in)
	}
	if exists, err := a.hasCampaign(a.ctx, t); err != nil {
		return err
	} else if !exists {
		s, err := a.openOrDefine(a.ctx, t, read)
		if err != nil {
			return err
		}
		if err := s.Close(); err != nil {
			return err
		}
	}
	s, stored, err := a.submit(a.ctx, t, step{build: func(s *session) (engine.Request, error) {
		if a.Rows == nil { // not read for a new store
			core, err := s.core(a.ctx)
			if err == nil && t.file != nil {
				err = a.compare(a.ctx, t, core.State())
			}
			if err == nil {
				err = read(core)
			}
			if err != nil {
				return engine.Request{}, err
			}
		}
		return engine.Request{Import: a.Rows, ImportOnce: a.Once && !a.Again}, nil
	}})
	if err != nil {
		return err
	}
	defer s.Close()
	if a.json {
		return a.printRecorded(a.ctx, s, stored)
	}
	a.printf("Imported %s from %s.\n", format.Count(len(a.Rows), "measurement"), tableName(path))
	for _, remark := range a.Remarks {
		a.printf("%s\n", remark)
	}
	if len(a.Skipped) > 0 {
		a.printf("Left out: %s.\n", a.Left())
	}
	core, err := s.core(a.ctx)
	if err != nil {
		return err
	}
	if all := outsideOf(core.State(), stored); len(all) > fewOutside {
		a.printf("%d of them lie outside the space: they are in the model, and compared with no other experiment.\n", len(all))
	} else {
		for _, line := range all {
			a.printf("%s\n", line)
		}
	}
	return nil
}

// fewOutside is how many imported experiments that lie outside are named.
const fewOutside = 5

// maxSheet is the largest CSV file that is read, in bytes. Rows are held in
// memory; 256 MiB are millions of them.
const maxSheet = 256 << 20

// standardInput is the path that stands for standard input.
const standardInput = "-"

// tableName is the name in messages for the file of a path.
func tableName(path string) string {
	if path == standardInput {
		return "standard input"
	}
	return path
}

// openTable opens a CSV file, or standard input, and returns its name for
// messages. The caller closes it. The bound on size is not applied to standard
// input, which has no size to ask for.
func (a *app) openTable(path string) (name string, in io.ReadCloser, err error) {
	if path == standardInput {
		return tableName(path), io.NopCloser(a.stdin), nil
	}
	in, err = input.Open(path, maxSheet)
	if err != nil {
		return path, nil, inputError{err}
	}
	return path, in, nil
}
