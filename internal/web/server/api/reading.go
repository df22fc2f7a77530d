package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/ground/problem"
	"github.com/campaignd/campaignd/internal/lab"
	"github.com/campaignd/campaignd/internal/view"
	"github.com/campaignd/campaignd/internal/view/report"
	"github.com/campaignd/campaignd/internal/web/server/gate"
	"github.com/campaignd/campaignd/internal/web/server/problems"
	"github.com/campaignd/campaignd/internal/web/server/send"
)

// alive is the interval of keep-alive messages on a stream. Proxies close connections that are
// silent for a minute or so; and a client that hears nothing for longer knows that the connection
// is dead.
const alive = 15 * time.Second

// definitionOutput and the other types with a ContentType answer with bytes of that type; all
// others with JSON.
type definitionOutput struct {
	ContentType string `header:"Content-Type"`
	Body        []byte
}

// definedOutput is a definition as recorded: the JSON of definition.Campaign.
type definedOutput struct{ Body json.RawMessage }

type decisionInput struct {
	InCampaign
	Decision string `path:"decision" maxLength:"40" doc:"The decision d12, or an experiment or question whose decision it is."`
}

type decisionOutput struct{ Body *view.Decision }

type reportOutput struct {
	ContentType string `header:"Content-Type"`
	Policy      string `header:"Content-Security-Policy"`
	Body        []byte
}

// reportPolicy allows the inline styles of a report, which loads and runs nothing: the policy that
// the gate sets on every answer allows none in a page. The report is a file for people to keep, so
// it cannot use a stylesheet of this server.
const reportPolicy = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; " +
	"form-action 'none'; frame-ancestors 'none'"

type predictInput struct {
	InCampaign
	Body bodyOf[PredictInputBody]
}

// PredictInputBody are the compositions to be predicted.
type PredictInputBody struct {
	Points []definition.Point `json:"points" minItems:"1" maxItems:"1000" doc:"Compositions."`
}

type predictOutput struct {
	Body struct {
		Predictions []view.Prediction `json:"predictions"`
	}
}

// reading registers the operations that show recorded data. The campaign file is the text that was
// sent last, with its comments, and not the definition written out: people amend that text.
func (a *API) reading() {
	on := func(id, path, summary, description string) huma.Operation {
		return operation(id, http.MethodGet, "/campaigns/{campaign}/"+path, summary, description)
	}
	fileOf := on("get-definition", "definition", "The campaign file", "As it was sent last.")
	inCampaign(a, answering(fileOf, "application/yaml", "The file."),
		func(ctx context.Context, c *lab.Campaign, in *InCampaign) (*definitionOutput, error) {
			out := &definitionOutput{ContentType: "application/yaml"}
			c.Read(func(core *engine.Core) { out.Body = []byte(core.State().Source) })
			return out, nil
		})
	inCampaign(a, on("get-defined", "defined", "What a campaign is, as data",
		"The definition with everything written out, as the log holds it: the schema `definition` says what its fields "+
			"are. Parameters and quantities stand in the order of the file, which compositions, being objects, do not have."),
		func(ctx context.Context, c *lab.Campaign, in *InCampaign) (out *definedOutput, err error) {
			out = new(definedOutput)
			c.Read(func(core *engine.Core) { out.Body, err = json.Marshal(core.State().Definition) })
			if err != nil {
				return nil, problems.Of(err)
			}
			return out, nil
		})
	inCampaign(a, on("get-decision", "decisions/{decision}",
		"What led to a decision, and what followed",
		"What `campaignd explain --json` prints."), decision)
	page := on("get-report", "report", "The report", "One page that needs nothing else.")
	inCampaign(a, answering(page, "text/html", "The page."),
		func(ctx context.Context, c *lab.Campaign, in *InCampaign) (*reportOutput, error) {
			log, err := c.Log()
			if err != nil {
				return nil, problems.Of(err)
			}
			var b bytes.Buffer
			err = report.Write(ctx, &b, report.Input{
				Registry: a.lab.Registry(), Log: log, Campaign: c.Name(), Store: c.Store(),
				Folder: a.lab.Folder(),
			})
			if err != nil {
				return nil, problems.Of(err)
			}
			return &reportOutput{ContentType: "text/html; charset=utf-8", Policy: reportPolicy,
				Body: b.Bytes()}, nil
		})
	predict := operation("predict", http.MethodPost, "/campaigns/{campaign}/predict",
		"What the model expects of compositions", "What `campaignd predict --json` prints.")
	inCampaign(a, predict, predicted)
	a.streams(on("get-events", "events", "The log of a campaign",
		"CloudEvents, one a line. As text/event-stream further events follow, each with its sequence as id."))
}

// decision shows a decision, also by the experiment or question that followed from it. A subject
// without a decision (an experiment that a person chose) and an unknown subject get different
// answers.
func decision(
	ctx context.Context, c *lab.Campaign, in *decisionInput,
) (*decisionOutput, error) {
	core, err := c.Load(ctx)
	if err != nil {
		return nil, problems.Of(err)
	}
	state := core.State()
	id, why := view.DecisionBehind(state, in.Decision)
	if id == "" {
		return nil, problems.Of(problem.New(problem.NotFound,
			"no decision is behind %s: %s", in.Decision, why).About(in.Decision))
	}
	if !state.HasDecision(id) {
		return nil, problems.Of(problem.New(problem.NotFound, "%s has no %s", c.Name(),
			in.Decision).About(in.Decision))
	}
	log, err := c.Log()
	if err != nil {
		return nil, problems.Of(err)
	}
	d, err := c.Record().Decision(ctx, log, id)
	if err != nil {
		return nil, problems.Of(err)
	}
	return &decisionOutput{d}, nil
}

// modelled returns a reader of a campaign's models, on a fold of its own. Without a model yet, the
// error is problem.NotNow: the same request succeeds later.
func modelled[T any](
	ctx context.Context, c *lab.Campaign, open func(context.Context, *engine.Core) (T, error),
) (reader T, err error) {
	core, err := c.Load(ctx)
	if err == nil {
		reader, err = open(ctx, core)
	}
	if errors.Is(err, view.ErrNoModel) {
		err = problem.New(problem.NotNow, "%w", err)
	}
	return reader, problems.Or(err)
}

// predicted returns the model's expectation for each composition: one that cannot be predicted is a
// fault with its place in the list, and then the whole request fails.
//
// The rights of the caller and the model are checked before the body's own fault, which [bodyOf]
// has kept.
func predicted(
	ctx context.Context, c *lab.Campaign, in *predictInput,
) (*predictOutput, error) {
	predictor, err := modelled(ctx, c, view.NewPredictor)
	if err != nil {
		return nil, err
	}
	if in.Body.err != nil {
		return nil, in.Body.err
	}
	out := new(predictOutput)
	for i, point := range in.Body.body.Points {
		field := fmt.Sprintf("points[%d]", i)
		if err := engine.CheckComposition(field, point); err != nil {
			return nil, err
		}
		p, err := predictor.Predict(ctx, point)
		if err != nil {
			return nil, problems.Of(problem.New(problem.Invalid, "%s: %w", field, err))
		}
		out.Body.Predictions = append(out.Body.Predictions, p)
	}
	return out, nil
}

// eventsInput is the start of a stream. After and Last mean the same; Last wins, since a
// reconnecting browser sends its first address, with the old After in it.
type eventsInput struct {
	InCampaign
	After  uint64 `query:"after" maximum:"9007199254740991" doc:"Only events after this sequence of the campaign."`
	Last   string `header:"Last-Event-ID" maxLength:"20" doc:"The same, as browsers say it when they come back."`
	Accept string `header:"Accept" doc:"text/event-stream to go on with further events."`
}

// streams registers the operation that sends the log. Without text/event-stream it is a file: the
// present events, and an end. A broken-off file cannot report that by its status, which has been
// sent; the connection is cut, which a client notices, whereas a proper end would look like the
// whole log.
func (a *API) streams(op huma.Operation) {
	op.Responses = map[string]*huma.Response{"200": {
		Description: "The events.",
		Content: map[string]*huma.MediaType{
			"application/x-ndjson": {Schema: &huma.Schema{Type: huma.TypeString}},
			"text/event-stream":    {Schema: &huma.Schema{Type: huma.TypeString}},
		},
	}}
	inCampaign(a, op, func(ctx context.Context, c *lab.Campaign, in *eventsInput) (*huma.StreamResponse, error) {
		log, err := c.Log()
		if err != nil {
			return nil, problems.Of(err)
		}
		after := in.After
		if in.Last != "" {
			if after, err = strconv.ParseUint(in.Last, 10, 64); err != nil {
				return nil, problems.Of(problem.New(problem.Invalid,
					"Last-Event-ID is not the sequence of an event: %q", in.Last))
			}
		}
		follows := strings.Contains(in.Accept, "text/event-stream")
		return &huma.StreamResponse{Body: func(hc huma.Context) {
			r, w := humago.Unwrap(hc)
			if follows {
				a.follow(r.Context(), w, c, log, events.Sequence(after))
				return
			}
			w.Header().Set("Content-Type", "application/x-ndjson")
			if h, ok := w.(*holder); ok {
				h.stream()
			}
			all := events.ReadCampaign(r.Context(), log, c.Name(), events.Sequence(after))
			if err := events.WriteCloudEvents(w, all); err != nil {
				a.options.Log("the events of %s: %v", c.Name(), err)
				panic(http.ErrAbortHandler) // the client sees that it was cut off
			}
		}}, nil
	})
}

// follow sends the events of a campaign as server-sent events, until the client or the server ends.
// It sends only events that the lab has folded, though the log may hold more: a client that hears
// of an event and asks for the campaign must find the event in the answer. The channel of changes
// is taken before the campaign is read, so that a change in between wakes it again. Rights are
// checked in each round; a client whose rights have ended is cut off without a message, and its
// next request is refused with the reason.
//
// An error ends the stream: the client reconnects with the last id it has seen, and continues
// there.
func (a *API) follow(
	ctx context.Context, w http.ResponseWriter, c *lab.Campaign, log events.Log, after events.Sequence,
) {
	send.EventStream(w)
	flusher := http.NewResponseController(w)
	if h, ok := w.(*holder); ok {
		h.stream()
	}
	if flusher.Flush() != nil {
		return
	}
	beat := time.NewTicker(alive)
	defer beat.Stop()
	for {
		changed := a.lab.Changed()
		if gate.MayListen(ctx, c.Name()) != nil {
			return
		}
		if folded := c.Sequence(); folded > after {
			for e, err := range events.ReadCampaign(ctx, log, c.Name(), after) {
				if err != nil {
					return
				}
				if e.Sequence > folded {
					break // a client that hears of an event must find it in its next request
				}
				text, err := events.MarshalCloudEvent(e)
				if err == nil {
					_, err = fmt.Fprintf(w, "id: %d\nevent: %s\ndata: %s\n\n", e.Sequence, e.Kind, text)
				}
				if err != nil {
					return
				}
				after = e.Sequence
			}
			if flusher.Flush() != nil {
				return
			}
		}
		select {
		case <-changed:
		case <-beat.C:
			if _, err := w.Write([]byte(": still here\n\n")); err != nil || flusher.Flush() != nil {
				return
			}
		case <-a.closing:
			return
		case <-ctx.Done():
			return
		}
	}
}
