package console

import (
	"html/template"
	"math"
	"strings"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/figure"
	"github.com/campaignd/campaignd/internal/format"
	"github.com/campaignd/campaignd/internal/view"
	"github.com/campaignd/campaignd/projections/campaign"
)

// shareTable says what each parameter does to a quantity at the options.
type shareTable struct {
	Caption string
	Names   []string
	Rows    []shareRow
}

// shareRow is a parameter's row of the table.
type shareRow struct {
	Name  string
	Cells []shareCell
}

// shareCell is a number and its bar.
type shareCell struct {
	Text string
	Bar  template.HTML
}

// shareQuantities are the quantities that have a table each.
var shareQuantities = []string{events.QuantityMean, events.QuantitySD, events.QuantityUCB}

// add adds the row of a parameter: its value at each option, and a bar of it,
// which is longest at most.
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

// shareTablesOf returns the shares of a decision, a table for each quantity.
func shareTablesOf(
	sought definition.Objective, shares []view.Share, letters map[string]string,
) (tables []shareTable) {
	captions := map[string]string{
		events.QuantityMean: "expected " + sought.Name,
		events.QuantitySD:   "standard deviation",
		events.QuantityUCB:  "optimistic bound",
	}
	for _, quantity := range shareQuantities {
		t := shareTable{Caption: format.Heading(captions[quantity], sought.Unit)}
		base, total := shareRow{Name: "on average"}, shareRow{Name: "in all"}
		var of []view.Share
		most := 0.0
		for _, s := range shares {
			if s.Quantity != quantity {
				continue
			}
			of = append(of, s)
			t.Names = append(t.Names, strings.TrimSpace(letters[s.Candidate]+" "+s.Candidate))
			base.Cells = append(base.Cells, shareCell{Text: figure.Typeset(format.Short(s.Base))})
			total.Cells = append(total.Cells, shareCell{Text: figure.Typeset(format.Short(s.Total))})
			for _, v := range s.Values {
				most = max(most, math.Abs(v))
			}
		}
		if of == nil {
			continue
		}
		t.Rows = append(t.Rows, base)
		for i, name := range of[0].Parameters {
			values := make([]float64, len(of))
			for k, s := range of {
				values[k] = s.Values[i]
			}
			t.add(name, values, most)
		}
		t.Rows = append(t.Rows, total)
		tables = append(tables, t)
	}
	return tables
}

// sharesOf returns the Shapley values that were recorded with a question, a
// table for each quantity. Recorded values are of a standardized and maximized
// objective, so only their sizes relative to each other are shown.
func sharesOf(def *definition.Campaign, q *campaign.Question) (tables []shareTable) {
	if q.Attributions == nil {
		return nil
	}
	letters := view.Letters(q)
	captions := map[string]string{
		events.QuantityMean: "What makes it good or bad, in what the model expects",
		events.QuantitySD:   "What makes the model unsure of it",
		events.QuantityUCB:  "What makes it worth trying: the optimistic bound",
	}
	for _, quantity := range shareQuantities {
		t := shareTable{Caption: captions[quantity]}
		rows := make(map[string][]float64)
		most := 0.0
		for _, s := range q.Attributions.Shapley {
			if s.Quantity != quantity {
				continue
			}
			name := letters[s.Candidate]
			if name == "" {
				name = s.Candidate
			}
			t.Names = append(t.Names, name)
			for i, par := range s.Parameters {
				rows[par] = append(rows[par], s.Values[i])
				most = max(most, math.Abs(s.Values[i]))
			}
		}
		if t.Names == nil {
			continue
		}
		for _, par := range def.Parameters {
			if values := rows[par.Name]; len(values) == len(t.Names) {
				t.add(par.Name, values, most)
			}
		}
		tables = append(tables, t)
	}
	return tables
}
