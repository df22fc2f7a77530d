package main

import (
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/view"
)

// commandFor is the command that does what a page of a campaign suggests. In the
// story of events the store is the one in front of the reader and goes without saying.
func commandFor(action view.Action) string { return commandOn("", action) }

// commandsOn are the commands of a page about a target. What goes on with a campaign
// takes the file that the person named, an answer the store; what follows from what is
// on the page goes without either.
func commandsOn(t target) view.How {
	return func(action view.Action) string {
		switch action.Do {
		case view.Run, view.Diagnose:
			return commandOn(t.String(), action)
		case view.Tell:
			return commandOn(shellArg(t.store), action)
		}
		return commandOn("", action)
	}
}

// commandOn is the command about a campaign of that target; "" names none.
func commandOn(target string, action view.Action) string {
	switch action.Do {
	case view.Include, view.Exclude:
		return "campaignd correct " + action.About + " --" + string(action.Do)
	}
	command := "campaignd " + string(action.Do)
	for _, word := range []string{target, action.About, action.With} {
		if word != "" {
			command += " " + word
		}
	}
	return command
}

// tell returns the lines that an event adds to a story.
func tell(story *view.Story, e events.Event, payload events.Payload) (lines []string) {
	for _, entry := range story.Tell(e, payload) {
		lines = append(lines, entry.Line(commandFor))
	}
	return lines
}
