package view

import (
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/ground/format"
	"github.com/campaignd/campaignd/projections/campaign"
)

// In this file are the columns of what a campaign declares: parameters, quantities, predictions.

// absent stands for a value that there is not and will not be: an empty cell would look like a
// fault of the page.
const absent = "–"

// parameterColumns are those of a parameter as asked for, and in files as made. People are shown
// what was made, since that was measured, and below it what was asked for where that is another
// value.
func parameterColumns(def *definition.Campaign, i int) (asked, made Column) {
	par := &def.Parameters[i]
	asked = Column{
		Name: par.Name, Unit: par.Unit, On: Everywhere, Parameter: true,
		Data: data(func(x *campaign.Experiment) any { return ValueIn(x.Parameters, par.Name) }),
		Words: func(t *Experiments, x *campaign.Experiment) Cell {
			text, ok := t.write.Value(i, x.Parameters)
			if !ok {
				text = absent
			}
			if x.Measurement == nil || !differs(x.Parameters[par.Name], x.Measurement.Actual[par.Name]) {
				return Cell{Text: text}
			}
			cell := Cell{Text: absent}
			if actual, ok := t.write.Value(i, x.Measurement.Actual); ok {
				cell.Text = actual
			}
			if text == cell.Text { // they differ below the written precision: both are written in full
				cell.Text, text = x.Measurement.Actual[par.Name].String(), x.Parameters[par.Name].String()
			}
			cell.Below = "asked " + text
			return cell
		},
		Place: func(_ *Experiments, x *campaign.Experiment) float64 { return placeOf(par, madeIn(x)[par.Name]) },
	}
	made = Column{Name: par.Name + ActualEnding, On: InFiles, Data: data(func(x *campaign.Experiment) any {
		if x.Measurement == nil {
			return nil
		}
		return ValueIn(x.Measurement.Actual, par.Name)
	})}
	return asked, made
}

// madeIn is the composition that was made, or else the one that is asked for.
func madeIn(x *campaign.Experiment) definition.Point {
	if x.Measurement != nil {
		return x.Measurement.Actual
	}
	return x.Parameters
}

// placeOf is by what values of a parameter are sorted: categories in their order.
func placeOf(par *definition.Parameter, v definition.Value) float64 {
	if number, ok := v.Float(); ok {
		return number
	}
	at := slices.IndexFunc(par.Categories, func(c definition.CategoryDef) bool { return c.Name == v.Name() })
	if at < 0 {
		return math.NaN()
	}
	return float64(at)
}

// differs reports whether two values of a parameter are not the same, beyond the rounding of a
// number that was written and read again. The bound is relative, with a floor for values near 0, as
// instruments report in more digits than they were asked in.
func differs(a, b definition.Value) bool {
	x, numeric := a.Float()
	y, also := b.Float()
	if !numeric || !also {
		return a.Name() != b.Name() || numeric != also
	}
	return math.Abs(x-y) > 1e-9*max(math.Abs(x), math.Abs(y), 1e-6)
}

// soughtColumns are those of the objective.
func soughtColumns(sought definition.Objective) []Column {
	columns := quantityColumns(sought.Name, sought.Name, sought.Unit, true,
		func(t *Experiments, x *campaign.Experiment) (definition.Quantity, bool) { return t.State.Given(x) })
	columns[1].Name, columns[2].Name = ColumnUnit, ColumnSD
	columns[0].Class, columns[0].Down = "n value", sought.Goal != definition.Minimize
	return columns
}

// declaredColumns are those of a declared quantity.
func declaredColumns(name string, q definition.QuantityDef) []Column {
	return quantityColumns(name, q.Name, q.Unit, false,
		func(t *Experiments, x *campaign.Experiment) (definition.Quantity, bool) {
			return t.State.Quantity(x, q.Name)
		})
}

// furtherColumns are those of a further quantity.
func furtherColumns(name, unit string) []Column {
	return quantityColumns(FurtherPrefix+name, name, unit, false, func(_ *Experiments, x *campaign.Experiment) (q definition.Quantity, ok bool) {
		if x.Measurement != nil {
			q, ok = x.Measurement.Of(name)
		}
		return q, ok
	})
}

// quantityColumns are those of a quantity: its value, and in files its unit and standard deviation. A
// missing deviation is an empty cell, and not 0, which would say that the value is exact. Files have
// the values of an experiment that failed after it had measured, too.
func quantityColumns(
	name, title, unit string, sought bool, of func(*Experiments, *campaign.Experiment) (definition.Quantity, bool),
) []Column {
	part := func(get func(q definition.Quantity) any) func(*Experiments, *campaign.Experiment) any {
		return func(t *Experiments, x *campaign.Experiment) any {
			if q, ok := of(t, x); ok {
				return get(q)
			}
			return nil
		}
	}
	value := Column{Name: name, Title: title, Unit: unit, On: Everywhere, Sought: sought, Down: true}
	value.Data = part(func(q definition.Quantity) any { return q.Value })
	value.Words = func(t *Experiments, x *campaign.Experiment) Cell {
		q, ok := of(t, x)
		if !ok {
			return withoutValue(t.State, x, title)
		}
		cell := Cell{Text: format.Short(q.Value)}
		if sought {
			cell.Text = t.value(q.Value)
		}
		if q.SD != nil {
			cell.Text += " ± " + format.Significant(*q.SD, 2)
		}
		if q.Unit != unit { // else it stands in the heading
			cell.Text = format.WithUnit(cell.Text, q.Unit)
		}
		if !x.Counts(title) && !x.Excluded {
			cell.Below = "left out of the models"
		}
		return cell
	}
	return []Column{value,
		{Name: FurtherUnitPrefix + title, On: InFiles, Data: part(func(q definition.Quantity) any { return q.Unit })},
		{Name: FurtherSDPrefix + title, On: InFiles, Data: part(func(q definition.Quantity) any {
			if q.SD == nil {
				return nil
			}
			return *q.SD
		})},
	}
}

// withoutValue is the cell of a declared quantity that an experiment has no value of: the reason
// where one was given, and whether it is awaited.
func withoutValue(s *campaign.State, x *campaign.Experiment, name string) Cell {
	m := x.Measurement
	if m == nil || s.Definition.Quantity(name) == nil {
		return Cell{}
	}
	if at := slices.IndexFunc(m.Missing, func(q events.Missing) bool { return q.Name == name }); at >= 0 {
		return Cell{Text: absent, Below: m.Missing[at].Reason}
	}
	if Awaits(s, x, name) {
		return Cell{Text: "to come"}
	}
	return Cell{Text: absent}
}

// Awaits reports whether an experiment is to give a quantity later.
func Awaits(s *campaign.State, x *campaign.Experiment, quantity string) bool {
	return slices.ContainsFunc(s.Awaited(x), func(a campaign.Awaited) bool { return a.Quantity == quantity })
}

// Further are the further quantities of a campaign besides the known ones, in the order of their first
// measurement, with the unit that each had last: only the recorded results show them. That order stays
// when the campaign goes on, so that columns of an earlier export do not move.
func Further(s *campaign.State, known func(name string) bool) (all []definition.Quantity) {
	for i := range s.Experiments {
		m := s.Experiments[i].Measurement
		if m == nil {
			continue
		}
		for _, q := range m.Further {
			k := slices.IndexFunc(all, func(seen definition.Quantity) bool { return seen.Name == q.Name })
			switch {
			case k >= 0:
				all[k].Unit = q.Unit
			case !known(q.Name):
				all = append(all, definition.Quantity{Name: q.Name, Unit: q.Unit})
			}
		}
	}
	return all
}

// missingOf writes the declared quantities without a value: "capacity: the cell leaked".
func missingOf(m *events.Measurement) string {
	if m == nil {
		return ""
	}
	texts := make([]string, len(m.Missing))
	for i, missing := range m.Missing {
		texts[i] = missing.Name + ": " + missing.Reason
	}
	return strings.Join(texts, "; ")
}

// predictionColumns are what the model expected of the objective before it was measured, and how far
// that was off: not today's model, which knows the result.
func predictionColumns(sought definition.Objective, several bool) []Column {
	title := "predicted"
	if several {
		title += " " + sought.Name
	}
	return []Column{{
		Title: title, Unit: sought.Unit, On: OnPage | InReport,
		Words: func(t *Experiments, x *campaign.Experiment) (cell Cell) {
			if p, _ := t.log.Predicted(t.State, x); p != nil {
				cell.Text = format.PlusMinus(p.Mean, p.SD, "")
			}
			return cell
		},
	}, {
		Title: "residual", Unit: sought.Unit, On: InReport,
		Words: func(t *Experiments, x *campaign.Experiment) (cell Cell) {
			measured, ok := t.State.Given(x)
			p, noise := t.log.Predicted(t.State, x)
			if !ok || p == nil {
				return cell
			}
			residual := measured.Value - p.Mean
			if cell.Text = t.value(residual); residual > 0 {
				cell.Text = "+" + cell.Text
			}
			// The noise of the measurement and the doubt of the model are independent: their
			// variances add.
			if sd := math.Hypot(p.SD, noise); sd > 0 && math.Abs(residual) > 2*sd {
				cell.Class = "n surprise"
			}
			return cell
		},
	}}
}

// drawnColumns are what an experiment used up: in files the labels, or the amount in the stock's unit,
// of each stock; in a report all in one.
func drawnColumns(s *campaign.State) (all []Column) {
	names := make(map[string]bool)
	for name := range s.Definition.Stocks {
		names[name] = true
	}
	for i := range s.Experiments { // an amendment may have taken a stock out
		for _, d := range s.Used(&s.Experiments[i]) {
			names[d.Stock] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		all = append(all, Column{Name: DrawnPrefix + name, On: InFiles, Data: func(t *Experiments, x *campaign.Experiment) any {
			for _, d := range t.State.Used(x) {
				switch {
				case d.Stock == name && d.Unit != "":
					return d.Amount
				case d.Stock == name:
					return strings.Join(d.Labels, ", ")
				}
			}
			return nil
		}})
	}
	if len(all) > 0 {
		all = append(all, Column{Title: "used up", On: InReport, Class: "prose",
			Words: func(t *Experiments, x *campaign.Experiment) Cell { return Cell{Text: format.Drawn(t.State.Used(x))} }})
	}
	return all
}

// ValueIn is a number or the name of a category; nil where the composition has no such parameter.
func ValueIn(p definition.Point, name string) any {
	v, ok := p[name]
	if !ok {
		return nil
	}
	if x, ok := v.Float(); ok {
		return x
	}
	return v.Name()
}

// TimeOf is nil for a time that has not come.
func TimeOf(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.UTC()
}
