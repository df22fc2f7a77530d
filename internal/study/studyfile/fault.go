package studyfile

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/campaignd/campaignd/internal/campaignfile"
	"github.com/campaignd/campaignd/internal/plaintext"
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
	seen := make(map[Fault]bool, len(faults))
	for _, f := range faults { // a fault of a policy shows on every task
		if !seen[f] {
			e.Faults = append(e.Faults, f)
		}
		seen[f] = true
	}
	slices.SortStableFunc(e.Faults, func(a, b Fault) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return e
}

// Error lists every fault with its place and the line it is in.
func (e *Error) Error() string {
	var b strings.Builder
	for i, f := range e.Faults {
		if i == campaignfile.MaxShown {
			fmt.Fprintf(&b, "and %d more\n", len(e.Faults)-i)
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
			line, mark := campaignfile.Excerpt(e.lines[f.Line-1], f.Column)
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
	b.WriteString("; nothing was run")
	return b.String()
}
