package app

import (
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/files/exchange"
	"github.com/campaignd/campaignd/internal/ground/format"
)

// sheetCommand is `campaignd sheet`: the run sheet of the experiments that wait to be measured by
// hand. It records nothing: `suggest` makes the experiments.
var sheetCommand = command{
	name: "sheet",
	args: cobra.MaximumNArgs(1),
	new: func(flags *pflag.FlagSet) runner {
		var o exchange.SheetOptions
		var batch string
		var table bool
		flags.IntVar(&o.Wells, "plate", 0, "lay it out on a plate of so many `wells`: 6, 12, 24, 48, 96 or 384")
		flags.BoolVar(&o.Down, "down", false, "fill the plate column after column")
		flags.StringVar(&o.First, "first", "", "the first `well`, A1 by default")
		flags.StringVar(&batch, "batch", "", "what to weigh in for a batch of that `mass`: \"10 g\"")
		flags.StringVar(&o.Sort, "sort", "", "in the order of a `parameter`; by default of the experiments")
		flags.BoolVar(&o.Falling, "falling", false, "in the opposite order")
		flags.StringVar(&o.Of, "of", "",
			"lay out these `experiments`, e1-e24; those that have ended keep their wells and have no row")
		flags.BoolVar(&table, "csv", false, "as a table to be filled in")
		return func(c *call, args []string) (err error) {
			if o.Batch, err = exchange.BatchSize(batch); err != nil {
				return badInput("--batch: %w", err)
			}
			return c.reading(args, func(_ target, _ *session, core *engine.Core) error {
				sheet, err := exchange.RunSheetOf(core.State(), o)
				if err != nil {
					return badInput("%w", err)
				}
				if o.Batch > 0 && !sheet.Shares {
					return badInput("--batch: the parameters are no shares of one whole, so that nothing is to be weighed in by it")
				}
				switch {
				case c.json:
					return c.printJSON(sheet.Rows)
				case table:
					return sheet.Table().WriteCSV(c.stdout)
				case len(sheet.Rows) == 0:
					c.printf("Nothing waits to be measured by hand.\n")
					return nil
				}
				return writeSheet(c.stdout, sheet)
			})
		}
	},
}

func writeSheet(out io.Writer, sheet *exchange.RunSheet) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	line := func(cells []string) { tabulate(w, strings.Repeat("%s\t", len(cells))+"\n", texts(cells)...) }
	head := []string{"experiment"}
	if sheet.Plate != nil {
		head = append(head, "well")
	}
	for _, par := range sheet.Definition.Parameters {
		head = append(head, format.Heading(par.Name, par.Unit))
	}
	for k, par := range sheet.Definition.Parameters {
		if sheet.Rows[0].Amounts[k] != "" {
			head = append(head, "take "+par.Name+" (g)")
		}
	}
	if sheet.Uses() {
		head = append(head, "uses")
	}
	line(head)
	for _, row := range sheet.Rows {
		cells := []string{row.ID}
		if sheet.Plate != nil {
			cells = append(cells, sheet.Place(row))
		}
		cells = append(cells, row.Values...)
		for _, amount := range row.Amounts {
			if amount != "" {
				cells = append(cells, amount)
			}
		}
		if sheet.Uses() {
			cells = append(cells, row.Uses)
		}
		line(cells)
	}
	return w.Flush()
}

// texts are cells as arguments.
func texts(cells []string) []any {
	all := make([]any, len(cells))
	for i, cell := range cells {
		all[i] = cell
	}
	return all
}
