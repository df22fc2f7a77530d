package instruments

import (
	"errors"
	"fmt"
	"math"
)

// CheckDescription reports the faults of a description, whatever the campaign: missing parts, and
// parts that could not be recorded. The instrument's name is part of every event about its
// experiments: a name that the log rejects would lose the first result. [Compatible] includes this
// check.
func CheckDescription(d Description) error {
	var faults []error
	fault := func(format string, args ...any) { faults = append(faults, fmt.Errorf(format, args...)) }
	named := func(what, text string, most int) {
		if why := checkName(text, most); why != "" {
			fault("%s %s %s: the log could not hold it", what, quoted(text), why)
		}
	}
	if d.Name == "" {
		fault("it has no name")
	}
	named("its name", d.Name, MaxName)
	named("its identity", d.Identity, MaxIdentity)
	if d.Capacity < 1 {
		fault("its capacity is %d, the least is 1", d.Capacity)
	}
	seen := map[string]bool{}
	for _, p := range d.Parameters {
		name := quoted(p.Name)
		switch {
		case p.Name == "":
			fault("a parameter has no name")
		case seen[p.Name]:
			fault("it describes the parameter %s twice", name)
		}
		seen[p.Name] = true
		named("the parameter", p.Name, MaxName)
		named("the unit of parameter "+name, p.Unit, MaxName)
		for _, c := range p.Categories {
			named("of parameter "+name+" the category", c, MaxName)
		}
		if p.Min != nil && p.Max != nil && !(*p.Min <= *p.Max) {
			fault("parameter %s has limits %g to %g", name, *p.Min, *p.Max)
		}
		if !(p.Step >= 0) || math.IsInf(p.Step, 0) {
			fault("parameter %s has step %g", name, p.Step)
		}
	}
	clear(seen)
	for _, o := range d.Outputs {
		switch {
		case o.Name == "":
			fault("an output has no name")
		case seen[o.Name]:
			fault("it describes the output %s twice", quoted(o.Name))
		}
		seen[o.Name] = true
		named("the output", o.Name, MaxName)
		named("the unit of output "+quoted(o.Name), o.Unit, MaxName)
	}
	return errors.Join(faults...)
}
