package app

import (
	"github.com/spf13/cobra"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/exchange"
)

// exportCommand is `campaignd export`.
//
// The two forms are for different readers: a table has the state that counts
// now, JSON Lines all that ever happened.
func (a *app) exportCommand() *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use:   "export [TARGET]",
		Short: "Write the experiments as CSV, or all events as JSON Lines",
		Long: `Write the campaign for other programs.

  csv    a row for each experiment with what was asked for, what was made, and
         what came out, further quantities included; corrections are applied.
         ` + "`campaignd import`" + ` reads it. Where nothing is measured: a row for each
         comparison with the compositions A and B and the better one
  jsonl  all events of the campaign as CloudEvents, one a line: everything there is

A text that a spreadsheet would take for a formula has an apostrophe before it.`,
		Example: `  campaignd export electrolyte.campaign > electrolyte.csv
  campaignd export --format jsonl > electrolyte.jsonl`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if format != "csv" && format != "jsonl" {
				return badInput("--format is csv or jsonl, not %q", format)
			}
			_, s, err := a.openToRead(cmd.Context(), args)
			if err != nil {
				return err
			}
			defer s.Close()
			if format == "jsonl" {
				return events.WriteCloudEvents(
					a.stdout, events.ReadCampaign(cmd.Context(), s.Log(), s.name, 0),
				)
			}
			core, err := s.core(cmd.Context())
			if err != nil {
				return err
			}
			return exchange.TableOf(core.State()).WriteCSV(a.stdout)
		},
	}
	cmd.Flags().StringVar(&format, "format", "csv", "csv or jsonl")
	return cmd
}
