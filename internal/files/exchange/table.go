package exchange

import (
	"encoding/csv"
	"io"
	"strconv"
	"time"

	"github.com/campaignd/campaignd/adapters/humans"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/view"
	"github.com/campaignd/campaignd/projections/campaign"
)

// Table is a campaign as a table for other programs.
type Table struct {
	Columns []string
	Rows    [][]Cell
}

// Cell is a number, a text, true or false, or nothing (nil). A whole number is
// an int, a time a time.Time in UTC.
type Cell any

// TableOf returns the experiments of a campaign, a row each; its comparisons
// where it measures nothing.
func TableOf(state *campaign.State) *Table {
	if state.Definition.Measures() {
		return experiments(state)
	}
	return comparisons(state)
}

// WriteCSV writes the table so that [Import] reads it again, and so that a
// spreadsheet takes no text for a formula. Numbers are exact.
//
// An error is that of out; the beginning of a table has been written by then, which the caller
// has to discard.
func (t *Table) WriteCSV(out io.Writer) error {
	w := csv.NewWriter(out)
	if err := w.Write(asTexts(t.Columns)); err != nil {
		return err
	}
	for _, row := range t.Rows {
		texts := make([]string, len(row))
		for i, cell := range row {
			texts[i] = asText(textOf(cell))
		}
		if err := w.Write(texts); err != nil {
			return err
		}
	}
	w.Flush()
	return w.Error()
}

// textOf writes a cell so that reading it gives the same one. The shortest
// digits that give the same number again are used, and for times nanoseconds
// and the zone.
func textOf(cell Cell) string {
	switch c := cell.(type) {
	case nil:
		return ""
	case float64:
		return strconv.FormatFloat(c, 'g', -1, 64)
	case int:
		return strconv.Itoa(c)
	case bool:
		return strconv.FormatBool(c)
	case time.Time:
		return c.Format(time.RFC3339Nano)
	}
	return cell.(string)
}

// comparisons are those of a campaign that measures nothing. Comparisons of more
// than two are left out, since the columns are those of A and B.
//
// A question without an answer has a row as well, and its status says why.
func comparisons(state *campaign.State) *Table {
	def := state.Definition
	t := &Table{Columns: []string{"comparison", "status", "expert", "decision"}}
	for _, option := range []string{"A", "B"} {
		for _, par := range def.Parameters {
			t.Columns = append(t.Columns, par.Name+"_"+option)
		}
	}
	t.Columns = append(t.Columns, "better", "asked_at", "answered_at", "comment")
	for i := range state.Questions {
		q := &state.Questions[i]
		if q.Form != events.FormComparison || len(q.Options) != 2 {
			continue
		}
		row := []Cell{q.ID, string(q.Status), q.Expert, q.Decision}
		for _, option := range q.Options {
			for _, par := range def.Parameters {
				row = append(row, view.ValueIn(option.Parameters, par.Name))
			}
		}
		better := ""
		switch {
		case len(q.Answer.Order) > 0:
			better = humans.OptionName(q.Answer.Order[0])
		case q.Status == campaign.Answered:
			better = q.Answer.String()
		}
		t.Rows = append(t.Rows, append(row, better, view.TimeOf(q.AskedAt), view.TimeOf(q.AnsweredAt), q.Comment))
	}
	return t
}

// Columns of a run sheet: its campaign, the well, the amount of a parameter to weigh in, the reason
// for a missing result, and a remark.
const (
	columnCampaign = "campaign"
	columnWell     = "well"
	takePrefix     = "take_"
	columnUses     = "uses"
	columnFailed   = "failed"
	columnRemark   = "remark"
)

// experiments has a row for each experiment, also for those without a measurement: their cells
// are empty and their status says why. For a corrected measurement the table has the present
// values.
func experiments(state *campaign.State) *Table {
	all := view.ExperimentsIn(state)
	t := &Table{Rows: make([][]Cell, len(state.Experiments))}
	for _, c := range all.Columns {
		t.Columns = append(t.Columns, c.Name)
		for i := range t.Rows {
			t.Rows[i] = append(t.Rows[i], c.Data(all, &state.Experiments[i]))
		}
	}
	return t
}
