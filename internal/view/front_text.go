package view

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/ground/format"
	"github.com/campaignd/campaignd/policies/seek"
)

// fewMembers is how many compositions of a front a summary lists: those that hold its largest
// shares.
const fewMembers = 12

// foundFront lists the findings of a trade-off: its front, the best composition in each objective,
// and a compromise. Nothing of it is called optimal: a composition is on the front with a
// probability.
func (c *Campaign) foundFront() []Row {
	f := c.Tradeoff
	switch {
	case f == nil && len(c.Values) == 0:
		return []Row{{"front", c.noValue()}}
	case f == nil:
		return []Row{{"front", c.byNoModel()}}
	}
	return append(c.frontRows(f), c.AroundFront()...)
}

// AroundFront are the rows about a front besides its compositions.
func (c *Campaign) AroundFront() (rows []Row) {
	f := c.Tradeoff
	if best := f.Compromise; best != nil {
		name := best.Experiment + ", a compromise"
		if len(f.Members) == 1 {
			name = best.Experiment
		}
		rows = append(rows,
			Row{"suggestion", name + ": " + Reaches(f)},
			Row{"", format.CompositionsOf(c.Definition).LineWithUnits(best.Parameters)},
			Row{"best in", bestIn(f)})
	}
	if f.Closest != nil && len(f.Members) > 0 {
		rows = append(rows, Row{"", noFront(f)})
	}
	if text := decidesNothing(f); text != "" {
		rows = append(rows, Row{"", text})
	}
	if text := ofInterest(f); text != "" {
		rows = append(rows, Row{"of interest", text})
	}
	if text := grown(f.Curve); text != "" {
		rows = append(rows, Row{"covered", text})
	}
	rows = append(rows, c.outsideRows()...)
	return append(rows, waiting(f.Waiting)...)
}

// Reaches says how far the suggestion of a front goes. The best values are those of the front
// itself, so that a front of one composition gets no other sentence than that.
func Reaches(f *seek.Front) string {
	if len(f.Members) == 1 {
		return "it is the only composition on the front"
	}
	return fmt.Sprintf("it goes at least %s of the way from the worst that is of interest to the best, in each objective",
		format.Percent(f.Compromise.Satisfaction))
}

// FrontInShort is the front in a few rows, for a display: how many compositions are
// on it, and the compromise.
func (c *Campaign) FrontInShort() []Row {
	f := c.Tradeoff
	switch {
	case f == nil:
		return []Row{{"front", c.byNoModel()}}
	case f.Compromise == nil:
		return c.frontRows(f)
	}
	if len(f.Members) == 1 {
		return []Row{rowf("front", "1 composition of %d: %s, %s", f.Compositions(), f.Compromise.Experiment,
			format.CompositionsOf(c.Definition).LineWithUnits(f.Compromise.Parameters))}
	}
	return []Row{
		rowf("front", "%s of %d; best in %s", format.Count(len(f.Members), "composition"),
			f.Compositions(), bestIn(f)),
		rowf("suggestion", "%s, a compromise: %s", f.Compromise.Experiment,
			format.CompositionsOf(c.Definition).LineWithUnits(f.Compromise.Parameters)),
	}
}

// frontRows are the table of the front, or the reason why it is missing.
func (c *Campaign) frontRows(f *seek.Front) []Row {
	if len(f.Members) == 0 {
		return []Row{{"front", "nothing that was measured is on it: " + noFront(f)}}
	}
	listed := mostOf(f)
	rows := []Row{rowf("front", "%s of %d, by the models; P: on the front and feasible",
		format.Count(len(f.Members), "composition"), f.Compositions())}
	for _, line := range Columns(unitsBelow(FrontTable(f, listed))) {
		rows = append(rows, Row{"", line})
	}
	if n := len(f.Members) - len(listed); n > 0 {
		rows = append(rows, rowf("", "and %d more, which hold less of it", n))
	}
	if f.Behind > 0 {
		rows = append(rows, rowf("", "%d are clearly behind it, and were not drawn", f.Behind))
	}
	return rows
}

// noFront says why a front has no member.
func noFront(f *seek.Front) string {
	if allConstant(f) {
		return "each objective is the same everywhere, so that nothing is traded off"
	}
	if f.Closest == nil {
		return "nothing is better in each objective than the worst that is of interest"
	}
	return fmt.Sprintf("nothing is rather feasible than not; %s comes closest (%.2f)",
		f.Closest.Experiment, f.Closest.Probability)
}

// decidesNothing names the objectives that are the same everywhere; "" for none.
func decidesNothing(f *seek.Front) string {
	var names []string
	for _, o := range f.Objectives {
		if o.Constant {
			names = append(names, o.Quantity)
		}
	}
	switch len(names) {
	case 0:
		return ""
	case 1:
		return names[0] + " is the same everywhere: it decides nothing"
	}
	return format.List(names...) + " are the same everywhere: they decide nothing"
}

// allConstant reports whether no objective varies.
func allConstant(f *seek.Front) bool {
	return !slices.ContainsFunc(f.Objectives, func(o seek.Traded) bool { return !o.Constant })
}

// mostOf are the members that are best in an objective, and those that hold the most
// of a front, in their order.
func mostOf(f *seek.Front) []seek.Member {
	if len(f.Members) <= fewMembers {
		return f.Members
	}
	best := func(m seek.Member) float64 {
		if slices.ContainsFunc(f.Objectives, func(o seek.Traded) bool { return o.Best == m.Experiment }) {
			return 1
		}
		return 0
	}
	by := slices.Clone(f.Members)
	slices.SortStableFunc(by, func(a, b seek.Member) int {
		return cmp.Or(cmp.Compare(best(b), best(a)), cmp.Compare(b.Share, a.Share), cmp.Compare(b.OnFront, a.OnFront))
	})
	most := by[:fewMembers]
	return slices.DeleteFunc(slices.Clone(f.Members), func(m seek.Member) bool {
		return !slices.ContainsFunc(most, func(o seek.Member) bool { return o.Experiment == m.Experiment })
	})
}

// FrontTable is a table of members, with a line of names first: the belief about each quantity, the
// probabilities, and the share of the covered hypervolume that a member alone holds.
func FrontTable(f *seek.Front, members []seek.Member) [][]string {
	head := []string{""}
	constrained := false
	for i, m := range members {
		constrained = constrained || m.Feasible != nil
		for _, q := range m.Quantities {
			if i == 0 {
				head = append(head, format.Heading(q.Quantity, q.Unit))
			}
		}
	}
	head = append(head, "P")
	if constrained {
		head = append(head, "feasible")
	}
	table := [][]string{append(head, "alone")}
	for _, m := range members {
		line := []string{m.Experiment}
		if n := len(m.Repeats); n > 0 {
			line[0] += fmt.Sprintf(" ×%d", n+1)
		}
		for _, q := range m.Quantities {
			if q.SD == 0 {
				line = append(line, format.Short(q.Mean))
				continue
			}
			line = append(line, format.PlusMinus(q.Mean, q.SD, ""))
		}
		line = append(line, fmt.Sprintf("%.2f", m.OnFront))
		if constrained {
			line = append(line, fmt.Sprintf("%.2f", m.Feasible.Probability))
		}
		table = append(table, append(line, fmt.Sprintf("%.1f %%", 100*m.Share)))
	}
	return table
}

// unitsBelow gives the units of a table's head a line of their own, so that columns are
// as narrow as their numbers and a front of three quantities fits into 80 characters.
func unitsBelow(table [][]string) [][]string {
	names, units := slices.Clone(table[0]), make([]string, len(table[0]))
	found := false
	for i, cell := range names {
		name, unit, ok := strings.Cut(cell, " (")
		if !ok {
			continue
		}
		names[i] = name
		units[i] = "(" + unit
		found = true
	}
	if !found {
		return table
	}
	return append([][]string{names, units}, table[1:]...)
}

// Columns writes a table in columns of equal width.
func Columns(table [][]string) []string {
	widths := make([]int, len(table[0]))
	for _, line := range table {
		for i, cell := range line {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	lines := make([]string, len(table))
	for i, line := range table {
		for k, cell := range line {
			lines[i] += cell + strings.Repeat(" ", widths[k]-utf8.RuneCountInString(cell)+2)
		}
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return lines
}

// bestIn names the best composition in each objective.
func bestIn(f *seek.Front) string {
	var parts []string
	for _, o := range f.Objectives {
		if o.Best != "" {
			parts = append(parts, o.Quantity+": "+o.Best)
		}
	}
	return strings.Join(parts, ", ")
}

// ofInterest says from where on a value is of interest. Of a constant objective it
// gives only a limit of the file.
func ofInterest(f *seek.Front) string {
	var parts []string
	for _, o := range f.Objectives {
		if o.Constant && !o.Given {
			continue
		}
		relation := map[string]string{definition.Maximize: "over", definition.Minimize: "below"}[o.Goal]
		value := format.SettingIn(o.Reference, o.Unit)
		if !o.Given {
			value = format.Quantity(o.Reference, o.Unit) + " (inferred)"
		}
		parts = append(parts, o.Quantity+" "+relation+" "+value)
	}
	return strings.Join(parts, ", ")
}

// lately is the number of the last experiments over which the growth of a front is reported.
const lately = 5

// grown says by how much the last experiments increased the covered hypervolume; "" before twice as
// many.
func grown(curve []seek.Covered) string {
	n := len(curve)
	if n < 2*lately || curve[n-1].Hypervolume <= 0 {
		return ""
	}
	before, now := curve[n-1-lately].Hypervolume, curve[n-1].Hypervolume
	return fmt.Sprintf("the last %d experiments brought %.1f %% of the hypervolume that the front covers",
		lately, 100*(now-before)/now)
}

// waiting says which constraints cannot be judged yet.
func waiting(all []seek.Waiting) (rows []Row) {
	for _, w := range all {
		rows = append(rows, rowf("not judged", "%s: %s", w.Require, w.Because))
	}
	return rows
}
