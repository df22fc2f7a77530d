package instrumenttest_test

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/campaignd/campaignd/adapters/instruments"
	"github.com/campaignd/campaignd/adapters/instruments/instrumenttest"
	"github.com/campaignd/campaignd/events/definition"
)

// A test of an instrument that is not simulated, such as a driver on its bench: it may
// act, and what it does is counted.
func ExampleRun() {
	var t *testing.T // func TestBench(t *testing.T)

	device := newBench()
	acts := filepath.Join(t.TempDir(), "acts.txt") // to which the device appends a line for each act
	instrumenttest.Run(t, instrumenttest.Env{
		Open: func(context.Context) (instruments.Instrument, error) { return sound{device}, nil },
		Definition: definition.Campaign{
			Name:       "bench",
			Parameters: []definition.Parameter{{Name: "salt", Unit: "mol/kg", Min: ptr(0.0), Max: ptr(2.0)}},
			Objective:  definition.Objective{Name: "conductivity", Unit: "mS/cm", Goal: definition.Maximize},
		},
		Points: []definition.Point{ // safe, and with results that differ
			{"salt": definition.Number(0.25)},
			{"salt": definition.Number(1)},
		},
		AllowRuns: true, // it does not describe itself as simulated: without this, Run fails
		Acts:      instrumenttest.ActsIn(acts),
	})
}
