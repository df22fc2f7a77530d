package format

import (
	"strings"
	"unicode/utf8"
)

// Nearest returns the name nearest to a mistyped one, "" if none is near: at
// most two insertions, deletions, replacements or swaps of neighbors, and fewer
// than half the letters of the longer name. Of several equally near the first
// one.
func Nearest(name string, names []string) string {
	best, least := "", 3
	long := utf8.RuneCountInString(name)
	for _, candidate := range names {
		// The distance is at least the difference of the lengths. A hostile file has
		// names of megabytes.
		if other := utf8.RuneCountInString(candidate); max(long-other, other-long) >= least {
			continue
		}
		d := editDistance(strings.ToLower(name), strings.ToLower(candidate))
		if d < least && 2*d < max(utf8.RuneCountInString(name), utf8.RuneCountInString(candidate)) {
			best, least = candidate, d
		}
	}
	return best
}

// editDistance is the optimal string alignment distance. It counts single letters and swaps of
// neighbors, the usual typing errors.
func editDistance(a, b string) int {
	x, y := []rune(a), []rune(b)
	d := make([][]int, len(x)+1)
	for i := range d {
		d[i] = make([]int, len(y)+1)
		d[i][0] = i
	}
	for j := range y {
		d[0][j+1] = j + 1
	}
	for i := range x {
		for j := range y {
			cost := 1
			if x[i] == y[j] {
				cost = 0
			}
			d[i+1][j+1] = min(d[i][j]+cost, d[i][j+1]+1, d[i+1][j]+1)
			if i > 0 && j > 0 && x[i] == y[j-1] && x[i-1] == y[j] {
				d[i+1][j+1] = min(d[i+1][j+1], d[i-1][j-1]+1)
			}
		}
	}
	return d[len(x)][len(y)]
}
