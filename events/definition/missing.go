package definition

import (
	"maps"
	"slices"
)

// Missing names the settings that an event's definition must have and this one
// lacks, as paths such as "initial/experiments". In an event every default is
// written out, and what reads a definition relies on it: one that lacks a
// setting was not written by campaignd, or was changed. The settings of a
// choice are its owner's business.
func (d *Campaign) Missing() []string {
	var m missing
	m.unless(d.Name != "", "name")
	m.unless(len(d.Parameters) > 0, "parameters")
	m.unless(d.Objective.Name != "", "objective/name")
	m.unless(d.Objective.Goal != "", "objective/goal")
	m.unless(d.Model.Kernel != "", "model/kernel")
	m.unless(d.Replicates > 0, "replicates")
	m.unless(d.Parallel > 0, "parallel")
	m.unless(d.Initial.Design != "", "initial/design")
	m.unless(d.Initial.Experiments != nil, "initial/experiments")
	m.unless(d.Initial.Labels != nil, "initial/labels")
	m.unless(d.Initial.Comparisons != nil, "initial/comparisons")
	m.unless(d.Initial.Balanced != nil, "initial/balanced")
	for _, e := range d.Experts {
		m.unless(e.Name != "", "experts/name")
	}
	if d.Stop.Window > 0 {
		m.unless(d.Stop.Improvement != nil, "stop/improvement")
	}
	if d.Stop.Hypervolume.Window > 0 {
		m.unless(d.Stop.Hypervolume.Improvement != nil, "stop/hypervolume/improvement")
	}
	if !d.Measures() {
		m.unless(d.Budget.Comparisons > 0, "budget/comparisons")
		return m
	}
	m.unless(d.Budget.Experiments > 0, "budget/experiments")
	for name, r := range d.References() {
		m.unless(r.Composition != nil, "reference_experiments/"+name+"/composition")
		m.unless(r.Every > 0 || r.Within > 0, "reference_experiments/"+name+"/every")
		for _, quantity := range slices.Sorted(maps.Keys(r.Limits)) {
			m.unless(r.Limits[quantity].Tolerance > 0, "reference_experiments/"+name+"/limits/"+quantity+"/tolerance")
		}
	}
	m.unless(!d.Instrument.Driver.IsZero() || len(d.Procedure) > 0, "instrument")
	m.unless(d.Outliers.Action != "", "outliers/action")
	m.unless(d.Model.Feasibility != nil, "model/feasibility")
	if a := d.Outliers.Action; a == OutlierRepeat || a == OutlierFlag {
		m.unless(d.Outliers.Threshold != nil, "outliers/threshold")
	}
	m.unless(!d.Policy.Next.IsZero(), "policy/next")
	m.unless(!d.Policy.Trust.IsZero(), "policy/trust")
	m.unless(!d.Policy.Handover.IsZero(), "policy/handover")
	return m
}

// missing collects paths.
type missing []string

func (m *missing) unless(there bool, path string) {
	if !there {
		*m = append(*m, path)
	}
}
