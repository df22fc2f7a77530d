package formula

import (
	"math"
	"math/big"
	"slices"
)

// Linear is an affine function of some names: Constant + Σ Coefficients[i]·Names[i].
type Linear struct {
	Constant     float64
	Names        []string
	Coefficients []float64
}

// Linear returns the formula as an affine function of all its names, in their order, and false
// where it is not affine. Numbers are taken as the decimals they are written in, and coefficients
// are exact before they are rounded to float64, once: 0.1*x + 0.2*x is 0.3 x. A formula that
// depends on a name only seemingly, as x^2 − x^2 does, counts as not affine.
func (f *Formula) Linear() (Linear, bool) {
	exact, ok := f.affine(f.root)
	if !ok {
		return Linear{}, false
	}
	rounded := make([]float64, len(exact))
	for i, c := range exact {
		rounded[i], _ = c.Float64()
		if math.IsInf(rounded[i], 0) {
			return Linear{}, false
		}
	}
	return Linear{Constant: rounded[0], Names: f.Names(), Coefficients: rounded[1:]}, true
}

// affine is the exact form of an affine function: its constant, then the
// coefficient of each of the formula's names.
type affine []*big.Rat

// affine returns an expression as an affine function; false where it is not one.
func (f *Formula) affine(n *node) (affine, bool) {
	out := make(affine, 1+len(f.names))
	for i := range out {
		out[i] = new(big.Rat)
	}
	switch {
	case n.op == number:
		_, ok := out[0].SetString(writeNumber(n.value))
		return out, ok
	case n.op == name:
		out[1+n.name].SetInt64(1)
		return out, true
	case n.op > negate: // a choice or a function
		return out, n.constant() && out[0].SetFloat64(n.eval(nil)) != nil
	}
	parts := make([]affine, len(n.args))
	for i, a := range n.args {
		var ok bool
		if parts[i], ok = f.affine(a); !ok {
			return nil, false
		}
	}
	return out, out.combine(n.op, parts)
}

// constant reports whether all coefficients are 0.
func (a affine) constant() bool {
	return !slices.ContainsFunc(a[1:], func(c *big.Rat) bool { return c.Sign() != 0 })
}

// scaled writes c·b.
func (a affine) scaled(b affine, c *big.Rat) bool {
	for i := range a {
		a[i].Mul(b[i], c)
	}
	return true
}

// combine writes the result of an operation on affine functions, and returns
// false where it is not affine.
func (a affine) combine(op operation, of []affine) bool {
	switch op {
	case negate:
		return a.scaled(of[0], big.NewRat(-1, 1))
	case add, subtract:
		for i := range a {
			if op == add {
				a[i].Add(of[0][i], of[1][i])
			} else {
				a[i].Sub(of[0][i], of[1][i])
			}
		}
		return true
	case multiply:
		if of[0].constant() {
			return a.scaled(of[1], of[0][0])
		}
		return of[1].constant() && a.scaled(of[0], of[1][0])
	case divide:
		divisor := of[1][0]
		return of[1].constant() && divisor.Sign() != 0 && a.scaled(of[0], new(big.Rat).Inv(divisor))
	}
	return a.power(of[0], of[1])
}

// power writes base^exponent. For numbers the result equals that of evaluation.
func (a affine) power(base, exponent affine) bool {
	if !exponent.constant() {
		return false
	}
	one := big.NewRat(1, 1)
	switch {
	case exponent[0].Cmp(one) == 0:
		return a.scaled(base, one)
	case base.constant():
		x, _ := base[0].Float64()
		y, _ := exponent[0].Float64()
		return a[0].SetFloat64(math.Pow(x, y)) != nil
	}
	return false
}

// Affine reports whether the formula is affine in those of its arguments that
// are marked, whatever the values of the others: their coefficients may depend
// on those.
func (b *Bound) Affine(in []bool) bool {
	return b.degree(b.formula.root, in) <= 1
}

// degree returns 0 where an expression does not depend on the marked arguments,
// 1 where it is affine in them, and 2 otherwise.
func (b *Bound) degree(n *node, in []bool) int {
	const other = 2
	if n.op == name {
		if in[b.argument[n.name]] {
			return 1
		}
		return 0
	}
	highest := 0
	of := make([]int, len(n.args))
	for i, a := range n.args {
		of[i] = b.degree(a, in)
		highest = max(highest, of[i])
	}
	switch {
	case highest == 0, n.op == negate, n.op == add, n.op == subtract:
		return highest
	case n.op == multiply:
		return min(of[0]+of[1], other)
	case n.op == divide && of[1] == 0:
		return highest
	case n.op == choose && of[0] == 0 && of[1] == 0:
		return highest
	}
	return other
}
