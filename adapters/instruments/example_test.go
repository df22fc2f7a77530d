package instruments_test

import (
	"context"
	"fmt"
	"sync"

	"github.com/campaignd/campaignd/adapters/instruments"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
)

// ovenSettings are what a campaign file says of an oven:
//
//	instrument: {oven: {port: /dev/ttyUSB0}}
type ovenSettings struct {
	// Port that the oven is connected to.
	Port string `json:"port,omitempty"`
}

func (s *ovenSettings) Complete(*definition.Campaign) {
	if s.Port == "" {
		s.Port = "/dev/ttyUSB0"
	}
}

func (s *ovenSettings) Check(def *definition.Campaign, here definition.Path) []definition.Fault {
	if def.Objective.Name == "yield" {
		return nil
	}
	return []definition.Fault{{
		At:      definition.At("objective", "name"),
		Problem: "an oven measures the yield",
		Remedy:  "write name: yield",
	}}
}

func (s *ovenSettings) Words(*definition.Campaign) string { return "the oven at " + s.Port }

// oven bakes what it is told to, once, and remembers it as long as the process lives.
type oven struct {
	mu    sync.Mutex
	baked map[string]float64 // yield by command
}

func (*oven) Describe(context.Context) (instruments.Description, error) {
	return instruments.Description{Name: "oven", Capacity: 1}, nil
}

func (o *oven) Start(_ context.Context, cmd instruments.Command) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if _, again := o.baked[cmd.ID]; again {
		return nil
	}
	temperature, _ := cmd.Parameters["temperature"].Float()
	o.baked[cmd.ID] = 100 - temperature/10
	return nil
}

func (o *oven) Await(_ context.Context, cmd instruments.Command) (instruments.Outcome, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	yield, known := o.baked[cmd.ID]
	if !known {
		return instruments.Outcome{}, instruments.ErrNotStarted
	}
	return instruments.Outcome{
		Status: instruments.Measured,
		Measurement: &events.Measurement{
			Actual:    cmd.Parameters,
			Objective: definition.Quantity{Name: "yield", Value: yield},
		},
	}, nil
}

func (*oven) Cancel(context.Context, instruments.Command) error { return nil }

// A driver is a row of the program's table: settings that it owns, and what opens the
// instrument.
func ExampleDriver() {
	driver := instruments.Driver{
		Name:     "oven",
		Settings: func() definition.Settings { return new(ovenSettings) },
		Open: func(context.Context, definition.Campaign, instruments.Environment) (instruments.Instrument, error) {
			return &oven{baked: make(map[string]float64)}, nil
		},
	}

	settings := driver.Settings()
	def := definition.Campaign{Objective: definition.Objective{Name: "color"}}
	settings.Complete(&def)
	fmt.Println(settings.Words(&def))
	for _, fault := range settings.Check(&def, definition.At("instrument", driver.Name)) {
		fmt.Printf("%s: %s; %s\n", fault.At, fault.Problem, fault.Remedy)
	}

	instrument, err := driver.Open(context.Background(), def, instruments.Environment{})
	if err != nil {
		fmt.Println(err)
		return
	}
	cmd := instruments.Command{ID: "bread/A1/e1", Parameters: definition.Point{"temperature": definition.Number(220)}}
	if err := instrument.Start(context.Background(), cmd); err != nil {
		fmt.Println(err)
		return
	}
	outcome, err := instrument.Await(context.Background(), cmd)
	fmt.Println(outcome.Status, outcome.Measurement.Objective.Value, err)

	// Output:
	// the oven at /dev/ttyUSB0
	// objective.name: an oven measures the yield; write name: yield
	// measured 78 <nil>
}
