package notify

import (
	"time"

	"github.com/campaignd/campaignd/events"
)

// Stream is the stream of the lab's log that holds what people were sent. The
// name is in the logs of labs, and stays.
const Stream = "notify"

// The kinds of event of the stream. An address is not in them: it is a secret.
const (
	// kindBegun is the kind of the first event: of campaigns that ended before,
	// no one is sent anything. It came again where a memory from before the
	// stream was taken over.
	kindBegun events.Kind = "messages.begun"
	// kindAttempted says that a message is about to be sent.
	kindAttempted events.Kind = "message.attempted"
	kindDelivered events.Kind = "message.delivered"
	kindFailed    events.Kind = "message.failed"
	// kindDropped says that a message which may have been sent is not sent
	// again, since not all of it holds any more.
	kindDropped events.Kind = "message.dropped"
)

// begun is the payload of kindBegun. Earlier is read, and not written any more.
type begun struct {
	Earlier *earlier `json:"earlier,omitempty"`
}

// Subject implements events.Payload.
func (begun) Subject() string { return "" }

// outcome is the payload of the other kinds: what is said of a message.
type outcome struct {
	ID     string `json:"id"`
	Person string `json:"person"`
	Target int    `json:"target"`
	// Notices are what an attempted message says, and what of a dropped one
	// counts as said.
	Notices []notice `json:"notices,omitempty"`
	// Error is why it failed.
	Error string `json:"error,omitempty"`
}

// Subject implements events.Payload: who it is sent to.
func (o outcome) Subject() string { return o.Person }

// earlier is what was taken over of the file in which what people were sent was
// kept before the stream, in the form of that file.
type earlier struct {
	Version  int                      `json:"version"`
	Began    time.Time                `json:"began"`
	Streams  map[string]earlierStream `json:"streams"`
	Matters  []earlierMatter          `json:"matters"`
	Channels map[string]*channel      `json:"channels"`
}

// earlierStream says up to which event a campaign was folded. What is after it
// was not seen by that version.
type earlierStream struct {
	Instance string          `json:"instance,omitempty"`
	Sequence events.Sequence `json:"sequence"`
}

// earlierMatter is a matter about which there may have been more to say; what is
// not among them was over by then.
type earlierMatter struct {
	Key      string             `json:"key"`
	Campaign string             `json:"campaign"`
	Said     map[string]telling `json:"told,omitempty"`
}

// vocabulary is what the stream holds. It is a vocabulary of its own: these
// events are the lab's, and no campaign's log may hold them.
var vocabulary = events.NewVocabulary(
	events.RowOf[begun](kindBegun, 1),
	events.RowOf[outcome](kindAttempted, 1),
	events.RowOf[outcome](kindDelivered, 1),
	events.RowOf[outcome](kindFailed, 1),
	events.RowOf[outcome](kindDropped, 1),
)

// newEvent is an event of the stream, to be appended.
func newEvent(kind events.Kind, now time.Time, payload events.Payload) events.Event {
	e, err := vocabulary.New(Stream, kind, payload)
	if err != nil {
		panic("notify: " + err.Error()) // text, times and whole numbers
	}
	e.Actor = "engine"
	// As the log keeps it: what is taken in now must equal what is read back,
	// and a monotonic reading or nanoseconds would not come back.
	e.Time = now.UTC().Round(0).Truncate(time.Microsecond)
	return e
}
