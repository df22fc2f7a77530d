package formula

import (
	"fmt"
	"math"
	"strconv"
)

// Undefined says why the formula has no finite value at values of its names, in their order: it
// names the first operation, in the order of evaluation, without a finite value although its
// operands have one, as in "ln(a - b) is not defined at -0.21". It is empty where the formula has a
// finite value, and where a given value is not finite itself.
func (f *Formula) Undefined(values []float64) string {
	for _, x := range values {
		if !finite(x) {
			return ""
		}
	}
	return f.undefined(f.root, values)
}

// undefined is [Formula.Undefined] of an expression. Of a choice the side that is not
// taken is not looked at.
func (f *Formula) undefined(n *node, values []float64) string {
	if finite(n.eval(values)) {
		return ""
	}
	args := n.args
	if n.op == choose {
		taken := n.args[3]
		if n.compare.holds(n.args[0].eval(values), n.args[1].eval(values)) == yes {
			taken = n.args[2]
		}
		args = []*node{n.args[0], n.args[1], taken}
	}
	for _, a := range args {
		if text := f.undefined(a, values); text != "" {
			return text
		}
	}
	of := make([]float64, len(n.args))
	for i, a := range n.args {
		of[i] = a.eval(values)
	}
	text := f.write(n)
	switch {
	case (n.op == naturalLog || n.op == decimalLog) && of[0] <= 0, n.op == squareRoot && of[0] < 0:
		return fmt.Sprintf("%s is not defined at %s", text, inShort(of[0]))
	case n.op == divide && of[1] == 0:
		return text + " divides by 0"
	case n.op == power && (of[0] <= 0):
		return fmt.Sprintf("%s is not defined at %s to the power of %s",
			text, inShort(of[0]), inShort(of[1]))
	}
	return text + " is too large for a number"
}

// inShort writes a number for a reader, in four significant digits.
func inShort(x float64) string { return strconv.FormatFloat(x, 'g', 4, 64) }

func finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }
