package formula

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/campaignd/campaignd/internal/ground/units"
)

// Unit is the unit of a formula, as a product of powers of the units' texts.
// The zero value is that of a pure number.
type Unit struct {
	factors []factor // by text, each once, none to the power 0
	unknown bool     // it matches every unit
}

// factor is a power of a unit as it is written.
type factor struct {
	text     string
	exponent float64
}

// Units returns the unit of the formula, given those of its names as text; "" is that of a pure
// number. A name that is not in the map has an unknown unit, which matches every other one and
// makes that of a product unknown.
//
// Units are compared in any spelling (package units) and never converted: mol/kg and mol/L differ,
// and mPa·s and mPa.s do not. Products, quotients and powers make units such as mS/cm·(mPa·s)^-0.5.
// Terms of a sum, sides of a comparison and branches of a choice have to have one unit, otherwise
// there is a [*Fault]. A number that is computed from no name has no unit: it cannot be added to a
// quantity with one, but where it is compared with something, or chosen instead of it, it is in
// that thing's unit, as in viscosity <= 5. A number times a quantity has the quantity's unit. exp,
// ln, log10 and exponents take the number as it is in its unit, and return one without.
func (f *Formula) Units(of map[string]string) (Unit, error) {
	return f.unit(f.root, func(name string) Unit {
		text, known := of[name]
		switch text = strings.TrimSpace(text); {
		case !known:
			return Unit{unknown: true}
		case text == "":
			return Unit{}
		}
		return Unit{factors: []factor{{text, 1}}}
	})
}

// Units checks both sides of the constraint and that they can be compared: see
// [Formula.Units].
func (r *Relation) Units(of map[string]string) error {
	left, err := r.left.Units(of)
	if err != nil {
		return err
	}
	right, err := r.right.Units(of)
	if err != nil {
		return err
	}
	if !comparable(r.left.root, left, r.right.root, right) {
		return mismatch(r.right.root, left, right)
	}
	return nil
}

// Equal reports whether two units are the same; an unknown one equals every one.
func (u Unit) Equal(v Unit) bool {
	if u.unknown || v.unknown {
		return true
	}
	same := slices.EqualFunc(u.factors, v.factors, func(a, b factor) bool {
		// An exponent may come from a quotient of numbers, as 1/3 does.
		return a.text == b.text && math.Abs(a.exponent-b.exponent) < 1e-9
	})
	one, whole := u.plain()
	other, alsoWhole := v.plain()
	return same || whole && alsoWhole && units.Same(one, other)
}

// plain writes the unit so that it can be recognized in another spelling; false where a power of it
// is not a whole number.
func (u Unit) plain() (string, bool) {
	texts := make([]string, len(u.factors))
	for i, f := range u.factors {
		texts[i] = "(" + f.text + ")"
		for range int(math.Abs(f.exponent)) - 1 {
			texts[i] += ".(" + f.text + ")"
		}
		if f.exponent < 0 {
			texts[i] = "/(" + texts[i] + ")"
		}
		if f.exponent != math.Trunc(f.exponent) {
			return "", false
		}
	}
	text := strings.ReplaceAll(strings.Join(texts, "."), "./", "/")
	return text, true
}

// String writes the unit; "" is that of a pure number, and of one that is unknown.
func (u Unit) String() string {
	shown := slices.SortedStableFunc(slices.Values(u.factors), func(a, b factor) int {
		return cmp.Compare(b.exponent, a.exponent)
	})
	texts := make([]string, len(shown))
	for i, f := range shown {
		texts[i] = f.text
		if f.exponent == 1 {
			continue
		}
		if strings.ContainsFunc(f.text, func(c rune) bool { return !unicode.IsLetter(c) }) {
			texts[i] = "(" + f.text + ")"
		}
		texts[i] += "^" + strconv.FormatFloat(f.exponent, 'g', 6, 64)
	}
	return strings.Join(texts, "·")
}

// power returns the unit to a power.
func (u Unit) power(exponent float64) Unit {
	out := Unit{unknown: u.unknown && exponent != 0}
	for _, f := range u.factors {
		if e := f.exponent * exponent; e != 0 {
			out.factors = append(out.factors, factor{f.text, e})
		}
	}
	return out
}

// times returns the product of two units.
func (u Unit) times(v Unit) Unit {
	out := Unit{unknown: u.unknown || v.unknown}
	if out.unknown {
		return out
	}
	all := slices.Concat(u.factors, v.factors)
	slices.SortStableFunc(all, func(a, b factor) int { return cmp.Compare(a.text, b.text) })
	for _, f := range all {
		if last := len(out.factors) - 1; last >= 0 && out.factors[last].text == f.text {
			out.factors[last].exponent += f.exponent
		} else {
			out.factors = append(out.factors, f)
		}
	}
	out.factors = slices.DeleteFunc(out.factors,
		func(f factor) bool { return math.Abs(f.exponent) < 1e-9 })
	return out
}

// unit returns the unit of an expression.
func (f *Formula) unit(n *node, of func(name string) Unit) (Unit, error) {
	switch n.op {
	case number:
		return Unit{}, nil
	case name:
		return of(f.names[n.name]), nil
	}
	units := make([]Unit, len(n.args))
	for i, a := range n.args {
		var err error
		if units[i], err = f.unit(a, of); err != nil {
			return Unit{}, err
		}
	}
	switch n.op {
	case add, subtract:
		if !units[0].Equal(units[1]) {
			return Unit{}, mismatch(n, units[0], units[1])
		}
		return known(units), nil
	case multiply:
		return units[0].times(units[1]), nil
	case divide:
		return units[0].times(units[1].power(-1)), nil
	case squareRoot:
		return units[0].power(0.5), nil
	case negate, absolute:
		return units[0], nil
	case power:
		return n.powerUnit(units[0])
	case minimum, maximum:
		return alike(n, n.args, units)
	case choose:
		if !comparable(n.args[0], units[0], n.args[1], units[1]) {
			return Unit{}, mismatch(n, units[0], units[1])
		}
		return alike(n, n.args[2:], units[2:])
	}
	return Unit{}, nil
}

// powerUnit returns the unit of a power of something in a unit.
func (n *node) powerUnit(base Unit) (Unit, error) {
	switch {
	case n.args[1].constant():
		return base.power(n.args[1].eval(nil)), nil
	case len(base.factors) > 0:
		message := fmt.Sprintf("a power of something in %s whose exponent varies has no unit", base)
		return Unit{}, &Fault{n.column, message, "divide it by a quantity in the same unit first"}
	}
	return base, nil
}

// comparable reports whether two expressions can be compared: in one unit, or one
// of them being a number.
func comparable(a *node, u Unit, b *node, v Unit) bool {
	return a.constant() || b.constant() || u.Equal(v)
}

// alike returns the common unit of expressions that a formula chooses between.
func alike(n *node, args []*node, units []Unit) (Unit, error) {
	var of []Unit
	for i, a := range args {
		if a.constant() {
			continue
		}
		if len(of) > 0 && !known(of).Equal(units[i]) {
			return Unit{}, mismatch(n, known(of), units[i])
		}
		of = append(of, units[i])
	}
	return known(of), nil
}

// known returns the first known one of units that are equal; that of a number if all are unknown.
func known(units []Unit) Unit {
	for _, u := range units {
		if !u.unknown {
			return u
		}
	}
	return Unit{unknown: len(units) > 0}
}

// mismatch is the fault of an operation on different units.
func mismatch(n *node, u, v Unit) error {
	with := func(u Unit) string {
		if s := u.String(); s != "" {
			return "in " + s
		}
		return "without a unit"
	}
	return &Fault{n.column,
		fmt.Sprintf("a value %s and one %s cannot be added or compared", with(u), with(v)),
		"units are never converted: " +
			"multiply one side by a factor that is declared with a unit, " +
			`as in quantities: [{name: five, unit: mS/cm, from: "5"}], or divide both by a reference`}
}
