package events

import (
	"fmt"
	"strings"
	"time"
)

// Position is an event's place in a log, over all campaigns. Positions are
// contiguous and start at 1; 0 means "before the first event", or that the log
// has not told it.
type Position uint64

// Sequence is an event's place within its campaign. Sequences are contiguous
// and start at 1; 0 means "before the first event".
type Sequence uint64

// Event is one immutable fact: an envelope around an opaque payload.
//
// The writer fills everything but Position and Sequence, which the log assigns
// on Append.
type Event struct {
	// Position is the place in the log. The log sets it in what Append and readers return; it is
	// not part of the hashed record.
	Position Position
	// Campaign names the stream the event belongs to.
	Campaign string
	// Sequence is the place within the campaign, assigned by Append.
	Sequence Sequence
	// ID identifies the event within its campaign. Where the writer leaves it
	// empty, Append fills in the decimal sequence; a writer's own IDs are
	// therefore not plain numbers. The log does not look for repeats.
	ID string
	// Kind names what happened, for example "experiment.measured".
	Kind Kind
	// Version is the version of the payload's schema, from 1.
	Version int
	// Time is when the writer recorded the event: UTC, to the microsecond. No
	// decision reads it except through the payload of another event.
	Time time.Time
	// Actor is who made it happen: "engine", "person:ada",
	// "instrument:simulated/electrolyte", "expert:ada".
	Actor string
	// Account is the system's user who reported it, where a person did: "root
	// (uid 0)". Actor is who they say they are, which is not checked. Empty
	// where it is not known, and in events that a part of campaignd wrote. All
	// events of a batch have the same one.
	Account string
	// Request is the identifier that the caller gave the request that was
	// recorded by this event and by those that name it as their cause, and
	// RequestDigest a short digest of what was asked for; both are empty where
	// the caller gave none. Its scope is the actor. The first event of the
	// batch alone carries them, so that a second event with the same request is
	// always a contradiction.
	Request, RequestDigest string
	// Cause is the ID of the event of the same campaign that led to this one;
	// empty where nothing did.
	Cause string
	// Simulated marks a fact about a simulated world (a simulated instrument's
	// measurement, a simulated expert's label); everything else is real.
	Simulated bool
	// Trace is a W3C traceparent, or empty.
	Trace string
	// Data is the payload: JSON for the kinds of this package. The bytes are
	// stored, hashed and returned as they were written.
	Data []byte
}

// ToldBy returns the account where its name differs from the actor's, and "" otherwise.
func (e Event) ToldBy() string {
	if account, _, _ := strings.Cut(e.Account, " (uid "); account == ActorName(e.Actor) {
		return ""
	}
	return e.Account
}

// ActorName is an actor's name without what kind of actor it is: "ada" of
// "person:ada", "engine" of "engine".
func ActorName(actor string) string {
	if _, name, ok := strings.Cut(actor, ":"); ok {
		return name
	}
	return actor
}

// New returns an event of the given campaign around payload, whose kind and
// current version come from the campaigns' table of kinds. It fails as
// [Vocabulary.New] does.
func New(campaign string, payload Payload) (Event, error) {
	return campaigns.New(campaign, KindOf(payload), payload)
}

// Decode returns the typed payload of a campaign's event: a pointer to the Go
// type that the table of kinds names. A kind or version the table does not know
// is an [UnknownKindError]: the event was written by a newer campaignd, or is
// not a campaign event (for example a bus message).
func Decode(e Event) (Payload, error) { return campaigns.Decode(e) }

// UnknownKindError reports an event whose kind or version this build does not
// know.
type UnknownKindError struct {
	Kind     Kind
	Version  int
	Position Position
}

func (e *UnknownKindError) Error() string {
	return fmt.Sprintf("events: position %d holds %q version %d, which this campaignd does not know; use the version that wrote the store, or a newer one",
		e.Position, e.Kind, e.Version)
}
