package studyfile

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Fault is one thing that is wrong with a study.
type Fault struct {
	// Path is the field: "policies.cobol.next". Empty for the whole file.
	Path string
	// Line and Column count from 1, in characters; 0 for the whole file.
	Line, Column int
	// Problem says what is wrong, Advice what to do; Advice may be empty.
	Problem, Advice string
}

func (n *node) fault(problem, advice string) Fault {
	return Fault{Path: n.path, Line: n.line, Column: n.column, Problem: problem, Advice: advice}
}

// Error reports all faults of a study, in the manner of campaignfile.Error.
type Error struct {
	// Name is what the file is called.
	Name string
	// Faults in the order of the file, each once. There is at least one.
	Faults []Fault

	lines []string
}

// NewError returns the error that reports the given faults of the file.
func (f *File) NewError(faults []Fault) *Error { return newError(f.Path, f.Source, faults) }

func newError(name, source string, faults []Fault) *Error {
	e := &Error{Name: name, lines: strings.Split(strings.ReplaceAll(source, "\r\n", "\n"), "\n")}
	for _, f := range faults { // a fault of a policy shows on every task
		if !slices.Contains(e.Faults, f) {
			e.Faults = append(e.Faults, f)
		}
	}
	slices.SortStableFunc(e.Faults, func(a, b Fault) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return e
}

// Error lists every fault with its place and the line it is in.
func (e *Error) Error() string {
	var b strings.Builder
	for _, f := range e.Faults {
		b.WriteString(e.Name)
		if f.Line > 0 {
			fmt.Fprintf(&b, ":%d:%d", f.Line, f.Column)
		}
		b.WriteString(": ")
		if f.Path != "" {
			b.WriteString(f.Path + ": ")
		}
		b.WriteString(f.Problem + "\n")
		if f.Line > 0 && f.Line <= len(e.lines) {
			line, column := excerpt(e.lines[f.Line-1], f.Column)
			lead := []rune(line)
			lead = lead[:min(column-1, len(lead))]
			for i, r := range lead {
				if r != '\t' { // tabs are kept, so that the mark stands below its column
					lead[i] = ' '
				}
			}
			fmt.Fprintf(&b, "%5d | %s\n      | %s^\n", f.Line, line, string(lead))
		}
		if f.Advice != "" {
			b.WriteString("      = " + f.Advice + "\n")
		}
	}
	if n := len(e.Faults); n == 1 {
		b.WriteString("1 fault")
	} else {
		fmt.Fprintf(&b, "%d faults", n)
	}
	b.WriteString("; nothing was run")
	return b.String()
}

// widest is how many characters of a line are shown.
const widest = 120

// excerpt returns the part of a line around a column, and the column in it.
func excerpt(line string, column int) (string, int) {
	runes := []rune(line)
	if len(runes) <= widest {
		return line, column
	}
	from := min(max(0, column-1-widest/2), len(runes)-widest)
	text := string(runes[from : from+widest])
	if from+widest < len(runes) {
		text += "…"
	}
	if from > 0 {
		return "…" + text, column - from + 1
	}
	return text, column
}
