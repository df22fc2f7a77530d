package definition

import (
	"math"
	"slices"
)

// MaxSources is how many sources of one quantity there may be.
const MaxSources = 4

// Fidelity names the parameter by which an experiment becomes cheaper and tells less about the
// objective. The objective is the value at the target: only values there are compared, and cheaper
// experiments serve to find where it is worth measuring.
type Fidelity struct {
	// Parameter is a numeric parameter whose target is its least or its greatest value. Where there
	// are sources it is the choice between them, which need not be declared. Default of that
	// "source".
	Parameter string `json:"parameter,omitempty" jsonschema:"pattern=^[A-Za-z_][A-Za-z0-9_.-]*$,maxLength=64"`
	// Target is the value that matters: a number, or the name of a source. Default: the
	// last source.
	Target *Value `json:"target,omitempty"`
	// Sources are ways to measure the same quantity, such as a simulation, a quick test
	// and the real one.
	Sources []Source `json:"sources,omitempty" jsonschema:"minItems=2,maxItems=4"`
	// Unit of what sources cost, "h".
	Unit string `json:"unit,omitempty"`
}

// Source is a way to measure, and what an experiment in it costs.
type Source struct {
	Name string  `json:"name" jsonschema:"required"`
	Cost float64 `json:"cost" jsonschema:"required,exclusiveMinimum=0"`
}

// DefaultSource is the name of the parameter that chooses between sources, where none is
// given.
const DefaultSource = "source"

// IsZero reports whether all experiments tell the same.
func (f Fidelity) IsZero() bool {
	return f.Parameter == "" && f.Target == nil && len(f.Sources) == 0 && f.Unit == ""
}

// Source returns the source of that name, nil for none.
func (f Fidelity) Source(name string) *Source {
	i := slices.IndexFunc(f.Sources, func(s Source) bool { return s.Name == name })
	if i < 0 {
		return nil
	}
	return &f.Sources[i]
}

// nearTarget is how far from the target a value may have been made that counts as at
// it, by the range of the parameter.
const nearTarget = 0.01

// AtTarget reports whether a composition is measured at the target, where its value
// can be compared: to a hundredth of the range, as precisely as instruments
// make what they are asked for. It is true where the campaign has no fidelity.
func (c *Campaign) AtTarget(p Point) bool {
	f := c.Fidelity
	if f.Target == nil {
		return true
	}
	value := p[f.Parameter]
	target, number := f.Target.Float()
	if !number {
		return value.Name() == f.Target.Name()
	}
	x, ok := value.Float()
	lo, hi := c.FidelityRange()
	return ok && math.Abs(x-target) <= nearTarget*(hi-lo)
}

// FidelityRange is the range of the parameter of a numeric fidelity.
func (c *Campaign) FidelityRange() (lo, hi float64) {
	for _, p := range c.Parameters {
		switch {
		case p.Name != c.Fidelity.Parameter:
		case len(p.Values) > 0:
			return slices.Min(p.Values), slices.Max(p.Values)
		case p.Min != nil && p.Max != nil:
			return *p.Min, *p.Max
		}
	}
	return 0, 0
}
