package exchange

import (
	"cmp"
	"encoding/csv"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/campaignd/campaignd/adapters/humans"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
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
				row = append(row, valueOf(option.Parameters, par.Name))
			}
		}
		better := ""
		switch {
		case len(q.Answer.Order) > 0:
			better = humans.OptionName(q.Answer.Order[0])
		case q.Status == campaign.Answered:
			better = q.Answer.String()
		}
		t.Rows = append(t.Rows, append(row, better, timeOf(q.AskedAt), timeOf(q.AnsweredAt), q.Comment))
	}
	return t
}

// The columns of the table besides the parameters and the objective, which
// [Import] reads again.
const (
	columnExperiment = "experiment"
	columnStatus     = "status"
	columnUnit       = "unit"
	columnSD         = "sd"
	columnExcluded   = "excluded"
	columnCause      = "cause"
	columnSimulated  = "simulated"
	// A further quantity has three columns: its name behind these.
	furtherPrefix     = "further_"
	furtherUnitPrefix = "unit_"
	furtherSDPrefix   = "sd_"
	// Of a campaign that declares its quantities: those without a value, with the
	// reason, and those whose value is left out of the models.
	columnMissing = "missing"
	columnLeftOut = "left_out"
	// A quantity that follows from the parameters has a column: its name behind this.
	computedPrefix = "computed_"
	// columnKeeps says whether the measured values keep the constraints on outcomes:
	// yes, no, or unknown where a quantity is missing.
	columnKeeps = "keeps_constraints"
	// actualEnding follows the name of a parameter, for the value that was made.
	actualEnding = "_actual"
	// Of a run sheet: its campaign, the well, the amount of a parameter to weigh in, the reason
	// for a missing result, and a remark.
	columnCampaign = "campaign"
	columnWell     = "well"
	takePrefix     = "take_"
	columnFailed   = "failed"
	columnRemark   = "remark"
)

// recordColumns are those that tell of a row, and are no part of the
// measurement. A reader may have them, and an import passes them over: they
// belong to the campaign from which the table came. But for the experiment, where its
// row adds quantities to one of this campaign: see [Import.named].
var recordColumns = []string{columnExperiment, "origin", "decision", "replicate", "requested_at",
	"ended_at", columnCause, columnKeeps}

// experiments has a row for each experiment, also for those without a measurement: their cells
// are empty and their status says why. For a corrected measurement the table has the present
// values.
//
// Scripts of labs read these columns: a new one is added behind the others of its kind, and
// none changes its name.
func experiments(state *campaign.State) *Table {
	def := state.Definition
	t := &Table{Rows: make([][]Cell, len(state.Experiments))}
	// A column is added with its cells for each experiment; m is empty without a measurement.
	add := func(of func(x *campaign.Experiment, m *events.Measurement) []Cell, names ...string) {
		t.Columns = append(t.Columns, names...)
		for i := range t.Rows {
			x := &state.Experiments[i]
			t.Rows[i] = append(t.Rows[i], of(x, cmp.Or(x.Measurement, new(events.Measurement)))...)
		}
	}
	add(func(x *campaign.Experiment, _ *events.Measurement) []Cell {
		return []Cell{x.ID, string(x.Status), string(x.Origin), x.Decision, x.Replicate}
	}, columnExperiment, columnStatus, "origin", "decision", "replicate")
	for _, par := range def.Parameters {
		add(func(x *campaign.Experiment, _ *events.Measurement) []Cell {
			return []Cell{valueOf(x.Parameters, par.Name)}
		}, par.Name)
	}
	for _, par := range def.Parameters {
		add(func(_ *campaign.Experiment, m *events.Measurement) []Cell {
			return []Cell{valueOf(m.Actual, par.Name)}
		}, par.Name+actualEnding)
	}
	add(func(x *campaign.Experiment, _ *events.Measurement) []Cell {
		return quantityOf(state.Given(x))
	}, def.Sought().Name, columnUnit, columnSD)
	for _, name := range declaredNames(def) {
		add(func(x *campaign.Experiment, _ *events.Measurement) []Cell {
			return quantityOf(state.Quantity(x, name))
		}, name, furtherUnitPrefix+name, furtherSDPrefix+name)
	}
	for _, name := range furtherNames(state) {
		add(func(_ *campaign.Experiment, m *events.Measurement) []Cell {
			for _, q := range m.Further {
				if q.Name == name {
					return quantityOf(q, true)
				}
			}
			return quantityOf(definition.Quantity{}, false)
		}, furtherPrefix+name, furtherUnitPrefix+name, furtherSDPrefix+name)
	}
	if def.Several() {
		add(func(x *campaign.Experiment, m *events.Measurement) []Cell {
			return []Cell{missingOf(m), strings.Join(x.Without, ", ")}
		}, columnMissing, columnLeftOut)
	}
	for _, name := range followingNames(def) {
		add(func(x *campaign.Experiment, _ *events.Measurement) []Cell {
			return quantityOf(state.Quantity(x, name))[:1]
		}, computedPrefix+name)
	}
	if len(def.ConstraintsOnOutcomes) > 0 {
		add(func(x *campaign.Experiment, _ *events.Measurement) []Cell {
			if x.Measurement == nil {
				return []Cell{nil}
			}
			return []Cell{string(state.Keeps(x))}
		}, columnKeeps)
	}
	add(func(x *campaign.Experiment, _ *events.Measurement) []Cell {
		return []Cell{x.Excluded, x.Simulated, timeOf(x.RequestedAt), timeOf(x.EndedAt), x.Cause}
	}, columnExcluded, columnSimulated, "requested_at", "ended_at", columnCause)
	return t
}

// declaredNames returns the declared quantities besides the objective.
func declaredNames(def *definition.Campaign) (names []string) {
	if !def.Several() {
		return nil
	}
	for _, q := range def.Declared() {
		if q.Name != def.Sought().Name {
			names = append(names, q.Name)
		}
	}
	return names
}

// followingNames are the quantities that follow from the parameters.
func followingNames(def *definition.Campaign) (names []string) {
	for _, q := range def.Quantities {
		if q.From != "" {
			names = append(names, q.Name)
		}
	}
	return names
}

// missingOf writes the declared quantities without a value: "capacity: the cell
// leaked".
func missingOf(m *events.Measurement) string {
	texts := make([]string, len(m.Missing))
	for i, missing := range m.Missing {
		texts[i] = missing.Name + ": " + missing.Reason
	}
	return strings.Join(texts, "; ")
}

// furtherNames returns the names of all further quantities, in the order of
// their first measurement. That order stays when the campaign goes on, so that
// columns of an earlier export do not move.
func furtherNames(state *campaign.State) (names []string) {
	for i := range state.Experiments {
		m := state.Experiments[i].Measurement
		if m == nil {
			continue
		}
		for _, q := range m.Further {
			declared := state.Definition.Several() && state.Definition.Quantity(q.Name) != nil
			if !declared && !slices.Contains(names, q.Name) {
				names = append(names, q.Name)
			}
		}
	}
	return names
}

// quantityOf is a quantity in three cells: value, unit and standard deviation. A missing
// deviation is an empty cell, and not 0, which would say that the value is exact. All three are
// empty without a quantity.
func quantityOf(q definition.Quantity, ok bool) []Cell {
	if !ok {
		return []Cell{nil, nil, nil}
	}
	var sd Cell
	if q.SD != nil {
		sd = *q.SD
	}
	return []Cell{q.Value, q.Unit, sd}
}

// valueOf is a number or the name of a category; nil where the composition has
// no such parameter.
func valueOf(p definition.Point, name string) Cell {
	v, ok := p[name]
	if !ok {
		return nil
	}
	if x, ok := v.Float(); ok {
		return x
	}
	return v.Name()
}

// timeOf is nil for a time that has not come.
func timeOf(t time.Time) Cell {
	if t.IsZero() {
		return nil
	}
	return t.UTC()
}
