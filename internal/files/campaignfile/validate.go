package campaignfile

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/files/registry"
	"github.com/campaignd/campaignd/internal/files/yamltree"
	"github.com/campaignd/campaignd/internal/ground/format"
	"github.com/campaignd/campaignd/projections/space"
)

// Validate returns every fault in the meaning of a completed definition (see
// [Complete]), in the order of its fields; none means that the campaign can be
// started. Types, names of fields and single numbers are left to the schema;
// files that the definition names are not opened.
//
// Later checks rely on earlier ones: the space is built only from parameters, constraints and
// regions without a fault.
func Validate(reg registry.Registry, def definition.Campaign) []yamltree.Fault {
	return validate(context.Background(), reg, def)
}

// validate is [Validate] for a caller who may leave: its result is not read once ctx is done.
func validate(ctx context.Context, reg registry.Registry, def definition.Campaign) []yamltree.Fault {
	v := validator{reg: reg, def: def}
	if v.counts(); len(v.faults) > 0 {
		return v.faults
	}
	v.run(described)
	if len(v.faults) == 0 {
		v.space(ctx)
	}
	v.run(planned)
	return v.faults
}

// validator collects faults, in the order of the tables of checks.
type validator struct {
	reg    registry.Registry
	def    definition.Campaign
	points *space.Space // nil where it is not sound
	flow   *flow        // of the procedure; nil where it is not sound
	faults []yamltree.Fault
}

// counts limits the lengths of lists: with more entries checks and models would
// take too long. It comes first, because the other checks compare entries with
// each other.
func (v *validator) counts() {
	most := func(n, limit int, p path, what, advice string) {
		if n > limit {
			v.report(p, fmt.Sprintf("%d %s are more than the %d that are possible", n, what, limit), advice)
		}
	}
	most(len(v.def.Parameters), 1000, at("parameters"), "parameters", "leave out what does not vary")
	most(len(v.def.Constraints), 1000, at("constraints"), "constraints", "")
	most(len(v.def.Excluded), 1000, at("excluded"), "regions", "")
	most(len(v.def.Experts), 1000, at("experts"), "experts", "")
	most(len(v.def.Candidates), 20_000, at("candidates"), "candidates",
		"leave them out: without a list every composition may be measured")
	for i, p := range v.def.Parameters {
		most(len(p.Values), 10_000, at("parameters", i, "values"), "values",
			"give min and max, and the instrument's steps")
		most(len(p.Categories), 1000, at("parameters", i, "categories"), "categories",
			"describe them by a number, or leave out those that are alike")
	}
}

// report adds a fault. Its place in the file is found later (see [placed]).
// Advice is a thing to do, in words of the file; it is empty where there is
// nothing to be said that the fault does not.
func (v *validator) report(p path, problem, advice string) {
	v.faults = append(v.faults, fault(p, problem, advice))
}

// finite is true of a number that is not given.
func finite(x *float64) bool { return x == nil || !(math.IsNaN(*x) || math.IsInf(*x, 0)) }

// parameterOf returns the parameter of that name, or nil.
func parameterOf(def *definition.Campaign, name string) *definition.Parameter {
	for i := range def.Parameters {
		if def.Parameters[i].Name == name {
			return &def.Parameters[i]
		}
	}
	return nil
}

// namesOf returns the names of the parameters for which keep holds. A misspelled name is compared
// with them: only with those that would be right at that place.
func namesOf(def *definition.Campaign, keep func(definition.Parameter) bool) []string {
	var names []string
	for _, p := range def.Parameters {
		if keep(p) {
			names = append(names, p.Name)
		}
	}
	return names
}

// Conditions on parameters, for names.
func numeric(p definition.Parameter) bool    { return p.Categories == nil }
func continuous(p definition.Parameter) bool { return p.Categories == nil && p.Values == nil }
func anyKind(definition.Parameter) bool      { return true }

// parameters checks that each has a name of its own and is of one kind: a
// number between bounds, a list of values, or categories. The details of a kind
// are checked only where the kind is clear: of a parameter that is two of them,
// either half would give faults that are not meant.
func (v *validator) parameters() {
	first := map[string]int{}
	for i, p := range v.def.Parameters {
		here := at("parameters", i)
		if j, twice := first[p.Name]; twice {
			v.report(here.To("name"), fmt.Sprintf("parameter %d is called %q too", j+1, p.Name),
				"give each parameter a name of its own")
		} else {
			first[p.Name] = i
		}
		bounds := p.Min != nil || p.Max != nil
		values := p.Values != nil
		categories := p.Categories != nil
		switch {
		case count(bounds, values, categories) == 0:
			v.report(here, fmt.Sprintf("%q does not say what values it may have", p.Name),
				"give min and max, or values, or categories")
		case count(bounds, values, categories) > 1:
			v.report(here, fmt.Sprintf("%q is of more than one kind", p.Name),
				"keep either min and max, or values, or categories")
		case bounds:
			v.bounds(here, p)
		case values:
			v.values(here, p)
		default:
			v.categories(here, p)
		}
	}
}

// count returns the number of conditions that hold, to check "exactly one of".
func count(conditions ...bool) (n int) {
	for _, c := range conditions {
		if c {
			n++
		}
	}
	return n
}

// bounds checks a number between min and max, which must leave it something to
// vary in.
func (v *validator) bounds(here path, p definition.Parameter) {
	switch {
	case p.Min == nil:
		v.report(here, fmt.Sprintf("%q has a max and no min", p.Name), "give both")
	case p.Max == nil:
		v.report(here, fmt.Sprintf("%q has a min and no max", p.Name), "give both")
	case !finite(p.Min) || !finite(p.Max):
		v.report(here, fmt.Sprintf("the bounds of %q are not finite", p.Name), "")
	case *p.Min == *p.Max:
		v.report(here.To("max"),
			fmt.Sprintf("min and max of %q are both %s", p.Name, format.Setting(*p.Min)),
			"leave a parameter that does not vary out, or give it as values: ["+format.Setting(*p.Min)+"]")
	case *p.Min > *p.Max:
		v.report(here.To("max"),
			fmt.Sprintf("max %s is less than min %s", format.Setting(*p.Max), format.Setting(*p.Min)),
			"exchange them")
	}
}

// values checks a list of numbers. One value is allowed: it holds a parameter
// fixed.
func (v *validator) values(here path, p definition.Parameter) {
	if len(p.Values) == 0 {
		v.report(here.To("values"), "the list is empty", "give the values that "+p.Name+" may have")
	}
	for i, x := range p.Values {
		if !finite(&x) {
			v.report(here.To("values", i), "the value is not finite", "")
		} else if slices.Contains(p.Values[:i], x) {
			v.report(here.To("values", i), fmt.Sprintf("%s stands here twice", format.Setting(x)),
				"remove one of them")
		}
	}
}

// categories checks the names and descriptors. Either every category has the
// same descriptors or none has any: the model measures distances by them.
//
// Categories are compared with the first one, so that a fault names the one that differs and
// the descriptors it should have.
func (v *validator) categories(here path, p definition.Parameter) {
	if len(p.Categories) < 2 {
		v.report(here.To("categories"),
			fmt.Sprintf("%q has %d categories, and needs at least two", p.Name, len(p.Categories)),
			"leave a parameter that does not vary out")
		return
	}
	want := sortedKeys(p.Categories[0].Descriptors)
	for i, c := range p.Categories {
		category := here.To("categories", i)
		if c.Name == "" {
			v.report(category, "a category has no name", "give it one")
		}
		if slices.ContainsFunc(p.Categories[:i],
			func(d definition.CategoryDef) bool { return d.Name == c.Name }) {
			v.report(category, fmt.Sprintf("the category %q stands here twice", c.Name), "remove one of them")
		}
		if got := sortedKeys(c.Descriptors); !slices.Equal(got, want) {
			v.report(category,
				fmt.Sprintf("%q has the descriptors %q, and %q has %q", c.Name, got,
					p.Categories[0].Name, want),
				"give every category of the parameter the same descriptors, or none")
		}
		for _, name := range sortedKeys(c.Descriptors) {
			if x := c.Descriptors[name]; !finite(&x) {
				v.report(category.To("descriptors", name), "the descriptor is not finite", "")
			}
		}
	}
}

// constraints checks that each is one comparison of a sum of numbers. Package space checks
// whether they can hold together.
//
// The terms are checked in the order of their names: a map has no order, and the same file must
// always give the same faults. A coefficient of 0 is refused, since it is mostly a slip and
// never of use.
func (v *validator) constraints() {
	for i, c := range v.def.Constraints {
		here := at("constraints", i)
		if c.Name != "" && slices.ContainsFunc(v.def.Constraints[:i],
			func(d definition.Constraint) bool { return d.Name == c.Name }) {
			v.report(here.To("name"), fmt.Sprintf("another constraint is called %q too", c.Name),
				"give each its own name, or none")
		}
		switch count(c.Equals != nil, c.AtMost != nil, c.AtLeast != nil) {
		case 0:
			v.report(here, "the sum is compared with nothing", "add equals, at_most or at_least")
		case 1:
		default:
			v.report(here, "the sum is compared more than once",
				"keep one of equals, at_most and at_least; write the others as constraints of their own")
		}
		if !finite(c.Equals) || !finite(c.AtMost) || !finite(c.AtLeast) {
			v.report(here, "the number that the sum is compared with is not finite", "")
		}
		if len(c.Terms) == 0 {
			v.report(here.To("terms"), "the constraint has no terms",
				"name parameters with their coefficients, for example terms: {ec: 1, dmc: 1}")
		}
		for _, name := range sortedKeys(c.Terms) {
			coefficient, term := c.Terms[name], here.To("terms", name)
			switch p := parameterOf(&v.def, name); {
			case p == nil:
				v.report(term, fmt.Sprintf("there is no parameter %q", name),
					yamltree.Suggest(name, namesOf(&v.def, numeric)))
			case !numeric(*p):
				v.report(term, fmt.Sprintf("%q is categorical and has no number", name),
					"use an excluded region to forbid a category")
			case !finite(&coefficient):
				v.report(term, "the coefficient is not finite", "")
			case coefficient == 0:
				v.report(term, "the coefficient is 0 and has no effect", "remove the term")
			}
		}
	}
}

// excluded checks that each region names parameters, by an interval or a
// category. A side without an end is open; an interval includes its ends.
//
// The cases go from the parameter to the side: a name that does not exist, a
// side of the wrong kind, and only then its numbers. An interval that ends
// before it begins would exclude nothing, in silence.
func (v *validator) excluded() {
	for i, r := range v.def.Excluded {
		here := at("excluded", i, "where")
		if len(r.Where) == 0 {
			v.report(here, "the region has no sides and would exclude everything",
				"name at least one parameter")
		}
		for _, name := range sortedKeys(r.Where) {
			s, side := r.Where[name], here.To(name)
			p := parameterOf(&v.def, name)
			interval := s.Min != nil || s.Max != nil
			switch {
			case p == nil:
				v.report(side, fmt.Sprintf("there is no parameter %q", name),
					yamltree.Suggest(name, namesOf(&v.def, anyKind)))
			case !numeric(*p) && (interval || s.Is == ""):
				v.report(side, fmt.Sprintf("%q is categorical", name), "write is: and the name of a category")
			case !numeric(*p):
				var names []string
				for _, c := range p.Categories {
					names = append(names, c.Name)
				}
				if !slices.Contains(names, s.Is) {
					v.report(side.To("is"), fmt.Sprintf("%q has no category %q", name, s.Is),
						yamltree.Suggest(s.Is, names))
				}
			case s.Is != "" || !interval:
				v.report(side, fmt.Sprintf("%q is a number", name), "write min and max, or one of them")
			case !finite(s.Min) || !finite(s.Max):
				v.report(side, "the interval is not finite", "leave out the side that has no limit")
			case s.Min != nil && s.Max != nil && *s.Min > *s.Max:
				v.report(side,
					fmt.Sprintf("max %s is less than min %s", format.Setting(*s.Max), format.Setting(*s.Min)),
					"exchange them")
			}
		}
	}
}

// objective checks name, goal and the bounds of plausible results. Its range is
// that of plausible results: a target outside it could never be reached.
func (v *validator) objective() {
	o := v.def.Objective
	if parameterOf(&v.def, o.Name) != nil {
		v.report(at("objective", "name"), fmt.Sprintf("a parameter is called %q too", o.Name),
			"give the objective a name of its own")
	}
	v.plausible(at("objective"), o.Noise, o.RelativeNoise, o.Min, o.Max)
	if o.Goal != definition.Maximize && o.Goal != definition.Minimize {
		v.report(at("objective", "goal"), fmt.Sprintf("the goal is %q", o.Goal), "write maximize or minimize")
	}
}

// space checks that at least one composition can be measured, and that given
// ones can. It sets v.points, which later checks use.
//
// Candidates are checked against the space without them, and only then become
// the space.
func (v *validator) space(ctx context.Context) {
	free := v.def
	free.Candidates = nil
	s, err := space.NewContext(ctx, free)
	if err != nil {
		where := at("parameters")
		switch {
		case len(v.def.Constraints) > 0:
			where = at("constraints")
		case len(v.def.Excluded) > 0:
			where = at("excluded")
		case len(v.def.Instrument.Steps) > 0:
			where = at("instrument", "steps")
		case len(v.def.Steps()) > 0:
			where = at("instruments")
		}
		var infeasible *space.InfeasibleError
		if errors.As(err, &infeasible) && infeasible.Conflict != nil {
			v.report(where,
				"no composition satisfies these together: "+strings.Join(infeasible.Conflict, "; "),
				"relax one of them")
		} else {
			v.report(where, err.Error(), "")
		}
		return
	}
	v.points = s
	before := len(v.faults)
	for i, p := range v.def.Candidates {
		if ctx.Err() != nil {
			return
		}
		if err := s.Contains(p); err != nil {
			v.report(at("candidates", i), reason(err), "correct or remove the candidate")
		}
	}
	if len(v.def.Candidates) > 0 && len(v.faults) == before {
		if s, err := space.NewContext(ctx, v.def); err == nil {
			v.points = s
		}
	}
}

// reason is an error of space.Contains without the prefix that all of them
// share.
func reason(err error) string {
	return strings.TrimPrefix(err.Error(), space.ErrOutside.Error()+": ")
}

// sortedKeys are the keys of a map in order: faults and changes never follow a
// map's.
func sortedKeys[V any](m map[string]V) []string {
	names := make([]string, 0, len(m))
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
