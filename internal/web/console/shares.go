package console

import (
	"cmp"
	"html/template"
	"math"
	"strings"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/ground/format"
	"github.com/campaignd/campaignd/internal/view"
	"github.com/campaignd/campaignd/internal/view/figure"
	"github.com/campaignd/campaignd/projections/campaign"
)

// shareTable shows each parameter's contribution to a quantity at the options: a row for each
// parameter, a column for each option of Names.
type shareTable struct {
	Caption string
	Names   []string
	Rows    []shareRow
}

type shareRow struct {
	Name  string
	Cells []shareCell
}

// shareCell is a number and its bar.
type shareCell struct {
	Text string
	Bar  template.HTML
}

// add adds the row of a parameter: its value at each option, and a bar, which is longest at most.
// Values have their sign, since they add to and take from an average.
func (t *shareTable) add(parameter string, values []float64, most float64) {
	row := shareRow{Name: parameter}
	for i, v := range values {
		text := format.Short(v)
		if v > 0 {
			text = "+" + text
		}
		row.Cells = append(row.Cells,
			shareCell{figure.Typeset(text), shareBar(parameter+" in "+t.Names[i]+": "+text, v, most)})
	}
	t.Rows = append(t.Rows, row)
}

// shareTables returns shares, a table for each quantity. sums adds the rows of the base and of the
// total. Quantities come in one order, parameters in that of the shares. A parameter that is not
// known for every option has no row: a hole could be read as zero.
func shareTables(
	captions map[string]string, shares []view.Share, name func(candidate string) string, sums bool,
) (tables []shareTable) {
	for _, quantity := range []string{events.QuantityMean, events.QuantitySD, events.QuantityUCB} {
		t := shareTable{Caption: captions[quantity]}
		base, total := shareRow{Name: "on average"}, shareRow{Name: "in all"}
		var parameters []string
		values := make(map[string][]float64)
		most := 0.0
		for _, s := range shares {
			if s.Quantity != quantity {
				continue
			}
			t.Names = append(t.Names, name(s.Candidate))
			base.Cells = append(base.Cells, shareCell{Text: figure.Typeset(format.Short(s.Base))})
			total.Cells = append(total.Cells, shareCell{Text: figure.Typeset(format.Short(s.Total))})
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
				t.add(parameter, v, most)
			}
		}
		if sums {
			t.Rows = append(t.Rows, total)
		}
		tables = append(tables, t)
	}
	return tables
}

// sharesOf returns the Shapley values that were recorded with a question.
// Recorded values are of a standardized and maximized objective, so only their
// sizes relative to each other are shown.
func sharesOf(q *campaign.Question) []shareTable {
	if q.Attributions == nil {
		return nil
	}
	captions := map[string]string{
		events.QuantityMean: "What makes it good or bad, in what the model expects",
		events.QuantitySD:   "What makes the model unsure of it",
		events.QuantityUCB:  "What makes it worth trying: the optimistic bound",
	}
	var shares []view.Share
	for _, s := range q.Attributions.Shapley {
		shares = append(shares, view.Share{
			Candidate: s.Candidate, Quantity: s.Quantity, Parameters: s.Parameters, Values: s.Values,
		})
	}
	letters := view.Letters(q)
	name := func(candidate string) string { return cmp.Or(letters[candidate], candidate) }
	return shareTables(captions, shares, name, false)
}

// sharesIn returns the shares of a decision, in the campaign's unit, into which
// view has worked them back.
func sharesIn(d *view.Decision, shares []view.Share) []shareTable {
	sought := d.Definition.Sought()
	captions := map[string]string{
		events.QuantityMean: format.Heading("expected "+sought.Name, sought.Unit),
		events.QuantitySD:   format.Heading("standard deviation", sought.Unit),
		events.QuantityUCB:  format.Heading("optimistic bound", sought.Unit),
	}
	letters := d.Letters()
	name := func(candidate string) string { return strings.TrimSpace(letters[candidate] + " " + candidate) }
	return shareTables(captions, shares, name, true)
}
