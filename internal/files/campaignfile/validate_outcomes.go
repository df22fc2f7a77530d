package campaignfile

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/ground/computed"
	"github.com/campaignd/campaignd/internal/ground/format"
	"github.com/campaignd/campaignd/internal/num/formula"
	"github.com/campaignd/campaignd/policies"
	"github.com/campaignd/campaignd/policies/next"
)

// outcomes validates the quantities that follow from the parameters, and that the objective is
// of one sort.
func outcomes(v *validator) {
	for i := range v.def.Quantities {
		if v.def.Quantities[i].From != "" {
			v.follows(i)
		}
	}
	o := v.def.Objective
	if count(o.Formula != "", len(o.Desirability) > 0, len(o.Tradeoff) > 0, o.Preference != nil) > 1 {
		v.report(at("objective"), "it seeks more than one thing", "keep one of formula, desirability, tradeoff and preference")
	}
}

// outcomeConstraints validates the reference and the constraints on outcomes, each and all of
// them together, and that what they compare is modelled in its own unit.
func outcomeConstraints(v *validator) {
	if v.def.SeveralMatter() && v.def.Model.Tails == definition.TailsCompress {
		v.report(at("model", "tails"), "a constraint, a trade-off or a preference compares a quantity in its own unit", "write tails: keep, or leave it out")
	}
	v.reference()
	before := len(v.faults)
	for i, c := range v.def.ConstraintsOnOutcomes {
		here := at("constraints_on_outcomes", i, "require")
		if measured, sound := v.requirement(here, c.Require); sound && !measured && !computed.Known(&v.def, c) {
			v.report(here, "no quantity stands in it", "a constraint on parameters stands under constraints, or as an excluded region")
		}
	}
	if len(v.faults) == before {
		v.together()
	}
}

// follows validates a quantity that is declared to follow from the parameters.
func (v *validator) follows(i int) {
	q, here := v.def.Quantities[i], at("quantities", i)
	f, err := formula.Parse(q.From)
	if err != nil {
		v.formulaFault(here.To("from"), err)
		return
	}
	for _, name := range f.Names() {
		p := parameterOf(&v.def, name)
		switch {
		case p == nil:
			v.report(here.To("from"), fmt.Sprintf("%s is not a parameter", name),
				"it can follow from numeric parameters alone; what is computed from measured quantities is an objective or a constraint")
		case len(p.Categories) > 0:
			v.report(here.To("from"), fmt.Sprintf("%s is not a number", name), "leave it out of the formula")
		}
	}
	v.somewhere(here.To("from"), f)
	if q.Noise != nil || q.RelativeNoise != nil || q.Scale != "" || q.Record || q.Min != nil || q.Max != nil {
		v.report(here, fmt.Sprintf("%s follows from the parameters, and is never measured", q.Name),
			"leave noise, scale, record, min and max out; a bound on it stands under constraints_on_outcomes, or is worst in a trade-off")
	}
	if q.Name == v.def.Objective.Name && v.def.Single() {
		v.report(at("objective", "name"), fmt.Sprintf("%s follows from the parameters: there is nothing to be measured", q.Name),
			"seek a quantity that is measured")
	}
}

// compared checks a name within an objective or a constraint: it is that of a
// quantity that is modelled or follows from the parameters, or of a numeric
// parameter.
func (v *validator) compared(here path, name string) (measured bool) {
	q, p := v.def.Quantity(name), parameterOf(&v.def, name)
	switch {
	case q != nil && q.Record:
		v.report(here, fmt.Sprintf("%s is recorded, and not modelled", name), "leave record out, or the quantity out of this")
	case p != nil && len(p.Categories) > 0:
		v.report(here, fmt.Sprintf("%s is not a number", name), "leave it out of this")
	case q == nil && p == nil:
		v.report(here, fmt.Sprintf("%s is neither a quantity nor a parameter", name),
			"declare it: quantities: [{name: "+name+", unit: …}]")
	}
	return q != nil && q.From == ""
}

// few checks that a computed objective does not depend on more measured quantities than can be
// computed with.
func (v *validator) few(here path, names []string) {
	if n := computed.Measured(&v.def, names); n > computed.MostQuantities {
		v.report(here, fmt.Sprintf("it is of %d measured quantities, and at most %d are possible", n, computed.MostQuantities),
			"leave out those that matter least, or name them one by one in constraints")
	}
}

// desirability validates the desirability of each quantity: two ends between which its worth
// rises, within the plausible range.
func (v *validator) desirability() {
	o := v.def.Objective
	if o.Goal != definition.Maximize {
		v.report(at("objective", "goal"), "a desirability is maximized", "turn from and to over in place of the goal")
	}
	sound, measured := true, false
	for i, d := range o.Desirability {
		here := at("objective", "desirability", i)
		measured = v.compared(here.To("quantity"), d.Quantity) || measured
		if d.From == nil || d.To == nil || !finite(d.From) || !finite(d.To) {
			v.report(here, "it needs two ends, from and to", "write from where it is worth nothing, and to where it is worth all")
			sound = false
			continue
		}
		if q := v.def.Quantity(d.Quantity); q != nil && outside(q, *d.From, *d.To) {
			v.report(here, fmt.Sprintf("from %s to %s lies outside the plausible values of %s",
				format.Setting(*d.From), format.SettingIn(*d.To, q.Unit), d.Quantity), "correct it, or min and max of the quantity")
		}
		if _, _, err := computed.Desirability(o.Desirability[i : i+1]); err != nil {
			v.report(here, "its ends do not follow one another", "write from < best[0] <= best[1] < to, or from and to that differ")
			sound = false
		}
	}
	if sound && next.ByQuantities(&v.def) {
		v.few(at("objective", "desirability"), computed.Names(o))
	}
	if sound && !measured {
		v.report(at("objective", "desirability"), "nothing in it is measured", "name a quantity that the campaign measures")
	}
}

// outside reports whether no plausible value lies between two ends: then all are
// worth the same.
func outside(q *definition.QuantityDef, from, to float64) bool {
	return q.Min != nil && max(from, to) <= *q.Min || q.Max != nil && min(from, to) >= *q.Max
}

// tradeoff checks the aims of a trade-off, and that the policy can work on one.
func (v *validator) tradeoff() {
	aims, here := v.def.Tradeoff(), at("objective", "tradeoff")
	measured := false
	for i, a := range aims {
		if slices.ContainsFunc(aims[:i], func(b definition.Aim) bool { return a.Name == b.Name }) {
			v.report(here.To(i, "name"), fmt.Sprintf("%s stands twice", a.Name), "leave one of them out")
		}
		q := v.def.Quantity(a.Name)
		switch {
		case q == nil:
			v.report(here.To(i, "name"), fmt.Sprintf("%s is not a declared quantity", a.Name),
				"a trade-off is between declared quantities; declare what follows from the parameters with from")
			continue
		case q.Record:
			v.report(here.To(i, "name"), fmt.Sprintf("%s is recorded, and not modelled", a.Name), "leave record out")
		case q.Scale == definition.ScaleLog && a.Worst != nil && *a.Worst <= 0:
			v.report(here.To(i, "worst"), fmt.Sprintf("worst %s has no logarithm", format.Setting(*a.Worst)),
				"what is modelled by its logarithm is greater than 0")
		}
		measured = measured || q.From == ""
		v.worst(here.To(i, "worst"), q, a)
	}
	if !measured {
		v.report(here, "nothing in it is measured", "name a quantity that the campaign measures")
	}
	v.tradeoffPolicy(aims)
}

// worst checks that some plausible value is better than the worst of interest.
func (v *validator) worst(here path, q *definition.QuantityDef, a definition.Aim) {
	if a.Worst == nil {
		return
	}
	o := v.def.ObjectiveOf(a)
	best := o.Max
	if o.Goal == definition.Minimize {
		best = o.Min
	}
	if best != nil && !o.Better(*best, *a.Worst) {
		v.report(here, fmt.Sprintf("no plausible value of %s is better than %s", q.Name, format.SettingIn(*a.Worst, q.Unit)),
			"correct it, or min and max of the quantity")
	}
}

// boundOf is an example of a bound on a quantity.
func boundOf(o definition.Objective) string {
	return o.Name + " " + o.Pick(">=", "<=") + " …"
}

// tradeoffPolicy checks that the policy works on trade-offs: the others compare
// values of one quantity.
func (v *validator) tradeoffPolicy(aims []definition.Aim) {
	p := v.def.Policy
	if rule, known := v.next(); known && !rule.Tradeoff {
		v.report(at("policy", "next"), fmt.Sprintf("%s seeks one value, and the objective is a trade-off", p.Next.Name),
			"write lognehvi, sobol or random, or seek a formula, a desirability or one quantity")
	}
	v.tradeoffExperts()
	if v.def.Stop.Target != nil || v.def.Stop.Window != 0 {
		v.report(at("stop"), "a trade-off has no single best value",
			"leave window out, and write bounds as the target: target: ["+boundOf(v.def.ObjectiveOf(aims[0]))+", …]")
	}
}

// tradeoffExperts checks that experts are asked for answers that are informative about a
// trade-off: numbers of its quantities. Labels and choices of whole compositions have no place
// in it.
func (v *validator) tradeoffExperts() {
	const (
		whole  = "an answer about the whole says nothing of a single objective of a trade-off"
		remedy = "seek what an expert prefers, objective: {preference: {over: […]}}, or ask for numbers of the quantities: " +
			"give each expert quantities: […], and leave labels, comparisons and handover out"
	)
	p, in := v.def.Policy, v.def.Initial
	switch {
	case p.Trust.Name == policies.None:
	case p.Trust.Name != defaultTrust:
		v.report(at("policy", "trust"), whole, remedy)
	case p.Handover.Name != policies.Never:
		v.report(at("policy", "handover"), whole, remedy)
	case in.Labels != nil && *in.Labels > 0:
		v.report(at("initial", "labels"), whole, remedy)
	case in.Comparisons != nil && *in.Comparisons > 0:
		v.report(at("initial", "comparisons"), whole, remedy)
	default:
		for i, e := range v.def.Experts {
			if len(e.Quantities) == 0 {
				v.report(at("experts", i), whole, remedy)
			}
		}
	}
}

// reference validates the composition that constraints compare with.
func (v *validator) reference() {
	r := v.def.Reference
	switch {
	case r.IsZero():
	case r.Experiment != "" && r.Composition != nil:
		v.report(at("reference"), "it is an experiment and a composition", "keep one of them")
	case r.Composition != nil:
		here := at("reference", "composition")
		for i := range v.def.Parameters {
			p := &v.def.Parameters[i]
			value, given := r.Composition[p.Name]
			_, number := value.Float()
			if !given || number == categorical(*p) || categorical(*p) && !hasCategory(*p, value.Name()) {
				v.report(here, fmt.Sprintf("%s has no value that it can have", p.Name),
					"give every parameter: {composition: {"+p.Name+": …}}")
			}
		}
		for _, name := range sortedKeys(r.Composition) {
			if parameterOf(&v.def, name) == nil {
				v.report(here.To(name), fmt.Sprintf("%s is not a parameter", name), "correct its name, or leave it out")
			}
		}
	}
}

// hasCategory reports whether a parameter has a category of that name.
func hasCategory(p definition.Parameter, name string) bool {
	return slices.ContainsFunc(p.Categories, func(c definition.CategoryDef) bool { return c.Name == name })
}

// requirement checks a constraint on outcomes, or a bound of the target: it can be read, units
// go together, and it can be kept and broken. It reports whether something in it is measured,
// and whether it is free of faults.
func (v *validator) requirement(here path, require string) (measured, sound bool) {
	if !v.def.Measures() {
		v.report(here, "nothing is measured where experts' comparisons are the objective", "leave it out")
		return false, false
	}
	r, err := formula.ParseRelation(require)
	if err != nil {
		v.formulaFault(here, err)
		return false, false
	}
	faults := len(v.faults)
	for _, name := range r.Excess().Names() {
		of, relative := strings.CutPrefix(name, formula.Reference+".")
		if relative && v.def.Reference.IsZero() {
			v.report(here, "there is no reference to compare with",
				"say which: reference: {experiment: e1}, or reference: {composition: {…}}")
		}
		measured = v.compared(here, of) && !relative || measured
	}
	if len(v.faults) > faults {
		return measured, false
	}
	v.few(here, r.Excess().Names())
	if err := r.Units(unitsOf(&v.def)); err != nil {
		v.formulaFault(here, err)
		return measured, false
	}
	if v.somewhere(here, r.Excess()); len(v.faults) > faults {
		return measured, false
	}
	switch possible, certain := r.Within(rangesOf(&v.def, r.Excess())); {
	case !possible:
		v.report(here, "no plausible value keeps it", "correct it, or min and max of its quantities")
	case certain:
		v.report(here, "every plausible value keeps it", "leave it out, or correct min and max of its quantities")
	}
	return measured, len(v.faults) == faults
}

// plausibleOf is the range of plausible values of a quantity or a parameter.
func plausibleOf(def *definition.Campaign, name string) formula.Range {
	everything := formula.Range{Lower: math.Inf(-1), Upper: math.Inf(1)}
	narrow := func(lo, hi *float64) formula.Range {
		r := everything
		if lo != nil {
			r.Lower = *lo
		}
		if hi != nil {
			r.Upper = *hi
		}
		return r
	}
	if q := def.Quantity(name); q != nil {
		r := narrow(q.Min, q.Max)
		if q.Scale == definition.ScaleLog {
			r.Lower = max(r.Lower, 0x1p-1000) // greater than 0, and so far from it that rounding does not reach it
		}
		return r
	}
	switch p := parameterOf(def, name); {
	case p == nil:
		return everything
	case len(p.Values) > 0:
		return formula.Range{Lower: slices.Min(p.Values), Upper: slices.Max(p.Values)}
	default:
		return narrow(p.Min, p.Max)
	}
}

// together checks that some plausible value of each quantity keeps all bounds on
// it, and is better than the worst of interest.
func (v *validator) together() {
	bounds := make(map[string]formula.Range)
	for i, c := range v.def.ConstraintsOnOutcomes {
		r, err := formula.RelationOf(c.Require)
		if err != nil {
			continue // it is reported
		}
		name, bound, ok := r.Bound()
		if !ok || v.def.Quantity(name) == nil {
			continue
		}
		all, before := bounds[name]
		if !before {
			all = plausibleOf(&v.def, name)
		}
		all = formula.Range{Lower: max(all.Lower, bound.Lower), Upper: min(all.Upper, bound.Upper)}
		if bounds[name] = all; all.Empty() {
			v.report(at("constraints_on_outcomes", i, "require"),
				fmt.Sprintf("no value of %s keeps it and the other bounds on it", name), "relax one of them")
			return
		}
	}
	for i, a := range v.def.Tradeoff() {
		r, bounded := bounds[a.Name]
		if a.Worst == nil || !bounded {
			continue
		}
		best := r.Upper
		if a.Goal == definition.Minimize {
			best = r.Lower
		}
		if !v.def.ObjectiveOf(a).Better(best, *a.Worst) {
			v.report(at("objective", "tradeoff", i, "worst"),
				fmt.Sprintf("no value of %s that is better keeps the constraints on it", a.Name), "correct it, or the constraints")
		}
	}
}
