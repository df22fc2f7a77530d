package terminal

import (
	"context"

	"github.com/campaignd/campaignd/adapters/humans"
	"github.com/campaignd/campaignd/events/definition"
)

// Name of the channel in a campaign file.
const Name = "terminal"

// Channel is the program's row for experts at the terminal.
var Channel = humans.Channel{
	Name:     Name,
	Settings: func() definition.Settings { return new(Settings) },
	Open: func(
		_ context.Context, e definition.Expert, _ definition.Campaign, env humans.Environment,
	) (humans.Reviewer, error) {
		return New(e.Name, env.Prompter, env.Now), nil
	},
	Person: true,
}

// Settings of an expert who is asked in the terminal that runs the campaign.
type Settings struct{}

// Choose returns the choice of this channel with its settings.
func Choose(s Settings) definition.Choice { return definition.NewChoice(Name, s) }

// Confined implements definition.Confined.
func (*Settings) Confined() bool { return true }

// Complete implements definition.Settings.
func (*Settings) Complete(*definition.Campaign) {}

// Check implements definition.Settings.
func (*Settings) Check(*definition.Campaign, definition.Path) []definition.Fault { return nil }

// Words implements definition.Settings.
func (*Settings) Words(*definition.Campaign) string { return "asked in the terminal" }
