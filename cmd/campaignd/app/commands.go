package app

import (
	"github.com/campaignd/campaignd/internal/ground/problem"
	"github.com/campaignd/campaignd/internal/view"
)

// commandFor is the command line that a suggestion of a campaign's page stands
// for. It names no store: in the lines of events the reader has just named it.
func commandFor(r problem.Remedy) string { return commands{}.line(r) }

// commandsOn are the commands of a page about a target. Commands that continue the campaign name
// the file that the person gave, because it says more than the store; an answer names the store;
// commands about the subject of the page name neither.
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
