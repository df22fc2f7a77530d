package manual

import (
	"context"

	"github.com/campaignd/campaignd/adapters/instruments"
	"github.com/campaignd/campaignd/events/definition"
)

// Name of the driver in a campaign file.
const Name = "manual"

// Driver is the program's row for this instrument.
var Driver = instruments.Driver{
	Name:     Name,
	Settings: func() definition.Settings { return new(Settings) },
	Open: func(
		_ context.Context, def definition.Campaign, env instruments.Environment,
	) (instruments.Instrument, error) {
		settings, err := definition.SettingsOf[Settings](def.Driver())
		if err != nil {
			return nil, err
		}
		return New(settings, def, env.Prompter), nil
	},
	ByHand:   true,
	Identify: func(definition.Campaign) (string, bool) { return Name, false },
}

// Settings of a person who measures and enters the value.
type Settings struct {
	// Instructions shown with each experiment.
	Instructions string `json:"instructions,omitempty"`
}

// Choose returns the choice of this driver with its settings.
func Choose(s Settings) definition.Choice { return definition.NewChoice(Name, s) }

// Confined implements definition.Confined.
func (*Settings) Confined() bool { return true }

// Complete implements definition.Settings.
func (*Settings) Complete(*definition.Campaign) {}

// Check implements definition.Settings.
// A person who measures several experiments together enters each by itself.
func (*Settings) Check(def *definition.Campaign, here definition.Path) []definition.Fault {
	if s := def.Together(); s != nil && len(s.Gives) > 0 {
		return def.OneByOne(here)
	}
	return nil
}

// Words implements definition.Settings.
func (*Settings) Words(*definition.Campaign) string { return "a person who enters each value" }
