package server

import (
	"context"

	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/accounts"
	"github.com/campaignd/campaignd/internal/problem"
)

// actorOf returns under which name what a request asks for is recorded, and
// whose account asks.
func actorOf(ctx context.Context) (actor, account string) {
	who := identityOf(ctx)
	return who.Actor(), who.Account
}

// actingAs is [actorOf] for somebody who says as whom they act. Where everybody
// may do everything that is believed; otherwise a request is recorded under the
// name of its account.
func (s *Server) actingAs(ctx context.Context, wanted string) (actor, account string) {
	actor, account = actorOf(ctx)
	if wanted != "" && s.open() {
		actor = wanted
	}
	return actor, account
}

// mayNameProgram is nil where the caller may have this server run the program,
// read the file or call the address that a campaign file names: such a file
// does what its writer wants with the rights of the server. It is the
// permission to equip the lab.
func (a *api) mayNameProgram(ctx context.Context) error {
	if a.options.Confined {
		return problem.New(problem.NotPossible,
			"this server takes no campaign file that names a program, a file or an address").
			With(problem.Remedy{Text: "begin it with the program campaignd where the server runs",
				Action: problem.Start})
	}
	return a.allowed(ctx, accounts.Equip, "")
}

// mayDefine checks a definition that somebody sends, in the place of that of a
// campaign as it was, nil for a new one. What is reached with it must be what
// the lab file says, what the campaign reached before, or allowed to the
// sender.
func (a *api) mayDefine(ctx context.Context, def, was *definition.Campaign) error {
	reach, ok, err := a.lab.Reaches(def, was)
	if err != nil || !ok {
		return err
	}
	if err := a.mayNameProgram(ctx); err != nil {
		what := reach.Where
		return problem.New(problem.CodeOf(err), "%s: %w", what,
			err).About(what).With(problem.RemediesOf(err)...)
	}
	return nil
}
