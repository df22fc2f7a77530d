package api

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/files/campaignfile"
	"github.com/campaignd/campaignd/internal/files/exchange"
	"github.com/campaignd/campaignd/internal/ground/problem"
	"github.com/campaignd/campaignd/internal/lab"
	"github.com/campaignd/campaignd/internal/view"
	"github.com/campaignd/campaignd/internal/web/server/gate"
	"github.com/campaignd/campaignd/internal/web/server/problems"
)

// Because is the reason of a request. The events of pausing and the like hold more fields, which
// only the engine fills in, so they are not used as bodies.
type Because struct {
	Reason string `json:"reason,omitempty" maxLength:"10000" doc:"Why, for the record."`
}

// record registers a request that is recorded as received. Its body is the engine's own type, so
// that the API and the engine cannot diverge: a new field of a request is in the API at once, and a
// test of the document notices.
func record[B any](a *API, op huma.Operation, make func(*B) engine.Request) {
	type input struct {
		InCampaign
		Body bodyOf[B]
	}
	inCampaign(a, a.recording(op),
		func(ctx context.Context, c *lab.Campaign, in *input) (*recordedOutput, error) {
			return a.fulfill(ctx, c, make(&in.Body.body), in.Body.err)
		})
}

// steer registers a request that needs only a reason. The body may be absent altogether, since the
// reason may.
func (a *API) steer(verb, summary, description string, make func(reason string) engine.Request) {
	type input struct {
		InCampaign
		Body *Because // optional
	}
	op := operation(verb+"-campaign", http.MethodPost, "/campaigns/{campaign}/"+verb, summary, description)
	inCampaign(a, a.recording(op),
		func(ctx context.Context, c *lab.Campaign, in *input) (*recordedOutput, error) {
			reason := ""
			if in.Body != nil {
				reason = in.Body.Reason
			}
			return a.fulfill(ctx, c, make(reason), nil)
		})
}

// requests registers the operations that record people's requests. Each corresponds to a request of
// the engine; only engine.Core.Handle judges it, so that pages, command line and API refuse the
// same requests with the same words. The order is that of the document.
func (a *API) requests() {
	on := func(id, path, summary, description string) huma.Operation {
		return operation(id, http.MethodPost, "/campaigns/{campaign}/"+path, summary, description)
	}
	record(a, on("tell", "tell", "Tell the result of an experiment",
		"Of one that was suggested, or of one's own, which counts against the budget."),
		func(t *engine.Tell) engine.Request { return engine.Request{Tell: t} })
	record(a, on("results", "results", "Tell the results of many experiments",
		"What tell takes of each, in one batch: all are recorded, or none, and then faults names the rows by their index."),
		func(rows *[]engine.Tell) engine.Request {
			return engine.Request{Results: append([]engine.Tell{}, *rows...)} // nil would ask for nothing
		})
	record(a, on("import", "import", "Take over earlier measurements",
		"All or none; they do not count against the budget. A row with an experiment brings its result where a person is to measure it, and adds quantities to one that has been measured; what it has already counts once."),
		func(rows *[]engine.Tell) engine.Request {
			return engine.Request{Import: append([]engine.Tell{}, *rows...)} // nil would ask for nothing
		})
	record(a, on("correct", "correct", "Correct an outcome", "What the correction does not name stays."),
		func(c *engine.Correct) engine.Request { return engine.Request{Correct: c} })
	record(a, on("resolve", "resolve", "Settle what became of an experiment",
		"Of an experiment whose fate is unknown."),
		func(r *engine.Resolve) engine.Request { return engine.Request{Resolve: r} })
	record(a, on("resolve-many", "resolutions", "Settle what became of many experiments",
		"What resolve takes of each, in one batch: all are recorded, or none, and then faults names the rows by their index."),
		func(rows *[]engine.Resolve) engine.Request {
			return engine.Request{Resolves: append([]engine.Resolve{}, *rows...)} // nil would ask for nothing
		})
	a.resolving()
	record(a, on("exclude", "exclude", "Exclude compositions", "Nothing there is suggested any more."),
		func(x *engine.Exclude) engine.Request { return engine.Request{Exclude: x} })
	record(a, on("anchor", "anchors", "Name compositions at which an expert trusts their own judgment",
		"Comparisons near them count for more."),
		func(d *engine.Anchors) engine.Request {
			if d.Points == nil {
				d.Points = []definition.Point{} // null in the log would be another event
			}
			return engine.Request{Anchors: d}
		})
	a.importing()
	record(a, on("allow", "allow", "Take an exclusion back", ""),
		func(x *engine.Allow) engine.Request { return engine.Request{Allow: x} })
	record(a, on("note", "note", "Add a note", ""),
		func(n *engine.Note) engine.Request { return engine.Request{Note: n} })
	record(a, on("count", "stocks", "Say what there is of a stock",
		"It was refilled, or counted: the labels that are there, or the amount. It takes the place of what the log knew."),
		func(n *engine.Count) engine.Request { return engine.Request{Count: n} })
	a.steering()
	a.runs()
	inCampaign(a, a.recording(operation("amend-campaign", http.MethodPut,
		"/campaigns/{campaign}/definition",
		"Amend a campaign", "The body is the campaign file with the changes. "+
			"What a campaign under way does not allow is refused, with the reason.")),
		a.amend)
}

// steering registers the requests that need only a reason. The event itself is the request: the
// engine fills in its other fields.
func (a *API) steering() {
	a.steer("pause", "Pause a campaign", "Nothing new begins until it is resumed.",
		func(reason string) engine.Request {
			return engine.Request{Pause: &events.CampaignPaused{Reason: reason}}
		})
	a.steer("resume", "Resume a campaign", "", func(reason string) engine.Request {
		return engine.Request{Resume: &events.CampaignResumed{Reason: reason}}
	})
	a.callingOff()
	a.stocks()
	a.instruments()
}

// amendInput is a campaign file with its changes. It is raw, as in [beginInput]; the reason is in
// the address, since the body is the file.
type amendInput struct {
	InCampaign
	Reason  string `query:"reason" maxLength:"10000" doc:"Why, for the record."`
	RawBody []byte `contentType:"application/yaml"`
}

// amend records the changes of a changed file. Rights are checked before anything opens what the
// file names.
//
// The changes depend on the campaign's state: a repeat, which finds its own changes made, would be
// answered with "nothing". So a repeat is looked for first and, if nothing is left to change, once
// more in the compared state: the same request may have been recorded in between.
func (a *API) amend(
	ctx context.Context, c *lab.Campaign, in *amendInput,
) (*amendedOutput, error) {
	file, err := a.lab.Parse(ctx, "the campaign file", in.RawBody)
	if err == nil {
		err = a.MayDefine(ctx, &file.Definition, c.Defined())
	}
	if err != nil {
		return nil, problems.Of(err)
	}
	stored, err := repeated(ctx, c)
	if stored != nil || err != nil {
		return a.amended(ctx, c, stored, err)
	}
	def, err := a.lab.Definition(ctx, c, file)
	if err != nil {
		return nil, problems.Of(err)
	}
	core, err := c.Load(ctx)
	if err != nil {
		return nil, problems.Of(err)
	}
	changes, err := campaignfile.Amend(a.lab.Registry(), *core.State().Definition, def)
	if err != nil {
		return nil, problems.Of(err)
	}
	if len(changes) == 0 {
		stored, err := repeatedIn(ctx, c, core) // by the same request, sent twice at once
		if stored == nil && err == nil {
			return &amendedOutput{}, nil
		}
		return a.amended(ctx, c, stored, err)
	}
	stored, err = a.submit(ctx, c, engine.Request{Amend: &events.CampaignAmended{
		Definition: def, Changes: changes, Reason: in.Reason, Source: file.Source,
	}})
	return a.amended(ctx, c, stored, err)
}

type amendedOutput struct{ Body Amended }

// amended answers an amendment with its effect on the findings. The amendment is recorded already:
// if models cannot be computed, the answer lacks the effect.
func (a *API) amended(ctx context.Context, c *lab.Campaign, stored []events.Event, err error) (*amendedOutput, error) {
	recorded, err := recordedOr(stored, err)
	if err != nil {
		return nil, err
	}
	out := &amendedOutput{Body: Amended{Recorded: recorded.Body}}
	if log, err := c.Log(); err == nil {
		out.Body.Becomes, _ = view.BecomesOfAmendment(ctx, a.lab.Registry(), log, c.Name(), stored)
	}
	return out, nil
}

// RunState reports whether the lab runs a campaign, after a request to start or stop it.
type RunState struct {
	Campaign string `json:"campaign"`
	Running  bool   `json:"running"`
}

type runOutput struct{ Body RunState }

// runs registers the operations by which the lab starts and stops running campaigns. They are
// events of the lab and not of the campaign: the campaign does not depend on who runs it, and a
// copy of its log audits the same.
func (a *API) runs() {
	register := func(verb, summary, description string, running bool,
		do func(context.Context, *lab.Campaign, engine.Request) error,
	) {
		op := operation(verb+"-run", http.MethodPost, "/campaigns/{campaign}/"+verb, summary, description)
		// A repeat asks for the present state: a key is not needed.
		huma.Register(a.huma, op, func(ctx context.Context, in *InCampaign) (*runOutput, error) {
			c, err := a.find(ctx, *in)
			if err == nil {
				err = do(ctx, c, asked(ctx, engine.Request{}))
			}
			if err != nil {
				return nil, problems.Of(err)
			}
			return &runOutput{RunState{Campaign: c.Name(), Running: running}}, nil
		})
	}
	register("run", "Have the lab run a campaign",
		"Now, and after a restart of the server, until it has ended.", true,
		func(ctx context.Context, c *lab.Campaign, by engine.Request) error { return c.Start(ctx, by) })
	register("halt", "Have the lab no longer run a campaign",
		"What is under way at the instrument goes on; the campaign can be run again.", false,
		func(_ context.Context, c *lab.Campaign, by engine.Request) error { return c.Halt(by) })
}

// importInput is a table and the options for reading it, the same as those of `campaignd import`,
// under the same names. They are in the address, since the body is the table.
type importInput struct {
	InCampaign
	Again   bool     `query:"again" doc:"Take rows over though the campaign has the same."`
	Once    bool     `query:"once" doc:"Leave out rows that the campaign has already, so that a table sent twice is recorded once."`
	Anyway  bool     `query:"anyway" doc:"Take rows that the campaign could not ask for: outside its bounds, with another sum, or simulated."`
	Note    []string `query:"note" maxItems:"100" doc:"Columns whose cells are kept as notes."`
	Ignore  []string `query:"ignore" maxItems:"100" doc:"Columns that are left out."`
	Column  []string `query:"column,explode" maxItems:"1000" doc:"Columns that the table has under another name, as in \"salt (mol/kg)=salt\" or \"visc. (mPa s)=further_viscosity\"."`
	Preview bool     `query:"preview" doc:"Only say what would be taken over."`
	RawBody []byte   `contentType:"text/csv"`
}

// importOutput has the events of an import or, for a preview, the table; the rows read in both.
type importOutput struct {
	Body struct {
		Recorded []json.RawMessage `json:"recorded" doc:"The events, as CloudEvents; none in a preview."`
		Rows     []engine.Tell     `json:"rows" doc:"The measurements that were read."`
		LeftOut  map[string]int    `json:"left_out" doc:"How many rows are no measurements to be taken over, by the reason."`
		Table    *exchange.Preview `json:"table,omitempty" doc:"In a preview: what becomes of each row."`
	}
}

// importing registers the operation that imports a CSV file. A table is imported whole or not at
// all, in one batch of events: with half a table a person would have to find out which half.
func (a *API) importing() {
	op := operation("import-csv", http.MethodPost, "/campaigns/{campaign}/import/csv",
		"Take over measurements from a CSV file",
		"The header names the parameters and the objective; what the export writes is understood. A row that names a measured experiment (column experiment), without a composition or with that one's, adds quantities to it. All rows are taken or none; they do not count against the budget.")
	huma.Register(a.huma, a.recording(op), a.importTable)
	// A row that was read has its value; the body of a result describes the fields.
	row := a.huma.OpenAPI().Components.Schemas.Map()["EngineTell"]
	row.Required = []string{"value"}
	for _, field := range row.Properties {
		field.Description = ""
	}
}

// importTable imports a table, or previews it.
//
// A repeat is looked for in the very state against which the table is read, and gets the original
// answer. A table whose rows are all known already (once) records nothing and succeeds: it is the
// same file, sent under another key or none.
//
// Between reading and recording, other events may be recorded, among them an import of the same
// rows; the engine leaves out existing rows (ImportOnce). The recorded rows then follow from the
// state just before them: the answer is made from that, and not from the table as read here.
func (a *API) importTable(ctx context.Context, in *importInput) (*importOutput, error) {
	core, c, err := a.folded(ctx, in.InCampaign)
	if err != nil {
		return nil, err
	}
	stored, err := repeatedIn(ctx, c, core)
	if err != nil {
		return nil, err
	}
	if stored != nil {
		return in.imported(ctx, a, c, stored)
	}
	im, err := in.reader(ctx, a, core)
	if err != nil {
		return nil, err
	}
	out := new(importOutput)
	table, err := im.Preview("the table", bytes.NewReader(in.RawBody))
	if im.Once && err == nil && table.Count(exchange.FateKnown) > 0 &&
		table.Count(exchange.FateNew)+table.Count(exchange.FateWrong) == 0 {
		// It was imported before.
		out.Body.Recorded, out.Body.Rows = []json.RawMessage{}, []engine.Tell{}
		out.Body.LeftOut = table.LeftOut()
		return out, nil
	}
	if err := im.Read("the table", bytes.NewReader(in.RawBody)); err != nil {
		return nil, problems.Of(err)
	}
	if in.Preview {
		out.Body.Recorded = []json.RawMessage{}
		out.Body.Rows = im.Rows
		out.Body.LeftOut = im.Skipped
		out.Body.Table = table
		return out, nil
	}
	stored, err = a.submit(ctx, c, engine.Request{Import: im.Rows, ImportOnce: im.Once})
	if err != nil {
		return nil, err
	}
	if stored[0].Sequence != core.State().Sequence+1 {
		return in.imported(ctx, a, c, stored) // events in between may have included these rows
	}
	return im.answer(stored)
}

// imported is the answer to a table imported by these events: the table as read in the campaign
// before them. So a repeat gets the original answer, though the rows are known by now.
func (in *importInput) imported(
	ctx context.Context, a *API, c *lab.Campaign, stored []events.Event,
) (*importOutput, error) {
	core, err := c.At(ctx, stored[0].Sequence-1)
	if err != nil {
		return nil, problems.Of(err)
	}
	im, err := in.reader(ctx, a, core)
	if err != nil {
		return nil, err
	}
	if err := im.Read("the table", bytes.NewReader(in.RawBody)); err != nil {
		return nil, problems.Of(err)
	}
	return im.answer(stored)
}

// tableReader reads a table of the API: it names the remedies as parameters, where the command line
// names flags and a page checkboxes.
type tableReader struct{ exchange.Import }

// reader returns the table's reader for a campaign. core must not change meanwhile: rows are
// compared with its measurements. again wins over once, as the two contradict each other.
func (in *importInput) reader(
	ctx context.Context, a *API, core *engine.Core,
) (*tableReader, error) {
	actor, _ := gate.ActorOf(ctx)
	im := &tableReader{exchange.Import{
		Registry: a.lab.Registry(), Core: core, Actor: actor,
		Again: in.Again, Anyway: in.Anyway, Once: in.Once && !in.Again,
		Notes: in.Note, Ignore: in.Ignore,
		Columns: make(map[string]string),
		Words: exchange.Words{
			Again: "import it again (again)", Anyway: "import it despite this (anyway)",
			Note: "where note names it", Ignore: "where ignore names it",
			Column: `where column says what it is, as in "salt (mol/kg)=salt"`, Clause: error.Error,
		},
	}}
	for _, text := range in.Column {
		column, name, err := exchange.ParseColumn(text)
		if err != nil {
			return nil, problems.Of(problem.New(problem.Invalid, "column: %w", err))
		}
		im.Columns[column] = name
	}
	return im, nil
}

// answer is the answer to a table that was read and recorded.
func (im *tableReader) answer(stored []events.Event) (*importOutput, error) {
	recorded, err := recordedAs(stored)
	if err != nil {
		return nil, err
	}
	out := new(importOutput)
	out.Body.Recorded = recorded.Body.Recorded
	out.Body.Rows = im.Rows
	out.Body.LeftOut = im.Skipped
	return out, nil
}
