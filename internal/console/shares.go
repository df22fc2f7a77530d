package console

import (
	"html/template"
	"math"

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
	for _, quantity := range []string{events.QuantityMean, events.QuantitySD, events.QuantityUCB} {
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
			values, ok := rows[par.Name]
			if !ok || len(values) != len(t.Names) {
				continue
			}
			row := shareRow{Name: par.Name}
			for i, v := range values {
				text := format.Short(v)
				if v > 0 {
					text = "+" + text
				}
				row.Cells = append(row.Cells,
					shareCell{figure.Typeset(text), shareBar(par.Name+" in "+t.Names[i]+": "+text, v, most)})
			}
			t.Rows = append(t.Rows, row)
		}
		tables = append(tables, t)
	}
	return tables
}
