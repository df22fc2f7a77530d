// Package sheet writes campaigns as CSV tables for other programs.
package sheet

import (
	"encoding/csv"
	"io"
	"slices"
	"strconv"
	"time"

	"github.com/campaignd/campaignd/adapters/humans"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/projections/campaign"
)

// Write writes a campaign as a table: a row for each experiment, or for each comparison where
// nothing is measured. A text that a spreadsheet would take for a formula has an apostrophe
// before it. The error is that of w.
func Write(w io.Writer, state *campaign.State) error {
	if !state.Definition.Measures() {
		return writeComparisons(w, state)
	}
	return writeExperiments(w, state)
}

// writeComparisons writes the comparisons of a campaign that measures nothing.
func writeComparisons(out io.Writer, state *campaign.State) error {
	def := state.Definition
	w := csv.NewWriter(out)
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

// Columns of the table beside the parameters and the objective, which `import`
// reads again.
const (
	ColumnStatus    = "status"
	ColumnUnit      = "unit"
	ColumnSD        = "sd"
	ColumnExcluded  = "excluded"
	ColumnSimulated = "simulated"
	// A further quantity has three columns: its name behind these.
	FurtherPrefix     = "further_"
	FurtherUnitPrefix = "unit_"
	FurtherSDPrefix   = "sd_"
	// ActualEnding follows the name of a parameter: what was made.
	ActualEnding = "_actual"
)

// RecordColumns are those that tell of a row, and are no part of the measurement.
var RecordColumns = []string{"experiment", "origin", "decision", "replicate", "requested_at", "ended_at", "cause"}

// writeExperiments writes the experiments of a campaign that measures.
func writeExperiments(out io.Writer, state *campaign.State) error {
	def := state.Definition
	w := csv.NewWriter(out)
	header := []string{"experiment", ColumnStatus, "origin", "decision", "replicate"}
	for _, par := range def.Parameters {
		header = append(header, par.Name)
	}
	for _, par := range def.Parameters {
		header = append(header, par.Name+ActualEnding)
	}
	header = append(header, def.Objective.Name, ColumnUnit, ColumnSD)
	further := furtherNames(state)
	for _, name := range further {
		header = append(header, FurtherPrefix+name, FurtherUnitPrefix+name, FurtherSDPrefix+name)
	}
	header = append(header, ColumnExcluded, ColumnSimulated, "requested_at", "ended_at", "cause")
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
