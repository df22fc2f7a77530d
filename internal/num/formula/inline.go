package formula

// Inline returns the formula with formulas in the place of some of its names, so
// that it is a function of theirs. The columns of its names are lost. It fails
// with a [*Fault] where the result would be too long or too deep.
func (f *Formula) Inline(of map[string]*Formula) (*Formula, error) {
	r := &reader{}
	root, err := r.inlined(f.root, f.names, of)
	if err != nil {
		return nil, err
	}
	return newFormula(root, r.names, r.columns)
}

// inlined copies an expression of other names, with formulas in the place of some.
func (r *reader) inlined(n *node, names []string, of map[string]*Formula) (*node, error) {
	if r.depth++; r.depth > MaxDepth {
		return nil, tooDeep(n.column)
	}
	defer func() { r.depth-- }()
	if n.op == name {
		if inner := of[names[n.name]]; inner != nil {
			return r.inlined(inner.root, inner.names, nil)
		}
		return r.named(names[n.name], n.column), nil
	}
	out := *n
	out.args = make([]*node, len(n.args))
	for i, a := range n.args {
		var err error
		if out.args[i], err = r.inlined(a, names, of); err != nil {
			return nil, err
		}
	}
	return &out, nil
}
