package api

import (
	"bytes"
	"context"
	"encoding/json"
	"math"
	"net/http"
	"slices"

	"github.com/danielgtaylor/huma/v2"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/files/exchange"
	"github.com/campaignd/campaignd/internal/ground/problem"
	"github.com/campaignd/campaignd/internal/lab"
	"github.com/campaignd/campaignd/internal/lab/forward"
	"github.com/campaignd/campaignd/internal/view"
	"github.com/campaignd/campaignd/internal/view/diagnose"
	"github.com/campaignd/campaignd/internal/web/server/problems"
	"github.com/campaignd/campaignd/projections/campaign"
	"github.com/campaignd/campaignd/schemas"
)

// experimentsInput, like the other inputs of lists here, embeds the campaign of the path and the
// page. A filter is applied after the cursor: a page is shorter than its limit only at the end of
// the list.
type experimentsInput struct {
	InCampaign
	Page
	Status string `query:"status" enum:"requested,dispatched,started,measured,failed,infeasible,deferred,cancelled,unresolved" doc:"Only those."`
}

type experimentsOutput struct {
	Body struct {
		Experiments []campaign.Experiment `json:"experiments"`
		Next        string                `json:"next,omitempty" doc:"The cursor of the next page; absent on the last one."`
	}
}

type actsInput struct {
	InCampaign
	Page
	Experiment string `query:"experiment" maxLength:"40" doc:"Only those that serve this experiment."`
	Batch      string `query:"batch" maxLength:"40" doc:"Only those of this batch."`
}

type actsOutput struct {
	Body struct {
		Acts []view.ActRecord `json:"acts"`
		Next string           `json:"next,omitempty" doc:"The cursor of the next page; absent on the last one."`
	}
}

type askedInput struct {
	InCampaign
	Page
	Status string `query:"status" enum:"asked,answered,expired,withdrawn" doc:"Only those."`
	Expert string `query:"expert" maxLength:"200" doc:"Only those to this expert."`
}

type askedOutput struct {
	Body struct {
		Questions []OpenQuestion `json:"questions"`
		Next      string         `json:"next,omitempty" doc:"The cursor of the next page; absent on the last one."`
	}
}

type rowsOutput struct {
	Body struct {
		Columns []string   `json:"columns" doc:"In the order of the table."`
		Rows    []tableRow `json:"rows" doc:"A row each: numbers, texts, true and false, and null where there is nothing."`
		Next    string     `json:"next,omitempty" doc:"The cursor of the next page; absent on the last one."`
	}
}

type rowsInput struct {
	InCampaign
	Page
}

type exportOutput struct {
	ContentType string `header:"Content-Type"`
	Body        []byte
}

type diagnosisOutput struct{ Body diagnose.Diagnosis }

type replayInput struct {
	InCampaign
	At uint64 `query:"at" minimum:"1" maximum:"9007199254740991" doc:"The position of the last event to read; the newest where it is absent."`
}

// Replayed is a campaign at an earlier position. The state is that of one projection, for people to
// read; the digest covers all of them, for programs to compare.
type Replayed struct {
	Campaign string          `json:"campaign"`
	Position events.Position `json:"position" doc:"That of the last event that was folded."`
	Sequence events.Sequence `json:"sequence"`
	Digest   string          `json:"digest" doc:"The SHA-256 of all projections."`
	State    json.RawMessage `json:"state" doc:"What was asked, measured, decided, spent and pending."`
}

type replayOutput struct{ Body Replayed }

// afterID returns the place in a list after the identifier in a cursor: "e7" begins at the eighth.
// Identifiers are given in order and without gaps, from 1, so that the number is the place. One
// beyond the end gives an empty page, not an error.
func afterID(cursor string, number func(string) int, length int) (int, error) {
	if cursor == "" {
		return 0, nil
	}
	n := number(cursor)
	if n <= 0 {
		return 0, problem.New(problem.Invalid, "%q is not the cursor of a page of this list", cursor)
	}
	return min(n, length), nil
}

// records registers the operations that list a campaign's contents. They fold a core of their own,
// since a page may be long and the campaign's events must not wait for it to be written.
func (a *API) records() {
	on := func(id, path, summary, description string) huma.Operation {
		return operation(id, http.MethodGet, "/campaigns/{campaign}/"+path, summary, description)
	}
	huma.Register(a.huma, on("list-experiments", "experiments", "The experiments of a campaign",
		"In the order in which they were asked for, with all that is known of each."), a.experiments)
	huma.Register(a.huma, on("list-acts", "acts", "The acts of a campaign",
		"Of one with a procedure, in the order in which they were dispatched: what each was, what it waited for, used up and gave."), a.acts)
	huma.Register(a.huma, on("list-asked", "questions", "The questions of a campaign",
		"All of them, with their answers, in the order in which they were asked."), a.asked)
	huma.Register(a.huma, on("list-rows", "rows", "The experiments as a table",
		"Flat rows, as data frames want them; the columns are those of the export. "+
			"Comparisons where nothing is measured."), a.rows)
	huma.Register(a.huma, answering(on("export-campaign", "export", "The experiments as CSV",
		"What `campaignd export` writes, and what import/csv reads."), "text/csv", "The table."), a.export)
	huma.Register(a.huma, on("diagnose-campaign", "diagnosis",
		"How far the model and the experts can be trusted",
		"What `campaignd diagnose --json` prints."),
		func(ctx context.Context, in *InCampaign) (*diagnosisOutput, error) {
			core, _, err := a.folded(ctx, *in)
			if err != nil {
				return nil, err
			}
			read, err := core.Read(ctx)
			if err != nil {
				return nil, problems.Of(err)
			}
			v, err := read.View(ctx)
			if err != nil {
				return nil, problems.Of(err)
			}
			d, err := diagnose.Run(ctx, v)
			if err != nil {
				return nil, problems.Of(err)
			}
			return &diagnosisOutput{d}, nil
		})
	inCampaign(a, on("replay-campaign", "replay",
		"The campaign's state, now or at any position of the log",
		"The digest identifies the state of all projections: live, replayed and restored ones agree."), replay)
	a.program()
}

// folded returns a core of the campaign that belongs to the caller: it may be kept, and models may
// be computed in it, without a lock.
func (a *API) folded(ctx context.Context, in InCampaign) (*engine.Core, *lab.Campaign, error) {
	c, err := a.find(ctx, in)
	if err != nil {
		return nil, nil, err
	}
	core, err := c.Load(ctx)
	if err != nil {
		return nil, nil, problems.Of(err)
	}
	return core, c, nil
}

// experiments returns a page of a campaign's experiments. It gives the next cursor only if another
// one matches: a client never gets an empty page after a full one.
func (a *API) experiments(ctx context.Context, in *experimentsInput) (*experimentsOutput, error) {
	core, _, err := a.folded(ctx, in.InCampaign)
	if err != nil {
		return nil, err
	}
	all := core.State().Experiments
	first, err := afterID(in.Cursor, events.ExperimentNumber, len(all))
	if err != nil {
		return nil, problems.Of(err)
	}
	out := new(experimentsOutput)
	out.Body.Experiments = []campaign.Experiment{}
	for _, x := range all[first:] {
		if in.Status != "" && string(x.Status) != in.Status {
			continue
		}
		if len(out.Body.Experiments) == in.Limit {
			out.Body.Next = out.Body.Experiments[in.Limit-1].ID
			break
		}
		out.Body.Experiments = append(out.Body.Experiments, x)
	}
	return out, nil
}

// acts returns a page of a campaign's acts.
func (a *API) acts(ctx context.Context, in *actsInput) (*actsOutput, error) {
	core, c, err := a.folded(ctx, in.InCampaign)
	if err != nil {
		return nil, err
	}
	s := core.State()
	first, err := afterID(in.Cursor, events.ActNumber, len(s.Acts))
	if err != nil {
		return nil, problems.Of(err)
	}
	var page []*campaign.Act
	out := &actsOutput{}
	for i := range s.Acts[first:] {
		act := &s.Acts[first+i]
		if in.Experiment != "" && !act.Serves(in.Experiment) || in.Batch != "" && act.Batch != in.Batch {
			continue
		}
		if len(page) == in.Limit {
			out.Body.Next = page[in.Limit-1].ID
			break
		}
		page = append(page, act)
	}
	log, err := c.Log()
	if err != nil {
		return nil, problems.Of(err)
	}
	timeline, err := c.Record().Timeline(ctx, log)
	if err != nil {
		return nil, problems.Of(err)
	}
	out.Body.Acts = append([]view.ActRecord{}, timeline.ActRecords(s, slices.Values(page))...)
	return out, nil
}

// asked returns a page of a campaign's questions, of any status; [API.openQuestions] lists those
// pending for people in all campaigns.
func (a *API) asked(ctx context.Context, in *askedInput) (*askedOutput, error) {
	core, c, err := a.folded(ctx, in.InCampaign)
	if err != nil {
		return nil, err
	}
	s := core.State()
	first, err := afterID(in.Cursor, events.QuestionNumber, len(s.Questions))
	if err != nil {
		return nil, problems.Of(err)
	}
	out := new(askedOutput)
	out.Body.Questions = []OpenQuestion{}
	for _, q := range s.Questions[first:] {
		if in.Status != "" && string(q.Status) != in.Status || in.Expert != "" && q.Expert != in.Expert {
			continue
		}
		if len(out.Body.Questions) == in.Limit {
			out.Body.Next = out.Body.Questions[in.Limit-1].ID
			break
		}
		out.Body.Questions = append(out.Body.Questions, openQuestion(c, s.Definition, q))
	}
	return out, nil
}

// tableRow is a row as an object, its fields in the order of the columns, which is that of the
// campaign file, since data frames keep it. A map would be written in key order. columns is shared
// by all rows.
type tableRow struct {
	columns []string
	cells   []exchange.Cell
}

// MarshalJSON implements json.Marshaler.
func (r tableRow) MarshalJSON() ([]byte, error) {
	b := []byte{'{'}
	for i, column := range r.columns {
		name, err := json.Marshal(column)
		if err != nil {
			return nil, err
		}
		cell, err := json.Marshal(r.cells[i])
		if err != nil {
			return nil, err
		}
		if i > 0 {
			b = append(b, ',')
		}
		b = append(append(append(b, name...), ':'), cell...)
	}
	return append(b, '}'), nil
}

// Schema implements huma.SchemaProvider. Its columns depend on the campaign, so the document cannot
// describe them.
func (tableRow) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeObject, AdditionalProperties: &huma.Schema{}}
}

// rows returns a page of the campaign as a table. Each row is named by its first cell, an
// identifier; the cursor is that of the last row. Package exchange defines the table: an export
// holds the same.
func (a *API) rows(ctx context.Context, in *rowsInput) (*rowsOutput, error) {
	core, _, err := a.folded(ctx, in.InCampaign)
	if err != nil {
		return nil, err
	}
	table := exchange.TableOf(core.State())
	out := new(rowsOutput)
	out.Body.Columns, out.Body.Rows = table.Columns, []tableRow{}
	past := func(row []exchange.Cell) bool { return row[0] == exchange.Cell(in.Cursor) }
	first := 0
	if in.Cursor != "" {
		if first = slices.IndexFunc(table.Rows, past) + 1; first == 0 {
			return nil, problems.Of(problem.New(problem.Invalid,
				"%q is not the cursor of a page of this table", in.Cursor))
		}
	}
	for _, row := range table.Rows[first:] {
		if len(out.Body.Rows) == in.Limit {
			out.Body.Next, _ = out.Body.Rows[in.Limit-1].cells[0].(string)
			break
		}
		out.Body.Rows = append(out.Body.Rows, tableRow{table.Columns, row})
	}
	return out, nil
}

// export writes the whole table into memory before the answer begins, so that a failure is still
// answered with its status.
func (a *API) export(ctx context.Context, in *InCampaign) (*exportOutput, error) {
	core, _, err := a.folded(ctx, *in)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	if err := exchange.TableOf(core.State()).WriteCSV(&b); err != nil {
		return nil, problems.Of(err)
	}
	return &exportOutput{ContentType: "text/csv; charset=utf-8", Body: b.Bytes()}, nil
}

// replay shows the campaign at a position of the log. Positions count over all campaigns of the
// store: it shows the campaign's last event up to there, and a position before its first one is an
// error. The answer names the position of the last folded event, which may be smaller than the
// requested one.
func replay(
	ctx context.Context, c *lab.Campaign, in *replayInput,
) (*replayOutput, error) {
	log, err := c.Log()
	if err != nil {
		return nil, problems.Of(err)
	}
	limit := events.Position(math.MaxUint64)
	if in.At > 0 {
		limit = events.Position(in.At)
		if last := log.Last(); limit > last {
			return nil, problems.Of(problem.New(problem.NotFound,
				"there is no position %d; they go from 1 to %d", limit, last))
		}
	}
	out := Replayed{Campaign: c.Name()}
	out.Sequence, out.Position, err = view.LastUpTo(ctx, log, c.Name(), limit)
	if err != nil {
		return nil, problems.Of(err)
	}
	if out.Sequence == 0 {
		return nil, problems.Of(problem.New(problem.NotFound,
			"at position %d the campaign %s is not defined yet", limit, c.Name()))
	}
	core, err := c.At(ctx, out.Sequence)
	if err != nil {
		return nil, problems.Of(err)
	}
	if out.Digest, err = core.Digest(); err == nil {
		out.State, err = json.Marshal(core.State())
	}
	if err != nil {
		return nil, problems.Of(err)
	}
	return &replayOutput{out}, nil
}

// methodsOutput and the following types belong to operations without a campaign.
type methodsOutput struct {
	Body struct {
		Methods []view.Method `json:"methods"`
	}
}

type methodInput struct {
	Method string `path:"method" maxLength:"100" doc:"Its name."`
}

type methodOutput struct{ Body view.Method }

type schemaInput struct {
	Schema string `path:"schema" maxLength:"100" doc:"The name of a schema: campaign, event, or a kind with its version, as in experiment.measured.v1."`
}

type schemaOutput struct {
	ContentType string `header:"Content-Type"`
	Body        []byte
}

type versionOutput struct {
	Body struct {
		Version string       `json:"version"`
		Build   events.Build `json:"build" doc:"As it is recorded with decisions."`
	}
}

type forwardsOutput struct {
	Body struct {
		Forwards []forward.Status `json:"forwards"`
	}
}

// program registers the operations about this program, whatever the campaign. They need a known
// caller and no permission, except the forwards, whose troubles name campaigns.
func (a *API) program() {
	huma.Register(a.huma, operation("list-methods", http.MethodGet, "/methods",
		"The policies that have a name",
		"What `campaignd methods --json` prints: what each does, needs and asks."),
		func(context.Context, *struct{}) (*methodsOutput, error) {
			out := new(methodsOutput)
			out.Body.Methods = view.Methods(a.lab.Registry())
			return out, nil
		})
	huma.Register(a.huma,
		operation("get-method", http.MethodGet, "/methods/{method}",
			"A policy with its settings written out", ""),
		func(_ context.Context, in *methodInput) (*methodOutput, error) {
			for _, m := range view.Methods(a.lab.Registry()) {
				if m.Name == in.Method {
					return &methodOutput{m}, nil
				}
			}
			return nil, problems.Of(problem.New(problem.NotFound, "there is no method %q",
				in.Method).About(in.Method))
		})
	huma.Register(a.huma, operation("list-forwards", http.MethodGet, "/forwards",
		"The systems to which events are sent",
		"How each takes them, in the order of their names in the lab file."),
		func(context.Context, *struct{}) (*forwardsOutput, error) {
			out := new(forwardsOutput)
			out.Body.Forwards = []forward.Status{}
			if status := a.options.Forwards; status != nil {
				out.Body.Forwards = status()
			}
			return out, nil
		})
	huma.Register(a.huma, answering(operation("get-schema", http.MethodGet, "/schemas/{schema}",
		"The JSON Schema of the campaign file or of an event", ""), "application/schema+json", "The schema."),
		func(_ context.Context, in *schemaInput) (*schemaOutput, error) {
			text, ok := schemas.File(in.Schema + ".json")
			if !ok {
				return nil, problems.Of(problem.New(problem.NotFound, "there is no schema %q",
					in.Schema).About(in.Schema))
			}
			return &schemaOutput{ContentType: "application/schema+json", Body: text}, nil
		})
	huma.Register(a.huma, operation("get-version", http.MethodGet, "/version", "The program that serves", ""),
		func(context.Context, *struct{}) (*versionOutput, error) {
			out := new(versionOutput)
			out.Body.Version, out.Body.Build = a.options.Version, a.lab.Build()
			return out, nil
		})
}
