package formula

import (
	"math"
	"strconv"
	"strings"
)

// How tightly an expression binds, from the loosest.
const (
	bindsChoice = iota
	bindsSum
	bindsProduct
	bindsMinus
	bindsPower
	bindsWhole
)

func (n *node) binds() int {
	switch n.op {
	case choose:
		return bindsChoice
	case add, subtract:
		return bindsSum
	case multiply, divide:
		return bindsProduct
	case negate:
		return bindsMinus
	case power:
		return bindsPower
	}
	return bindsWhole
}

// write returns the canonical text of an expression. Sums and products group to
// the left, powers to the right, and the order of operations is never changed:
// it decides how they round.
func (f *Formula) write(n *node) string {
	part := func(i, least int) string { return f.part(n.args[i], least) }
	switch n.op {
	case number:
		return writeNumber(n.value)
	case name:
		return f.names[n.name]
	case add:
		return part(0, bindsSum) + " + " + part(1, bindsProduct)
	case subtract:
		return part(0, bindsSum) + " - " + part(1, bindsProduct)
	case multiply:
		return part(0, bindsProduct) + "*" + part(1, bindsMinus)
	case divide:
		return part(0, bindsProduct) + "/" + part(1, bindsMinus)
	case negate:
		return "-" + part(0, bindsMinus)
	case power:
		return part(0, bindsWhole) + "^" + part(1, bindsMinus)
	case choose:
		return part(0, bindsSum) + " " + string(n.compare) + " " + part(1, bindsSum) +
			" ? " + part(2, bindsChoice) + " : " + part(3, bindsChoice)
	}
	args := make([]string, len(n.args))
	for i := range args {
		args[i] = part(i, bindsChoice)
	}
	return written[n.op] + "(" + strings.Join(args, ", ") + ")"
}

// part returns the text of an expression where its surroundings bind as given.
func (f *Formula) part(n *node, least int) string {
	if n.binds() < least {
		return "(" + f.write(n) + ")"
	}
	return f.write(n)
}

// written are the names of the functions that stand in a canonical text.
var written = map[operation]string{
	minimum: "min", maximum: "max", absolute: "abs", squareRoot: "sqrt", exponential: "exp",
	naturalLog: "ln", decimalLog: "log10",
}

// Numbers between these are written without an exponent.
const (
	leastPlain    = 1e-4
	greatestPlain = 1e15
)

// writeNumber writes a number, which is not negative, in the fewest digits that
// read back as it.
func writeNumber(x float64) string {
	if x == 0 || leastPlain <= x && x < greatestPlain {
		return strconv.FormatFloat(math.Abs(x), 'f', -1, 64)
	}
	return strconv.FormatFloat(x, 'e', -1, 64)
}
