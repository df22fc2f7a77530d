package engine

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/ground/problem"
)

// A caller that lost the answer to a request sends it again. Whether it was
// recorded is known where it counts, in the campaign's log: the first event of
// its batch carries the request's identifier, the fold refuses a second one,
// and the log takes no batch of a writer that has not seen the newest event. So
// a repeat finds the first, by whichever road, process or machine it comes, and
// is answered with the events of the first.

// Identified returns the request with an identifier of the caller's choice, and
// the digest of the whole of it.
func (r Request) Identified(id string) Request {
	r.ID = id
	r.Digest = r.digest()
	return r
}

// Key names an identified request for caches outside the log; it is empty for a request without
// an identifier. The zero byte cannot stand in a name or an identifier that guard accepts.
func (r Request) Key() string {
	if r.ID == "" {
		return ""
	}
	return strings.Join([]string{r.Actor, r.ID, r.digest()}, "\x00")
}

// digest distinguishes different requests under the same identifier; empty without one. A
// digest that the caller gave is taken as it is: it covers the bytes that were sent, which may
// have been read into a different request by now.
func (r Request) digest() string {
	switch {
	case r.ID == "":
		return ""
	case r.Digest != "":
		return r.Digest
	}
	r.Actor, r.ID = "", ""
	text, err := json.Marshal(r)
	if err != nil {
		return "" // what JSON cannot express no event can hold: the request is refused
	}
	return DigestOf(text)
}

// DigestOf is the digest of the bytes that a caller sent, for [Request.Digest].
func DigestOf(sent []byte) string {
	sum := sha256.Sum256(sent)
	return hex.EncodeToString(sum[:16])
}

// Recorded returns the sequence of the event by which a request was recorded, 0
// where it was not. Another request under its identifier is refused.
func (c *Core) Recorded(r Request) (events.Sequence, error) {
	if r.ID == "" {
		return 0, nil
	}
	found, ok := c.campaign.Recorded(r.Actor, r.ID)
	switch {
	case !ok:
		return 0, nil
	case found.Digest != r.digest():
		return 0, anotherRequest(r.ID)
	}
	return found.Sequence, nil
}

// anotherRequest refuses an identifier that has been used for something else: to
// answer with the events of the first would tell the caller that theirs was
// done.
func anotherRequest(id string) error {
	text := "the identifier %q came with another request before"
	return problem.New(problem.NotPossible, text, id).
		With(problem.Remedy{Text: "give each request an identifier of its own"})
}

// Repeated returns the events of a request that was recorded before, none where it was not. It
// is called before a request is judged: a repeat of a recorded request must not be refused
// because the campaign has changed since.
func (c *Core) Repeated(ctx context.Context, log events.Log, r Request) ([]events.Event, error) {
	at, err := c.Recorded(r)
	if at == 0 || err != nil {
		return nil, err
	}
	return ReadBatch(ctx, log, c.State().Name, at)
}

// ReadBatch returns the events that were recorded together with the first of
// them, which is at a sequence of a campaign. The end of a batch is not
// recorded; it follows from cause, time and actor.
func ReadBatch(
	ctx context.Context, log events.Log, campaign string, at events.Sequence,
) (batch []events.Event, err error) {
	for e, err := range events.ReadCampaign(ctx, log, campaign, at-1) {
		if err != nil {
			return nil, err
		}
		if len(batch) > 0 && !sameRequest(batch[0], e) {
			break
		}
		batch = append(batch, e)
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx) // it may be cut short
	}
	return batch, nil
}

// sameRequest reports whether an event belongs to the batch of a person's
// request. Their next request has another time: see [Core.Granted].
func sameRequest(first, e events.Event) bool {
	return e.Request == "" && e.Cause == first.ID && e.Time.Equal(first.Time) &&
		e.Actor == first.Actor && e.Account == first.Account
}

// Submit fulfills a request on a campaign that no process runs, and folds it into core. If
// another writer was quicker, its events are folded and the request is judged again: it may be
// recorded by now.
//
// It takes no lock: the log refuses a batch whose writer has not seen the newest event, and
// that ends each round. The core may have been overtaken by any number of events, or by a
// process that has begun to run the campaign.
func Submit(
	ctx context.Context, log events.Log, core *Core, request Request, now time.Time,
) ([]events.Event, error) {
	for {
		first, err := core.Repeated(ctx, log, request)
		if first != nil || err != nil {
			return first, err
		}
		batch, err := core.Granted(request, now, nil)
		if err != nil {
			return nil, err
		}
		s := core.State()
		stored, err := log.Append(ctx, s.Name, s.Sequence, batch...)
		var overtaken *events.ConflictError
		if errors.As(err, &overtaken) {
			if err := core.Forward(ctx, log, s.Name, events.AnySequence); err != nil {
				return nil, err
			}
			continue
		}
		if err != nil {
			return nil, err
		}
		for _, e := range stored {
			if err := core.Apply(e); err != nil {
				return nil, err
			}
		}
		return stored, nil
	}
}

// Define writes the event that opens a campaign.
func Define(
	ctx context.Context, log events.Log, definition events.CampaignDefined, actor string,
	now time.Time, trace string,
) error {
	return DefineBy(ctx, log, definition, Request{Actor: actor}, now, trace)
}

// DefineBy is [Define] by a request whose parts are empty: it gives the requester and the
// identifier. A campaign that the same request has opened before is opened.
//
// The expected sequence 0 ensures that a campaign opens once: of two requests, one appends.
func DefineBy(
	ctx context.Context, log events.Log, definition events.CampaignDefined, by Request,
	now time.Time, trace string,
) error {
	e, err := events.New(definition.Definition.Name, &definition)
	if err != nil {
		return err
	}
	e.Actor, e.Account = by.Actor, by.Account
	e.Time = Stamp(now)
	e.Trace = trace
	if by.ID != "" {
		e.Request, e.RequestDigest = by.ID, by.Digest
	}
	_, err = log.Append(ctx, e.Campaign, 0, e)
	var there *events.ConflictError
	if by.ID == "" || !errors.As(err, &there) {
		return err
	}
	first, failed := ReadBatch(ctx, log, e.Campaign, 1)
	switch {
	case failed != nil:
		return failed
	case len(first) == 0 || first[0].Actor != by.Actor || first[0].Request != by.ID:
		return err
	case first[0].RequestDigest != by.Digest:
		return anotherRequest(by.ID)
	}
	return nil
}
