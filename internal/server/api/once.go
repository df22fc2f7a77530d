package api

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/lab"
	"github.com/campaignd/campaignd/internal/server/gate"
	"github.com/campaignd/campaignd/internal/server/problems"
)

// A request may carry an identifier of its sender's choice in the header
// Idempotency-Key. It is that of the events that are recorded, so that the
// campaign's log counts the request once, however often it is sent; nothing of
// it is kept here. A repeat is answered from the events of the first: this is
// why an answer says what follows from them, and nothing of how the campaign
// stands by now.

const (
	keyHeader    = "Idempotency-Key"
	replayHeader = "Idempotency-Replayed"

	maxKey = 200 // bytes
)

// What the description of an operation says of the header.
const (
	recordedOnce = "With an Idempotency-Key it can be sent again, at any time: what it records, " +
		"it records once, and it is answered as the first time, marked by the header " +
		"Idempotency-Replayed. Another request of the same account with the same key in the same " +
		"campaign is refused (422). A request that was refused was recorded no time, and is judged " +
		"anew when it is sent again."
	begunOnce = "With an Idempotency-Key it can be sent again: while the server remembers it, " +
		"it is begun once."
)

// recording marks an operation that records something: it takes a key.
func (a *API) recording(op huma.Operation) huma.Operation { return a.keyedBy(op, recordedOnce) }

// beginning marks an operation that begins something of which the log knows
// nothing.
func (a *API) beginning(op huma.Operation) huma.Operation { return a.keyedBy(op, begunOnce) }

func (a *API) keyedBy(op huma.Operation, description string) huma.Operation {
	op.Description = strings.TrimSpace(op.Description + "\n\n" + description)
	one, longest := 1, maxKey
	op.Parameters = append(op.Parameters, &huma.Param{
		Name: keyHeader, In: "header",
		Description: "A text of the sender's choice, other for each request.",
		Schema: &huma.Schema{
			Type: huma.TypeString, MinLength: &one, MaxLength: &longest, Pattern: "^[!-~]+$",
		},
	})
	a.keyed.Handle(op.Method+" "+op.Path, http.NotFoundHandler())
	return op
}

// sent is a request with a key, as it arrived.
type sent struct {
	key, digest string
	header      http.Header // of the answer
}

type sentKey struct{}

// once reads the key of a request.
func (a *API) once(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		given := r.Header.Values(keyHeader)
		// An unknown caller is refused, its body unread.
		if len(given) == 0 || !gate.IdentityOf(r.Context()).Known() {
			next.ServeHTTP(w, r)
			return
		}
		if _, pattern := a.keyed.Handler(r); pattern == "" {
			next.ServeHTTP(w, r)
			return
		}
		if len(given) > 1 || !isKey(given[0]) {
			text := fmt.Sprintf("%s is one text of 1 to %d visible ASCII characters.", keyHeader, maxKey)
			problems.Write(w, problems.Refused(http.StatusUnprocessableEntity, text))
			return
		}
		body, err := io.ReadAll(r.Body)
		if err != nil {
			problems.Write(w, problems.UnreadBody(err))
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		contentType := r.Header.Get("Content-Type")
		text := fmt.Appendf(nil, "%s\n%s\n%s\n%s", r.Method, r.URL.RequestURI(), contentType, body)
		if a.earlier.answered(w, r, given[0], text) {
			return
		}
		s := &sent{key: given[0], digest: engine.DigestOf(text), header: w.Header()}
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), sentKey{}, s)))
	})
}

func isKey(key string) bool {
	for _, b := range []byte(key) {
		if b < '!' || b > '~' {
			return false
		}
	}
	return 0 < len(key) && len(key) <= maxKey
}

// asked returns a request in the name of its caller, under the key that came
// with it.
func asked(ctx context.Context, r engine.Request) engine.Request {
	r.Actor, r.Account = gate.ActorOf(ctx)
	if s, ok := ctx.Value(sentKey{}).(*sent); ok {
		r.ID, r.Digest = s.key, s.digest
	}
	return r
}

// askedAs names a request with a key for what is remembered until the server
// ends; empty without a key.
func askedAs(ctx context.Context) string { return asked(ctx, engine.Request{}).Key() }

// replayed marks the answer as that of an earlier request.
func replayed(ctx context.Context) {
	if s, ok := ctx.Value(sentKey{}).(*sent); ok {
		s.header.Set(replayHeader, "true")
	}
}

// repeated returns what was recorded when the request was sent before; none
// otherwise.
func (a *API) repeated(ctx context.Context, c *lab.Campaign) ([]events.Event, error) {
	return a.repeatedBy(ctx, c, asked(ctx, engine.Request{}))
}

func (a *API) repeatedBy(
	ctx context.Context, c *lab.Campaign, r engine.Request,
) ([]events.Event, error) {
	stored, err := c.Recorded(ctx, r)
	if err != nil {
		return nil, problems.Of(err)
	}
	if stored != nil {
		replayed(ctx)
	}
	return stored, nil
}

// repeatedIn is repeated in a campaign as it was folded by the caller.
func (a *API) repeatedIn(
	ctx context.Context, c *lab.Campaign, core *engine.Core,
) ([]events.Event, error) {
	at, err := core.Recorded(asked(ctx, engine.Request{}))
	if at == 0 || err != nil {
		return nil, problems.Or(err)
	}
	log, err := c.Log()
	if err != nil {
		return nil, problems.Of(err)
	}
	replayed(ctx)
	stored, err := engine.ReadBatch(ctx, log, c.Name(), at)
	return stored, problems.Or(err)
}

// recordedOr is the answer to a request that events were recorded for, or that
// was refused.
func recordedOr(stored []events.Event, err error) (*recordedOutput, error) {
	if err != nil {
		return nil, err
	}
	return recordedAs(stored)
}
