package formula

import (
	"fmt"
	"math"
	"slices"

	"github.com/campaignd/campaignd/internal/num/jet"
)

// Bound is a formula whose names are arguments in a certain order: a function
// that can be evaluated, with derivatives or without. It is a workspace: one
// goroutine uses it at a time.
type Bound struct {
	formula  *Formula
	argument []int     // of each name
	values   []float64 // of each name

	steps  []step
	result operand
	space  *jet.Space // that the results of the steps belong to
	made   []jet.Jet  // of each step, and two more to compute with
}

// operand is a number, an argument, or the result of a step.
type operand struct {
	kind  kind
	value float64 // of a number
	at    int     // of an argument or a step
}

type kind uint8

const (
	isNumber kind = iota
	isArgument
	isResult
)

// step is an operation that depends on a name.
type step struct {
	op      operation
	compare comparison
	args    []operand
}

// Bind returns the formula as a function of the given arguments. It fails with a [*Fault] where a
// name of the formula is not among them.
func (f *Formula) Bind(arguments []string) (*Bound, error) {
	b := &Bound{formula: f, argument: make([]int, len(f.names)), values: make([]float64, len(f.names))}
	for i, n := range f.names {
		if b.argument[i] = slices.Index(arguments, n); b.argument[i] < 0 {
			return nil, &Fault{f.columns[i], fmt.Sprintf("unknown quantity or parameter %q", n),
				"name one that the file defines"}
		}
	}
	b.result = b.compile(f.root)
	return b, nil
}

// compile appends the steps of an expression and returns its result. What no
// name stands in is computed here, once.
func (b *Bound) compile(n *node) operand {
	switch {
	case n.constant():
		return operand{kind: isNumber, value: n.eval(nil)}
	case n.op == name:
		return operand{kind: isArgument, at: b.argument[n.name]}
	}
	args := make([]operand, len(n.args))
	for i, a := range n.args {
		args[i] = b.compile(a)
	}
	if n.op != minimum && n.op != maximum {
		return b.step(step{n.op, n.compare, args})
	}
	result := args[0] // of more than two values it is taken one after the other
	for _, a := range args[1:] {
		result = b.step(step{op: n.op, args: []operand{result, a}})
	}
	return result
}

func (b *Bound) step(s step) operand {
	b.steps = append(b.steps, s)
	return operand{kind: isResult, at: len(b.steps) - 1}
}

// Value evaluates the formula at values of the arguments.
func (b *Bound) Value(arguments []float64) float64 {
	for i, at := range b.argument {
		b.values[i] = arguments[at]
	}
	return b.formula.root.eval(b.values)
}

// Uses reports whether the formula depends on an argument.
func (b *Bound) Uses(argument int) bool { return slices.Contains(b.argument, argument) }

// Jet evaluates the formula at jets of the arguments, all of one space. The
// result has the value of [Bound.Value]; the next call overwrites it.
func (b *Bound) Jet(s *jet.Space, arguments []jet.Jet) jet.Jet {
	if b.space != s {
		b.space, b.made = s, make([]jet.Jet, len(b.steps)+2)
		for i := range b.made {
			b.made[i] = s.New()
		}
	}
	for i := range b.steps {
		b.run(b.made[i], &b.steps[i], arguments)
	}
	switch b.result.kind {
	case isArgument:
		return arguments[b.result.at]
	case isResult:
		return b.made[b.result.at]
	}
	dst := b.made[len(b.steps)]
	s.Constant(dst, b.result.value)
	return dst
}

// jet returns an operand that is not a number.
func (b *Bound) jet(o operand, arguments []jet.Jet) jet.Jet {
	if o.kind == isArgument {
		return arguments[o.at]
	}
	return b.made[o.at]
}

// scratch returns a jet to compute with.
func (b *Bound) scratch() jet.Jet { return b.made[len(b.steps)+1] }

// run writes the result of a step to dst.
func (b *Bound) run(dst jet.Jet, s *step, arguments []jet.Jet) {
	switch {
	case s.op == choose:
		b.choose(dst, s, arguments)
	case s.op == minimum || s.op == maximum:
		x, y := b.valueOf(s.args[0], arguments), b.valueOf(s.args[1], arguments)
		b.take(dst, first(s.op, x, y), s.args[0], s.args[1], arguments)
	case len(s.args) == 1:
		b.ofOne(dst, s.op, b.jet(s.args[0], arguments))
	case s.args[1].kind == isNumber:
		b.withNumber(dst, s.op, b.jet(s.args[0], arguments), s.args[1].value)
	case s.args[0].kind == isNumber:
		b.onNumber(dst, s.op, s.args[0].value, b.jet(s.args[1], arguments))
	default:
		b.ofTwo(dst, s.op, b.jet(s.args[0], arguments), b.jet(s.args[1], arguments))
	}
}

func (b *Bound) valueOf(o operand, arguments []jet.Jet) float64 {
	if o.kind == isNumber {
		return o.value
	}
	return b.jet(o, arguments).Value()
}

func (b *Bound) choose(dst jet.Jet, s *step, arguments []jet.Jet) {
	holds := s.compare.holds(b.valueOf(s.args[0], arguments), b.valueOf(s.args[1], arguments))
	b.take(dst, holds, s.args[2], s.args[3], arguments)
}

// take writes the first or the second operand.
func (b *Bound) take(dst jet.Jet, isFirst truth, one, other operand, arguments []jet.Jet) {
	if isFirst == no {
		one = other
	}
	switch {
	case isFirst == unknown:
		b.space.Constant(dst, math.NaN())
	case one.kind == isNumber:
		b.space.Constant(dst, one.value)
	default:
		copy(dst, b.jet(one, arguments))
	}
}

func (b *Bound) ofOne(dst jet.Jet, op operation, x jet.Jet) {
	switch op {
	case negate:
		b.space.Scale(dst, x, -1)
	case absolute:
		b.space.Scale(dst, x, math.Copysign(1, x.Value()))
	case squareRoot:
		b.space.Sqrt(dst, x)
	case exponential:
		b.space.Exp(dst, x)
	case naturalLog:
		b.space.Log(dst, x)
	case decimalLog:
		b.space.Log10(dst, x)
	}
}

// withNumber is an operation on an expression and a number, in this order.
func (b *Bound) withNumber(dst jet.Jet, op operation, x jet.Jet, c float64) {
	switch op {
	case add:
		b.space.Shift(dst, x, c)
	case subtract:
		b.space.Shift(dst, x, -c)
	case multiply:
		b.space.Scale(dst, x, c)
	case divide:
		b.space.DivBy(dst, x, c)
	case power:
		b.space.Power(dst, x, c)
	}
}

// onNumber is an operation on a number and an expression, in this order.
func (b *Bound) onNumber(dst jet.Jet, op operation, c float64, x jet.Jet) {
	switch op {
	case add:
		b.space.Shift(dst, x, c)
	case subtract:
		b.space.Scale(dst, x, -1)
		b.space.Shift(dst, dst, c)
	case multiply:
		b.space.Scale(dst, x, c)
	case divide:
		b.space.Over(dst, c, x)
	case power:
		b.space.Exponential(dst, c, x)
	}
}

func (b *Bound) ofTwo(dst jet.Jet, op operation, x, y jet.Jet) {
	switch op {
	case add:
		b.space.Add(dst, x, y)
	case subtract:
		b.space.Sub(dst, x, y)
	case multiply:
		b.space.Mul(dst, x, y)
	case divide:
		b.space.Div(dst, x, y, b.scratch())
	case power:
		b.space.PowerOf(dst, x, y, b.scratch())
	}
}
