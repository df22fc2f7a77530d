// Package api is the lab over HTTP for programs: the operations under /api/v1,
// entity tags, streams of events, idempotency keys, and the protocol of
// internal/control for each campaign.
//
// Who asks is known by then (internal/server/gate); what an operation needs is
// refused here, before it begins. An operation reads what was sent, has
// internal/lab do it, and answers with data of internal/view and
// internal/attest. Each that cannot be fulfilled is answered with a problem
// (internal/server/problems).
package api

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"path/filepath"
	"strings"
	"sync"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"
	"golang.org/x/mod/sumdb/note"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/forward"
	"github.com/campaignd/campaignd/internal/lab"
	"github.com/campaignd/campaignd/internal/server/gate"
	"github.com/campaignd/campaignd/internal/server/problems"
	"github.com/campaignd/campaignd/internal/whatif"
)

// Base is where the API is.
const Base = "/api/v1"

// description is what the API's document says first.
const description = `Campaigns of a lab: what they found, what they ask, and what people answer.

Whatever is refused is a problem of RFC 9457 with a code for programs and remedies as data. Lists come in pages:
send the next of a page as the cursor of the following request. A GET answers with an entity tag, and with 304 where
If-None-Match has it. Requests that record something take an Idempotency-Key.

A campaign file that names a program, a file or an address has the server run, read or call it with its own rights:
whoever may send such a file can do on the server's machine what the server's user can.`

// Options say what is served.
type Options struct {
	Lab  *lab.Lab
	Gate *gate.Gate
	// Version is the program's.
	Version string
	// Log takes what the operator should know.
	Log func(format string, args ...any)
	// Signer, if set, returns the key that signs checkpoints; nil for none.
	Signer func() (note.Signer, error)
	// Confined refuses campaign files that name a program, a file or an
	// address.
	Confined bool
	// Forwards, if set, says how each system to which events are sent takes
	// them.
	Forwards func() []forward.Status
	// WhatIf works out what campaigns would have done otherwise.
	WhatIf *whatif.Runs
	// Closing is closed when streams are to end.
	Closing <-chan struct{}
}

// API holds the operations.
type API struct {
	*gate.Gate
	options Options
	lab     *lab.Lab
	whatIf  *whatif.Runs
	closing <-chan struct{}
	audits  audits
	earlier earlierKeys
	huma    huma.API
	// keyed has the patterns of the operations that take an Idempotency-Key.
	keyed   *http.ServeMux
	handler http.Handler
}

// refusals tells the library how requests are refused: it asks variables, once
// for all APIs of a process.
var refusals = sync.OnceFunc(func() {
	huma.NewError = func(status int, message string, errs ...error) huma.StatusError {
		return problems.Refused(status, message, errs...)
	}
	huma.NewErrorWithContext = func(_ huma.Context, status int, message string, errs ...error) huma.StatusError {
		return problems.Refused(status, message, errs...)
	}
})

// New returns the operations of a lab.
func New(o Options) *API {
	refusals()
	a := &API{
		Gate: o.Gate, options: o, lab: o.Lab, whatIf: o.WhatIf, closing: o.Closing,
		keyed: http.NewServeMux(),
	}
	a.earlier = openEarlierKeys(filepath.Join(o.Lab.Private(), "idempotency"), o.Log)
	schemas := newSchemas(nil)
	config := huma.Config{
		OpenAPI: &huma.OpenAPI{
			OpenAPI: "3.1.0",
			Info: &huma.Info{
				Title:       "campaignd",
				Version:     "1",
				Description: description,
			},
			Components: &huma.Components{Schemas: schemas},
			Servers:    []*huma.Server{{URL: Base}},
		},
		Formats: map[string]huma.Format{"application/json": jsonFormat,
			"json": jsonFormat},
		DefaultFormat:                "application/json",
		RejectUnknownQueryParameters: true,
	}
	mux := http.NewServeMux()
	a.huma = humago.New(mux, config)
	a.huma.UseMiddleware(a.admit)
	a.huma.UseMiddleware(onceEach(a.huma))
	a.campaigns()
	a.requests()
	a.questions()
	a.reading()
	a.records()
	a.attesting()
	a.imagining()
	admitNull(schemas)
	checked := admitNullFrom(a.huma.OpenAPI())
	text, err := json.MarshalIndent(a.huma.OpenAPI(), "", "  ")
	if err != nil {
		panic(err) // of types that are known when the program is written
	}
	checked()
	mux.HandleFunc("GET /openapi.json", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/vnd.oai.openapi+json;version=3.1")
		_, _ = w.Write(append(bytes.Clone(text), '\n'))
	})
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) { a.nowhere(mux, w, r) })
	outer := http.NewServeMux()
	outer.HandleFunc(controlPath, a.control)
	outer.Handle("/", a.once(tagged(mux)))
	a.handler = http.StripPrefix(Base, outer)
	return a
}

// Handler returns the operations, to be mounted under [Base].
func (a *API) Handler() http.Handler { return a.handler }

// nowhere answers a request for which there is no operation.
func (a *API) nowhere(mux *http.ServeMux, w http.ResponseWriter, r *http.Request) {
	var allowed []string
	for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodDelete} {
		other := r.Clone(r.Context())
		other.Method = method
		if _, pattern := mux.Handler(other); pattern != "/" && pattern != "" {
			allowed = append(allowed, method)
		}
	}
	if allowed == nil {
		text := "There is no " + r.URL.Path + " here; see " + Base + "/openapi.json."
		problems.Write(w, problems.Refused(http.StatusNotFound, text))
		return
	}
	w.Header().Set("Allow", strings.Join(allowed, ", "))
	problems.Write(w, problems.Refused(http.StatusMethodNotAllowed, r.Method+" is not possible here."))
}

// jsonFormat is JSON as encoding/json writes it.
var jsonFormat = huma.DefaultJSONFormat

// failures are the statuses that an operation may answer beside its success.
var failures = []int{
	http.StatusBadRequest, http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound,
	http.StatusRequestTimeout, http.StatusConflict, http.StatusGone, http.StatusRequestEntityTooLarge,
	http.StatusUnsupportedMediaType, http.StatusUnprocessableEntity, http.StatusTooManyRequests,
	http.StatusServiceUnavailable,
}

// operation describes an operation.
func operation(id, method, path, summary, description string) huma.Operation {
	return huma.Operation{
		OperationID:  id,
		Method:       method,
		Path:         path,
		Summary:      summary,
		Description:  description,
		Errors:       failures,
		MaxBodyBytes: gate.MaxBody,
	}
}

// answering documents that an operation answers with bytes of a type, and not
// with JSON.
func answering(op huma.Operation, contentType, description string) huma.Operation {
	schema := &huma.Schema{}
	if strings.HasPrefix(contentType, "text/") {
		schema.Type = huma.TypeString // else a document of its own
	}
	op.Responses = map[string]*huma.Response{"200": {
		Description: description,
		Content:     map[string]*huma.MediaType{contentType: {Schema: schema}},
	}}
	return op
}

// InCampaign is the path parameter of operations on a campaign.
type InCampaign struct {
	Campaign string `path:"campaign" maxLength:"200" doc:"The campaign's name; NAME@STORE where several stores have one."`
}

// about is the campaign that a request is about.
func (in InCampaign) about() InCampaign { return in }

// inCampaign registers an operation on the campaign that its path names. What
// it fails with is answered as a problem.
func inCampaign[I, O any, P interface {
	*I
	about() InCampaign
}](a *API, op huma.Operation, do func(context.Context, *lab.Campaign, *I) (*O, error)) {
	huma.Register(a.huma, op, func(ctx context.Context, in *I) (*O, error) {
		c, err := a.find(ctx, P(in).about())
		if err != nil {
			return nil, err
		}
		out, err := do(ctx, c, in)
		return out, problems.Or(err)
	})
}

// find returns the campaign that a request is about.
func (a *API) find(_ context.Context, in InCampaign) (*lab.Campaign, error) {
	c, err := a.lab.Campaign(in.Campaign)
	if err != nil {
		return nil, problems.Of(err)
	}
	return c, nil
}

// Recorded is the answer to a request that was recorded.
type Recorded struct {
	Recorded []json.RawMessage `json:"recorded" doc:"The events, in the order of the log, as CloudEvents."`
}

// recordedOutput is that answer.
type recordedOutput struct{ Body Recorded }

// submit has a request recorded in the name of the caller.
func (a *API) submit(
	ctx context.Context, c *lab.Campaign, r engine.Request,
) ([]events.Event, error) {
	if r.Anchors != nil { // they are the expert's judgment, as an answer is
		if err := a.AnswersAs(ctx, r.Anchors.Expert, c.Name()); err != nil {
			return nil, problems.Of(err)
		}
	}
	stored, err := c.Submit(ctx, asked(ctx, r))
	if err != nil {
		return nil, problems.Of(err)
	}
	return stored, nil
}

// fulfill has a request recorded and answers it, a repeat from the events of
// the first. wrong is why the request cannot be read, nil where it was.
func (a *API) fulfill(
	ctx context.Context, c *lab.Campaign, r engine.Request, wrong error,
) (*recordedOutput, error) {
	stored, err := a.repeated(ctx, c)
	switch {
	case stored != nil || err != nil:
	case wrong != nil:
		err = wrong
	default:
		stored, err = a.submit(ctx, c, r)
	}
	return recordedOr(stored, err)
}

// recordedAs is the answer to a request that these events were recorded for.
func recordedAs(stored []events.Event) (*recordedOutput, error) {
	out := &recordedOutput{Body: Recorded{Recorded: []json.RawMessage{}}}
	for _, e := range stored {
		text, err := events.MarshalCloudEvent(e)
		if err != nil {
			return nil, problems.Of(err)
		}
		out.Body.Recorded = append(out.Body.Recorded, text)
	}
	return out, nil
}
