package report

import (
	"html/template"
	"math"
	"strings"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/ground/format"
	"github.com/campaignd/campaignd/internal/view"
	"github.com/campaignd/campaignd/internal/view/figure"
)

// ShareTable shows each parameter's contribution to a quantity at the options: a row for each
// parameter, a column for each option of Names.
type ShareTable struct {
	Caption string
	Names   []string
	Rows    []ShareRow
}

type ShareRow struct {
	Name  string
	Cells []ShareCell
}

// ShareCell is a number and its bar.
type ShareCell struct {
	Text string
	Bar  template.HTML
}

// add adds the row of a parameter: its value at each option, and a bar, which is longest at most.
// Values have their sign, since they add to and take from an average.
func (t *ShareTable) add(on figure.Page, parameter string, values []float64, most float64) {
	row := ShareRow{Name: parameter}
	for i, v := range values {
		text := format.Short(v)
		if v > 0 {
			text = "+" + text
		}
		row.Cells = append(row.Cells,
			ShareCell{figure.Typeset(text), shareBar(on, parameter+" in "+t.Names[i]+": "+text, v, most)})
	}
	t.Rows = append(t.Rows, row)
}

// ShareTables returns shares, a table for each quantity. sums adds the rows of the base and of the
// total, and of the model itself where the values do not add up to that: decisions of version 2 of the
// policies attributed the values of the measured compositions alone. Quantities come in one order, parameters in that of the shares. A parameter that is not
// known for every option has no row: a hole could be read as zero.
func ShareTables(
	captions map[string]string, shares []view.Share, name func(candidate string) string, sums bool, on figure.Page,
) (tables []ShareTable) {
	for _, quantity := range []string{events.QuantityMean, events.QuantitySD, events.QuantityUCB} {
		t := ShareTable{Caption: captions[quantity]}
		base := ShareRow{Name: "on average"}
		total := ShareRow{Name: "in all"}
		model := ShareRow{Name: "the model itself"}
		var parameters []string
		values := make(map[string][]float64)
		most := 0.0
		for _, s := range shares {
			if s.Quantity != quantity {
				continue
			}
			t.Names = append(t.Names, name(s.Candidate))
			base.Cells = append(base.Cells, ShareCell{Text: figure.Typeset(format.Short(s.Base))})
			total.Cells = append(total.Cells, ShareCell{Text: figure.Typeset(format.Short(s.Total))})
			if s.Model != nil {
				model.Cells = append(model.Cells, ShareCell{Text: figure.Typeset(format.Short(*s.Model))})
			}
			for i, parameter := range s.Parameters {
				if values[parameter] == nil {
					parameters = append(parameters, parameter)
				}
				values[parameter] = append(values[parameter], s.Values[i])
				most = max(most, math.Abs(s.Values[i]))
			}
		}
		if t.Names == nil {
			continue
		}
		if sums {
			t.Rows = append(t.Rows, base)
		}
		for _, parameter := range parameters {
			if v := values[parameter]; len(v) == len(t.Names) {
				t.add(on, parameter, v, most)
			}
		}
		if sums {
			t.Rows = append(t.Rows, total)
			if !view.AddUp(shares) && len(model.Cells) == len(t.Names) {
				t.Rows = append(t.Rows, model)
			}
		}
		tables = append(tables, t)
	}
	return tables
}

// SharesIn are the shares of a decision, in the campaign's unit, into which view has worked them back.
func SharesIn(sought definition.Objective, letters map[string]string, shares []view.Share, on figure.Page) []ShareTable {
	captions := map[string]string{
		events.QuantityMean: format.Heading("expected "+sought.Name, sought.Unit),
		events.QuantitySD:   format.Heading("standard deviation", sought.Unit),
		events.QuantityUCB:  format.Heading("optimistic bound", sought.Unit),
	}
	name := func(candidate string) string { return strings.TrimSpace(letters[candidate] + " " + candidate) }
	return ShareTables(captions, shares, name, true, on)
}

// shareBar draws a parameter's contribution to a quantity, to the left and right of zero; most is
// the value that fills one side, the same for all bars of a table.
func shareBar(on figure.Page, title string, value, most float64) template.HTML {
	const w, h = 120.0, 14.0
	canvas := figure.Role("")
	var zero, more, less figure.Paint = figure.Look{Stroke: figure.Gray, Width: 1}, figure.Look{Fill: figure.Green}, figure.Look{Fill: figure.Red}
	if on.Palette == figure.Classes {
		canvas = "bar"
		zero = figure.Role("zero")
		more = figure.Role("more")
		less = figure.Role("less")
	}
	d := on.Canvas(w, h, canvas, title)
	d.Title(title)
	middle := w / 2
	d.Line(zero, middle, 0, middle, h)
	if most > 0 {
		x := value / most * (w/2 - 2)
		paint := more
		if x < 0 {
			paint = less
		}
		d.Rect(paint, min(middle, middle+x), 2, math.Abs(x), 10)
	}
	return d.SVG()
}
