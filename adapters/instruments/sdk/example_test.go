package sdk_test

import (
	"context"
	"fmt"
	"os"

	"github.com/campaignd/campaignd/adapters/instruments"
	"github.com/campaignd/campaignd/adapters/instruments/sdk"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
)

// mixer is an instrument: what it is, and how it measures.
type mixer struct{}

func (mixer) Describe(context.Context) (instruments.Description, error) {
	zero, two := 0.0, 2.0
	return instruments.Description{
		Name: "acme/mixer", Identity: "M2, serial 0042",
		Parameters: []instruments.ParameterSpec{{Name: "salt", Unit: "mol/kg", Min: &zero, Max: &two}},
	}, nil
}

func (mixer) Measure(ctx context.Context, cmd instruments.Command) (events.Measurement, error) {
	salt, _ := cmd.Parameters["salt"].Float()
	// Pump, stir and read the conductivity meter here.
	return events.Measurement{Objective: definition.Quantity{Name: "conductivity", Value: 8 * salt, Unit: "mS/cm"}}, nil
}

// The whole program is the instrument and one line in its main function,
//
//	func main() { os.Exit(sdk.Main("mixer.ledger", mixer{})) }
//
// to be named as `process: {command: [./mixer]}` in the campaign file.
func Example() {
	main := func(ledger string) int { return sdk.Main(ledger, mixer{}) }

	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	fmt.Println(main(dir)) // standard input is empty here: it ends at once
	// Output: 0
}
