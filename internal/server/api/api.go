// Package api is the lab over HTTP for programs: the operations under /api/v1,
// entity tags, streams of events, idempotency keys, and the protocol of
// internal/control for each campaign.
//
// Who asks is known by then (internal/server/gate); what an operation needs is
// refused here, before it begins. An operation reads what was sent, has
// internal/lab do it, and answers with data of internal/view and
// internal/attest. Each that cannot be fulfilled is answered with a problem
// (internal/server/problems).
//
// # Map
//
// api.go sets up the library (huma), the document and what all operations
// share: [InCampaign], the answer of a recorded request, its submission.
// schema.go and body.go bend the library's schemas to what Go's JSON reads and
// writes. admission.go holds what a caller needs, once.go the idempotency keys,
// etag.go the entity tags. The operations stand by what they are about:
// campaigns.go, requests.go (what people record), questions.go, reading.go and
// records.go (what is recorded), attest.go, whatif.go, files.go. control.go is no
// operation of the document: it serves the protocol of a store's socket to the
// command line.
//
// # What holds throughout
//
// A request passes [API.once], tagged, [API.admit] and onceEach before its
// operation. None of these reads a campaign, so that a caller who is refused
// has cost little and learns nothing of what the lab holds.
//
// An operation works on the one fold that the lab keeps of a campaign
// (lab.Campaign.Read, for what is quick) or on a core of its own
// (lab.Campaign.Load and At, for what takes models): the campaign's loop never
// waits for a slow caller. Nothing here decides: what is recorded comes from
// engine.Core.Handle, in the process that holds the store.
//
// An operation never answers with a bare error. The library would make a 500 of
// it; problems.Of gives it the status, the code and the remedies that programs
// act on.
package api

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
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
	"github.com/campaignd/campaignd/internal/view"
	"github.com/campaignd/campaignd/internal/whatif"
)

// Base is where the API is. The version is part of it: what changes
// incompatibly would come under another one, next to this. Links in answers and
// the reading of forms (gate.Gate.Formed) are built from it.
const Base = "/api/v1"

// description is what the API's document says first. It is written to the
// document, so that it is part of what a test compares with docs/openapi.json.
const description = `Campaigns of a lab: what they found, what they ask, and what people answer.

Whatever is refused is a problem of RFC 9457 with a code for programs and remedies as data. Lists come in pages:
send the next of a page as the cursor of the following request. A GET answers with an entity tag, and with 304 where
If-None-Match has it. Requests that record something take an Idempotency-Key.

A campaign file that names a program, a file or an address has the server run, read or call it with its own rights:
whoever may send such a file can do on the server's machine what the server's user can.`

// Options say what is served. They are those of internal/server, which builds
// the API and the pages around the same gate, lab and what-if runs: what one of
// them begins is seen in the other.
type Options struct {
	Lab  *lab.Lab
	Gate *gate.Gate
	// Version is the program's.
	Version string
	// Log takes what the operator should know.
	Log func(format string, args ...any)
	// Signer, if set, returns the key that signs checkpoints; nil for none. It
	// is asked each time, since the key may be made, or become unreadable,
	// while the server runs.
	Signer func() (note.Signer, error)
	// Confined refuses campaign files that name a program, a file or an address
	// beyond what the lab file offers, to every caller alike: it is for a
	// server whose users are not trusted with the machine, whatever their
	// permissions in the lab.
	Confined bool
	// Forwards, if set, says how each system to which events are sent takes
	// them.
	Forwards func() []forward.Status
	// WhatIf works out what campaigns would have done otherwise.
	WhatIf *whatif.Runs
	// Closing is closed when streams are to end.
	Closing <-chan struct{}
}

// API holds the operations. It embeds the gate, since nearly every operation
// asks it something: Allowed, AnswersAs, Confirmed, ActingAs. All fields are
// set by [New] and not changed later; audits has a lock of its own. Its methods
// may be called by several goroutines.
//
// audits live as long as the process, or are on a board: an audit follows from the
// store and can be asked for again, so that nothing of it is kept on the disk.
type API struct {
	*gate.Gate
	options Options
	lab     *lab.Lab
	whatIf  *whatif.Runs
	closing <-chan struct{}
	audits  audits
	surveys surveys
	huma    huma.API
	// keyed has the patterns of the operations that take an Idempotency-Key. It
	// is a second multiplexer because the key is read before the library has
	// chosen the operation; its handlers are never called.
	keyed   *http.ServeMux
	handler http.Handler
}

// refusals tells the library how requests are refused: it asks variables, once
// for all APIs of a process; servers that are made at the same time, as in
// tests, must not race on them. Without it the library would answer in a form
// of its own, with neither code nor remedies.
var refusals = sync.OnceFunc(func() {
	huma.NewError = func(status int, message string, errs ...error) huma.StatusError {
		return problems.Refused(status, message, errs...)
	}
	huma.NewErrorWithContext = func(_ huma.Context, status int, message string, errs ...error) huma.StatusError {
		return problems.Refused(status, message, errs...)
	}
})

// document describes the operations, and is the same of each API in a process: to write it takes
// longer than all else of New.
var (
	written  sync.Once
	document []byte
)

// New returns the operations of a lab. It panics where the document cannot be
// written, which depends on the types of this program alone: a test that makes
// a server finds it.
//
// The order within matters. Middleware is added before the operations, which
// copy it when they are registered. The schemas are mended after the last
// operation, since each adds to them; the text of the document is made once,
// from the mended schemas, and only then checked() restores those by which
// requests are checked.
//
// Query parameters that are not known are refused: a misspelled one would
// otherwise be taken for an absent one, and ?curser= answer the first page for
// ever.
func New(o Options) *API {
	refusals()
	a := &API{
		Gate: o.Gate, options: o, lab: o.Lab, whatIf: o.WhatIf, closing: o.Closing,
		keyed:  http.NewServeMux(),
		audits: audits{board: o.Lab.Board("audit/", "a"), changed: make(chan struct{})},
	}
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
	a.charts()
	a.records()
	a.attesting()
	a.imagining()
	a.files()
	admitNull(schemas)
	checked := admitNullFrom(a.huma.OpenAPI())
	written.Do(func() {
		var err error
		if document, err = json.MarshalIndent(a.huma.OpenAPI(), "", "  "); err != nil {
			panic(err) // of types that are known when the program is written
		}
	})
	checked()
	mux.HandleFunc("GET /openapi.json", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/vnd.oai.openapi+json;version=3.1")
		_, _ = w.Write(append(bytes.Clone(document), '\n'))
	})
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) { a.nowhere(mux, w, r) })
	// The protocol of the control socket has keys and streams of its own, so
	// that it goes around once and tagged; its handler asks for rights itself.
	outer := http.NewServeMux()
	outer.HandleFunc(controlPath, a.control)
	outer.Handle("/", a.once(tagged(mux)))
	a.handler = http.StripPrefix(Base, outer)
	return a
}

// Handler returns the operations, to be mounted under [Base].
func (a *API) Handler() http.Handler { return a.handler }

// nowhere answers a request for which there is no operation: 405 with the
// methods that the path has, else 404. The multiplexer's own 405 is plain text;
// here it is a problem like every other. The pattern "/" is this handler
// itself, so it does not count as one that the path has.
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

// jsonFormat is JSON as encoding/json writes it. It stands for both names under
// which the library looks for a format: that of the media type and that of the
// suffix in types such as application/problem+json.
var jsonFormat = huma.DefaultJSONFormat

// failures are the statuses that an operation may answer beyond its success.
// All operations name all of them: the gate, the bounds and the lab can refuse
// any, and a document with the exact set of each would be wrong soon.
var failures = []int{
	http.StatusBadRequest, http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound,
	http.StatusRequestTimeout, http.StatusConflict, http.StatusGone, http.StatusRequestEntityTooLarge,
	http.StatusUnsupportedMediaType, http.StatusUnprocessableEntity, http.StatusTooManyRequests,
	http.StatusServiceUnavailable,
}

// operation describes an operation. Its id is the key of the gate's table of
// permissions (gate.NeedOf): one that is not in the table is refused to
// everyone, so that no operation is open by oversight. The library bounds a
// body that the gate has bounded already, to the same size; its own default is
// smaller.
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
// with JSON. Without it the library would describe a slice of bytes as a text
// in base64, which is what it is within JSON only.
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

// InCampaign is the path parameter of operations on a campaign. Inputs embed
// it, which gives them the method that [inCampaign] needs.
type InCampaign struct {
	Campaign string `path:"campaign" maxLength:"200" doc:"The campaign's name; NAME@STORE where several stores have one."`
}

// about is the campaign that a request is about.
func (in InCampaign) about() InCampaign { return in }

// inCampaign registers an operation on the campaign that its path names. What
// it fails with is answered as a problem.
//
// P is *I, by which the type parameters say that a pointer to the input has
// about: so each operation keeps a function of its own input, and the campaign
// is looked up in one place. That the caller may see it was asked by
// [API.admit], from the path alone; a campaign that does not exist is only
// found out here, so that the two cannot be distinguished by those who may not
// see it.
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

// find returns the campaign that a request is about. The name may be NAME@STORE
// where several stores have one of that name; without the store such a name is
// refused with what to write instead.
func (a *API) find(_ context.Context, in InCampaign) (*lab.Campaign, error) {
	c, err := a.lab.Campaign(in.Campaign)
	if err != nil {
		return nil, problems.Of(err)
	}
	return c, nil
}

// Recorded is the answer to a request that was recorded. Clients that follow
// the log recognize in it what they will hear of anyway.
type Recorded struct {
	Recorded []json.RawMessage `json:"recorded" doc:"The events, in the order of the log, as CloudEvents."`
}

// Amended is the answer to an amendment that was recorded.
type Amended struct {
	Recorded
	Becomes *view.Becomes `json:"becomes,omitempty" doc:"What it makes of what was found, of several quantities."`
}

// recordedOutput is that answer.
type recordedOutput struct{ Body Recorded }

// submit has a request recorded in the name of the caller. When it returns, the
// lab's own view of the campaign holds what was recorded, so that the caller's
// next GET shows it. Anchors name an expert, and are recorded as theirs: the
// permission to run a campaign is not enough for words in another person's
// mouth.
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
//
// The repeat comes first: what was recorded once is answered as then, even
// where the same body would be refused now, by a newer version or because the
// campaign has ended since.
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
// The list is never null, also where nothing was recorded.
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
