package console

import (
	"cmp"
	"math"
	"net/http"
	"slices"
	"strings"

	"github.com/campaignd/campaignd/internal/ground/format"
	"github.com/campaignd/campaignd/internal/view"
)

// column is a column of the table of experiments: its heading, where that leads, "" where the table
// cannot be sorted by it, and how it is sorted by it now, in the words of aria-sort; empty where it
// is not.
type column struct{ Heading, Link, Sorted string }

// sorted returns the places of the experiments in the order that ?sort= asks for, by the name of a
// column, with a minus before it the greatest first: experiments without a value come last. The
// newest come first without a known column, and among equals. The heading of the column by which
// they are sorted leads to the other direction.
func sorted(r *http.Request, table *view.Experiments) (columns []column, order []int, said string) {
	all := table.State.Experiments
	for i := range all {
		order = append(order, len(all)-1-i)
	}
	name, down := strings.CutPrefix(r.URL.Query().Get("sort"), "-")
	said = "the newest first"
	for i := range table.Columns {
		c := &table.Columns[i]
		ask := c.Heading()
		head := column{Heading: format.Heading(ask, c.Unit)}
		if !c.Sorts() {
			columns = append(columns, head)
			continue
		}
		if c.Down {
			ask = "-" + ask
		}
		if c.Heading() == name {
			head.Sorted = "ascending"
			ask = "-" + name
			said = "the least " + name + " first"
			if down {
				head.Sorted = "descending"
				ask = name
				said = "the greatest " + name + " first"
			}
			slices.SortStableFunc(order, func(a, b int) int {
				return before(table.At(c, &all[a]), table.At(c, &all[b]), down)
			})
		}
		query := r.URL.Query()
		query.Del("said")
		query.Del("page")
		query.Set("sort", ask)
		head.Link = "?" + query.Encode()
		columns = append(columns, head)
	}
	return columns, order, said
}

// before compares two values for a table: none comes last, whatever the direction.
func before(a, b float64, down bool) int {
	if down || math.IsNaN(a) || math.IsNaN(b) { // NaN is less than all numbers
		return cmp.Compare(b, a)
	}
	return cmp.Compare(a, b)
}
