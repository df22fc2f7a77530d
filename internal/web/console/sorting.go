package console

import (
	"cmp"
	"math"
	"net/http"
	"slices"
	"strings"

	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/ground/format"
	"github.com/campaignd/campaignd/projections/campaign"
)

// column is a column of the table of experiments that the table can be sorted by: its
// heading, where that leads, and how it is sorted by it now, in the words of aria-sort;
// empty where it is not.
type column struct {
	Heading, Link, Sorted string

	name string
	of   func(x *campaign.Experiment) float64 // NaN for no value
	// down is set where the greatest comes first at first.
	down bool
}

// columnsOf are the columns of a campaign's table: of the objective, of other quantities, and of
// parameters, categories in their order.
func columnsOf(s *campaign.State) (sought column, quantities, parameters []column) {
	def := s.Definition
	o := def.Sought()
	sought = column{
		Heading: format.HeadingOf(o), name: o.Name, down: o.Goal != definition.Minimize,
		of: func(x *campaign.Experiment) float64 { return valueOf(s, x) },
	}
	for _, q := range shownQuantities(def) {
		quantities = append(quantities, column{
			Heading: format.Heading(q.Name, q.Unit), name: q.Name, down: true,
			of: func(x *campaign.Experiment) float64 {
				if value, ok := s.Quantity(x, q.Name); ok {
					return value.Value
				}
				return nan
			},
		})
	}
	for i := range def.Parameters {
		par := &def.Parameters[i]
		parameters = append(parameters, column{
			Heading: format.Heading(par.Name, par.Unit), name: par.Name,
			of: func(x *campaign.Experiment) float64 { return positionOf(par, x.Parameters[par.Name]) },
		})
	}
	return sought, quantities, parameters
}

// sorted returns the places of the experiments in the order that ?sort= asks for, by the name of a
// column, with a minus before it the greatest first: experiments without a value come last. The
// newest come first without a known column, and among equals. It marks the column, whose heading
// then leads to the other direction.
func sorted(r *http.Request, s *campaign.State, columns ...*column) (order []int, said string) {
	for i := range s.Experiments {
		order = append(order, len(s.Experiments)-1-i)
	}
	name, down := strings.CutPrefix(r.URL.Query().Get("sort"), "-")
	said = "the newest first"
	for _, c := range columns {
		ask := c.name
		if c.down {
			ask = "-" + ask
		}
		if c.name == name {
			if c.Sorted, ask, said = "ascending", "-"+name, "the least "+name+" first"; down {
				c.Sorted = "descending"
				ask = name
				said = "the greatest " + name + " first"
			}
			slices.SortStableFunc(order, func(a, b int) int {
				return before(c.of(&s.Experiments[a]), c.of(&s.Experiments[b]), down)
			})
		}
		query := r.URL.Query()
		query.Del("said")
		query.Del("page")
		query.Set("sort", ask)
		c.Link = "?" + query.Encode()
	}
	return order, said
}

// before compares two values for a table: none comes last, whatever the direction.
func before(a, b float64, down bool) int {
	if down || math.IsNaN(a) || math.IsNaN(b) { // NaN is less than all numbers
		return cmp.Compare(b, a)
	}
	return cmp.Compare(a, b)
}
