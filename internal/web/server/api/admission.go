package api

import (
	"context"
	"net/http"

	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/ground/problem"
	"github.com/campaignd/campaignd/internal/lab/accounts"
	"github.com/campaignd/campaignd/internal/web/server/gate"
	"github.com/campaignd/campaignd/internal/web/server/problems"
	"github.com/danielgtaylor/huma/v2"
)

// mayNameProgram returns nil if the caller may have this server run the program, read the file or
// call the address that a campaign file names: the server does so with its own rights, on the
// writer's behalf. It requires the permission to equip the lab. The refusal of a confined server
// comes first and names no permission, since none would help.
func (a *API) mayNameProgram(ctx context.Context) error {
	if a.options.Confined {
		return problem.New(problem.NotPossible,
			"this server takes no campaign file that names a program, a file or an address").
			With(problem.Remedy{Text: "begin it with the program campaignd where the server runs",
				Action: problem.Start})
	}
	return a.Allowed(ctx, accounts.Equip, "")
}

// MayDefine checks a submitted definition against the campaign's previous one, nil for a new
// campaign. It may reach only what the lab file offers, what the campaign reached before, or what
// the sender is allowed to reach.
//
// It is called before anything opens what the file names, for the pages too: otherwise checking a
// file would already run the forbidden program. Whatever the campaign reached before stays allowed,
// so that a person who may amend it can change its budget without permission to equip the lab.
func (a *API) MayDefine(ctx context.Context, def, was *definition.Campaign) error {
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

// neededFor returns the permission for a request that came by the protocol of a store. The
// operations of the API have a table (gate.NeedOf); the protocol has one operation for all
// requests, so the permission follows from their contents. Unlisted requests need the permission to
// run the campaign, as in that table. Both tables must require the same for each request; otherwise
// one entrance would be open that the other closes.
func neededFor(r *engine.Request) (p accounts.Permission, act string) {
	switch {
	case r.Answer != nil:
		return accounts.Answer, "" // as whom, is asked where the question is known
	case r.Resolve != nil, r.Resolves != nil:
		return accounts.Resolve, gate.ActResolve
	case r.Cancel != nil && r.Cancel.Voided != "":
		return accounts.Resolve, gate.ActResolve
	case r.Cancel != nil:
		return accounts.Resolve, ""
	case r.Stop != nil, r.Abort != nil && r.Abort.Stop:
		return accounts.Run, gate.ActStop
	case r.Correct != nil, r.Amend != nil:
		return accounts.Run, gate.ActOverride
	}
	return accounts.Run, ""
}

// admit is the API's middleware: it refuses what the table does not allow. The order follows what a
// caller may learn: that the operation exists, that they must log in, that they lack a permission,
// and only then that the act must be confirmed, which presumes the permission. Allowed records
// refusals in the gate's audit log.
//
// It writes the problem itself: the library cannot return an error at this point.
func (a *API) admit(hc huma.Context, next func(huma.Context)) {
	ctx := hc.Context()
	refuse := func(err error) {
		p := problems.Of(err)
		if p.Status == http.StatusUnauthorized {
			hc.SetHeader("WWW-Authenticate", `Bearer realm="campaignd"`)
		}
		hc.SetHeader("Content-Type", p.ContentType(""))
		hc.SetStatus(p.Status)
		_ = a.huma.Marshal(hc.BodyWriter(), "application/json", p)
	}
	need, listed := gate.NeedOf(hc.Operation().OperationID)
	if !listed {
		refuse(problem.New(problem.Forbidden, "nobody may do that here"))
		return
	}
	if !gate.IdentityOf(ctx).Known() {
		refuse(a.Unidentified(problem.New(problem.Unauthenticated, "It is not known who asks.").
			With(problem.Remedy{Text: "send an API token: Authorization: Bearer campaignd_…, or log in"})))
		return
	}
	campaign := ""
	if need.InCampaign {
		campaign = gate.CampaignIn(hc.Param("campaign"))
	}
	if need.Permission != "" {
		if err := a.Allowed(ctx, need.Permission, campaign); err != nil {
			refuse(err)
			return
		}
	}
	if need.Act != "" {
		if err := a.Confirmed(ctx, need.Act); err != nil {
			refuse(err)
			return
		}
	}
	next(hc)
}
