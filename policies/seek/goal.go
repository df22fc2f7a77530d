package seek

import (
	"fmt"
	"slices"

	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/ground/computed"
	"github.com/campaignd/campaignd/internal/num/composite"
	"github.com/campaignd/campaignd/internal/num/formula"
	"github.com/campaignd/campaignd/internal/num/jet"
)

// goal is the objective of a set of quantities.
type goal interface {
	// names are those of the quantities that it depends on, and of others: of parameters,
	// and of values at the reference composition.
	names() []string
	// bind sets a problem's objective as a function of arguments with these names, or its Aims
	// or Compared, neither of them a function by itself.
	bind(b *builder, arguments []string) error
}

// goalOf returns the objective of a definition; it is nothing for the zero value,
// where constraints alone are judged.
func (b *builder) goalOf(o definition.Objective) (goal, error) {
	switch {
	case o.Formula != "":
		f, err := formula.Of(o.Formula)
		if err == nil {
			f, err = f.Inline(b.inline)
		}
		if err != nil {
			return nil, fmt.Errorf("the objective: %w", err)
		}
		return byFormula{f}, nil
	case len(o.Desirability) > 0:
		return desirability{o}, nil
	case o.Tradeoff != nil:
		return front(o.Tradeoff), nil
	case o.Preference != nil:
		return preferred(o.Preference.Over), nil
	case o.Name != "":
		return one(o.Name), nil
	}
	return preferred(nil), nil
}

// one is a quantity of its own.
type one string

func (o one) names() []string { return []string{string(o)} }

func (o one) bind(b *builder, arguments []string) error {
	b.problem.Objective = composite.Alone(slices.Index(arguments, string(o)))
	return nil
}

// byFormula is a value that is computed from quantities.
type byFormula struct{ *formula.Formula }

func (f byFormula) names() []string { return f.Names() }

func (f byFormula) bind(b *builder, arguments []string) error {
	bound, err := f.Bind(arguments)
	if err != nil {
		return fmt.Errorf("the objective: %w", err)
	}
	b.problem.Objective = bound
	return nil
}

// front is a trade-off between quantities.
type front []definition.Aim

func (f front) names() (names []string) {
	for _, a := range f {
		names = append(names, a.Name)
	}
	return names
}

func (f front) bind(b *builder, arguments []string) (err error) {
	b.Aims, err = b.aims(f, arguments)
	return err
}

// preferred are the quantities that an expert's preference is about.
type preferred []string

func (p preferred) names() []string { return p }

func (p preferred) bind(b *builder, arguments []string) (err error) {
	b.Compared, err = b.aims(unaimed(p), arguments)
	return err
}

// unaimed are quantities without a goal.
func unaimed(names []string) (all []definition.Aim) {
	for _, name := range names {
		all = append(all, definition.Aim{Name: name})
	}
	return all
}

// aims finds where the values of quantities come from.
func (b *builder) aims(all []definition.Aim, arguments []string) (aims []Aim, err error) {
	for _, a := range all {
		aim := Aim{Objective: b.def.ObjectiveOf(a), Worst: a.Worst, Model: slices.Index(b.Quantities, a.Name)}
		if f := b.inline[a.Name]; f != nil {
			if aim.function, err = f.Bind(arguments); err != nil {
				return nil, fmt.Errorf("the quantity %s: %w", a.Name, err)
			}
		}
		aims = append(aims, aim)
	}
	return aims, nil
}

// desirability is a value that is computed from how desirable each quantity is.
type desirability struct{ definition.Objective }

func (d desirability) names() []string { return computed.Names(d.Objective) }

func (d desirability) bind(b *builder, arguments []string) error {
	of, names, err := computed.Desirability(d.Desirability)
	if err != nil {
		return fmt.Errorf("the objective: %w", err)
	}
	out := &desired{Desirability: of, values: make([]float64, len(names)), jets: make([]jet.Jet, len(names))}
	out.of, err = b.aims(unaimed(names), arguments)
	b.problem.Objective = out
	return err
}
