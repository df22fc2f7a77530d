package format

import "strings"

// Nearest returns the name that a misspelt one is most likely to mean: the first of
// those with the fewest letters inserted, removed, replaced or exchanged with their
// neighbour, whatever their case; ok is false where more than a third of it would
// have to be changed. The number of changes is the restricted edit distance of
// Damerau (1964).
func Nearest(name string, names []string) (near string, ok bool) {
	least := len([]rune(name))/3 + 1
	for _, candidate := range names {
		if d := edits([]rune(strings.ToLower(name)), []rune(strings.ToLower(candidate))); d < least {
			near, least, ok = candidate, d, true
		}
	}
	return near, ok
}

// edits counts the changes that make one text of another. The table has at (i, j) those
// for the first i letters of a and j of b.
func edits(a, b []rune) int {
	table := make([][]int, len(a)+1)
	for i := range table {
		table[i] = make([]int, len(b)+1)
		table[i][0] = i
	}
	for j := range table[0] {
		table[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			replaced := table[i-1][j-1]
			if a[i-1] != b[j-1] {
				replaced++
			}
			table[i][j] = min(replaced, table[i-1][j]+1, table[i][j-1]+1)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				table[i][j] = min(table[i][j], table[i-2][j-2]+1)
			}
		}
	}
	return table[len(a)][len(b)]
}
