package instruments

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/ground/units"
)

// MeasurementError says that an instrument's answer cannot be used, with every
// fault that was found.
type MeasurementError struct {
	Faults []string
}

// Error gives all faults in one line: it becomes the cause of an
// experiment.failed event.
func (e *MeasurementError) Error() string {
	return Legible("the instrument's answer was refused: "+strings.Join(e.Faults, "; "), MaxCause)
}

// Check reports whether a measurement is without fault. It returns nil or a
// [*MeasurementError] that names every fault. Those of the substance:
//
//   - the objective has another name or unit than the campaign's, is not
//     finite, or lies outside the campaign's plausible range;
//   - the composition that was made lacks a parameter, has one the campaign
//     does not know, has a number where the campaign has categories or the
//     reverse, or a number that is not finite;
//   - a number of that composition lies further outside the parameter's bounds
//     than these are apart. What was made may well differ from what was asked
//     for, but so great a difference is another unit or a slipped decimal point.
//
// Those of the decoration, which [Admit] moves to Unread:
//
//   - a further quantity has no name, the name of another, a name or unit that
//     cannot be recorded, or a value that is not finite;
//   - a standard deviation is negative or not finite;
//   - a value or a standard deviation is beyond [events.Greatest];
//   - a time has no four-digit year, or the measurement ended before it began.
//
// Where the campaign declares its quantities, they take the place of the
// objective: at least one from which something is learned has to be there, and
// each that was reported has to be in the campaign's unit and plausible range.
//
// A missing composition is not taken for the one asked for: filling it in is
// the adapter's decision.
func Check(def definition.Campaign, m events.Measurement) error {
	var f faults
	before := len(m.Unread)
	m = Arranged(&def, m)
	f.substance(def, m)
	_, unread := undecorated(m)
	for _, u := range slices.Concat(m.Unread[before:], unread) {
		said := func(fault string) bool { return strings.Contains(fault, u.Reason) }
		if !slices.ContainsFunc(f, said) {
			f.add("%s", u.Reason)
		}
	}
	if f != nil {
		return &MeasurementError{Faults: f}
	}
	return nil
}

// substance checks the objective, or the declared quantities of an arranged
// measurement, and the composition that was made.
func (f *faults) substance(def definition.Campaign, m events.Measurement) {
	if def.Several() {
		f.quantities(&def, m)
	} else {
		f.value(def, m.Objective)
	}
	f.actual(def, m.Actual)
}

// value checks the objective of a campaign that declares no quantities.
func (f *faults) value(def definition.Campaign, got definition.Quantity) {
	sought := def.Sought()
	if !finite(got.Value) || beyond(got.Value) {
		f.add("the objective is %s", absurd(got.Value))
	}
	if got.Name != sought.Name {
		f.add("the objective is called %s, the campaign's %q", quoted(got.Name), sought.Name)
	}
	if got.Unit != sought.Unit {
		f.add("the objective is in %s, the campaign's in %s", unit(got.Unit), unit(sought.Unit))
	} else if v := got.Value; finite(v) {
		if lo := sought.Min; lo != nil && v < *lo {
			f.add("%s = %g %s is below the plausible minimum of %g", sought.Name, v, sought.Unit, *lo)
		}
		if hi := sought.Max; hi != nil && v > *hi {
			f.add("%s = %g %s is above the plausible maximum of %g", sought.Name, v, sought.Unit, *hi)
		}
	}
}

// CheckOutcome reports whether an outcome keeps the contract's form and its
// measurement, if it has one, passes [Check]. The error is a
// [*MeasurementError].
func CheckOutcome(def definition.Campaign, o Outcome) error {
	switch o.Status {
	case Measured:
		if o.Measurement == nil {
			return &MeasurementError{Faults: []string{"it says measured and holds no measurement"}}
		}
		return Check(def, Respelled(&def, *o.Measurement))
	case Done:
		return checkGave(def, o)
	case Failed, Infeasible, Deferred, Cancelled, Unknown:
		if o.Status == Failed && o.Measurement != nil && def.Several() {
			return Check(def, Respelled(&def, *o.Measurement))
		}
		if o.Measurement != nil {
			fault := fmt.Sprintf("it says %s and holds a measurement", o.Status)
			return &MeasurementError{Faults: []string{fault}}
		}
		return nil
	}
	fault := fmt.Sprintf("its status %q is not one of the contract's", o.Status)
	return &MeasurementError{Faults: []string{fault}}
}

// checkGave checks what an act gave, where it gave anything.
func checkGave(def definition.Campaign, o Outcome) error {
	var f faults
	all := o.Gave
	if o.Measurement != nil {
		all = append(slices.Clone(all), events.Given{Experiment: "its experiment", Measurement: o.Measurement})
	}
	for i, g := range all {
		switch twice := slices.ContainsFunc(all[:i], func(h events.Given) bool { return h.Experiment == g.Experiment }); {
		case g.Experiment == "":
			f.add("gave %d names no experiment", i+1)
		case twice:
			f.add("it gives something for %s twice", g.Experiment)
		case g.Status != "" && g.Status != events.ActDone && g.Status != events.ActFailed && g.Status != events.ActInfeasible:
			f.add("%s of %s is not one of done, failed and infeasible", quoted(string(g.Status)), g.Experiment)
		case g.Measurement != nil && len(g.Measurement.All()) > 0:
			if err := Check(def, Respelled(&def, *g.Measurement)); err != nil {
				f.add("%s: %v", g.Experiment, err)
			}
		}
	}
	if f != nil {
		return &MeasurementError{Faults: f}
	}
	return nil
}

// MismatchError says that an instrument cannot perform a campaign, with every
// mismatch that was found.
type MismatchError struct {
	Instrument string
	Mismatches []string
}

// Error gives each mismatch on a line of its own.
func (e *MismatchError) Error() string {
	return fmt.Sprintf("the instrument %s does not fit the campaign:\n  - %s",
		Legible(e.Instrument, 60), strings.Join(e.Mismatches, "\n  - "))
}

// Compatible reports whether an instrument that describes itself as desc can
// perform the campaign def. It returns nil or a [*MismatchError] that names
// every mismatch, those of the description itself ([CheckDescription]) among
// them. An empty list of parameters or outputs fits everything.
//
// The campaign and the instrument must have the same parameters, in any order,
// with the same units; the campaign's bounds, values and categories must lie
// within the instrument's; where the instrument doses in steps, the campaign
// must suggest multiples of them; and the objective must be among the outputs,
// in the campaign's unit. Units are compared as they are written and never
// converted.
func Compatible(desc Description, def definition.Campaign) error {
	var f faults
	if err := CheckDescription(desc); err != nil {
		f = strings.Split(err.Error(), "\n")
	}
	if len(desc.Parameters) > 0 {
		f.parameters(desc, def)
	}
	if len(desc.Outputs) > 0 {
		f.objective(desc, def)
	}
	if f != nil {
		return &MismatchError{Instrument: desc.Name, Mismatches: f}
	}
	return nil
}

// faults collects sentences.
type faults []string

func (f *faults) add(format string, args ...any) {
	*f = append(*f, fmt.Sprintf(format, args...))
}

// actual checks the composition that was made.
func (f *faults) actual(def definition.Campaign, actual definition.Point) {
	if len(actual) == 0 {
		f.add("it does not say which composition was made")
		return
	}
	for _, p := range def.Parameters {
		v, ok := actual[p.Name]
		if !ok {
			f.add("the composition made lacks %s", p.Name)
			continue
		}
		x, number := v.Float()
		switch {
		case number && len(p.Categories) > 0:
			f.add("%s is a category in the campaign, %v in the composition made", p.Name, v)
		case !number && len(p.Categories) == 0:
			f.add("%s is a number in the campaign, %q in the composition made", p.Name, v)
		case !number && !hasCategory(p, v.Name()):
			f.add("%s has no category %q", p.Name, v.Name())
		case number && !finite(x):
			f.add("%s in the composition made is %g", p.Name, x)
		case number:
			if lo, hi := bounds(p); x < lo-width(lo, hi) || x > hi+width(lo, hi) {
				f.add("%s = %g %s in the composition made is far outside %g to %g: is it in another unit?",
					p.Name, x, p.Unit, lo, hi)
			}
		}
	}
	for _, name := range sortedNames(actual) {
		if !slices.ContainsFunc(def.Parameters, func(p definition.Parameter) bool { return p.Name == name }) {
			f.add("the campaign has no parameter %q", name)
		}
	}
}

// parameters compares the campaign's parameters with the instrument's.
func (f *faults) parameters(desc Description, def definition.Campaign) {
	specs := make(map[string]ParameterSpec, len(desc.Parameters))
	for _, s := range desc.Parameters {
		specs[s.Name] = s
	}
	for _, p := range def.Parameters {
		s, ok := specs[p.Name]
		if !ok {
			f.add("the campaign varies %s, which the instrument does not take", p.Name)
			continue
		}
		delete(specs, p.Name)
		if !units.Same(s.Unit, p.Unit) {
			f.add("%s is in %s in the campaign, in %s for the instrument", p.Name, unit(p.Unit),
				unit(s.Unit))
			continue // the numbers cannot be compared
		}
		if len(p.Categories) > 0 || len(s.Categories) > 0 {
			f.categories(p, s)
			continue
		}
		lo, hi := bounds(p)
		if s.Min != nil && lo < *s.Min {
			f.add("%s goes down to %g %s, the instrument only to %g", p.Name, lo, p.Unit, *s.Min)
		}
		if s.Max != nil && hi > *s.Max {
			f.add("%s goes up to %g %s, the instrument only to %g", p.Name, hi, p.Unit, *s.Max)
		}
		if s.Step > 0 {
			f.steps(p, s, def.Steps()[p.Name])
		}
	}
	for _, s := range desc.Parameters { // in the instrument's order
		if _, left := specs[s.Name]; left {
			f.add("the instrument takes %s, which the campaign does not have", s.Name)
			delete(specs, s.Name)
		}
	}
}

func (f *faults) categories(p definition.Parameter, s ParameterSpec) {
	switch {
	case len(s.Categories) == 0:
		f.add("%s is a category in the campaign, a number for the instrument", p.Name)
	case len(p.Categories) == 0:
		f.add("%s is a number in the campaign, a category for the instrument (%s)",
			p.Name, strings.Join(s.Categories, ", "))
	default:
		for _, c := range p.Categories {
			if !slices.Contains(s.Categories, c.Name) {
				f.add("%s may be %q in the campaign, the instrument takes %s",
					p.Name, c.Name, strings.Join(s.Categories, ", "))
			}
		}
	}
}

// steps checks that the campaign's suggestions for p are doses of s.
func (f *faults) steps(p definition.Parameter, s ParameterSpec, step float64) {
	if len(p.Values) > 0 {
		for _, v := range p.Values {
			if !multiple(v, s.Step) {
				f.add("%s may be %g %s, the instrument doses in steps of %g", p.Name, v, p.Unit, s.Step)
			}
		}
		return
	}
	switch {
	case step == 0:
		f.add("the instrument doses %s in steps of %g %s: say so with `steps: {%s: %g}` under instrument",
			p.Name, s.Step, p.Unit, p.Name, s.Step)
	case !multiple(step, s.Step):
		f.add("the campaign's step of %s is %g %s, not a multiple of the instrument's %g", p.Name,
			step, p.Unit, s.Step)
	}
}

func (f *faults) objective(desc Description, def definition.Campaign) {
	if def.Several() {
		f.outputs(desc, def)
		return
	}
	sought := def.Sought()
	for _, o := range desc.Outputs {
		if o.Name == sought.Name {
			if !units.Same(o.Unit, sought.Unit) {
				f.add("%s is in %s in the campaign, in %s for the instrument",
					o.Name, unit(sought.Unit), unit(o.Unit))
			}
			return
		}
	}
	f.add("the campaign seeks %s, the instrument measures %s", sought.Name, namesOf(desc.Outputs))
}

// namesOf are the names of what an instrument measures.
func namesOf(outputs []OutputSpec) string {
	var names []string
	for _, o := range outputs {
		names = append(names, o.Name)
	}
	return strings.Join(names, ", ")
}

// bounds returns the least and the greatest value of a numeric parameter.
func bounds(p definition.Parameter) (lo, hi float64) {
	if len(p.Values) > 0 {
		return slices.Min(p.Values), slices.Max(p.Values)
	}
	lo, hi = math.Inf(-1), math.Inf(1)
	if p.Min != nil {
		lo = *p.Min
	}
	if p.Max != nil {
		hi = *p.Max
	}
	return lo, hi
}

// width returns how far apart the bounds are, or their size where they are one
// number.
func width(lo, hi float64) float64 {
	if hi > lo {
		return hi - lo
	}
	return max(math.Abs(hi), 1)
}

// multiple reports whether x is a whole number of steps, up to the rounding of
// decimal fractions.
func multiple(x, step float64) bool {
	n := x / step
	return math.Abs(n-math.Round(n)) <= 1e-9*max(1, math.Abs(n))
}

func hasCategory(p definition.Parameter, name string) bool {
	return slices.ContainsFunc(p.Categories,
		func(c definition.CategoryDef) bool { return c.Name == name })
}

func finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }

// beyond reports whether a number is too great to have been measured.
func beyond(x float64) bool { return math.Abs(x) > definition.Greatest }

// absurd writes a number that cannot have been measured.
func absurd(x float64) string {
	if finite(x) && beyond(x) {
		return fmt.Sprintf("%g, more than anything measures", x)
	}
	return fmt.Sprintf("%g", x)
}

// unit names a unit in a message, also the empty one.
func unit(u string) string {
	if u == "" {
		return "no unit"
	}
	return Legible(u, MaxName)
}

func sortedNames(p definition.Point) []string {
	names := make([]string, 0, len(p))
	for name := range p {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
