package notify

import (
	"time"

	"github.com/campaignd/campaignd/events"
)

// Stream is the stream of the lab's log that records the messages to people. The name is in the
// logs of labs, and stays.
const Stream = "notify"

// The kinds of event of the stream. They contain no address, which is secret.
const (
	// kindBegun is the kind of the first event: no messages are sent about campaigns that ended
	// before it. It occurs again where a memory from before the stream was taken over.
	kindBegun events.Kind = "messages.begun"
	// kindAttempted records that a message is about to be sent.
	kindAttempted events.Kind = "message.attempted"
	kindDelivered events.Kind = "message.delivered"
	kindFailed    events.Kind = "message.failed"
	// kindDropped records that a message which may have been sent is not sent again, since a part
	// of it has become untrue.
	kindDropped events.Kind = "message.dropped"
)

// begun is the payload of kindBegun. Earlier is read and no longer written.
type begun struct {
	Earlier *earlier `json:"earlier,omitempty"`
}

// Subject implements events.Payload.
func (begun) Subject() string { return "" }

// outcome is the payload of the other kinds: the result for a message.
type outcome struct {
	ID     string `json:"id"`
	Person string `json:"person"`
	Target int    `json:"target"`
	// Notices are the notices of an attempted message, and those of a dropped one that count as
	// sent.
	Notices []notice `json:"notices,omitempty"`
	// Error is the reason of the failure.
	Error string `json:"error,omitempty"`
}

// Subject implements events.Payload: the recipient.
func (o outcome) Subject() string { return o.Person }

// earlier is the memory taken over from the file that preceded the stream, in the form of that
// file.
type earlier struct {
	Version  int                      `json:"version"`
	Began    time.Time                `json:"began"`
	Streams  map[string]earlierStream `json:"streams"`
	Matters  []earlierMatter          `json:"matters"`
	Channels map[string]*channel      `json:"channels"`
}

// earlierStream is the last event of a campaign that the old version had folded. It never saw the
// later ones.
type earlierStream struct {
	Instance string          `json:"instance,omitempty"`
	Sequence events.Sequence `json:"sequence"`
}

// earlierMatter is a matter that could still cause messages; all others were over by then.
type earlierMatter struct {
	Key      string             `json:"key"`
	Campaign string             `json:"campaign"`
	Said     map[string]telling `json:"told,omitempty"`
}

// vocabulary lists the events of the stream. It is separate: these events are the lab's, and no
// campaign's log may hold them.
var vocabulary = events.NewVocabulary(
	events.RowOf[begun](kindBegun, 1),
	events.RowOf[outcome](kindAttempted, 1),
	events.RowOf[outcome](kindDelivered, 1),
	events.RowOf[outcome](kindFailed, 1),
	events.RowOf[outcome](kindDropped, 1),
)

// newEvent returns an event of the stream, to be appended.
func newEvent(kind events.Kind, now time.Time, payload events.Payload) events.Event {
	e, err := vocabulary.New(Stream, kind, payload)
	if err != nil {
		panic("notify: " + err.Error()) // text, times and whole numbers
	}
	e.Actor = "engine"
	// In the form of the log: the event folded now must equal the one read back, and a monotonic
	// reading or nanoseconds would be lost.
	e.Time = now.UTC().Round(0).Truncate(time.Microsecond)
	return e
}
