package campaignfile

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/ground/format"
	"github.com/campaignd/campaignd/internal/num/formula"
	"github.com/campaignd/campaignd/policies/next"
)

// quantities checks the quantities that a campaign declares: each has a name of its own and a
// range that is not empty, and the objective is described in one place.
func (v *validator) quantities() {
	o := v.def.Objective
	for i, q := range v.def.Quantities {
		here := at("quantities", i)
		if parameterOf(&v.def, q.Name) != nil {
			v.report(here.To("name"), fmt.Sprintf("a parameter is called %q too", q.Name),
				"give the quantity a name of its own")
		}
		if slices.ContainsFunc(v.def.Quantities[:i], func(p definition.QuantityDef) bool { return p.Name == q.Name }) {
			v.report(here.To("name"), fmt.Sprintf("there are two quantities %q", q.Name), "remove one of them")
		}
		v.plausible(here, q.Noise, q.RelativeNoise, q.Min, q.Max)
		if q.Scale == definition.ScaleLog && q.Max != nil && *q.Max <= 0 {
			v.report(here.To("max"), fmt.Sprintf("max %s has no logarithm", format.Setting(*q.Max)),
				"what is modelled by its logarithm is greater than 0")
		}
		v.arrives(here, &q)
		if q.Name != o.Name {
			continue
		}
		if o.Unit != "" || noiseGiven(o) || o.Min != nil || o.Max != nil {
			v.report(at("objective"), fmt.Sprintf("%s is among the quantities, which say its unit, noise and range", o.Name),
				fmt.Sprintf("write objective: {%s: %s}", o.Goal, o.Name))
		}
		if q.Record {
			v.report(here.To("record"), "what the campaign seeks is modelled", "leave record out")
		}
	}
}

// arrives validates the time at which a quantity comes.
func (v *validator) arrives(here path, q *definition.QuantityDef) {
	switch {
	case q.Later() && q.From != "":
		v.report(here.To("arrives"), "what follows from the parameters is known at once", "leave arrives out")
	case !q.Later() && q.AnswerWithin > 0:
		v.report(here.To("answer_within"), "it is of what comes after its experiment has ended",
			"write `arrives: later` too, or leave it out")
	}
}

// formula checks the formula that is sought: it can be computed from quantities
// that are measured and from numeric parameters, in units that go together.
func (v *validator) formula() {
	o, here := v.def.Objective, at("objective", "formula")
	f, err := formula.Parse(o.Formula)
	if err != nil {
		v.formulaFault(here, err)
		return
	}
	if noiseGiven(o) || o.Min != nil || o.Max != nil {
		v.report(at("objective"), "a formula has no noise and no range of its own", "say them of its quantities")
	}
	measured := false
	for _, name := range f.Names() {
		measured = v.compared(here, name) || measured
	}
	if next.ByQuantities(&v.def) {
		v.few(here, f.Names())
	}
	if !measured && len(f.Names()) > 0 {
		v.report(here, "nothing in it is measured", "name a quantity that the campaign declares")
	}
	if _, err := f.Units(unitsOf(&v.def)); err != nil {
		v.formulaFault(here, err)
	}
	v.somewhere(here, f)
}

// somewhere checks that a formula can be a number within the plausible values of its names.
func (v *validator) somewhere(here path, f *formula.Formula) {
	ranges := rangesOf(&v.def, f)
	for _, name := range f.Names() {
		if q := v.def.Quantity(named(name)); q != nil && q.From != "" {
			// Where it has no value itself, that is reported there.
			if from, err := formula.Parse(q.From); err == nil && from.Never(rangesOf(&v.def, from)) == nil {
				ranges[name] = from.Range(rangesOf(&v.def, from))
			}
		}
		if ranges[name].Empty() {
			return // bounds that are exchanged are reported where they stand
		}
	}
	if err := f.Never(ranges); err != nil {
		v.formulaFault(here, err)
	}
}

// rangesOf are the ranges of plausible values of a formula's names.
func rangesOf(def *definition.Campaign, f *formula.Formula) map[string]formula.Range {
	ranges := make(map[string]formula.Range)
	for _, name := range f.Names() {
		ranges[name] = plausibleOf(def, named(name))
	}
	return ranges
}

// named is the quantity or parameter that a name of a formula is of.
func named(name string) string { return strings.TrimPrefix(name, formula.Reference+".") }

// formulaFault reports the fault of a formula, with its column.
func (v *validator) formulaFault(here path, err error) {
	var fault *formula.Fault
	if errors.As(err, &fault) {
		v.report(here, fmt.Sprintf("column %d: %s", fault.Column, fault.Message), fault.Remedy)
		return
	}
	v.report(here, err.Error(), "")
}

// noiseGiven reports whether the noise of the objective is given.
func noiseGiven(o definition.Objective) bool { return o.Noise != nil || o.RelativeNoise != nil }

// plausible validates the noise and the range of measurements, where they are given.
func (v *validator) plausible(here path, noise, relative, lo, hi *float64) {
	if noise != nil && relative != nil {
		v.report(here.To("noise"), "there are two of it", "write noise in the unit or in per cent, and leave relative_noise out")
	}
	if lo != nil && hi != nil && *lo >= *hi {
		v.report(here.To("max"),
			fmt.Sprintf("max %s is not greater than min %s", format.Setting(*hi), format.Setting(*lo)),
			"they bound plausible results: a measurement outside is refused")
	}
	if !finite(noise) || !finite(relative) || !finite(lo) || !finite(hi) {
		v.report(here, "noise, min and max must be finite", "")
	}
}

// refuseQuantity is refuse for a change of the declared quantities: measurements keep their
// meaning. Further ones count with the values reported before.
func refuseQuantity(c events.Change, steps []string) string {
	switch {
	case len(steps) <= 2 && c.From == "":
		return ""
	case len(steps) <= 2:
		return "what was measured of it stays; `record: true` leaves it out of the models"
	case steps[2] == "name":
		return "the values so far are of the quantity of this name; further ones go to the end of the list"
	case steps[2] == "unit":
		return "the values so far are in this unit"
	}
	return ""
}

// refuseObjective is refuse for a change of the objective. Where the campaign declares its
// quantities their values are in the log, and another of them can be sought; measurements of
// the objective keep their unit.
func refuseObjective(old, new *definition.Campaign) string {
	before, after := old.Sought(), new.Quantity(old.Sought().Name)
	switch {
	case before.Computed() && new.Several():
		return "" // it was computed from the log
	case !new.Several():
		return "the measurements so far are of this objective"
	case after == nil:
		return fmt.Sprintf("the measurements so far are of %s: declare it among the quantities", before.Name)
	case after.Unit != before.Unit:
		return "the values so far are in this unit"
	}
	return ""
}
