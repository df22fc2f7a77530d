package tasks

import (
	"fmt"
	"slices"
	"strings"

	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/ground/format"
	"github.com/campaignd/campaignd/internal/ground/units"
	"github.com/campaignd/campaignd/projections/space"
)

// Check compares a campaign's parameters with those of the named test problem,
// and its space with the problem's; here is where the problem is named. The
// campaign may be narrower than the problem, never wider: the problem has no
// value outside. Its space is looked at only where its parameters are right.
func Check(def *definition.Campaign, here definition.Path, name string) []definition.Fault {
	task, ok := Lookup(name)
	if !ok {
		if name == "" {
			return nil
		}
		return []definition.Fault{{
			At:      here,
			Problem: fmt.Sprintf("there is no task %q", name),
			Unknown: name,
			Known:   Names(),
		}}
	}
	var faults []definition.Fault
	for i, p := range def.Parameters {
		faults = append(faults, task.checkParameter(p, definition.At("parameters", i))...)
	}
	var missing []string
	for _, want := range task.Parameters {
		if !slices.ContainsFunc(def.Parameters,
			func(p definition.Parameter) bool { return p.Name == want.Name }) {
			missing = append(missing, want.Name)
		}
	}
	if len(missing) > 0 {
		faults = append(faults, definition.Fault{
			At:      definition.At("parameters"),
			Problem: fmt.Sprintf("the task %s also needs %s", name, strings.Join(missing, ", ")),
			Remedy:  "add what is missing",
		})
	}
	if len(faults) > 0 {
		return faults
	}
	return task.checkSpace(def)
}

// checkParameter compares a campaign's parameter, which is at here, with the
// task's.
func (t Task) checkParameter(p definition.Parameter, here definition.Path) []definition.Fault {
	var faults []definition.Fault
	report := func(at definition.Path, problem, remedy string) {
		faults = append(faults, definition.Fault{At: at, Problem: problem, Remedy: remedy})
	}
	k := slices.IndexFunc(t.Parameters, func(q definition.Parameter) bool { return q.Name == p.Name })
	if k < 0 {
		var names []string
		for _, q := range t.Parameters {
			names = append(names, q.Name)
		}
		return []definition.Fault{{
			At:      here.To("name"),
			Problem: fmt.Sprintf("the task %s has no parameter %q", t.Name, p.Name),
			Unknown: p.Name,
			Known:   names,
		}}
	}
	want := t.Parameters[k]
	if want.Categories != nil {
		return append(faults, t.checkCategories(p, want, here)...)
	}
	if p.Categories != nil {
		report(here, fmt.Sprintf("in the task %s %q is a number", t.Name, p.Name),
			"give it min and max, or values")
		return faults
	}
	if !units.Same(p.Unit, want.Unit) {
		remedy := "write unit: " + want.Unit
		if want.Unit == "" {
			remedy = "remove unit"
		}
		report(here.To("unit"),
			fmt.Sprintf("the task %s has %s in %q, not in %q", t.Name, p.Name, want.Unit, p.Unit), remedy)
	}
	if want.Values != nil {
		remedy := "write values: [" + strings.Join(settings(want.Values), ", ") + "], or some of them"
		if p.Values == nil {
			report(here, fmt.Sprintf("in the task %s %q has values", t.Name, p.Name), remedy)
		}
		for j, v := range p.Values {
			if !slices.Contains(want.Values, v) {
				report(here.To("values", j), format.Setting(v)+" is not one of the task's values", remedy)
			}
		}
		return faults
	}
	within := fmt.Sprintf("the task %s has %s from %s to %s", t.Name, p.Name,
		format.Setting(*want.Min), format.SettingIn(*want.Max, want.Unit))
	bound := func(x *float64, at definition.Path) {
		if x != nil && (*x < *want.Min || *x > *want.Max) {
			report(at, format.Setting(*x)+" is outside the task", within)
		}
	}
	bound(p.Min, here.To("min"))
	bound(p.Max, here.To("max"))
	for j := range p.Values {
		bound(&p.Values[j], here.To("values", j))
	}
	return faults
}

// checkCategories compares a campaign's parameter, which is at here, with a
// categorical one of the task.
func (t Task) checkCategories(
	p, want definition.Parameter, here definition.Path,
) (faults []definition.Fault) {
	var known []string
	for _, c := range want.Categories {
		known = append(known, c.Name)
	}
	remedy := "write categories: [" + strings.Join(known, ", ") + "], or some of them"
	if p.Categories == nil {
		faults = append(faults, definition.Fault{At: here,
			Problem: fmt.Sprintf("in the task %s %q has categories", t.Name, p.Name), Remedy: remedy})
	}
	for j, c := range p.Categories {
		if !slices.Contains(known, c.Name) {
			faults = append(faults, definition.Fault{At: here.To("categories", j),
				Problem: fmt.Sprintf("%q is not one of the task's categories", c.Name), Remedy: remedy})
		}
	}
	return faults
}

// settings writes numbers as a campaign file would.
func settings(values []float64) (list []string) {
	for _, v := range values {
		list = append(list, format.Setting(v))
	}
	return list
}

// checkSpace samples the campaign's space: constraints of the task must follow
// from those of the campaign. Faults of the space itself are reported
// elsewhere. Sixteen points find a constraint that is missing, since without it
// hardly any point satisfies an equality.
func (t Task) checkSpace(def *definition.Campaign) []definition.Fault {
	s, err := space.New(*def)
	if err != nil {
		return nil
	}
	sample, err := s.Sample(16, 1)
	if err != nil {
		return []definition.Fault{{At: definition.At("constraints"), Problem: err.Error()}}
	}
	for _, p := range sample {
		_, err := t.Value(p)
		if err == nil {
			continue
		}
		_, why, _ := strings.Cut(err.Error(), ErrPoint.Error()+": ")
		return []definition.Fault{{
			At: definition.At("constraints"),
			Problem: fmt.Sprintf("the task %s has no value for every composition of this space: %s",
				t.Name, why),
			Remedy: "constrain the campaign as the task is: " + t.constraints(),
		}}
	}
	return nil
}

// constraints writes the task's constraints as a campaign file would.
func (t Task) constraints() string {
	var list []string
	for _, c := range t.Constraints {
		var terms []string
		for _, p := range t.Parameters {
			if coefficient, ok := c.Terms[p.Name]; ok {
				terms = append(terms, p.Name+": "+format.Setting(coefficient))
			}
		}
		sum := "{terms: {" + strings.Join(terms, ", ") + "}"
		sum += side("equals", c.Equals) + side("at_most", c.AtMost) + side("at_least", c.AtLeast)
		list = append(list, sum+"}")
	}
	return "constraints: [" + strings.Join(list, ", ") + "]"
}

// side is empty for a side that the constraint has not.
func side(name string, value *float64) string {
	if value == nil {
		return ""
	}
	return ", " + name + ": " + format.Setting(*value)
}
