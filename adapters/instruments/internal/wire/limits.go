package wire

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/campaignd/campaignd/adapters/instruments"
	"github.com/campaignd/campaignd/events/definition"
)

// slack is how far, relative to the larger of a parameter's limits, a value
// that was meant to lie on a limit may exceed it by rounding. It is far below
// what any device can dose, and far above what a few conversions between units
// lose (2⁻⁵² each).
const slack = 1e-9

// CheckCommand says why an instrument must not be given a command, by its compositions: see
// [CheckLimits].
func CheckCommand(d instruments.Description, cmd instruments.Command) error {
	var faults []error
	for i, p := range cmd.Compositions() {
		if err := CheckLimits(d, p); err != nil && cmd.Experiments != nil {
			faults = append(faults, fmt.Errorf("%s: %w", cmd.Experiments[i].Experiment, err))
		} else {
			faults = append(faults, err)
		}
	}
	return errors.Join(faults...)
}

// CheckLimits says why an instrument of the given description must not be given
// the composition; nil if it may be given. Both sides call it: campaignd before
// it sends a command, and the program before it acts on one. All faults are
// named, in a fixed order. A limit that one side alone knew would be found by
// the device, when the sample is in it.
func CheckLimits(d instruments.Description, p definition.Point) error {
	var faults []error
	names := make([]string, 0, len(p))
	for name := range p {
		names = append(names, name)
	}
	// Maps have no order, and the message is recorded with the refusal.
	slices.Sort(names)
	for _, name := range names {
		if x, ok := p[name].Float(); ok && (math.IsNaN(x) || math.IsInf(x, 0)) {
			faults = append(faults, fmt.Errorf("%s is %v", name, x))
		}
		known := slices.ContainsFunc(d.Parameters,
			func(s instruments.ParameterSpec) bool { return s.Name == name })
		// A description without parameters leaves open what the instrument
		// takes.
		if len(d.Parameters) > 0 && !known {
			faults = append(faults, fmt.Errorf("the instrument has no parameter %s", name))
		}
	}
	for _, spec := range d.Parameters {
		if err := checkLimit(spec, p); err != nil {
			faults = append(faults, err)
		}
	}
	return errors.Join(faults...)
}

// checkLimit checks one parameter of the description. NaN passes here and is
// caught above. NaN is neither below nor above anything.
func checkLimit(spec instruments.ParameterSpec, p definition.Point) error {
	v, ok := p[spec.Name]
	if !ok {
		return fmt.Errorf("%s is missing", spec.Name)
	}
	x, number := v.Float()
	if len(spec.Categories) > 0 {
		if number || !slices.Contains(spec.Categories, v.Name()) {
			return fmt.Errorf("%s = %v is not one of %q", spec.Name, v, spec.Categories)
		}
		return nil
	}
	if !number {
		return fmt.Errorf("%s = %q is not a number", spec.Name, v.Name())
	}
	var size float64 // of the limits
	for _, limit := range []*float64{spec.Min, spec.Max} {
		if limit != nil {
			size = max(size, math.Abs(*limit))
		}
	}
	if spec.Min != nil && x < *spec.Min-slack*size {
		return fmt.Errorf("%s = %g %s is below the instrument's limit of %g", spec.Name, x,
			spec.Unit, *spec.Min)
	}
	if spec.Max != nil && x > *spec.Max+slack*size {
		return fmt.Errorf("%s = %g %s is above the instrument's limit of %g", spec.Name, x,
			spec.Unit, *spec.Max)
	}
	return nil
}
