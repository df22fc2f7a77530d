package api

import (
	"bytes"
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/files/exchange"
	"github.com/campaignd/campaignd/internal/web/server/gate"
	"github.com/campaignd/campaignd/internal/web/server/problems"
)

// resolveInput is a table of experiments' outcomes; the options are those of `campaignd resolve
// --from`. They are in the address, since the body is the table.
type resolveInput struct {
	InCampaign
	Experiments string            `query:"experiments" doc:"Experiments that get the resolution where the table says nothing: e1-e24."`
	Resolution  events.Resolution `query:"resolution" enum:"measured,failed,infeasible,not-performed" doc:"What became of them."`
	Repeat      bool              `query:"repeat" doc:"Ask for the same again, of all that failed or did not take place."`
	Reason      string            `query:"reason" maxLength:"10000" doc:"How that is known, where a row has no reason of its own."`
	Voided      events.Voided     `query:"voided" enum:"power" doc:"Why the commands cannot begin any more: the device was without power."`
	Anyway      bool              `query:"anyway" doc:"Take compositions that the campaign could not ask for."`
	RawBody     []byte            `contentType:"text/csv"`
}

// resolving registers the operation that resolves experiments by a table.
func (a *API) resolving() {
	op := operation("resolve-csv", http.MethodPost, "/campaigns/{campaign}/resolutions/csv",
		"Settle what became of experiments by a CSV file",
		"A row for each, with the column experiment and outcome (measured, failed, infeasible or not-performed), or the columns of a "+
			"result, as in an import. A row that says nothing leaves its experiment alone. All rows are taken or none.")
	huma.Register(a.huma, a.recording(op), a.resolveTable)
}

// resolveTable resolves experiments by a table. A repeat gets the original answer, though its
// experiments are resolved by now.
func (a *API) resolveTable(ctx context.Context, in *resolveInput) (*recordedOutput, error) {
	core, c, err := a.folded(ctx, in.InCampaign)
	if err != nil {
		return nil, err
	}
	if stored, err := repeatedIn(ctx, c, core); stored != nil || err != nil {
		return recordedOr(stored, err)
	}
	actor, _ := gate.ActorOf(ctx)
	table := exchange.Resolving{Core: core, Actor: actor, Clause: error.Error, Rest: engine.Resolve{
		Experiment: in.Experiments, Resolution: in.Resolution, Repeat: in.Repeat, Reason: in.Reason,
		Voided: in.Voided, Anyway: in.Anyway,
	}}
	rows, err := table.Read("the table", bytes.NewReader(in.RawBody))
	if err != nil {
		return nil, problems.Of(err)
	}
	stored, err := a.submit(ctx, c, engine.Request{Resolves: rows})
	return recordedOr(stored, err)
}
