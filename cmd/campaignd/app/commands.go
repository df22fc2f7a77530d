package app

import (
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/problem"
	"github.com/campaignd/campaignd/internal/view"
)

// commandFor is the command that does what a page of a campaign suggests. In
// the story of events the store is the one in front of the reader and goes
// without saying.
func commandFor(r problem.Remedy) string { return commands{}.line(r) }

// commandsOn are the commands of a page about a target. What goes on with a
// campaign takes the file that the person named, an answer the store; what
// follows from what is on the page goes without either.
func commandsOn(t target) view.How {
	named := t.store
	if t.path != "" {
		named = t.path
	}
	return func(r problem.Remedy) string {
		switch r.Action {
		case problem.Run, problem.Suggest, problem.Diagnose:
			return commands{server: t.server, store: named}.line(r)
		case problem.Answer, problem.Tell:
			return commands{server: t.server, store: t.store}.line(r)
		}
		return commandFor(r)
	}
}

// tell returns the lines that an event adds to a story.
func tell(story *view.Story, e events.Event, payload events.Payload) (lines []string) {
	for _, entry := range story.Tell(e, payload) {
		lines = append(lines, entry.Line(commandFor))
	}
	return lines
}
