package instruments_test

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/campaignd/campaignd/adapters/instruments"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
)

func ptr[T any](v T) *T { return &v }

// campaign varies a continuous, a discrete and a categorical parameter.
func campaign() definition.Campaign {
	return definition.Campaign{
		Name: "check",
		Parameters: []definition.Parameter{
			{Name: "lipf6", Unit: "mol/kg", Min: ptr(0.2), Max: ptr(2.1)},
			{Name: "temperature", Unit: "°C", Values: []float64{25, 30}},
			{Name: "solvent", Categories: []definition.CategoryDef{{Name: "EC"}, {Name: "PC"}}},
		},
		Objective: definition.Objective{
			Name: "conductivity", Unit: "mS/cm", Goal: definition.Maximize, Min: ptr(0.5), Max: ptr(40.0),
		},
	}
}

func measurement() events.Measurement {
	return events.Measurement{
		Actual: definition.Point{
			"lipf6": definition.Number(1.1), "temperature": definition.Number(25.8), "solvent": definition.Category("EC"),
		},
		Objective: definition.Quantity{Name: "conductivity", Value: 12.9, Unit: "mS/cm", SD: ptr(0.27)},
		Further:   []definition.Quantity{{Name: "viscosity", Value: 3.1, Unit: "mPa·s"}},
	}
}

// A usable measurement passes, and each single fault is found and named.
func TestCheck(t *testing.T) {
	noon := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		name   string
		change func(*events.Measurement)
		want   string // part of the message; empty: accepted
	}{
		{"good", func(m *events.Measurement) {}, ""},
		{"made a little outside the bounds", func(m *events.Measurement) { m.Actual["lipf6"] = definition.Number(2.2) }, ""},
		// The bounds are 1.9 apart, and nothing is further outside them than that.
		{"above, by less than the bounds are apart", func(m *events.Measurement) { m.Actual["lipf6"] = definition.Number(3.9) }, ""},
		{"above, by more", func(m *events.Measurement) { m.Actual["lipf6"] = definition.Number(4.1) }, "far outside"},
		{"below, by less than the bounds are apart", func(m *events.Measurement) { m.Actual["lipf6"] = definition.Number(-1.6) }, ""},
		{"below, by more", func(m *events.Measurement) { m.Actual["lipf6"] = definition.Number(-1.8) }, "far outside"},
		{"the same every time", func(m *events.Measurement) { m.Objective.SD, m.Further[0].SD = ptr(0.0), ptr(0.0) }, ""},
		{"as great as anything measures", func(m *events.Measurement) { m.Further[0].Value, m.Further[0].SD = -1e100, ptr(1e100) }, ""},
		{"with times", func(m *events.Measurement) { m.Began, m.Ended = noon, noon.Add(time.Minute) }, ""},
		{"other quantity", func(m *events.Measurement) { m.Objective.Name = "resistance" }, `"conductivity"`},
		{"other unit", func(m *events.Measurement) { m.Objective.Unit = "S/m" }, "in S/m"},
		{"no unit", func(m *events.Measurement) { m.Objective.Unit = "" }, "in no unit"},
		{"NaN", func(m *events.Measurement) { m.Objective.Value = math.NaN() }, "NaN"},
		{"infinite", func(m *events.Measurement) { m.Objective.Value = math.Inf(1) }, "Inf"},
		{"too low", func(m *events.Measurement) { m.Objective.Value = 0.05 }, "below the plausible minimum of 0.5"},
		{"too high", func(m *events.Measurement) { m.Objective.Value = 41 }, "above the plausible maximum of 40"},
		{"negative sd", func(m *events.Measurement) { m.Objective.SD = ptr(-1.0) }, "standard deviation"},
		{"NaN sd", func(m *events.Measurement) { m.Objective.SD = ptr(math.NaN()) }, "standard deviation"},
		{"no composition", func(m *events.Measurement) { m.Actual = nil }, "which composition"},
		{"missing parameter", func(m *events.Measurement) { delete(m.Actual, "lipf6") }, "lacks lipf6"},
		{"unknown parameter", func(m *events.Measurement) { m.Actual["water"] = definition.Number(0) }, `"water"`},
		{"NaN parameter", func(m *events.Measurement) { m.Actual["lipf6"] = definition.Number(math.NaN()) }, "lipf6"},
		{"another unit", func(m *events.Measurement) { m.Actual["lipf6"] = definition.Number(1100) }, "another unit?"},
		{"number for category", func(m *events.Measurement) { m.Actual["solvent"] = definition.Number(1) }, "category"},
		{"category for number",
			func(m *events.Measurement) { m.Actual["lipf6"] = definition.Category("much") }, "number"},
		{"unknown category", func(m *events.Measurement) { m.Actual["solvent"] = definition.Category("DMC") }, `"DMC"`},
		{"further NaN", func(m *events.Measurement) { m.Further[0].Value = math.NaN() }, "viscosity"},
		{"further without name", func(m *events.Measurement) { m.Further[0].Name = "" }, "no name"},
		{"objective twice", func(m *events.Measurement) { m.Further[0].Name = "conductivity" }, "twice"},
		{"ended before it began", func(m *events.Measurement) { m.Began, m.Ended = noon, noon.Add(-1) },
			"before it began"},
		{"year 10000", func(m *events.Measurement) { m.Ended = noon.AddDate(8000, 0, 0) }, "year"},
	} {
		m := measurement()
		c.change(&m)
		err := instruments.Check(campaign(), m)
		var refused *instruments.MeasurementError
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%s: %v", c.name, err)
		case c.want != "" && !(errors.As(err, &refused) && len(refused.Faults) == 1 && strings.Contains(err.Error(),
			c.want)):
			t.Errorf("%s: %v, want one fault with %q", c.name, err, c.want)
		}
	}
}

// Law: what was made may differ from the only value of a parameter by as much as that.
func TestCheckOfOneValue(t *testing.T) {
	def, m := campaign(), measurement()
	def.Parameters[1].Values = []float64{25}
	for made, want := range map[float64]bool{1: true, 24: true, 25.8: true, 49: true, 51: false, -1: false} {
		m.Actual["temperature"] = definition.Number(made)
		if err := instruments.Check(def, m); (err == nil) != want {
			t.Errorf("25 °C, and %g were made: %v", made, err)
		}
	}
}

// Law: every fault is named, wherever it stands, so that a person need not try again
// to learn of the next one.
func TestCheckNamesEveryFault(t *testing.T) {
	m := measurement()
	m.Objective.Value, m.Objective.SD = math.NaN(), ptr(-1.0)
	m.Further = append(m.Further, definition.Quantity{Name: "pH", Value: math.NaN()}, definition.Quantity{Name: "density", Value: math.NaN()})
	m.Actual = definition.Point{
		"temperature": definition.Category("warm"), "solvent": definition.Number(1), "water": definition.Number(0), "salt": definition.Number(0),
	} // and no lipf6, which is the first
	want := []string{
		"the objective is NaN", "lacks lipf6", "temperature is a number", "solvent is a category", `no parameter "salt"`, `no parameter "water"`,
		"deviation of the objective", "(pH) is NaN", "(density) is NaN",
	}
	var refused *instruments.MeasurementError
	if err := instruments.Check(campaign(), m); !errors.As(err, &refused) || !slices.EqualFunc(refused.Faults, want, strings.Contains) {
		t.Errorf("%v\nwant a fault with each of %q", err, want)
	}
	m.Actual["solvent"] = definition.Category("DMC")
	delete(m.Actual, "temperature")
	if err := instruments.Check(campaign(), m); !errors.As(err, &refused) || !strings.Contains(err.Error(), "lacks temperature; solvent has no category") {
		t.Errorf("%v\nwant what stands behind a parameter that is missing", err)
	}
}

// An outcome says one thing only.
func TestCheckOutcome(t *testing.T) {
	m := measurement()
	for _, c := range []struct {
		o  instruments.Outcome
		ok bool
	}{
		{instruments.Outcome{Status: instruments.Measured, Measurement: &m}, true},
		{instruments.Outcome{Status: instruments.Failed, Cause: "leak"}, true},
		{instruments.Outcome{Status: instruments.Measured}, false},
		{instruments.Outcome{Status: instruments.Failed, Measurement: &m}, false},
		{instruments.Outcome{Status: "complete", Measurement: &m}, false},
		{instruments.Outcome{Status: instruments.Done}, true},
		{instruments.Outcome{Status: instruments.Done, Gave: []events.Given{{Experiment: "e1", Measurement: &m}, {Experiment: "e2", Status: "failed"}}}, true},
		{instruments.Outcome{Status: instruments.Done, Gave: []events.Given{{Experiment: "e1"}, {Experiment: "e1"}}}, false},
		{instruments.Outcome{Status: instruments.Done, Gave: []events.Given{{Experiment: "e1", Status: "ok"}}}, false},
		{instruments.Outcome{}, false},
	} {
		if err := instruments.CheckOutcome(campaign(), c.o); (err == nil) != c.ok {
			t.Errorf("%+v: %v", c.o, err)
		}
	}
}

// A fitting instrument passes, and every mismatch is reported at once.
func TestCompatible(t *testing.T) {
	fitting := func() instruments.Description {
		return instruments.Description{
			Name: "robot", Capacity: 1,
			Parameters: []instruments.ParameterSpec{
				{Name: "solvent", Categories: []string{"DMC", "EC", "PC"}},
				{Name: "temperature", Unit: "°C", Min: ptr(20.0), Max: ptr(60.0), Step: 5},
				{Name: "lipf6", Unit: "mol/kg", Min: ptr(0.0), Max: ptr(2.1), Step: 0.01},
			},
			Outputs: []instruments.OutputSpec{{Name: "viscosity"}, {Name: "conductivity", Unit: "mS/cm"}},
		}
	}
	def := campaign()
	def.Instrument.Steps = map[string]float64{"lipf6": 0.05}
	for _, desc := range []instruments.Description{fitting(), {Name: "anything", Capacity: 4}} {
		if err := instruments.Compatible(desc, def); err != nil {
			t.Errorf("%s: %v", desc.Name, err)
		}
	}

	bad := fitting()
	bad.Capacity = 0
	bad.Parameters[0].Categories = []string{"EC"}
	bad.Parameters[1].Max, bad.Parameters[1].Step = ptr(28.0), 10
	bad.Parameters[2].Min, bad.Parameters[2].Step = ptr(0.5), 0.03
	bad.Parameters = append(bad.Parameters, instruments.ParameterSpec{Name: "stirring", Unit: "1/min"})
	bad.Outputs[1].Unit = "S/m"
	def.Parameters = append(def.Parameters,
		definition.Parameter{Name: "fec", Min: ptr(0.0), Max: ptr(1.0)})
	var mismatch *instruments.MismatchError
	if err := instruments.Compatible(bad, def); !errors.As(err, &mismatch) {
		t.Fatalf("not a MismatchError: %v", err)
	}
	want := []string{
		"capacity",                                  // of 0
		"goes down to 0.2 mol/kg", "not a multiple", // lipf6
		"goes up to 30 °C", "may be 25 °C", // temperature, 30 is a multiple of 10
		`may be "PC"`,
		"the campaign varies fec", "the instrument takes stirring",
		"in mS/cm in the campaign, in S/m",
	}
	if !slices.EqualFunc(mismatch.Mismatches, want, strings.Contains) {
		t.Errorf("mismatches:\n%s\nwant in each:\n%s",
			strings.Join(mismatch.Mismatches, "\n"), strings.Join(want, "\n"))
	}

	for name, change := range map[string]func(*instruments.Description, *definition.Campaign){
		"in mol/l for": func(d *instruments.Description, _ *definition.Campaign) { d.Parameters[2].Unit = "mol/l" },
		"`steps: {lipf6: 0.01}`": func(_ *instruments.Description, def *definition.Campaign) {
			def.Instrument.Steps = nil
		},
		"a number for the instrument": func(d *instruments.Description,
			_ *definition.Campaign) {
			d.Parameters[0].Categories = nil
		},
		"a category for the instrument": func(d *instruments.Description,
			_ *definition.Campaign) {
			d.Parameters[2].Categories = []string{"low"}
		},
		"seeks conductivity": func(d *instruments.Description,
			_ *definition.Campaign) {
			d.Outputs = d.Outputs[:1]
		},
		"twice": func(d *instruments.Description, _ *definition.Campaign) {
			d.Parameters = append(d.Parameters, d.Parameters[0])
		},
	} {
		desc, def := fitting(), campaign()
		def.Instrument.Steps = map[string]float64{"lipf6": 0.05}
		change(&desc, &def)
		err := instruments.Compatible(desc, def)
		if !errors.As(err, &mismatch) || len(mismatch.Mismatches) != 1 || !strings.Contains(err.Error(), name) {
			t.Errorf("%v, want one mismatch with %q", err, name)
		}
	}
}
