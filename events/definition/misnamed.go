package definition

import "fmt"

// Misnamed says which names of the definition an event cannot hold: those by which
// one part refers to another that there is not, and those that two parts have. What
// reads a definition finds its parts by their names. It is for events, as
// [Campaign.Missing] is; what else is wrong with a campaign file the validation of
// files says. Formulas are read where they are used.
func (d *Campaign) Misnamed() (faults []string) {
	twice := func(path string, names []string) map[string]bool {
		known := make(map[string]bool, len(names))
		for i, name := range names {
			if name == "" || known[name] {
				faults = append(faults, fmt.Sprintf("%s/%d/name %q", path, i, name))
			}
			known[name] = true
		}
		return known
	}
	parameters := twice("parameters",
		namesOf(d.Parameters, func(p Parameter) string { return p.Name }))
	twice("experts", namesOf(d.Experts, func(e Expert) string { return e.Name }))
	quantities := twice("quantities",
		namesOf(d.Quantities, func(q QuantityDef) string { return q.Name }))
	refers := func(known map[string]bool, path, name string) {
		if !known[name] {
			faults = append(faults, fmt.Sprintf("%s %q", path, name))
		}
	}
	if !d.Single() {
		refers(quantities, "objective/name", d.Objective.Name)
	}
	for i, a := range d.Objective.Tradeoff {
		refers(quantities, fmt.Sprintf("objective/tradeoff/%d/name", i), a.Name)
	}
	for i, name := range d.Preferred() {
		refers(quantities, fmt.Sprintf("objective/preference/over/%d", i), name)
	}
	for i, desire := range d.Objective.Desirability {
		refers(quantities, fmt.Sprintf("objective/desirability/%d/quantity", i), desire.Quantity)
	}
	if !d.Fidelity.IsZero() {
		refers(parameters, "fidelity/parameter", d.Fidelity.Parameter)
	}
	return faults
}

// namesOf are the names of parts.
func namesOf[T any](parts []T, name func(T) string) []string {
	names := make([]string, len(parts))
	for i, p := range parts {
		names[i] = name(p)
	}
	return names
}
