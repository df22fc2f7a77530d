package server

import (
	"context"
	"os/user"

	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/problem"
)

// actorOf returns under which name what a request asks for is recorded, and whose account
// asks.
func actorOf(context.Context) (actor, account string) {
	if u, err := user.Current(); err == nil {
		return "person:" + u.Username, ""
	}
	return "person:somebody", ""
}

// actingAs is [actorOf] for somebody who says as whom they act. Where everybody may do
// everything, that is believed.
func actingAs(ctx context.Context, wanted string) (actor, account string) {
	actor, account = actorOf(ctx)
	if wanted != "" {
		actor = wanted
	}
	return actor, account
}

// callerOf names whoever asks: nobody is answered with what was another's.
func callerOf(ctx context.Context) string {
	actor, account := actorOf(ctx)
	return actor + "\x00" + account
}

// mayNameProgram is nil where whoever asks may have this server run the program, read the
// file or call the address that a campaign file names: such a file does what its writer
// wants with the rights of the server. In terms of accounts it is the permission to equip
// the lab.
func (a *api) mayNameProgram(context.Context) error {
	if a.options.Confined {
		return problem.New(problem.NotPossible,
			"this server takes no campaign file that names a program, a file or an address").
			With(problem.Remedy{Text: "begin it with the program campaignd where the server runs", Action: problem.Start})
	}
	return nil
}

// mayDefine checks a definition that somebody sends.
func (a *api) mayDefine(ctx context.Context, def *definition.Campaign) error {
	what := a.lab.Registry().Reaches(def)
	if what == "" {
		return nil
	}
	if err := a.mayNameProgram(ctx); err != nil {
		return problem.New(problem.CodeOf(err), "%s: %w", what, err).About(what).With(problem.RemediesOf(err)...)
	}
	return nil
}
