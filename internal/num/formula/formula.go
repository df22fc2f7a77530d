package formula

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Bounds of a formula.
const (
	// MaxLength is the length of a formula, as it is written and in its
	// canonical text, in characters.
	MaxLength = 2000
	// MaxDepth is how many operations may stand within each other. A sum of n
	// terms has the depth n.
	MaxDepth = 200
)

// Reference stands before the dot in the name of a value at the reference composition.
const Reference = "reference"

// Formula is a parsed formula. It is immutable and safe for concurrent use.
type Formula struct {
	root    *node
	names   []string
	columns []int // where each name stands first
	text    string
}

// operation is the computation of a node of a formula.
type operation uint8

const (
	number operation = iota
	name
	add
	subtract
	multiply
	divide
	power
	negate
	choose
	minimum
	maximum
	absolute
	squareRoot
	exponential
	naturalLog
	decimalLog
)

// functions are the operations that are written as a call.
var functions = map[string]operation{
	"min": minimum, "max": maximum, "abs": absolute, "sqrt": squareRoot, "exp": exponential,
	"ln": naturalLog, "log10": decimalLog, "pow": power,
}

// comparison is how a choice compares.
type comparison string

// node is an operation on its arguments. Those of a choice are the two sides of
// its comparison and the two values.
type node struct {
	op      operation
	value   float64 // of a number
	name    int     // index into the formula's names
	compare comparison
	args    []*node
	column  int // from 1; 0 where it was not written
}

// constant reports whether no name stands in an expression.
func (n *node) constant() bool {
	return n.op != name && !slices.ContainsFunc(n.args, func(a *node) bool { return !a.constant() })
}

// newFormula completes a parsed tree. It fails where its canonical text would be
// no formula any more.
func newFormula(root *node, names []string, columns []int) (*Formula, error) {
	f := &Formula{root: root, names: names, columns: columns}
	f.text = f.write(root)
	if len(f.text) > MaxLength {
		return nil, tooLong(len(f.text))
	}
	return f, nil
}

// Names returns the names that the formula uses, each once, in the order in which
// they first stand in it. Values at the reference composition are called
// reference.NAME.
func (f *Formula) Names() []string { return slices.Clone(f.names) }

// Column returns where a name of the formula stands first, counted from 1 in
// characters of the text that was parsed, and 0 where it does not.
func (f *Formula) Column(of string) int {
	if i := slices.Index(f.names, of); i >= 0 {
		return f.columns[i]
	}
	return 0
}

// String returns the canonical text: the formula with as few parentheses as
// possible, every number in its shortest form, and pow(a, b) as a^b. It parses
// to an equal formula.
func (f *Formula) String() string { return f.text }

// Digest returns the SHA-256 digest of the canonical text in hexadecimal digits.
func (f *Formula) Digest() string {
	sum := sha256.Sum256([]byte(f.text))
	return hex.EncodeToString(sum[:])
}

// Fault says why a text is not a formula, or why a formula cannot be used.
type Fault struct {
	// Column of the first character that is wrong, from 1.
	Column int
	// Message describes the fault, Remedy how to mend it. Each is one line and may quote the text.
	Message, Remedy string
}

// Error returns the fault in one line.
func (f *Fault) Error() string {
	text := fmt.Sprintf("column %d: %s", f.Column, f.Message)
	if f.Remedy != "" {
		text += "; " + f.Remedy
	}
	return text
}

// simple are the names that a formula can use.
var simple = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// keywords had a meaning of their own to an earlier parser, and stay free for one.
var keywords = []string{
	"true", "false", "nil", "not", "in", "and", "or", "matches", "contains", "startsWith", "endsWith",
	"let", "if", "else",
}

// CheckName returns nil where a formula can use a quantity or parameter of the
// given name, and otherwise an error that says why not.
func CheckName(name string) error {
	switch _, function := functions[name]; {
	case !simple.MatchString(name):
		return fmt.Errorf("a formula cannot use the name %q: it is not made of letters, digits and underscores", name)
	case function, name == Reference, slices.Contains(keywords, name):
		return fmt.Errorf("a formula cannot use the name %q: it has a meaning of its own there", name)
	}
	return nil
}

// functionNames lists the functions for messages.
func functionNames() string {
	all := make([]string, 0, len(functions))
	for name := range functions {
		all = append(all, name)
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}
