package definition_test

import (
	"slices"
	"testing"

	"github.com/campaignd/campaignd/events/definition"
)

// complete is a definition that says all that an event's must, and no more; measuring is
// whether something is measured in it.
func complete(measuring bool) definition.Campaign {
	no, none := false, 0
	d := definition.Campaign{
		Name:       "electrolyte",
		Parameters: []definition.Parameter{{Name: "salt"}},
		Objective:  definition.Objective{Name: "conductivity", Goal: definition.Maximize},
		Model:      definition.Model{Kernel: "rbf"},
		Replicates: 1,
		Parallel:   1,
		Initial:    definition.Initial{Design: definition.DesignSobol, Experiments: &none, Labels: &none, Comparisons: &none, Balanced: &no},
		Experts:    []definition.Expert{{Name: "ada"}},
	}
	if !measuring {
		d.Policy.Duel = definition.NewChoice("eubo", nil)
		d.Budget.Comparisons = 1
		return d
	}
	d.Budget.Experiments = 1
	d.Instrument.Driver = definition.NewChoice("manual", nil)
	d.Outliers.Action = definition.OutlierIgnore
	d.Model.Feasibility = &no
	d.Policy.Next = definition.NewChoice("lcb", nil)
	d.Policy.Trust = definition.NewChoice("none", nil)
	d.Policy.Handover = definition.NewChoice("never", nil)
	return d
}

// Law: an event's definition lacks just what no default was written out for: what has one,
// or is required, of the settings that its kind of campaign reads.
func TestMissing(t *testing.T) {
	// In every campaign, where something is measured, and where nothing is.
	both, measuring, dueling := []bool{true, false}, []bool{true}, []bool{false}
	for _, c := range []struct {
		in     []bool // what measures
		change func(*definition.Campaign)
		want   string // the one path; empty: nothing is missing
	}{
		{both, func(*definition.Campaign) {}, ""},
		{both, func(d *definition.Campaign) { d.Name = "" }, "name"},
		{both, func(d *definition.Campaign) { d.Parameters = nil }, "parameters"},
		{both, func(d *definition.Campaign) { d.Objective.Name = "" }, "objective/name"},
		{both, func(d *definition.Campaign) { d.Objective.Goal = "" }, "objective/goal"},
		{both, func(d *definition.Campaign) { d.Model.Kernel = "" }, "model/kernel"},
		{both, func(d *definition.Campaign) { d.Replicates = 0 }, "replicates"},
		{both, func(d *definition.Campaign) { d.Parallel = 0 }, "parallel"},
		{both, func(d *definition.Campaign) { d.Initial.Design = "" }, "initial/design"},
		{both, func(d *definition.Campaign) { d.Initial.Experiments = nil }, "initial/experiments"},
		{both, func(d *definition.Campaign) { d.Initial.Labels = nil }, "initial/labels"},
		{both, func(d *definition.Campaign) { d.Initial.Comparisons = nil }, "initial/comparisons"},
		{both, func(d *definition.Campaign) { d.Initial.Balanced = nil }, "initial/balanced"},
		{both, func(d *definition.Campaign) { d.Experts = nil }, ""},
		{both, func(d *definition.Campaign) { d.Experts = append(d.Experts, definition.Expert{}) }, "experts/name"},
		{both, func(d *definition.Campaign) { d.Stop.Window = 1 }, "stop/improvement"},
		{measuring, func(d *definition.Campaign) {
			d.ReferenceExperiments = map[string]definition.ReferenceExperiment{"a": {Every: 1}}
		}, "reference_experiments/a/composition"},
		{measuring, func(d *definition.Campaign) {
			d.ReferenceExperiments = map[string]definition.ReferenceExperiment{"a": {Composition: definition.Point{}}}
		}, "reference_experiments/a/every"},
		{measuring, func(d *definition.Campaign) {
			d.ReferenceExperiments = map[string]definition.ReferenceExperiment{"a": {
				Composition: definition.Point{}, Within: 1, Limits: map[string]definition.ControlLimits{"y": {Target: 1}},
			}}
		}, "reference_experiments/a/limits/y/tolerance"},
		{both, func(d *definition.Campaign) { d.Stop.Window, d.Stop.Improvement = 1, new(float64) }, ""},
		{both, func(d *definition.Campaign) { d.Stop.Hypervolume.Window = 1 }, "stop/hypervolume/improvement"},

		{measuring, func(d *definition.Campaign) { d.Budget.Experiments = 0 }, "budget/experiments"},
		{measuring, func(d *definition.Campaign) { d.Instrument.Driver = definition.Choice{} }, "instrument"},
		{measuring, func(d *definition.Campaign) { d.Outliers.Action = "" }, "outliers/action"},
		{measuring, func(d *definition.Campaign) { d.Outliers.Action = definition.OutlierRepeat }, "outliers/threshold"},
		{measuring, func(d *definition.Campaign) { d.Outliers.Action = definition.OutlierFlag }, "outliers/threshold"},
		{measuring, func(d *definition.Campaign) {
			d.Outliers = definition.Outliers{Action: definition.OutlierFlag, Threshold: new(float64)}
		}, ""},
		{measuring, func(d *definition.Campaign) { d.Model.Feasibility = nil }, "model/feasibility"},
		{measuring, func(d *definition.Campaign) { d.Policy.Next = definition.Choice{} }, "policy/next"},
		{measuring, func(d *definition.Campaign) { d.Policy.Trust = definition.Choice{} }, "policy/trust"},
		{measuring, func(d *definition.Campaign) { d.Policy.Handover = definition.Choice{} }, "policy/handover"},

		{dueling, func(d *definition.Campaign) { d.Budget.Comparisons = 0 }, "budget/comparisons"},
	} {
		for _, measures := range c.in {
			d := complete(measures)
			c.change(&d)
			var want []string
			if c.want != "" {
				want = []string{c.want}
			}
			if got := d.Missing(); !slices.Equal(got, want) {
				t.Errorf("measuring %t, without %q: missing %q", measures, c.want, got)
			}
		}
	}
}
