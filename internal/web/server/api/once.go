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
	"github.com/campaignd/campaignd/internal/web/server/gate"
	"github.com/campaignd/campaignd/internal/web/server/problems"
)

// A request may carry an identifier of its sender's choice in the header Idempotency-Key. The
// recorded events carry the same identifier, so that the campaign's log counts the request once,
// however often it is sent; the server stores nothing. A repeat is answered from the events of the
// first: hence an answer describes their consequences, not the present state of the campaign.

const (
	keyHeader    = "Idempotency-Key"
	replayHeader = "Idempotency-Replayed"

	// In bytes. The key becomes the identifier of an engine request, which has the same maximum
	// length.
	maxKey = 200 // bytes
)

// Descriptions of the header in the operations' documents.
const (
	// The first promises repetition at any time, since the log keeps the identifier; the second
	// only as long as the process lives, since no log contains an audit or a what-if. Promising
	// more there would need a store for it.
	recordedOnce = "With an Idempotency-Key it can be sent again, at any time: what it records, " +
		"it records once, and it is answered as the first time, marked by the header " +
		"Idempotency-Replayed. Another request of the same account with the same key in the same " +
		"campaign is refused (422). A request that was refused was recorded no time, and is judged " +
		"anew when it is sent again."
	begunOnce = "With an Idempotency-Key it can be sent again: while the server remembers it, " +
		"it is begun once."
)

// recording marks an operation that records something: it takes a key. A repeat must find the
// recorded events in the log alone: see [API.repeated].
func (a *API) recording(op huma.Operation) huma.Operation { return a.keyedBy(op, recordedOnce) }

// beginning marks an operation whose run is unknown to the log. Its key is remembered with the run
// it began: see [askedAs].
func (a *API) beginning(op huma.Operation) huma.Operation { return a.keyedBy(op, begunOnce) }

// keyedBy adds the header to an operation's document, and its pattern to those whose keys are read.
// A header that the library reads itself would need a field in each input, and come too late for
// the digest of the body.
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

// sent is a request with a key, as it arrived. once puts it into the request's context, where
// [asked] and [replayed] read it.
type sent struct {
	key, digest string
	header      http.Header // of the answer
	address     string      // of an upload, whose digest comes after its bytes
}

// sentKey is the context key of a *sent.
type sentKey struct{}

// once reads the key of a request, and answers a repeat of one that an earlier version answered. It
// reads the whole body, within the gate's bounds, since the digest covers it: method, address, type
// and body, as they were sent. Another request under the same key differs in one of them and is
// refused by the engine (422).
//
// A header on an operation that takes none is ignored, not refused: clients may send one with
// everything. A repeated header, or one with characters unfit for a log or a message, is refused
// before the body is read.
func (a *API) once(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		given := r.Header.Values(keyHeader)
		// An unknown caller is refused with the body unread.
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
		if uploadsTo(r.Method, r.URL.Path) {
			s := &sent{key: given[0], header: w.Header(), address: addressOf(r)}
			next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), sentKey{}, s)))
			return
		}
		body, err := io.ReadAll(r.Body)
		if err != nil {
			problems.Write(w, problems.UnreadBody(err))
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		text := append([]byte(addressOf(r)), body...)
		s := &sent{key: given[0], digest: engine.DigestOf(text), header: w.Header()}
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), sentKey{}, s)))
	})
}

// addressOf returns everything that a request's digest covers, except the body.
func addressOf(r *http.Request) string {
	return fmt.Sprintf("%s\n%s\n%s\n", r.Method, r.URL.RequestURI(), r.Header.Get("Content-Type"))
}

// digested completes the digest of a request whose body is a file, with the file's own digest.
func digested(ctx context.Context, file string) {
	if s, ok := ctx.Value(sentKey{}).(*sent); ok && s.address != "" {
		s.digest = engine.DigestOf([]byte(s.address + file))
	}
}

// isKey reports whether a key is 1 to maxKey visible ASCII characters, without spaces: it becomes
// part of an event, is compared byte by byte, and appears in messages.
func isKey(key string) bool {
	for _, b := range []byte(key) {
		if b < '!' || b > '~' {
			return false
		}
	}
	return 0 < len(key) && len(key) <= maxKey
}

// asked returns a request in the name of its caller, under its key; without a key, each time
// counts. All operations make their requests with it: an actor named in a body is never read.
func asked(ctx context.Context, r engine.Request) engine.Request {
	r.Actor, r.Account = gate.ActorOf(ctx)
	if s, ok := ctx.Value(sentKey{}).(*sent); ok {
		r.ID, r.Digest = s.key, s.digest
	}
	return r
}

// askedAs identifies a request with a key, for data kept until the server ends; empty without a
// key. It includes actor and digest: the same key from another account, or with another body, is
// another request.
func askedAs(ctx context.Context) string { return asked(ctx, engine.Request{}).Key() }

// replayed marks the answer as that of an earlier request. It must be called before the answer is
// written.
func replayed(ctx context.Context) {
	if s, ok := ctx.Value(sentKey{}).(*sent); ok {
		s.header.Set(replayHeader, "true")
	}
}

// repeated returns the events recorded when the request was first sent, or none. An operation that
// derives its request from the campaign's state calls it first: in the present state the same words
// could mean something else, or nothing. It fails if the key came with another request.
func repeated(ctx context.Context, c *lab.Campaign) ([]events.Event, error) {
	return repeatedBy(ctx, c, asked(ctx, engine.Request{}))
}

// repeatedBy is repeated for a request whose actor its caller has chosen.
func repeatedBy(ctx context.Context, c *lab.Campaign, r engine.Request) ([]events.Event, error) {
	stored, err := c.Recorded(ctx, r)
	if err != nil {
		return nil, problems.Of(err)
	}
	if stored != nil {
		replayed(ctx)
	}
	return stored, nil
}

// repeatedIn is repeated on the caller's fold of a campaign. A decision that rests on that very
// state must use it: between two looks at the campaign another connection could record the same
// request.
func repeatedIn(ctx context.Context, c *lab.Campaign, core *engine.Core) ([]events.Event, error) {
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

// recordedOr is the answer to a recorded or refused request.
func recordedOr(stored []events.Event, err error) (*recordedOutput, error) {
	if err != nil {
		return nil, err
	}
	return recordedAs(stored)
}
