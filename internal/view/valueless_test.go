package view

import (
	"strings"
	"testing"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/projections/campaign"
)

// formulaSought seeks a formula that is not finite where yield is at most waste.
var formulaSought = &definition.Campaign{
	Parameters: []definition.Parameter{{Name: "salt", Min: ptr(0.0), Max: ptr(1.0)}},
	Quantities: []definition.QuantityDef{{Name: "yield"}, {Name: "waste"}},
	Objective:  definition.Objective{Name: "ln(yield - waste)", Formula: "ln(yield - waste)", Goal: definition.Maximize},
}

// Law: the line of an experiment that has all quantities of a formula and no finite value
// of it says so, and why.
func TestLineWithoutFiniteValue(t *testing.T) {
	m := events.Measurement{
		Actual:     definition.Point{"salt": definition.Number(0.5)},
		Quantities: []definition.Quantity{{Name: "yield", Value: 1}, {Name: "waste", Value: 1.5}},
	}
	e := NewStory(formulaSought).Entry(events.Event{}, &events.ExperimentMeasured{Experiment: "e2", Measurement: m})
	if want := "no value of ln(yield - waste) (ln(yield - waste) is not defined at -0.5)"; !strings.Contains(e.Text, want) {
		t.Errorf("it is told as %q, without %q", e.Text, want)
	}
}

// Law: where experiments were measured and none has a value of what is sought, what is
// found says how many, and which quantity is missing.
func TestFoundWithoutValue(t *testing.T) {
	c := Campaign{Definition: formulaSought, Valueless: &campaign.Valueless{
		Measured:  6,
		Missing:   []campaign.Missing{{Quantity: "waste", Sought: true, Experiments: make([]string, 5)}},
		NotFinite: []campaign.NotFinite{{Experiment: "e6"}},
	}}
	want := "6 experiments measured, none with a value of ln(yield - waste): waste is missing in 5, it is not finite in 1"
	if rows := c.Found(); len(rows) != 1 || rows[0].Text != want {
		t.Errorf("it is %v, want %q", rows, want)
	}
	c.Valueless = nil
	if rows := c.Found(); rows[0].Text != "nothing was measured" {
		t.Errorf("without experiments it is %v", rows)
	}
}
