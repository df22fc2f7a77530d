package console

import (
	"cmp"
	"slices"
	"strings"
)

// edit replaces the lines from..to of a text; where these are equal, it puts lines there.
type edit struct {
	from, to int
	lines    []string
}

// merge makes two changes of one text, line by line: a person's changes to base, and the changes in
// base as it is written now. Where both change the same lines they stay as typed; those are
// returned, counted from 1 in the merged text.
func merge(base, typed, written string) (merged string, kept []int) {
	lines := strings.Split(base, "\n")
	ours := editsOf(lines, strings.Split(typed, "\n"))
	theirs := editsOf(lines, strings.Split(written, "\n"))
	disputed := func(e edit) bool {
		return slices.ContainsFunc(theirs, func(f edit) bool { return e.meets(f) && !e.equals(f) })
	}
	all := slices.Clone(ours)
	for _, f := range theirs {
		if !slices.ContainsFunc(ours, f.meets) {
			all = append(all, f)
		}
	}
	slices.SortStableFunc(all, func(e, f edit) int { return cmp.Or(cmp.Compare(e.from, f.from), cmp.Compare(e.to, f.to)) })
	var out []string
	at := 0
	for _, e := range all {
		out = append(out, lines[at:e.from]...)
		at = e.to
		if slices.ContainsFunc(ours, e.equals) && disputed(e) {
			for i := range e.lines {
				kept = append(kept, len(out)+i+1)
			}
		}
		out = append(out, e.lines...)
	}
	return strings.Join(append(out, lines[at:]...), "\n"), kept
}

// meets reports whether two edits change a line that both have, or put lines at one place.
func (e edit) meets(f edit) bool {
	if e.from == e.to && f.from == f.to {
		return e.from == f.from
	}
	return e.from < f.to && f.from < e.to
}

func (e edit) equals(f edit) bool {
	return e.from == f.from && e.to == f.to && slices.Equal(e.lines, f.lines)
}

// mostCells bounds the table by which two texts are compared: texts with more lines are
// compared as wholes.
const mostCells = 1 << 22

// editsOf are the changes that lead from one text to another, in their order: all lines outside a
// longest common subsequence. So many lines that are replaced by as many others are so many edits.
func editsOf(from, to []string) (edits []edit) {
	n, m := len(from), len(to)
	if n*m > mostCells {
		return []edit{{0, n, to}}
	}
	// common[i][j] is the length of one of from[i:] and to[j:].
	common := make([][]int, n+1)
	for i := range common {
		common[i] = make([]int, m+1)
	}
	for i := n - 1; i >= 0; i-- {
		for j := m - 1; j >= 0; j-- {
			if common[i][j] = max(common[i+1][j], common[i][j+1]); from[i] == to[j] {
				common[i][j] = common[i+1][j+1] + 1
			}
		}
	}
	for i, j := 0, 0; i < n || j < m; {
		begin, first := i, j
		for i < n && j < m && from[i] != to[j] || i < n && j == m || i == n && j < m {
			if j == m || i < n && common[i+1][j] >= common[i][j+1] {
				i++
			} else {
				j++
			}
		}
		switch {
		case i == begin && j == first:
			i, j = i+1, j+1 // a line of both
		case i-begin == j-first:
			for k := range i - begin {
				edits = append(edits, edit{begin + k, begin + k + 1, to[first+k : first+k+1]})
			}
		default:
			edits = append(edits, edit{begin, i, to[first:j]})
		}
	}
	return edits
}
