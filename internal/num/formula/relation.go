package formula

import "slices"

// Relation is a constraint: two formulas compared by <= or >=. It is immutable
// and safe for concurrent use.
type Relation struct {
	left, right *Formula
	most        bool // <=
	excess      *Formula
}

// ParseRelation reads a constraint, a <= b or a >= b. It fails with a [*Fault].
func ParseRelation(text string) (*Relation, error) {
	r, root, err := read(text)
	if err != nil {
		return nil, err
	}
	const remedy = "write a <= b or a >= b"
	switch sign := string(root.compare); {
	case root.op != compared:
		return nil, &Fault{root.column, "a constraint compares two sides", remedy}
	case sign == "<" || sign == ">":
		return nil, &Fault{root.column, "what is measured cannot tell " + sign + " from " + sign + "=",
			remedy}
	}
	root.op = subtract
	out := &Relation{most: root.compare == "<="}
	for i, side := range []**Formula{&out.left, &out.right} {
		if *side, err = part(r, root.args[i]); err != nil {
			return nil, err
		}
	}
	if !out.most {
		slices.Reverse(root.args)
	}
	out.excess, err = part(r, root)
	return out, err
}

// part returns an expression of a larger text as a formula of its own.
func part(r *reader, n *node) (*Formula, error) {
	p := &reader{}
	root, err := p.inlined(n, r.names, nil)
	if err != nil {
		return nil, err
	}
	return newFormula(root, p.names, p.columns)
}

// String returns the canonical text: those of the two sides, compared.
func (r *Relation) String() string {
	compare := " >= "
	if r.most {
		compare = " <= "
	}
	return r.left.part(r.left.root, bindsSum) + compare + r.right.part(r.right.root, bindsSum)
}

// Excess returns the formula g for which the constraint is g ≤ 0.
func (r *Relation) Excess() *Formula { return r.excess }

// Bound returns the constraint as a bound on one name, and false where it cannot be one: where it
// is not affine, or has no or several names.
func (r *Relation) Bound() (name string, bound Range, ok bool) {
	l, ok := r.excess.Linear()
	if !ok || len(l.Names) != 1 || l.Coefficients[0] == 0 {
		return "", Range{}, false
	}
	bound = everything
	if at := -l.Constant / l.Coefficients[0]; l.Coefficients[0] > 0 {
		bound.Upper = at
	} else {
		bound.Lower = at
	}
	return l.Names[0], bound, true
}

// Within says what ranges of the names mean for the constraint: whether values in
// them may meet it, and whether all do. It errs on the side of possible, and of
// not certain: see [Formula.Range]. Where the sides have no value it is not met.
func (r *Relation) Within(of map[string]Range) (possible, certain bool) {
	excess := r.excess.Range(of)
	return excess.Lower <= 0, excess.Upper <= 0 && !excess.Empty()
}
