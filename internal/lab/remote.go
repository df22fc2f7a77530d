package lab

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/url"
	"time"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/engine/control"
	"github.com/campaignd/campaignd/internal/files/registry"
	"github.com/campaignd/campaignd/internal/ground/problem"
	"github.com/campaignd/campaignd/internal/view"
)

// Server is a campaignd that serves campaigns over HTTP.
type Server struct {
	// URL is its address, without a path.
	URL string
	// Token identifies the requester; empty for none.
	Token string
	// Registry holds the entries that definitions may name.
	Registry registry.Registry
}

// Remote is a campaign of a server, as a store: its log shows that campaign
// alone.
type Remote struct {
	*control.Client
	registry registry.Registry
	// Lost, if set, is called where following is cut and begins again, once for
	// each time that the server cannot be reached.
	Lost func(err error)
}

// Where is the address of a campaign in the server's API.
func (s Server) Where(campaign string) string {
	return s.URL + "/api/v1/campaigns/" + url.PathEscape(campaign)
}

// Open connects to a campaign by the protocol of a store that another process
// holds.
func (s Server) Open(ctx context.Context, campaign string) (*Remote, error) {
	client, err := control.DialURL(ctx, s.Where(campaign)+"/control", s.Token)
	if err != nil {
		return nil, err
	}
	return &Remote{Client: client, registry: s.Registry}, nil
}

// Log implements [Store].
func (r *Remote) Log() events.Log { return following{r.Client, r} }

// following is the log of a remote campaign. It connects again after a cut, which its followers
// do not notice.
type following struct {
	*control.Client
	remote *Remote
}

// The pauses before a connection that was cut is made again: the first, which
// doubles, and the longest.
const firstReconnect, lastReconnect = 100 * time.Millisecond, 5 * time.Second

// Follow implements events.Log. Where the connection is cut, since the server or a
// proxy before it begins anew, it goes on behind the last event, and for as long as
// no one ends it.
func (f following) Follow(ctx context.Context, after events.Position) iter.Seq2[events.Event, error] {
	return func(yield func(events.Event, error) bool) {
		for pause := firstReconnect; ; pause = min(2*pause, lastReconnect) {
			var cut error
			for e, err := range f.Client.Follow(ctx, after) {
				if cut = err; err != nil {
					break
				}
				if pause = firstReconnect; !yield(e, nil) {
					return
				}
				after = e.Position
			}
			switch {
			case cut == nil || ctx.Err() != nil:
				return
			case !control.IsLost(cut):
				yield(events.Event{}, cut)
				return
			case pause == firstReconnect && f.remote.Lost != nil:
				f.remote.Lost(cut)
			}
			select {
			case <-time.After(pause):
			case <-ctx.Done():
				return
			}
		}
	}
}

// Record implements [Store].
func (r *Remote) Record(ctx context.Context, campaign string) (*view.Record, error) {
	return view.FoldRecord(ctx, r.registry, r.Client, campaign)
}

// YAML is the body of a request that is a campaign file; every other body is
// sent as JSON.
type YAML string

// Ask sends a request to the server's API, for actions outside a store's protocol: to begin a
// campaign, to have it run. A nil body sends none. A refusal by the server is the error.
func (s Server) Ask(ctx context.Context, method, path string, body any) (*http.Response, error) {
	return s.ask(ctx, method, path, "", body)
}

// ask is [Server.Ask] with an identifier of the request, empty for none.
func (s Server) ask(
	ctx context.Context, method, path, id string, body any,
) (*http.Response, error) {
	var content []byte
	contentType := "application/json"
	if file, ok := body.(YAML); ok {
		content, contentType = []byte(file), "application/yaml"
	} else if body != nil {
		var err error
		if content, err = json.Marshal(body); err != nil {
			return nil, err
		}
	}
	address := s.URL + "/api/v1" + path
	r, err := http.NewRequestWithContext(ctx, method, address, bytes.NewReader(content))
	if err != nil {
		return nil, err
	}
	if body != nil {
		r.Header.Set("Content-Type", contentType)
	}
	if s.Token != "" {
		r.Header.Set("Authorization", "Bearer "+s.Token)
	}
	if id != "" {
		r.Header.Set("Idempotency-Key", id)
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if control.IsCut(err) {
			return nil, errUnanswered
		}
		return nil, problem.New(problem.Unavailable, "no server answers at %s: %w", s.URL, err)
	}
	if response.StatusCode/100 == 2 {
		return response, nil
	}
	defer response.Body.Close()
	return nil, s.refusal(response)
}

// Get reads JSON from the server's API.
func (s Server) Get(ctx context.Context, path string, into any) error {
	return s.call(ctx, http.MethodGet, path, "", nil, into)
}

// errUnanswered means that a server ended before it answered.
var errUnanswered = problem.New(problem.Uncertain, "the server ended before it answered").
	With(problem.Remedy{Text: "look whether it was recorded, and ask again if not", Action: problem.Review})

// Post sends a body to the server's API and reads the JSON of the answer, where it is wanted.
// Where the connection is cut it is sent again: the server counts it once. All attempts have
// the same identifier, by which the server recognizes a repeat.
func (s Server) Post(ctx context.Context, path string, body, into any) error {
	id := rand.Text()
	return Persist(ctx, true, func() error { return s.reach(ctx) }, func() error {
		return s.call(ctx, http.MethodPost, path, id, body, into)
	})
}

// reach reports why the server does not answer.
func (s Server) reach(ctx context.Context) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL+"/healthz", nil)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return problem.New(problem.Unavailable, "no server answers at %s: %w", s.URL, err)
	}
	return response.Body.Close() // its answer about stores does not matter
}

// call is ask with the answer decoded, where it is wanted.
func (s Server) call(ctx context.Context, method, path, id string, body, into any) error {
	response, err := s.ask(ctx, method, path, id, body)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if into == nil {
		return nil
	}
	return json.NewDecoder(response.Body).Decode(into)
}

// refusal returns the server's answer to a request that it does not fulfill. The faults of a
// campaign file are put into the message, which is all that a command shows.
func (s Server) refusal(response *http.Response) error {
	var refused struct {
		problem.Error
		Faults []struct {
			Line    int    `json:"line"`
			Field   string `json:"field"`
			Message string `json:"message"`
			Remedy  string `json:"remedy"`
		} `json:"faults"`
	}
	err := json.NewDecoder(io.LimitReader(response.Body, 1<<20)).Decode(&refused)
	if err != nil || refused.Code == "" {
		return control.Unexpected("the server at "+s.URL, response)
	}
	for _, f := range refused.Faults {
		refused.Message += fmt.Sprintf("; %s: %s", f.Field, f.Message)
		if f.Remedy != "" {
			refused.Message += " (" + f.Remedy + ")"
		}
	}
	return &refused.Error
}
