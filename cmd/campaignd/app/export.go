package app

import (
	"context"
	"encoding/csv"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/campaignd/campaignd/adapters/humans"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/projections/campaign"
)

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
			defer s.close()
			if format == "jsonl" {
				return a.exportEvents(cmd.Context(), s)
			}
			core, err := s.core(cmd.Context())
			if err != nil {
				return err
			}
			if !core.State().Definition.Measures() {
				return a.exportComparisons(core.State())
			}
			return a.exportTable(core.State())
		},
	}
	cmd.Flags().StringVar(&format, "format", "csv", "csv or jsonl")
	return cmd
}

func (a *app) exportEvents(ctx context.Context, s *session) error {
	for e, err := range events.ReadCampaign(ctx, s.log, s.name, 0) {
		if err != nil {
			return err
		}
		line, err := events.MarshalCloudEvent(e)
		if err != nil {
			return err
		}
		if _, err := a.stdout.Write(append(line, '\n')); err != nil {
			return err
		}
	}
	return nil
}

// exportComparisons writes the comparisons of a campaign that measures nothing.
func (a *app) exportComparisons(state *campaign.State) error {
	def := state.Definition
	w := csv.NewWriter(a.stdout)
	header := []string{"comparison", "status", "expert", "decision"}
	for _, option := range []string{"A", "B"} {
		for _, par := range def.Parameters {
			header = append(header, par.Name+"_"+option)
		}
	}
	header = append(header, "better", "asked_at", "answered_at", "comment")
	if err := w.Write(asTexts(header)); err != nil {
		return err
	}
	for i := range state.Questions {
		q := &state.Questions[i]
		if q.Form != events.FormComparison || len(q.Options) != 2 {
			continue
		}
		row := []string{q.ID, string(q.Status), q.Expert, q.Decision}
		for _, option := range q.Options {
			for _, par := range def.Parameters {
				row = append(row, exact(option.Parameters, par.Name))
			}
		}
		better := ""
		switch {
		case len(q.Answer.Order) > 0:
			better = humans.OptionName(q.Answer.Order[0])
		case q.Status == campaign.Answered:
			better = q.Answer.String()
		}
		row = append(row, better, timestamp(q.AskedAt), timestamp(q.AnsweredAt), q.Comment)
		if err := w.Write(asTexts(row)); err != nil {
			return err
		}
	}
	w.Flush()
	return w.Error()
}

// The columns of the table beside the parameters and the objective, which `import`
// reads again.
const (
	columnStatus    = "status"
	columnUnit      = "unit"
	columnSD        = "sd"
	columnExcluded  = "excluded"
	columnSimulated = "simulated"
	// A further quantity has three columns: its name behind these.
	furtherPrefix     = "further_"
	furtherUnitPrefix = "unit_"
	furtherSDPrefix   = "sd_"
	// actualEnding follows the name of a parameter: what was made.
	actualEnding = "_actual"
)

// recordColumns are those that tell of a row, and are no part of the measurement.
var recordColumns = []string{"experiment", "origin", "decision", "replicate", "requested_at", "ended_at", "cause"}

func (a *app) exportTable(state *campaign.State) error {
	def := state.Definition
	w := csv.NewWriter(a.stdout)
	header := []string{"experiment", columnStatus, "origin", "decision", "replicate"}
	for _, par := range def.Parameters {
		header = append(header, par.Name)
	}
	for _, par := range def.Parameters {
		header = append(header, par.Name+actualEnding)
	}
	header = append(header, def.Objective.Name, columnUnit, columnSD)
	further := furtherNames(state)
	for _, name := range further {
		header = append(header, furtherPrefix+name, furtherUnitPrefix+name, furtherSDPrefix+name)
	}
	header = append(header, columnExcluded, columnSimulated, "requested_at", "ended_at", "cause")
	if err := w.Write(asTexts(header)); err != nil {
		return err
	}
	for i := range state.Experiments {
		x := &state.Experiments[i]
		row := []string{x.ID, string(x.Status), string(x.Origin), x.Decision, strconv.Itoa(x.Replicate)}
		for _, par := range def.Parameters {
			row = append(row, exact(x.Parameters, par.Name))
		}
		m := x.Measurement
		if m == nil {
			m = new(events.Measurement)
		}
		for _, par := range def.Parameters {
			row = append(row, exact(m.Actual, par.Name))
		}
		if x.Measurement != nil {
			row = append(row, exactQuantity(m.Objective)...)
		} else {
			row = append(row, "", "", "")
		}
		for _, name := range further {
			if i := slices.IndexFunc(m.Further, func(q definition.Quantity) bool { return q.Name == name }); i >= 0 {
				row = append(row, exactQuantity(m.Further[i])...)
			} else {
				row = append(row, "", "", "")
			}
		}
		row = append(
			row,
			strconv.FormatBool(x.Excluded),
			strconv.FormatBool(x.Simulated),
			timestamp(x.RequestedAt),
			timestamp(x.EndedAt),
			x.Cause,
		)
		if err := w.Write(asTexts(row)); err != nil {
			return err
		}
	}
	w.Flush()
	return w.Error()
}

// furtherNames returns the names of all further quantities, in the order of their
// first measurement.
func furtherNames(state *campaign.State) (names []string) {
	for i := range state.Experiments {
		m := state.Experiments[i].Measurement
		if m == nil {
			continue
		}
		for _, q := range m.Further {
			if !slices.Contains(names, q.Name) {
				names = append(names, q.Name)
			}
		}
	}
	return names
}

// exactQuantity writes a quantity in three cells: value, unit and standard deviation.
func exactQuantity(q definition.Quantity) []string {
	sd := ""
	if q.SD != nil {
		sd = exactNumber(*q.SD)
	}
	return []string{exactNumber(q.Value), q.Unit, sd}
}

// exact writes a value so that reading it gives the same one.
func exact(p definition.Point, name string) string {
	v, ok := p[name]
	if !ok {
		return ""
	}
	if x, ok := v.Float(); ok {
		return exactNumber(x)
	}
	return v.Name()
}

func exactNumber(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }

func timestamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339Nano)
}
