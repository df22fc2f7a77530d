package outcome

import (
	"slices"

	"github.com/campaignd/campaignd/internal/formula"
	"github.com/campaignd/campaignd/internal/num/composite"
	"github.com/campaignd/campaignd/internal/num/jet"
)

// desired is a desirability whose quantities are arguments of the problem, or
// follow from those.
type desired struct {
	*composite.Desirability
	of     []source
	values []float64
	jets   []jet.Jet
}

// source is where the value of a quantity comes from: an argument, or a formula of
// some.
type source struct {
	argument int
	follows  *formula.Bound
}

func (s source) uses(argument int) bool {
	if s.follows != nil {
		return s.follows.Uses(argument)
	}
	return s.argument == argument
}

// desire sets the objective to a desirability of some quantities.
func (b *builder) desire(d *composite.Desirability, names, arguments []string) error {
	out := &desired{
		Desirability: d, of: make([]source, len(names)),
		values: make([]float64, len(names)), jets: make([]jet.Jet, len(names)),
	}
	for i, name := range names {
		out.of[i].argument = slices.Index(arguments, name)
		if f := b.inline[name]; f != nil {
			bound, err := f.Bind(arguments)
			if err != nil {
				return err
			}
			out.of[i].follows = bound
		}
	}
	b.problem.Objective = out
	return nil
}

// Value implements [composite.Function].
func (d *desired) Value(arguments []float64) float64 {
	return d.Desirability.Value(d.at(arguments))
}

// at returns the values of the quantities.
func (d *desired) at(arguments []float64) []float64 {
	for i, s := range d.of {
		if s.follows != nil {
			d.values[i] = s.follows.Value(arguments)
			continue
		}
		d.values[i] = arguments[s.argument]
	}
	return d.values
}

// Jet implements [composite.Function].
func (d *desired) Jet(s *jet.Space, arguments []jet.Jet) jet.Jet {
	for i, from := range d.of {
		if from.follows != nil {
			d.jets[i] = from.follows.Jet(s, arguments)
			continue
		}
		d.jets[i] = arguments[from.argument]
	}
	return d.Desirability.Jet(s, d.jets)
}

// Uses implements [composite.Function].
func (d *desired) Uses(argument int) bool {
	return slices.ContainsFunc(d.of, func(s source) bool { return s.uses(argument) })
}

// Affine implements [composite.Function].
func (d *desired) Affine(marked []bool) bool {
	for a, m := range marked {
		if m && d.Uses(a) {
			return false
		}
	}
	return true
}
