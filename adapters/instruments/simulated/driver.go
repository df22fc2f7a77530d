package simulated

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/campaignd/campaignd/adapters/instruments"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/ground/format"
	"github.com/campaignd/campaignd/internal/ground/units"
	"github.com/campaignd/campaignd/internal/study/tasks"
)

// Name of the driver in a campaign file.
const Name = "simulated"

// Driver is the program's row for this instrument.
var Driver = instruments.Driver{
	Name:     Name,
	Settings: func() definition.Settings { return new(Settings) },
	Open: func(_ context.Context, def definition.Campaign, _ instruments.Environment) (instruments.Instrument, error) {
		settings, err := SettingsOf(def)
		if err != nil {
			return nil, err
		}
		return New(settings, def)
	},
	Identify: func(def definition.Campaign) (string, bool) {
		settings, _ := SettingsOf(def)
		return named(settings.Task), true
	},
}

// Settings of a test problem of internal/study/tasks behind an instrument's contract.
// What it answers is a function of the campaign's seed and the command. In a
// campaign file a bare text stands for the task.
type Settings struct {
	// Task is the test problem: "electrolyte", "ackley4", "branin", … Absent only at an instrument
	// of a procedure that measures nothing: it takes its time and is done.
	Task string `json:"task,omitempty"`
	// Noise is the standard deviation added to each result, in its unit.
	// Default 0.
	Noise float64 `json:"noise,omitempty" jsonschema:"minimum=0"`
	// Noises are the standard deviations added to the further quantities of the
	// task, by their names, in their units. Default 0.
	Noises map[string]float64 `json:"noises,omitempty"`
	// RelativeNoises are standard deviations that are added as parts of the value,
	// 0.02 for 2 per cent, by the names of quantities, the objective among them.
	// Default 0.
	RelativeNoises map[string]float64 `json:"relative_noises,omitempty"`
	// Latency of each measurement, for example "50ms". Default 0.
	Latency definition.Duration `json:"latency,omitempty"`
	// FailureRate is the probability that an experiment fails. Default 0.
	FailureRate float64 `json:"failure_rate,omitempty" jsonschema:"minimum=0,maximum=1"`
	// Infeasible lists regions whose compositions cannot be measured.
	Infeasible []definition.Region `json:"infeasible,omitempty"`
	// OutlierRate is the probability that a result is silently wrong. Default
	// 0.
	OutlierRate float64 `json:"outlier_rate,omitempty" jsonschema:"minimum=0,maximum=1"`
}

// SettingsOf returns the settings in a definition that names a simulation.
func SettingsOf(def definition.Campaign) (Settings, error) {
	return definition.SettingsOf[Settings](def.Driver())
}

// named is the name of an instrument by its task.
func named(task string) string { return Name + "/" + cmp.Or(task, "nothing") }

// Short is the setting that a bare value stands for.
func (*Settings) Short() string { return "task" }

// Choose returns the choice of this driver with its settings.
func Choose(s Settings) definition.Choice { return definition.NewChoice(Name, s) }

// Confined implements definition.Confined.
func (*Settings) Confined() bool { return true }

// Complete implements definition.Settings.
func (*Settings) Complete(*definition.Campaign) {}

// Check implements definition.Settings.
func (s *Settings) Check(def *definition.Campaign, here definition.Path) []definition.Fault {
	if len(def.Declared()) == 0 { // nothing is measured
		return nil
	}
	if s.Task == "" {
		return []definition.Fault{{At: here, Problem: `"task" is missing`,
			Remedy: "name the test problem, as in simulated: electrolyte"}}
	}
	faults := tasks.Check(def, here.To("task"), s.Task)
	task, ok := tasks.Lookup(s.Task)
	if !ok {
		return faults
	}
	if def.Several() {
		return append(faults, s.checkQuantities(def)...)
	}
	o, want := def.Sought(), task.Objective
	report := func(field, problem, remedy string) {
		faults = append(faults, definition.Fault{
			At:      definition.At("objective", field),
			Problem: problem,
			Remedy:  remedy,
		})
	}
	if o.Name != want.Name {
		report("name", fmt.Sprintf("the task %s measures %q, not %q", s.Task, want.Name, o.Name),
			"write name: "+want.Name)
	}
	if !units.Same(o.Unit, want.Unit) {
		report("unit", fmt.Sprintf("the task %s answers in %q, not in %q", s.Task, want.Unit, o.Unit),
			"write unit: "+want.Unit)
	}
	if o.Goal != want.Goal {
		report("goal", fmt.Sprintf("the task %s is there to be %sd", s.Task, want.Goal),
			"write goal: "+want.Goal)
	}
	return faults
}

// checkQuantities finds the declared quantities that the task does not give.
func (s *Settings) checkQuantities(def *definition.Campaign) (faults []definition.Fault) {
	outputs := outputsOf(s.Task)
	var names []string
	for _, o := range outputs {
		names = append(names, o.Name)
	}
	for _, q := range def.Declared() {
		here := definition.At("objective", "name")
		i := slices.IndexFunc(def.Quantities,
			func(p definition.QuantityDef) bool { return p.Name == q.Name })
		if i >= 0 {
			here = definition.At("quantities", i)
		}
		o := slices.IndexFunc(outputs, func(o instruments.OutputSpec) bool { return o.Name == q.Name })
		switch {
		case o < 0:
			faults = append(faults, definition.Fault{
				At: here, Problem: fmt.Sprintf("the task %s does not give %q", s.Task, q.Name),
				Remedy: "it gives " + format.List(names...),
			})
		case !units.Same(outputs[o].Unit, q.Unit):
			faults = append(faults, definition.Fault{
				At: here, Problem: fmt.Sprintf("the task %s gives %s in %q, not in %q",
					s.Task, q.Name, outputs[o].Unit, q.Unit),
				Remedy: "write unit: " + outputs[o].Unit,
			})
		}
	}
	return faults
}

// outputsOf are the quantities that a task gives: its objective, and those of the
// problem of the same name with several objectives.
func outputsOf(name string) []instruments.OutputSpec {
	task, ok := tasks.Lookup(name)
	if !ok {
		return nil
	}
	outputs := []instruments.OutputSpec{instruments.OutputOf(task.Objective)}
	tradeoff, _ := tasks.LookupTradeoff(name)
	for _, o := range tradeoff.Objectives {
		if o.Name != outputs[0].Name {
			outputs = append(outputs, instruments.OutputSpec{Name: o.Name, Unit: o.Unit})
		}
	}
	return outputs
}

// Words implements definition.Settings.
func (s *Settings) Words(def *definition.Campaign) string {
	if s.Task == "" {
		return "a simulation that measures nothing"
	}
	text := "a simulation of " + s.Task
	if s.Noise > 0 {
		text += fmt.Sprintf(" with noise of standard deviation %s",
			format.SettingIn(s.Noise, def.Sought().Unit))
	}
	for _, name := range slices.Sorted(maps.Keys(s.RelativeNoises)) {
		text += fmt.Sprintf("; noise of %s of the value of %s",
			format.Share(s.RelativeNoises[name]), name)
	}
	if s.FailureRate > 0 {
		text += fmt.Sprintf("; %s%% of the experiments fail", format.Setting(100*s.FailureRate))
	}
	if s.OutlierRate > 0 {
		text += fmt.Sprintf("; %s%% of the results are silently wrong", format.Setting(100*s.OutlierRate))
	}
	return text
}
