package campaign

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"

	"github.com/campaignd/campaignd/events"
)

// Recorded says where a caller's request was recorded.
type Recorded struct {
	// Sequence is that of the event that carries the request: the first of its
	// batch.
	Sequence events.Sequence
	// Digest of the request's content, as in [events.Event].
	Digest string
}

// requestKey is a hash of a request's identifier and its scope. It has one size, so that the memory
// for a request is bounded, however long an identifier callers choose.
type requestKey [16]byte

// keyOf is the key of an actor's request. The scope is the actor and not the
// account: a process that hands a request on to the one that holds the store
// keeps the actor, and the account becomes its own. A request that came by both
// ways would count twice.
func keyOf(actor, request string) (key requestKey) {
	sum := sha256.Sum256([]byte(actor + "\x00" + request)) // no text of an envelope holds a zero
	copy(key[:], sum[:])
	return key
}

// requests are the callers' requests that were recorded. It is where a request
// is counted once: no log holds a second event with the same one.
type requests map[requestKey]Recorded

// repeats says which earlier event an event repeats the request of, or "".
func (r requests) repeats(e events.Event) (problem string) {
	if e.Request == "" {
		return ""
	}
	if first, again := r[keyOf(e.Actor, e.Request)]; again {
		return fmt.Sprintf("the request %q of %s was recorded before, by event %d",
			e.Request, e.Actor, first.Sequence)
	}
	return ""
}

// with returns the requests with that of an event. It changes the map in place:
// Clone has given each projection its own.
func (r requests) with(e events.Event) requests {
	if e.Request == "" {
		return r
	}
	if r == nil {
		r = make(requests)
	}
	r[keyOf(e.Actor, e.Request)] = Recorded{Sequence: e.Sequence, Digest: e.RequestDigest}
	return r
}

// Recorded returns where an actor's request was recorded; ok is false where it
// was not.
func (p *Projection) Recorded(actor, request string) (found Recorded, ok bool) {
	found, ok = p.requests[keyOf(actor, request)]
	return found, ok
}

// keptRequest is a request in a snapshot.
type keptRequest struct {
	Key      string          `json:"key"`
	Sequence events.Sequence `json:"sequence"`
	Digest   string          `json:"digest,omitempty"`
}

// kept lists the requests in the order of the log. A map has no order, and
// equal states must have equal snapshots.
func (r requests) kept() (list []keptRequest) {
	for key, at := range r {
		list = append(list, keptRequest{hex.EncodeToString(key[:]), at.Sequence, at.Digest})
	}
	slices.SortFunc(list, func(a, b keptRequest) int { return int(a.Sequence) - int(b.Sequence) })
	return list
}

// requestsOf returns the requests that a snapshot holds.
func requestsOf(list []keptRequest) (requests, error) {
	var r requests
	for _, k := range list {
		bytes, err := hex.DecodeString(k.Key)
		if err != nil || len(bytes) != len(requestKey{}) {
			return nil, fmt.Errorf("%q is not the key of a request", k.Key)
		}
		if r == nil {
			r = make(requests, len(list))
		}
		r[requestKey(bytes)] = Recorded{Sequence: k.Sequence, Digest: k.Digest}
	}
	return r, nil
}
