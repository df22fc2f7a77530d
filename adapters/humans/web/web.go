// Package web is the channel to experts who answer in a browser, when they come by.
//
// A question is open in the log, and a server finds it there: the page shows the log's content, and
// a person's answer is recorded as a request, before they are told that it was. The reviewer of
// this package only waits for that: the engine ends its wait once an answer is recorded. Nothing is
// held in memory that a restart could lose.
package web

import (
	"context"

	"github.com/campaignd/campaignd/adapters/humans"
	"github.com/campaignd/campaignd/events/definition"
)

// Name of the channel in a campaign file.
const Name = "web"

// Settings of an expert who answers in the browser: none.
type Settings struct{}

// Choose returns the choice of this channel with its settings.
func Choose(s Settings) definition.Choice { return definition.NewChoice(Name, s) }

// Complete implements definition.Settings.
func (*Settings) Complete(*definition.Campaign) {}

// Check implements definition.Settings.
func (*Settings) Check(*definition.Campaign, definition.Path) []definition.Fault { return nil }

// Words implements definition.Settings.
func (*Settings) Words(*definition.Campaign) string { return "asked in the browser" }

// Confined implements definition.Confined: a person is asked, and nothing else
// is reached.
func (*Settings) Confined() bool { return true }

// Channel is the program's row for this channel.
var Channel = humans.Channel{
	Name:     Name,
	Settings: func() definition.Settings { return new(Settings) },
	Open: func(
		_ context.Context, expert definition.Expert, _ definition.Campaign, _ humans.Environment,
	) (humans.Reviewer, error) {
		if _, err := definition.SettingsOf[Settings](expert.Channel); err != nil {
			return nil, err
		}
		return humans.NewReviewer(expert.Name, wait), nil
	},
	Person:    true,
	Unhurried: true,
}

// wait implements [humans.Asker]. The answer does not come this way: the engine
// ends the wait.
func wait(ctx context.Context, _ humans.Question, _ string) (humans.Reply, error) {
	<-ctx.Done()
	return humans.Reply{}, ctx.Err()
}
