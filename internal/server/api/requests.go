package api

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/campaignfile"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/exchange"
	"github.com/campaignd/campaignd/internal/lab"
	"github.com/campaignd/campaignd/internal/problem"
	"github.com/campaignd/campaignd/internal/server/gate"
	"github.com/campaignd/campaignd/internal/server/problems"
	"github.com/campaignd/campaignd/internal/view"
)

// Because is why something is wanted. The events of pausing and the like hold
// more, which only the engine fills in: they are no bodies.
type Because struct {
	Reason string `json:"reason,omitempty" maxLength:"10000" doc:"Why, for the record."`
}

// record registers a request that is recorded as it is. Its body is the
// engine's own type, so that what the API takes and what the engine judges
// cannot part: a new field of a request is in the API at once, and a test of
// the document notices.
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

// steer registers a request that needs no more than a reason. The body may be
// absent altogether, since the reason may.
func (a *API) steer(verb, summary, description string, make func(reason string) engine.Request) {
	type input struct {
		InCampaign
		Body *Because // it may be left out
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

// requests are the operations that people's requests are recorded by. Each has
// the kind of request that the engine has; what is wrong with one is found by
// engine.Core.Handle and by nothing here, so that pages, command line and API
// refuse the same with the same words. The order is that of the document.
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
	a.steering()
	a.runs()
	inCampaign(a, a.recording(operation("amend-campaign", http.MethodPut,
		"/campaigns/{campaign}/definition",
		"Amend a campaign", "The body is the campaign file with the changes. "+
			"What a campaign under way does not allow is refused, with the reason.")),
		a.amend)
}

// steering are the requests that need no more than a reason. The event itself
// is the request: the engine fills in what else it holds.
func (a *API) steering() {
	a.steer("pause", "Pause a campaign", "Nothing new begins until it is resumed.",
		func(reason string) engine.Request {
			return engine.Request{Pause: &events.CampaignPaused{Reason: reason}}
		})
	a.steer("resume", "Resume a campaign", "", func(reason string) engine.Request {
		return engine.Request{Resume: &events.CampaignResumed{Reason: reason}}
	})
	a.callingOff()
}

// amendInput is a campaign file with its changes. It is raw, as in
// [beginInput]; the reason is in the address, since the body is the file.
type amendInput struct {
	InCampaign
	Reason  string `query:"reason" maxLength:"10000" doc:"Why, for the record."`
	RawBody []byte `contentType:"application/yaml"`
}

// amend records what a changed file changes. Rights are asked before anything
// opens what the file names.
//
// What the changes are depends on how the campaign stands: a repeat, which
// finds its own changes made, would be answered with "nothing". So it is looked
// for first and, where nothing is left to change, once more in the state that
// was compared: the same request may have been recorded in between.
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
	stored, err := a.repeated(ctx, c)
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
		stored, err := a.repeatedIn(ctx, c, core) // by the same request, sent twice at once
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

// amended answers an amendment with what it makes of what was found. That is recorded
// already: where models cannot be worked out, the answer lacks it.
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

// RunState says whether the lab runs a campaign, after a request that wanted it
// so.
type RunState struct {
	Campaign string `json:"campaign"`
	Running  bool   `json:"running"`
}

type runOutput struct{ Body RunState }

// runs are the operations by which the lab begins and ends to run campaigns.
// They are events of the lab and not of the campaign: what that is does not
// depend on what runs it, and a copy of its log audits the same.
func (a *API) runs() {
	register := func(verb, summary, description string, running bool,
		do func(context.Context, *lab.Campaign, engine.Request) error,
	) {
		op := operation(verb+"-run", http.MethodPost, "/campaigns/{campaign}/"+verb, summary, description)
		// Sent again it asks for what is the case already: a key is not looked
		// at.
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

// importInput is a table and how to read it; the options are those of
// `campaignd import`, under the same names. They are in the address, since the
// body is the table.
type importInput struct {
	InCampaign
	Again   bool     `query:"again" doc:"Take rows over though the campaign has the same."`
	Once    bool     `query:"once" doc:"Leave out rows that the campaign has already, so that what is sent twice is recorded once."`
	Anyway  bool     `query:"anyway" doc:"Take rows that the campaign could not ask for: outside its bounds, with another sum, or simulated."`
	Note    []string `query:"note" maxItems:"100" doc:"Columns whose cells are kept as notes."`
	Ignore  []string `query:"ignore" maxItems:"100" doc:"Columns that are left out."`
	Column  []string `query:"column,explode" maxItems:"1000" doc:"Columns that the table has under another name, as in \"salt (mol/kg)=salt\" or \"visc. (mPa s)=further_viscosity\"."`
	Preview bool     `query:"preview" doc:"Only say what would be taken over."`
	RawBody []byte   `contentType:"text/csv"`
}

// importOutput has the events where the table was taken over, and the table
// where it was only looked at; the rows that were read in both.
type importOutput struct {
	Body struct {
		Recorded []json.RawMessage `json:"recorded" doc:"The events, as CloudEvents; none in a preview."`
		Rows     []engine.Tell     `json:"rows" doc:"The measurements that were read."`
		LeftOut  map[string]int    `json:"left_out" doc:"How many rows are no measurements to be taken over, by the reason."`
		Table    *exchange.Preview `json:"table,omitempty" doc:"In a preview: what becomes of each row."`
	}
}

// importing registers the operation that takes a CSV file over. A table is
// taken whole or not at all, in one batch of events: half a table would leave a
// person to find out which half.
func (a *API) importing() {
	op := operation("import-csv", http.MethodPost, "/campaigns/{campaign}/import/csv",
		"Take over measurements from a CSV file",
		"The header names the parameters and the objective; what the export writes is understood. A row that names a measured experiment (column experiment), without a composition or with that one's, adds quantities to it. All rows are taken or none; they do not count against the budget.")
	huma.Register(a.huma, a.recording(op), a.importTable)
	// A row that was read has its value; what the fields are, the body of a
	// result says.
	row := a.huma.OpenAPI().Components.Schemas.Map()["EngineTell"]
	row.Required = []string{"value"}
	for _, field := range row.Properties {
		field.Description = ""
	}
}

// importTable takes a table over, or says what would become of it.
//
// A repeat is looked for in the very state by which the table is read, and
// answered with what was read then. A table of which every row is known already
// (once) is no fault and records nothing: it is the same file, sent under
// another key or none.
//
// Between reading and recording, events may have been recorded, some of them by
// an import of the same rows; the engine leaves out what is there (ImportOnce).
// What was really recorded then follows from the state just before it: the
// answer is made from that, and not from what was read here.
func (a *API) importTable(ctx context.Context, in *importInput) (*importOutput, error) {
	core, c, err := a.folded(ctx, in.InCampaign)
	if err != nil {
		return nil, err
	}
	stored, err := a.repeatedIn(ctx, c, core)
	if err != nil {
		return nil, err
	}
	if stored != nil {
		return a.imported(ctx, c, in, stored)
	}
	im, err := in.reader(ctx, a, core)
	if err != nil {
		return nil, err
	}
	out := new(importOutput)
	table, err := im.Preview("the table", bytes.NewReader(in.RawBody))
	if im.Once && err == nil && table.Count(exchange.FateKnown) > 0 &&
		table.Count(exchange.FateNew)+table.Count(exchange.FateWrong) == 0 {
		// It was taken over before.
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
		return a.imported(ctx, c, in, stored) // what came between may have been of these rows
	}
	return im.answer(stored)
}

// imported is the answer to a table that was taken over by these events: what
// is read of it in the campaign as it was before them. So a repeat is answered
// as the first time, though the rows are known by now.
func (a *API) imported(
	ctx context.Context, c *lab.Campaign, in *importInput, stored []events.Event,
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

// tableReader reads a table of the API: it names the remedies as parameters,
// where the command line names flags and a page what to tick.
type tableReader struct{ exchange.Import }

// reader returns what reads the table into a campaign. core must not change
// meanwhile: rows are compared with what it has measured. again wins over once,
// as the two contradict each other.
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
			Again: "take it all the same (again)", Anyway: "take it all the same (anyway)",
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

// answer is that to a table that was read and recorded.
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
