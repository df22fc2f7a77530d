package formula

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// Never returns a [*Fault] where the formula can never be a number while each name has a
// finite value in its range, and nil where it may be one somewhere. A part that no name
// stands in has to be a number wherever it stands, and nothing is divided by such a part
// that is 0: 1/(q/0) would be 0 for every q. A name that is not in the map may have any value.
//
// What it refuses is proved by [Formula.Range]. ln(t - 5) of t in [0, 10] is a number in half
// of its range, and not refused.
func (f *Formula) Never(of map[string]Range) error {
	if n := f.root.noNumber(); n != nil {
		return &Fault{n.column, f.undefined(n, make([]float64, len(f.names))),
			"correct it: this part of the formula is the same in every experiment"}
	}
	ranges := f.ranges(of)
	n := f.root.never(ranges)
	if n == nil {
		return nil
	}
	var where []string
	for i, name := range f.names {
		if r := ranges[i]; r != everything && n.uses(i) {
			where = append(where, fmt.Sprintf("%s from %s to %s", name, inShort(r.Lower), inShort(r.Upper)))
		}
	}
	message := f.write(n) + " is a number nowhere"
	if where != nil {
		message += " (" + strings.Join(where, ", ") + ")"
	}
	return &Fault{n.column, message, "correct the formula, or the ranges of what stands in it"}
}

// noNumber returns the first part in the order of evaluation that has no names in it and is not a
// number, or that divides by 0 whatever the names are.
func (n *node) noNumber() *node {
	for _, a := range n.args {
		if of := a.noNumber(); of != nil {
			return of
		}
	}
	switch {
	case n.constant() && !finite(n.eval(nil)),
		n.op == divide && n.args[1].constant() && n.args[1].eval(nil) == 0:
		return n
	}
	return nil
}

// never returns the part that keeps an expression from a finite value over ranges of the names, and
// nil where it may have one.
func (n *node) never(names []Range) *node {
	switch n.op {
	case add, subtract, multiply, negate, absolute, squareRoot, naturalLog, decimalLog:
		// What is infinite stays so, or becomes no number at all.
		for _, a := range n.args {
			if of := a.never(names); of != nil {
				return of
			}
		}
	case divide:
		if of := n.args[0].never(names); of != nil {
			return of
		}
		if n.args[1].zero(names) {
			return n
		}
	case minimum, maximum:
		return neverAny(n.args, names)
	case choose:
		x, y := n.args[0].over(names), n.args[1].over(names)
		if x.Empty() || y.Empty() {
			return n
		}
		switch one, other := taken(n.compare, x, y); {
		case one && other:
			return neverAny(n.args[2:], names)
		case one:
			return n.args[2].never(names)
		}
		return n.args[3].never(names)
	}
	if r := n.over(names); r.Empty() || r.Lower == math.Inf(1) || r.Upper == math.Inf(-1) {
		return n
	}
	return nil
}

// neverAny is never of expressions when any one of them may be the result.
func neverAny(args []*node, names []Range) (first *node) {
	for _, a := range args {
		of := a.never(names)
		if of == nil {
			return nil
		}
		if first == nil {
			first = of
		}
	}
	return first
}

// zero reports whether every finite value of an expression is certainly 0.
func (n *node) zero(names []Range) bool {
	isZero := func(a *node) bool { return a.zero(names) }
	switch n.op {
	case multiply:
		return slices.ContainsFunc(n.args, isZero)
	case subtract:
		return isZero(n.args[0]) && isZero(n.args[1]) || n.args[0].same(n.args[1])
	case add:
		return isZero(n.args[0]) && isZero(n.args[1])
	case divide, negate, absolute, squareRoot:
		return isZero(n.args[0])
	}
	return n.over(names) == Range{}
}

// same reports whether two expressions are written alike.
func (n *node) same(m *node) bool {
	return n.op == m.op && n.value == m.value && n.name == m.name && n.compare == m.compare &&
		slices.EqualFunc(n.args, m.args, (*node).same)
}

// uses reports whether a name stands in an expression.
func (n *node) uses(i int) bool {
	return n.op == name && n.name == i ||
		slices.ContainsFunc(n.args, func(a *node) bool { return a.uses(i) })
}
