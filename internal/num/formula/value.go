package formula

import (
	"math"

	"github.com/campaignd/campaignd/internal/num/jet"
)

// eval evaluates an expression at values of the formula's names: one rounding
// for each operation, in the order that is written.
func (n *node) eval(values []float64) float64 {
	switch n.op {
	case number:
		return n.value
	case name:
		return values[n.name]
	case choose:
		switch n.compare.holds(n.args[0].eval(values), n.args[1].eval(values)) {
		case yes:
			return n.args[2].eval(values)
		case no:
			return n.args[3].eval(values)
		}
		return math.NaN()
	}
	x := n.args[0].eval(values)
	if len(n.args) == 1 {
		return ofOne(n.op, x)
	}
	for _, a := range n.args[1:] {
		x = ofTwo(n.op, x, a.eval(values))
	}
	return x
}

func ofOne(op operation, x float64) float64 {
	switch op {
	case negate:
		return -x
	case absolute:
		return math.Abs(x)
	case squareRoot:
		return math.Sqrt(x)
	case exponential:
		return math.Exp(x)
	case naturalLog:
		return math.Log(x)
	case decimalLog:
		return math.Log10(x)
	}
	panic("formula: no operation on one value")
}

func ofTwo(op operation, x, y float64) float64 {
	switch op {
	case add:
		return x + y
	case subtract:
		return x - y
	case multiply:
		return x * y
	case divide:
		return x / y
	case power:
		return jet.Pow(x, y)
	case minimum, maximum:
		switch first(op, x, y) {
		case yes:
			return x
		case no:
			return y
		}
		return math.NaN()
	}
	panic("formula: no operation on two values")
}

// truth is the result of a comparison; one with a NaN has none.
type truth uint8

const (
	unknown truth = iota
	yes
	no
)

func (c comparison) holds(x, y float64) truth {
	var holds bool
	switch {
	case math.IsNaN(x) || math.IsNaN(y):
		return unknown
	case c == "<":
		holds = x < y
	case c == "<=":
		holds = x <= y
	case c == ">":
		holds = x > y
	default:
		holds = x >= y
	}
	if holds {
		return yes
	}
	return no
}

// first says whether min or max takes the first of two values. At a tie it does.
func first(op operation, x, y float64) truth {
	if op == minimum {
		return comparison("<=").holds(x, y)
	}
	return comparison(">=").holds(x, y)
}
