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

	// In bytes. The engine takes an identifier of a request, which the key
	// becomes, of the same length and no longer.
	maxKey = 200 // bytes
)

// What the description of an operation says of the header.
const (
	// The first is a promise without an end, since the log keeps the
	// identifier; the second lasts as long as the process, since nothing of an
	// audit or a what-if is in a log. To promise more there would need a store
	// for it.
	recordedOnce = "With an Idempotency-Key it can be sent again, at any time: what it records, " +
		"it records once, and it is answered as the first time, marked by the header " +
		"Idempotency-Replayed. Another request of the same account with the same key in the same " +
		"campaign is refused (422). A request that was refused was recorded no time, and is judged " +
		"anew when it is sent again."
	begunOnce = "With an Idempotency-Key it can be sent again: while the server remembers it, " +
		"it is begun once."
)

// recording marks an operation that records something: it takes a key. What it
// records must come from the log alone when it is repeated: see [API.repeated].
func (a *API) recording(op huma.Operation) huma.Operation { return a.keyedBy(op, recordedOnce) }

// beginning marks an operation that begins something of which the log knows
// nothing. Its key is remembered with the run that it has begun: see [askedAs].
func (a *API) beginning(op huma.Operation) huma.Operation { return a.keyedBy(op, begunOnce) }

// keyedBy adds the header to an operation's document, and its pattern to those
// whose keys are read. A header that the library reads itself would need a
// field in each input, and come too late for the digest of the body.
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

// sent is a request with a key, as it arrived. It is put into the request's
// context by once, and read by [asked] and [replayed].
type sent struct {
	key, digest string
	header      http.Header // of the answer
	address     string      // of an upload, whose digest comes after its bytes
}

// sentKey is the key of a *sent in a context.
type sentKey struct{}

// once reads the key of a request, and answers a repeat of one that an earlier
// version answered. It takes in the whole body, within the gate's bounds, since
// the digest covers it: method, address, type and body, as they were sent.
// Another request under the same key differs in one of them and is refused by
// the engine (422).
//
// A header without need is ignored, and not refused: clients may send one with
// everything. One that is there twice, or holds what a log and a message should
// not, is refused before the body is looked at.
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

// addressOf is all of a request that its digest covers, but for the body.
func addressOf(r *http.Request) string {
	return fmt.Sprintf("%s\n%s\n%s\n", r.Method, r.URL.RequestURI(), r.Header.Get("Content-Type"))
}

// digested completes the digest of a request whose body is a file, once that is
// known by its own digest.
func digested(ctx context.Context, file string) {
	if s, ok := ctx.Value(sentKey{}).(*sent); ok && s.address != "" {
		s.digest = engine.DigestOf([]byte(s.address + file))
	}
}

// isKey reports whether a key is 1 to maxKey visible ASCII characters, with no
// space: it becomes part of an event, is compared byte by byte, and is shown in
// messages.
func isKey(key string) bool {
	for _, b := range []byte(key) {
		if b < '!' || b > '~' {
			return false
		}
	}
	return 0 < len(key) && len(key) <= maxKey
}

// asked returns a request in the name of its caller, under the key that came
// with it; without one, each time counts. The operations' requests are made by
// it: what a body says of an actor is never read.
func asked(ctx context.Context, r engine.Request) engine.Request {
	r.Actor, r.Account = gate.ActorOf(ctx)
	if s, ok := ctx.Value(sentKey{}).(*sent); ok {
		r.ID, r.Digest = s.key, s.digest
	}
	return r
}

// askedAs names a request with a key for what is remembered until the server
// ends; empty without a key. It holds actor and digest too: the same key of
// another account, or with another body, is another request.
func askedAs(ctx context.Context) string { return asked(ctx, engine.Request{}).Key() }

// replayed marks the answer as that of an earlier request. It must be called
// before the answer is written.
func replayed(ctx context.Context) {
	if s, ok := ctx.Value(sentKey{}).(*sent); ok {
		s.header.Set(replayHeader, "true")
	}
}

// repeated returns what was recorded when the request was sent before; none
// otherwise. An operation that works its request out from how the campaign
// stands asks first: from how it stands now the same words could mean something
// else, or nothing. It fails where the key came with another request.
func (a *API) repeated(ctx context.Context, c *lab.Campaign) ([]events.Event, error) {
	return a.repeatedBy(ctx, c, asked(ctx, engine.Request{}))
}

// repeatedBy is repeated of a request whose actor the caller of this function
// has chosen.
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

// repeatedIn is repeated in a campaign as it was folded by the caller. Where a
// decision rests on that very state, it must be asked of it: between two looks
// at the campaign the same request could be recorded by another connection.
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
