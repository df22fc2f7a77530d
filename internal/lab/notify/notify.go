// Package notify tells people what waits for them: questions, alarms and finished campaigns, by
// e-mail, Slack, ntfy, the other services of shoutrrr, and channels of other modules.
//
// [Planner] decides, as a pure function of events and times: no clock, no network, no goroutine.
// Its state is a fold: of the campaigns' events, and of the lab's, in a stream that records the
// messages sent ([Stream]). [Notifier] is the shell: a consumer of each store, and a loop that
// records messages and hands them to a [Sender].
//
// Of several processes that serve a lab in a database one sends: see share.go.
//
// The guarantees, whatever is killed:
//
//   - No one is sent a closed question, or a reminder of it.
//   - A message that is due and still true is sent once. If the process died between a message and
//     the record of it, the same message is sent again, with the same identifier.
//   - Nothing is sent in a person's quiet hours, unless they allow unknown outcomes to break them.
//     Afterwards one message lists everything still open.
//   - Nothing here holds up a campaign, and an address is never shown, or recorded.
package notify

import (
	"context"
	"time"

	"github.com/campaignd/campaignd/internal/files/labfile"
)

// Message is a message to one person at one address.
type Message struct {
	// ID is the same each time the same message is sent, so that its reader can recognize a
	// repetition.
	ID string `json:"id"`
	// Person is the recipient, Target the index of the address among theirs.
	Person string `json:"person"`
	Target int    `json:"target"`
	// Title is a line; Text holds the lines below it. Both are safe to print.
	Title string `json:"title"`
	Text  string `json:"text"`
}

// Sender sends messages. It is called for several at a time.
type Sender interface {
	// Send sends a message to an address, and returns once the service has accepted it. A Notifier
	// removes the parts of the address from the error.
	Send(ctx context.Context, to labfile.Secret, m Message) error
}

// Status is how a person is reached.
type Status struct {
	// Person is their name in the lab file.
	Person string `json:"person"`
	// Targets are their addresses, in the order of the lab file; may be empty.
	Targets []TargetStatus `json:"targets"`
	// Quiet is set in their quiet hours.
	Quiet bool `json:"quiet,omitempty"`
}

// TargetStatus is the state of an address.
type TargetStatus struct {
	// Address is the address without secrets.
	Address string `json:"address"`
	// Delivered is when the service last accepted a message.
	Delivered time.Time `json:"delivered,omitzero"`
	// Error is why the last message was not accepted, and Failed when that was. They stay until one
	// is accepted.
	Error  string    `json:"error,omitempty"`
	Failed time.Time `json:"failed,omitzero"`
	// Again is the time of the next attempt.
	Again time.Time `json:"again,omitzero"`
	// Waiting counts their undelivered messages.
	Waiting int `json:"waiting"`
}
