package campaignfile

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/campaignd/campaignd/internal/plaintext"
)

// Fault is one thing that is wrong with a definition.
type Fault struct {
	// Path is the field: "parameters[1].min". Empty for the whole file.
	Path string
	// Line and Column count from 1, in characters; 0 where the fault has no
	// place, because the definition did not come from a file.
	Line, Column int
	// Problem says what is wrong.
	Problem string
	// Advice says what to do; may be empty.
	Advice string

	at      path
	onKey   bool     // the key is wrong, not its value
	known   []string // where the key is unknown, those that are possible
	missing bool     // there is no such key
	implied bool     // another fault says it all
}

func fault(at path, problem, advice string) Fault {
	return Fault{Path: at.String(), Problem: problem, Advice: advice, at: at}
}

// String is the fault in one line, without the place in the file.
func (f Fault) String() string {
	text := f.Problem
	if f.Path != "" {
		text = f.Path + ": " + text
	}
	if f.Advice != "" {
		text += "; " + f.Advice
	}
	return text
}

// Error reports all faults of a campaign file.
type Error struct {
	// Name is what the file is called.
	Name string
	// Faults in the order of the file. There is at least one.
	Faults []Fault

	lines []string
}

func newError(name string, data []byte, places map[string]place, faults []Fault) *Error {
	faults = slices.DeleteFunc(faults, func(f Fault) bool { return f.implied })
	e := &Error{Name: name, Faults: faults, lines: strings.Split(strings.ReplaceAll(string(data), "\r\n", "\n"), "\n")}
	for i := range e.Faults {
		f := &e.Faults[i]
		if where, ok := places[f.at.to(keyStep{}).key()]; ok && f.onKey {
			f.Line, f.Column = where.line, where.column
		}
		for p := f.at; f.Line == 0; p = p[:len(p)-1] {
			if where, ok := places[p.key()]; ok {
				f.Line, f.Column = where.line, where.column
			}
			if len(p) == 0 {
				break
			}
		}
	}
	slices.SortStableFunc(e.Faults, func(a, b Fault) int {
		if a.Line != b.Line {
			return a.Line - b.Line
		}
		return a.Column - b.Column
	})
	return e
}

// Error lists every fault with its place and the line it is in.
func (e *Error) Error() string {
	var b strings.Builder
	for i, f := range e.Faults {
		if i == MaxShown {
			fmt.Fprintf(&b, "and %d more\n", len(e.Faults)-MaxShown)
			break
		}
		b.WriteString(e.Name)
		if f.Line > 0 {
			fmt.Fprintf(&b, ":%d:%d", f.Line, f.Column)
		}
		b.WriteString(": ")
		if f.Path != "" {
			b.WriteString(plaintext.Line(f.Path) + ": ")
		}
		b.WriteString(plaintext.Line(f.Problem) + "\n")
		if f.Line > 0 && f.Line <= len(e.lines) {
			line, mark := Excerpt(e.lines[f.Line-1], f.Column)
			fmt.Fprintf(&b, "%5d | %s\n      | %s\n", f.Line, line, mark)
		}
		if f.Advice != "" {
			b.WriteString("      = " + plaintext.Line(f.Advice) + "\n")
		}
	}
	if n := len(e.Faults); n == 1 {
		b.WriteString("1 fault")
	} else {
		fmt.Fprintf(&b, "%d faults", n)
	}
	b.WriteString("; nothing was changed")
	return b.String()
}

// MaxShown is how many faults of a file are written out.
const MaxShown = 50

// widest is how many characters of a line are shown.
const widest = 160

// Excerpt returns the part of a line around a column, as it can be printed, and a
// mark to stand below the column.
func Excerpt(line string, column int) (text, mark string) {
	runes := []rune(line)
	from, to := 0, len(runes)
	if to > widest {
		from = max(0, min(column-1-widest/2, to-widest))
		to = from + widest
	}
	shown := func(from, to int) string {
		return plaintext.Line(strings.ReplaceAll(string(runes[from:to]), "\t", "    "))
	}
	at := min(max(column-1, from), to)
	before, after := shown(from, at), shown(at, to)
	if from > 0 {
		before = "…" + before
	}
	if to < len(runes) {
		after += "…"
	}
	return before + after, strings.Repeat(" ", utf8.RuneCountInString(before)) + "^"
}

// path leads to a field: keys are strings, places in a list are ints.
type path []any

func at(steps ...any) path { return steps }

// to returns the path with further steps. The result shares nothing with p.
func (p path) to(steps ...any) path { return append(slices.Clone(p), steps...) }

// within says whether p leads to the same place as q or below it.
func (p path) within(q path) bool {
	return len(p) >= len(q) && slices.Equal(p[:len(q)], q)
}

// String writes the path as a person would: "parameters[1].min".
func (p path) String() string {
	var b strings.Builder
	for _, step := range p {
		switch step := step.(type) {
		case int:
			b.WriteString("[" + strconv.Itoa(step) + "]")
		case string:
			if b.Len() > 0 {
				b.WriteByte('.')
			}
			b.WriteString(step)
		}
	}
	return b.String()
}

// key is a unique text for the path.
func (p path) key() string {
	var b strings.Builder
	for _, step := range p {
		fmt.Fprintf(&b, "%T\x00%v\x00", step, step)
	}
	return b.String()
}

// closest returns the name nearest to a mistyped one, "" if none is near: at
// most two insertions, deletions, replacements or swaps of neighbours, and fewer
// than half the letters of the longer name.
func closest(name string, names []string) string {
	best, least := "", 3
	for _, candidate := range names {
		d := editDistance(strings.ToLower(name), strings.ToLower(candidate))
		if d < least && 2*d < max(utf8.RuneCountInString(name), utf8.RuneCountInString(candidate)) {
			best, least = candidate, d
		}
	}
	return best
}

// editDistance is the optimal string alignment distance.
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

// didYouMean is advice for an unknown name.
func didYouMean(name string, names []string) string {
	names = slices.DeleteFunc(slices.Clone(names), func(n string) bool { return n == "" }) // a name that was refused itself
	if best := closest(name, names); best != "" {
		return fmt.Sprintf("did you mean %q?", best)
	}
	if len(names) == 0 {
		return ""
	}
	return "choose from " + strings.Join(names, ", ")
}
