// Package api is the lab over HTTP for programs: the operations under /api/v1, entity tags, streams
// of events, idempotency keys, and the protocol of internal/engine/control for each campaign.
//
// The gate has identified the caller by then (internal/web/server/gate); missing permissions are
// refused here, before an operation begins. An operation reads the request, calls internal/lab, and
// answers with data of internal/view and internal/attest. A failed one is answered with a problem
// (internal/web/server/problems).
//
// # Map
//
// api.go sets up the library (huma), the document and the shared parts of all operations:
// [InCampaign], the answer of a recorded request, its submission. schema.go and body.go adapt the
// library's schemas to Go's JSON. admission.go holds the permission checks, once.go the idempotency
// keys, etag.go the entity tags. The operations are grouped by subject: campaigns.go, requests.go
// (people's records), questions.go, reading.go and records.go (recorded data), attest.go,
// whatif.go, files.go. control.go is not part of the document: it serves the protocol of a store's
// socket to the command line.
//
// # What holds throughout
//
// A request passes [API.once], tagged, [API.admit] and onceEach before its operation. None of these
// reads a campaign, so that a refused caller has cost little and learns nothing of the lab's
// contents.
//
// An operation works on the one fold that the lab keeps of a campaign (lab.Campaign.Read, for quick
// operations) or on a core of its own (lab.Campaign.Load and At, for those that need models): the
// campaign's loop never waits for a slow caller. Nothing here decides: the events to record come
// from engine.Core.Handle, in the process that holds the store.
//
// An operation never answers with a bare error. The library would make a 500 of it; problems.Of
// gives it the status, the code and the remedies that programs act on.
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
	"github.com/campaignd/campaignd/internal/lab"
	"github.com/campaignd/campaignd/internal/lab/forward"
	"github.com/campaignd/campaignd/internal/lab/whatif"
	"github.com/campaignd/campaignd/internal/view"
	"github.com/campaignd/campaignd/internal/web/server/gate"
	"github.com/campaignd/campaignd/internal/web/server/problems"
)

// Base is the path of the API. The version is part of it: incompatible changes would come under
// another version, next to this one. Links in answers and the reading of forms (gate.Gate.Formed)
// are built from it.
const Base = "/api/v1"

// description opens the API's document. It is part of the document, so a test compares it with
// docs/openapi.json.
const description = `Campaigns of a lab: what they found, what they ask, and what people answer.

Whatever is refused is a problem of RFC 9457 with a code for programs and remedies as data. Lists come in pages:
send the next of a page as the cursor of the following request. A GET answers with an entity tag, and with 304 where
If-None-Match has it. Requests that record something take an Idempotency-Key.

A campaign file that names a program, a file or an address has the server run, read or call it with its own rights:
whoever may send such a file can do on the server's machine what the server's user can.`

// Options are the options of internal/web/server, which builds the API and the pages around the same
// gate, lab and what-if runs: a run begun in one is visible in the other.
type Options struct {
	Lab  *lab.Lab
	Gate *gate.Gate
	// Version is the version of the program.
	Version string
	// Log receives messages for the operator.
	Log func(format string, args ...any)
	// Signer, if set, returns the key that signs checkpoints; nil for none. It is called each time,
	// since the key may be made, or become unreadable, while the server runs.
	Signer func() (note.Signer, error)
	// Confined refuses campaign files that name a program, a file or an address beyond the lab
	// file's, no matter who sends them: for a server whose users are not trusted with the machine,
	// whatever their permissions in the lab.
	Confined bool
	// Forwards, if set, returns the state of each system that events are forwarded to.
	Forwards func() []forward.Status
	// WhatIf computes alternative courses of campaigns.
	WhatIf *whatif.Runs
	// Closing is closed when streams must end.
	Closing <-chan struct{}
}

// API holds the operations. It embeds the gate, since nearly every operation uses it: Allowed,
// AnswersAs, Confirmed, ActingAs. All fields are set by [New] and not changed later; audits has a
// lock of its own. Its methods may be called by several goroutines.
//
// audits live as long as the process, or are on a board: an audit follows from the store and can be
// requested again, so it is not kept on the disk.
type API struct {
	*gate.Gate
	options Options
	lab     *lab.Lab
	whatIf  *whatif.Runs
	closing <-chan struct{}
	audits  audits
	surveys surveys
	huma    huma.API
	// keyed has the patterns of the operations that take an Idempotency-Key. It is a second
	// multiplexer because the key is read before the library has chosen the operation; its handlers
	// are never called.
	keyed   *http.ServeMux
	handler http.Handler
}

// refusals tells the library how requests are refused. The library reads global variables, which
// must be set once for all APIs of a process: servers made at the same time, as in tests, must not
// race on them. Without it the library would answer in its own form, with neither code nor
// remedies.
var refusals = sync.OnceFunc(func() {
	huma.NewError = func(status int, message string, errs ...error) huma.StatusError {
		return problems.Refused(status, message, errs...)
	}
	huma.NewErrorWithContext = func(_ huma.Context, status int, message string, errs ...error) huma.StatusError {
		return problems.Refused(status, message, errs...)
	}
})

// document describes the operations. It is shared by all APIs of a process: writing it takes longer
// than the rest of New.
var (
	written  sync.Once
	document []byte
)

// New returns the operations of a lab. It panics if the document cannot be written, which depends
// on the types of this program alone: any test that makes a server finds it.
//
// The order within matters. Middleware is added before the operations, which copy it when they are
// registered. The schemas are amended after the last operation, since each adds to them; the text
// of the document is made once, from the amended schemas, and only then checked() restores the
// schemas that requests are checked against.
//
// Unknown query parameters are refused: a misspelled one would otherwise count as absent, and
// ?curser= would answer the first page for ever.
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
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) { nowhere(mux, w, r) })
	// The protocol of the control socket has its own keys and streams, so it bypasses once and
	// tagged; its handler checks permissions itself.
	outer := http.NewServeMux()
	outer.HandleFunc(controlPath, a.control)
	outer.Handle("/", a.once(tagged(mux)))
	a.handler = http.StripPrefix(Base, outer)
	return a
}

// Handler returns the operations, to be mounted under [Base].
func (a *API) Handler() http.Handler { return a.handler }

// nowhere answers a request without an operation: 405 with the methods of the path if it has any,
// else 404. The multiplexer's own 405 is plain text; here it is a problem like every other. The
// pattern "/" is this handler itself, so it does not count as a match.
func nowhere(mux *http.ServeMux, w http.ResponseWriter, r *http.Request) {
	var allowed []string
	for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodDelete} {
		other := r.Clone(r.Context())
		other.Method = method
		if _, pattern := mux.Handler(other); pattern != "/" && pattern != "" {
			allowed = append(allowed, method)
		}
	}
	if allowed == nil {
		text := r.URL.Path + " does not exist here; see " + Base + "/openapi.json."
		problems.Write(w, problems.Refused(http.StatusNotFound, text))
		return
	}
	w.Header().Set("Allow", strings.Join(allowed, ", "))
	problems.Write(w, problems.Refused(http.StatusMethodNotAllowed, r.Method+" is not possible here."))
}

// jsonFormat is JSON as encoding/json writes it. It serves both names under which the library looks
// for a format: the media type and the suffix in types such as application/problem+json.
var jsonFormat = huma.DefaultJSONFormat

// failures are the statuses of failed operations. All operations list all of them: the gate, the
// bounds and the lab can refuse any operation, and a document with the exact set of each would soon
// be wrong.
var failures = []int{
	http.StatusBadRequest, http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound,
	http.StatusRequestTimeout, http.StatusConflict, http.StatusGone, http.StatusRequestEntityTooLarge,
	http.StatusUnsupportedMediaType, http.StatusUnprocessableEntity, http.StatusTooManyRequests,
	http.StatusServiceUnavailable,
}

// operation describes an operation. Its id is the key of the gate's table of permissions
// (gate.NeedOf): one that is missing there is refused to everyone, so that no operation is open by
// oversight. The library limits the body to the size that the gate has enforced already; its own
// default is smaller.
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

// answering documents that an operation answers with bytes of a media type instead of JSON.
// Otherwise the library would describe a slice of bytes as base64 text, which holds within JSON
// only.
func answering(op huma.Operation, contentType, description string) huma.Operation {
	schema := &huma.Schema{}
	if strings.HasPrefix(contentType, "text/") {
		schema.Type = huma.TypeString // else a JSON document
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

// about returns the campaign of a request.
func (in InCampaign) about() InCampaign { return in }

// inCampaign registers an operation on the campaign that its path names. Its errors are answered as
// problems.
//
// P is *I; so the type parameters express that a pointer to the input has about. Each operation
// thereby keeps a function of its own input, and the campaign is looked up in one place.
// [API.admit] has checked, from the path alone, that the caller may see it; the lookup comes later,
// so that callers who may not see a campaign cannot find out whether it exists.
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

// find returns the campaign of a request. The name may be NAME@STORE if several stores have one of
// that name; without the store the error names the alternatives.
func (a *API) find(_ context.Context, in InCampaign) (*lab.Campaign, error) {
	c, err := a.lab.Campaign(in.Campaign)
	if err != nil {
		return nil, problems.Of(err)
	}
	return c, nil
}

// Recorded is the answer to a recorded request. Clients that follow the log recognize the same
// events in it.
type Recorded struct {
	Recorded []json.RawMessage `json:"recorded" doc:"The events, in the order of the log, as CloudEvents."`
}

// Amended is the answer to a recorded amendment.
type Amended struct {
	Recorded
	Becomes *view.Becomes `json:"becomes,omitempty" doc:"What it makes of what was found, of several quantities."`
}

// recordedOutput is that answer.
type recordedOutput struct{ Body Recorded }

// submit records a request in the name of the caller. When it returns, the lab's own view of the
// campaign includes the events, so that the caller's next GET shows them. Anchors name an expert,
// and are recorded as theirs: the permission to run a campaign does not allow putting words in
// another person's mouth.
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

// fulfill records a request and answers it; a repeat is answered from the events of the first.
// wrong is the fault of a request that cannot be read, or nil.
//
// The repeat comes first: a recorded request gets its old answer even if the same body would be
// refused now, by a newer version or because the campaign has ended since.
func (a *API) fulfill(
	ctx context.Context, c *lab.Campaign, r engine.Request, wrong error,
) (*recordedOutput, error) {
	stored, err := repeated(ctx, c)
	switch {
	case stored != nil || err != nil:
	case wrong != nil:
		err = wrong
	default:
		stored, err = a.submit(ctx, c, r)
	}
	return recordedOr(stored, err)
}

// recordedAs is the answer to a request with these recorded events. The list is never null, even if
// nothing was recorded.
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
