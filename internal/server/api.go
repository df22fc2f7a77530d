package server

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"sync"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/lab"
)

// base is where the API is.
const base = "/api/v1"

// api holds the operations.
type api struct {
	*Server
	huma huma.API
}

// refusals tells the library how requests are refused: it asks variables, once for all APIs
// of a process.
var refusals = sync.OnceFunc(func() {
	huma.NewError = refused
	huma.NewErrorWithContext = func(_ huma.Context, status int, message string, errs ...error) huma.StatusError {
		return refused(status, message, errs...)
	}
})

// newAPI mounts the API on the server's mux.
func (s *Server) newAPI() *api {
	refusals()
	a := &api{Server: s}
	schemas := newSchemas()
	config := huma.Config{
		OpenAPI: &huma.OpenAPI{
			OpenAPI: "3.1.0",
			Info: &huma.Info{
				Title:       "campaignd",
				Version:     s.options.Version,
				Description: "Campaigns of a lab: what they found, what they ask, and what people answer.",
			},
			Components: &huma.Components{Schemas: schemas},
			Servers:    []*huma.Server{{URL: base}},
		},
		Formats:                      map[string]huma.Format{"application/json": jsonFormat, "json": jsonFormat},
		DefaultFormat:                "application/json",
		RejectUnknownQueryParameters: true,
	}
	mux := http.NewServeMux()
	a.huma = humago.New(mux, config)
	a.huma.UseMiddleware(a.admit)
	a.campaigns()
	a.requests()
	a.questions()
	a.reading()
	admitNull(schemas)
	text, err := json.MarshalIndent(a.huma.OpenAPI(), "", "  ")
	if err != nil {
		panic(err) // of types that are known when the program is written
	}
	mux.HandleFunc("GET /openapi.json", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/vnd.oai.openapi+json;version=3.1")
		_, _ = w.Write(append(bytes.Clone(text), '\n'))
	})
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		writeProblem(w, refused(http.StatusNotFound, "There is no "+r.URL.Path+" here; see "+base+"/openapi.json.").(*Problem))
	})
	s.mux.Handle(base+"/", http.StripPrefix(base, tagged(mux)))
	return a
}

// jsonFormat is JSON as encoding/json writes it.
var jsonFormat = huma.DefaultJSONFormat

// writeProblem answers with a problem.
func writeProblem(w http.ResponseWriter, p *Problem) {
	w.Header().Set("Content-Type", p.ContentType(""))
	w.WriteHeader(p.Status)
	_ = json.NewEncoder(w).Encode(p) // the client may have gone
}

// failures are the statuses that an operation may answer beside its success.
var failures = []int{
	http.StatusBadRequest, http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound,
	http.StatusRequestTimeout, http.StatusConflict, http.StatusGone, http.StatusRequestEntityTooLarge,
	http.StatusUnprocessableEntity, http.StatusTooManyRequests, http.StatusServiceUnavailable,
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
		MaxBodyBytes: maxBody,
	}
}

// InCampaign is the path parameter of operations on a campaign.
type InCampaign struct {
	Campaign string `path:"campaign" maxLength:"200" doc:"The campaign's name; NAME@STORE where several stores have one."`
}

// find returns the campaign that a request is about.
func (a *api) find(_ context.Context, in InCampaign) (*lab.Campaign, error) {
	c, err := a.lab.Campaign(in.Campaign)
	if err != nil {
		return nil, problemOf(err)
	}
	return c, nil
}

// Recorded is the answer to a request that was recorded.
type Recorded struct {
	Recorded []json.RawMessage `json:"recorded" doc:"The events, in the order of the log, as CloudEvents."`
}

// recordedOutput is that answer.
type recordedOutput struct{ Body Recorded }

// submit has a request recorded in the name of whoever asks.
func (a *api) submit(ctx context.Context, c *lab.Campaign, r engine.Request) (*recordedOutput, error) {
	r.Actor, r.Account = actorOf(ctx)
	stored, err := c.Submit(ctx, r)
	if err != nil {
		return nil, problemOf(err)
	}
	out := &recordedOutput{Body: Recorded{Recorded: []json.RawMessage{}}}
	for _, e := range stored {
		text, err := events.MarshalCloudEvent(e)
		if err != nil {
			return nil, problemOf(err)
		}
		out.Body.Recorded = append(out.Body.Recorded, text)
	}
	return out, nil
}
