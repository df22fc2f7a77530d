package yamltree

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/campaignd/campaignd/internal/ground/plaintext"
)

// Fault is one fault of a file.
//
// Message and Remedy are for one line each; both may quote the file, so that printing makes them
// safe ([Error.Error]).
type Fault struct {
	// Place is zero for a fault without one.
	Place
	// Path is the field: parameters[1].min. It is empty for the whole file.
	Path Path
	// Message describes the fault.
	Message string
	// Remedy is the remedy; it may be empty.
	Remedy string
}

// Fault returns a fault of the node's value.
func (n *Node) Fault(message, remedy string) Fault {
	return Fault{Place: n.Place, Path: n.Path, Message: message, Remedy: remedy}
}

// KeyFault returns a fault of the node's key. It is for a key that should not be there; for a wrong
// value, see Fault.
func (n *Node) KeyFault(message, remedy string) Fault {
	return Fault{Place: n.Key, Path: n.Path, Message: message, Remedy: remedy}
}

// String returns the fault in one line, without the place in the file.
func (f Fault) String() string {
	text := f.Message
	if len(f.Path) > 0 {
		text = f.Path.String() + ": " + text
	}
	if f.Remedy != "" {
		text += "; " + f.Remedy
	}
	return text
}

// Error reports all faults of a file. lines is the text of the file, for
// excerpts.
type Error struct {
	// Name is the name of the file.
	Name string
	// Faults are in the order of the file, each once. There is at least one.
	Faults []Fault
	// Consequence ends the message: "nothing was changed".
	Consequence string

	lines []string
}

// lineBreaks replaces each line break of YAML by a newline.
var lineBreaks = strings.NewReplacer("\r\n", "\n", "\r", "\n")

// NewError returns the error that reports the given faults of a file. Faults may
// come in any order and more than once. Faults of one place keep the order in
// which they were found.
func NewError(name string, data []byte, consequence string, faults []Fault) *Error {
	e := &Error{Name: name, Consequence: consequence}
	e.lines = strings.Split(lineBreaks.Replace(string(data)), "\n")
	type once struct {
		Place
		text string
	}
	seen := make(map[once]bool, len(faults))
	for _, f := range faults {
		this := once{f.Place, f.String()}
		if !seen[this] {
			e.Faults = append(e.Faults, f)
		}
		seen[this] = true
	}
	slices.SortStableFunc(e.Faults, func(a, b Fault) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return e
}

// maxShown is the number of faults of a file that are written out. Beyond that a person mends the
// first ones and looks again.
const maxShown = 50

// Error lists every fault with its place and its line. It is safe to print.
func (e *Error) Error() string {
	var b strings.Builder
	for i, f := range e.Faults {
		if i == maxShown {
			fmt.Fprintf(&b, "and %d more\n", len(e.Faults)-maxShown)
			break
		}
		b.WriteString(plaintext.Line(e.Name))
		if f.Line > 0 {
			fmt.Fprintf(&b, ":%d:%d", f.Line, f.Column)
		}
		b.WriteString(": ")
		if len(f.Path) > 0 {
			b.WriteString(plaintext.Line(f.Path.String()) + ": ")
		}
		b.WriteString(plaintext.Line(f.Message) + "\n")
		if f.Line > 0 && f.Line <= len(e.lines) {
			line, mark := excerpt(e.lines[f.Line-1], f.Column)
			fmt.Fprintf(&b, "%5d | %s\n      | %s\n", f.Line, line, mark)
		}
		if f.Remedy != "" {
			b.WriteString("      = " + plaintext.Line(f.Remedy) + "\n")
		}
	}
	if n := len(e.Faults); n == 1 {
		b.WriteString("1 fault")
	} else {
		fmt.Fprintf(&b, "%d faults", n)
	}
	b.WriteString("; " + e.Consequence)
	return b.String()
}

// widest is the maximum number of characters shown of a line.
const widest = 160

// excerpt returns the printable part of a line around a column, and a mark to
// put below the column. The mark stands below the character, also where tabs
// before it were widened. Columns count characters, as editors do. A line that
// is too long is cut on both sides of the column.
func excerpt(line string, column int) (text, mark string) {
	runes := []rune(line)
	from, to := 0, len(runes)
	if to > widest {
		from = max(0, min(column-1-widest/2, to-widest))
		to = from + widest
	}
	at := min(max(column-1, from), to)
	before, after := printable(runes[from:at]), printable(runes[at:to])
	if from > 0 {
		before = "…" + before
	}
	if to < len(runes) {
		after += "…"
	}
	return before + after, strings.Repeat(" ", utf8.RuneCountInString(before)) + "^"
}

// printable returns the form in which a terminal shows a part of a line. Control characters of a
// file must not reach the terminal.
func printable(text []rune) string {
	return plaintext.Line(strings.ReplaceAll(string(text), "\t", "    "))
}
