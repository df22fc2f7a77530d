package api

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
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
)

// What people's requests carry in the API. They are types of their own next to
// the engine's, where they become [engine.Request]: a value that is left out is
// distinguished from 0, and a composition that cannot be read is answered with its field
// and status 400, before any campaign is asked.

// Tell is the result of an experiment that a person or a script ran.
type Tell struct {
	Experiment string            `json:"experiment,omitempty" doc:"The suggested experiment; absent for one's own."`
	Parameters map[string]any    `json:"parameters,omitempty" doc:"The composition of one's own experiment."`
	Actual     map[string]any    `json:"actual,omitempty" doc:"What was really made, where it differs from what was asked for."`
	Value      *float64          `json:"value,omitempty" doc:"Of the objective."`
	Unit       string            `json:"unit,omitempty" doc:"The value's unit, to be checked against the campaign's."`
	SD         *float64          `json:"sd,omitempty" doc:"The standard deviation of the value, where it is known."`
	Failed     string            `json:"failed,omitempty" doc:"Why there is no value."`
	Infeasible string            `json:"infeasible,omitempty" doc:"Why the composition cannot be made or measured."`
	Again      string            `json:"again,omitempty" doc:"Why nothing took place: the same is asked for again."`
	Further    []FurtherQuantity `json:"further,omitempty" doc:"Other quantities that were measured."`
	Notes      []string          `json:"notes,omitempty" doc:"Remarks on it, recorded together with it."`
	Anyway     bool              `json:"anyway,omitempty" doc:"Take a composition that the campaign could not ask for."`
}

// FurtherQuantity is a quantity beside the objective.
type FurtherQuantity struct {
	Name  string   `json:"name"`
	Value float64  `json:"value"`
	Unit  string   `json:"unit,omitempty"`
	SD    *float64 `json:"sd,omitempty"`
}

// result returns the engine's form of a result.
func (t Tell) result() (*engine.Tell, error) {
	parameters, err := pointOf("parameters", t.Parameters)
	if err != nil {
		return nil, err
	}
	actual, err := pointOf("actual", t.Actual)
	if err != nil {
		return nil, err
	}
	r := &engine.Tell{
		Experiment: t.Experiment,
		Parameters: parameters,
		Actual:     actual,
		Unit:       t.Unit,
		SD:         t.SD,
		Failed:     t.Failed,
		Infeasible: t.Infeasible,
		Again:      t.Again,
		Further:    furtherOf(t.Further),
		Notes:      t.Notes,
		Anyway:     t.Anyway,
	}
	reasons := 0
	for _, reason := range []string{t.Failed, t.Infeasible, t.Again} {
		if reason != "" {
			reasons++
		}
	}
	switch {
	case t.Experiment != "" && t.Parameters != nil:
		return nil, problem.New(problem.Invalid,
			"a suggested experiment has its parameters: give one of experiment and parameters")
	case t.Experiment == "" && t.Parameters == nil:
		return nil, problem.New(problem.Invalid, "say which experiment it is, or the parameters of one's own")
	case reasons > 1:
		return nil, problem.New(problem.Invalid, "give at most one of failed, infeasible and again")
	case reasons == 1 && t.Value != nil:
		return nil, problem.New(problem.Invalid,
			"an experiment that failed has no value: give one of the two")
	case reasons == 0 && t.Value == nil:
		return nil, problem.New(problem.Invalid,
			"give the value, or why there is none: failed, infeasible or again")
	case t.Value != nil:
		r.Value = *t.Value
	}
	return r, nil
}

// pointOf reads a composition: numbers and the names of categories.
func pointOf(field string, values map[string]any) (definition.Point, error) {
	if values == nil {
		return nil, nil
	}
	if len(values) == 0 {
		return nil, problem.New(problem.Invalid, "%s is empty: give a value for each parameter", field)
	}
	point := make(definition.Point, len(values))
	for name, v := range values {
		switch v := v.(type) {
		case float64:
			point[name] = definition.Number(v)
			continue
		case string:
			if v != "" {
				point[name] = definition.Category(v)
				continue
			}
		}
		return nil, problem.New(problem.Invalid,
			"%s.%s is neither a number nor the name of a category", field, name)
	}
	return point, nil
}

func furtherOf(quantities []FurtherQuantity) (further []definition.Quantity) {
	for _, q := range quantities {
		further = append(further, definition.Quantity{Name: q.Name, Value: q.Value, Unit: q.Unit, SD: q.SD})
	}
	return further
}

// Because is why somebody wants something.
type Because struct {
	Reason string `json:"reason,omitempty" maxLength:"10000" doc:"Why, for the record."`
}

// body is a request on a campaign.
type body[B any] struct {
	InCampaign
	Body B
}

// optional is a request whose body may be left out.
type optional[B any] struct {
	InCampaign
	Body *B
}

// record registers a request that is recorded as it is.
func record[B any](a *API, op huma.Operation, make func(B) (engine.Request, error)) {
	huma.Register(a.huma, a.recording(op), func(ctx context.Context, in *body[B]) (*recordedOutput, error) {
		return a.fulfill(ctx, in.InCampaign, func() (engine.Request, error) { return make(in.Body) })
	})
}

// steer registers a request that needs no more than a reason.
func (a *API) steer(verb, summary, description string, make func(reason string) engine.Request) {
	op := operation(verb+"-campaign", http.MethodPost, "/campaigns/{campaign}/"+verb, summary, description)
	huma.Register(a.huma, a.recording(op),
		func(ctx context.Context, in *optional[Because]) (*recordedOutput, error) {
			reason := ""
			if in.Body != nil {
				reason = in.Body.Reason
			}
			return a.fulfill(ctx, in.InCampaign, func() (engine.Request, error) { return make(reason), nil })
		})
}

// Correction says that an experiment ended otherwise than the record has it.
type Correction struct {
	Experiment string            `json:"experiment" doc:"The experiment, or several that were not performed: e1-e24, or e1,e3-e5."`
	Outcome    string            `json:"outcome,omitempty" enum:"measured,failed,infeasible,not-performed" doc:"How it really ended."`
	Value      *float64          `json:"value,omitempty"`
	SD         *float64          `json:"sd,omitempty"`
	Actual     map[string]any    `json:"actual,omitempty"`
	Further    []FurtherQuantity `json:"further,omitempty"`
	Exclude    bool              `json:"exclude,omitempty" doc:"Leave the outcome out of the models."`
	Reason     string            `json:"reason" minLength:"1" doc:"Why, for the record."`
	Anyway     bool              `json:"anyway,omitempty"`
}

// Resolution settles an experiment whose fate is unknown.
type Resolution struct {
	Experiment string            `json:"experiment" doc:"The experiment, or several of which the same is said, all or none: e1-e24, or e1,e3-e5."`
	Resolution string            `json:"resolution" enum:"measured,failed,infeasible,not-performed" doc:"What became of it."`
	Value      *float64          `json:"value,omitempty" doc:"The result, where it was measured."`
	SD         *float64          `json:"sd,omitempty"`
	Actual     map[string]any    `json:"actual,omitempty"`
	Further    []FurtherQuantity `json:"further,omitempty"`
	Repeat     bool              `json:"repeat,omitempty" doc:"Ask for the same again."`
	Reason     string            `json:"reason,omitempty"`
	Anyway     bool              `json:"anyway,omitempty"`
}

// Exclusion is a person's "won't".
type Exclusion struct {
	Point  map[string]any  `json:"point,omitempty" doc:"A composition whose neighborhood is excluded."`
	Region map[string]Side `json:"region,omitempty" doc:"A box that is excluded, by parameters."`
	About  string          `json:"about,omitempty" doc:"An experiment or question whose neighborhood is excluded."`
	Reason string          `json:"reason" minLength:"1"`
}

// Side is one side of a region: an interval, or a category.
type Side struct {
	Min *float64 `json:"min,omitempty"`
	Max *float64 `json:"max,omitempty"`
	Is  string   `json:"is,omitempty"`
}

// Anchors are compositions at which an expert trusts their own judgment.
type Anchors struct {
	Expert  string           `json:"expert" minLength:"1" doc:"Whose judgment it is."`
	Points  []map[string]any `json:"points,omitempty" maxItems:"1000" doc:"Compositions."`
	Instead bool             `json:"instead,omitempty" doc:"Instead of those that were named so before; without points they are only taken back."`
	Reason  string           `json:"reason,omitempty" doc:"Why, for the record."`
}

// Note is a remark.
type Note struct {
	Text  string `json:"text" minLength:"1" maxLength:"10000"`
	About string `json:"about,omitempty" doc:"An experiment, question or decision."`
}

// Permission takes an exclusion back.
type Permission struct {
	Exclusion string `json:"exclusion"`
	Reason    string `json:"reason,omitempty"`
}

// request returns the engine's form.
func (c Correction) request() (engine.Request, error) {
	actual, err := pointOf("actual", c.Actual)
	return engine.Request{Correct: &engine.Correct{
		Experiment: c.Experiment,
		Outcome:    events.Resolution(c.Outcome),
		Value:      c.Value,
		SD:         c.SD,
		Actual:     actual,
		Further:    furtherOf(c.Further),
		Exclude:    c.Exclude,
		Reason:     c.Reason,
		Anyway:     c.Anyway,
	}}, err
}

// request returns the engine's form.
func (r Resolution) request() (engine.Request, error) {
	actual, err := pointOf("actual", r.Actual)
	return engine.Request{Resolve: &engine.Resolve{
		Experiment: r.Experiment,
		Resolution: events.Resolution(r.Resolution),
		Value:      r.Value,
		SD:         r.SD,
		Actual:     actual,
		Further:    furtherOf(r.Further),
		Repeat:     r.Repeat,
		Reason:     r.Reason,
		Anyway:     r.Anyway,
	}}, err
}

// request returns the engine's form.
func (x Exclusion) request() (engine.Request, error) {
	point, err := pointOf("point", x.Point)
	if x.Region != nil && len(x.Region) == 0 {
		return engine.Request{}, problem.New(problem.Invalid,
			"region is empty: give an interval or a category for a parameter")
	}
	var region map[string]definition.RegionSide
	for name, side := range x.Region {
		if region == nil {
			region = make(map[string]definition.RegionSide)
		}
		region[name] = definition.RegionSide(side)
	}
	return engine.Request{Exclude: &engine.Exclude{
		Point: point, Region: region, About: x.About, Reason: x.Reason,
	}}, err
}

// request returns the engine's form.
func (d Anchors) request() (engine.Request, error) {
	r := &events.AnchorsDeclared{
		Expert: d.Expert, Points: []definition.Point{}, Instead: d.Instead, Reason: d.Reason,
	}
	if len(d.Points) == 0 && !d.Instead {
		return engine.Request{},
			problem.New(problem.Invalid, "say which compositions, or instead of which")
	}
	for i, p := range d.Points {
		point, err := pointOf(fmt.Sprintf("points[%d]", i), p)
		if err != nil {
			return engine.Request{}, err
		}
		r.Points = append(r.Points, point)
	}
	return engine.Request{Anchors: r}, nil
}

// importRequest returns the engine's form of earlier measurements.
func importRequest(rows []Tell) (r engine.Request, err error) {
	if len(rows) == 0 {
		return r, problem.New(problem.Invalid, "there is nothing to take over")
	}
	for i, row := range rows {
		tell, err := row.result()
		if err != nil {
			return r, problem.New(problem.CodeOf(err), "row %d: %w", i+1, err)
		}
		r.Import = append(r.Import, *tell)
	}
	return r, nil
}

// request returns the engine's form.
func (t Tell) request() (engine.Request, error) {
	tell, err := t.result()
	return engine.Request{Tell: tell}, err
}

// requests are the operations that people's requests are recorded by.
func (a *API) requests() {
	on := func(id, path, summary, description string) huma.Operation {
		return operation(id, http.MethodPost, "/campaigns/{campaign}/"+path, summary, description)
	}
	record(a, on("tell", "tell", "Tell the result of an experiment",
		"Of one that was suggested, or of one's own, which counts against the budget."), Tell.request)
	record(a, on("import", "import", "Take over earlier measurements",
		"All or none; they do not count against the budget."), importRequest)
	record(a, on("correct", "correct", "Correct an outcome", "What the correction does not name stays."),
		Correction.request)
	record(a, on("resolve", "resolve", "Settle what became of an experiment",
		"Of an experiment whose fate is unknown."), Resolution.request)
	record(a, on("exclude", "exclude", "Exclude compositions", "Nothing there is suggested any more."),
		Exclusion.request)
	record(a, on("anchor", "anchors", "Name compositions at which an expert trusts their own judgment",
		"Comparisons near them count for more."), Anchors.request)
	a.importing()
	record(a, on("allow", "allow", "Take an exclusion back", ""),
		func(p Permission) (engine.Request, error) {
			return engine.Request{Allow: &engine.Allow{Exclusion: p.Exclusion, Reason: p.Reason}}, nil
		})
	record(a, on("note", "note", "Add a note", ""),
		func(n Note) (engine.Request, error) {
			return engine.Request{Note: &events.NoteAdded{Text: n.Text, About: n.About}}, nil
		})
	a.steering()
	a.runs()
	inCampaign(a, a.recording(operation("amend-campaign", http.MethodPut,
		"/campaigns/{campaign}/definition",
		"Amend a campaign", "The body is the campaign file with the changes. "+
			"What a campaign under way does not allow is refused, with the reason.")),
		a.amend)
}

// steering are the requests that need no more than a reason.
func (a *API) steering() {
	a.steer("pause", "Pause a campaign", "Nothing new begins until it is resumed.",
		func(reason string) engine.Request {
			return engine.Request{Pause: &events.CampaignPaused{Reason: reason}}
		})
	a.steer("resume", "Resume a campaign", "", func(reason string) engine.Request {
		return engine.Request{Resume: &events.CampaignResumed{Reason: reason}}
	})
	a.steer("stop", "Stop a campaign for good", "It cannot be resumed.", func(reason string) engine.Request {
		return engine.Request{Stop: &events.CampaignStopped{Reason: reason}}
	})
}

type amendInput struct {
	InCampaign
	Reason  string `query:"reason" maxLength:"10000" doc:"Why, for the record."`
	RawBody []byte `contentType:"application/yaml"`
}

func (a *API) amend(
	ctx context.Context, c *lab.Campaign, in *amendInput,
) (*recordedOutput, error) {
	file, err := a.lab.Parse("the campaign file", in.RawBody)
	if err == nil {
		err = a.MayDefine(ctx, &file.Definition, c.Defined())
	}
	if err != nil {
		return nil, problems.Of(err)
	}
	stored, err := a.repeated(ctx, c)
	if stored != nil || err != nil {
		return recordedOr(stored, err)
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
			return &recordedOutput{}, nil
		}
		return recordedOr(stored, err)
	}
	return recordedOr(a.submit(ctx, c, engine.Request{Amend: &events.CampaignAmended{
		Definition: def, Changes: changes, Reason: in.Reason, Source: file.Source,
	}}))
}

// RunState says whether the lab runs a campaign.
type RunState struct {
	Campaign string `json:"campaign"`
	Running  bool   `json:"running"`
}

type runOutput struct{ Body RunState }

// runs are the operations by which the lab begins and ends to run campaigns.
// They are no events: what a campaign is does not depend on who runs it.
func (a *API) runs() {
	register := func(verb, summary, description string, running bool, do func(context.Context, *lab.Campaign) error) {
		op := operation(verb+"-run", http.MethodPost, "/campaigns/{campaign}/"+verb, summary, description)
		// Sent again it asks for what is the case already: a key is not looked
		// at.
		huma.Register(a.huma, op, func(ctx context.Context, in *InCampaign) (*runOutput, error) {
			c, err := a.find(ctx, *in)
			if err == nil {
				err = do(ctx, c)
			}
			if err != nil {
				return nil, problems.Of(err)
			}
			return &runOutput{RunState{Campaign: c.Name(), Running: running}}, nil
		})
	}
	register("run", "Have the lab run a campaign",
		"Now, and after a restart of the server, until it has ended.", true,
		func(ctx context.Context, c *lab.Campaign) error { return c.Start(ctx) })
	register("halt", "Have the lab no longer run a campaign",
		"What is under way at the instrument goes on; the campaign can be run again.", false,
		func(_ context.Context, c *lab.Campaign) error { return c.Halt() })
}

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

type importOutput struct {
	Body struct {
		Recorded []json.RawMessage `json:"recorded" doc:"The events, as CloudEvents; none in a preview."`
		Rows     []engine.Tell     `json:"rows" doc:"The measurements that were read."`
		LeftOut  map[string]int    `json:"left_out" doc:"How many rows are no measurements to be taken over, by the reason."`
		Table    *exchange.Preview `json:"table,omitempty" doc:"In a preview: what becomes of each row."`
	}
}

// importing registers the operation that takes a CSV file over.
func (a *API) importing() {
	op := operation("import-csv", http.MethodPost, "/campaigns/{campaign}/import/csv",
		"Take over measurements from a CSV file",
		"The header names the parameters and the objective; what the export writes is understood. All rows are taken or none; they do not count against the budget.")
	huma.Register(a.huma, a.recording(op), a.importTable)
}

// importTable takes a table over, or says what would become of it.
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
// is read of it in the campaign as it was before them.
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

// tableReader reads a table of the API.
type tableReader struct{ exchange.Import }

// reader returns what reads the table into a campaign.
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
