// Package notify tells people what waits for them: questions, alarms and
// finished campaigns, by e-mail, Slack, ntfy and whatever else shoutrrr knows.
//
// [Planner] decides, as a pure function of events and times: no clock, no
// network, no goroutine. Its state is a fold: of the campaigns' events, and of
// the lab's, in a stream of which stands who was sent what ([Stream]). [Notifier]
// is around it: a consumer of each store, and a loop that records messages and
// hands them to a [Sender].
//
// Of several processes that serve a lab in a database one sends: see share.go.
//
// What holds, whatever is killed:
//
//   - No one is sent a question that is closed, or reminded of it.
//   - Whatever is due and still holds is sent once. Where the process died between a message and
//     the record of it, the same message is sent again, with the same identifier.
//   - Nothing is sent in a person's quiet hours, unless they want unknown outcomes to break
//     them. Afterwards one message says what still holds.
//   - Nothing here holds up a campaign, and an address is never shown, or recorded.
package notify

import (
	"context"
	"time"

	"github.com/campaignd/campaignd/internal/labfile"
)

// Message is something that is sent to one person in one place.
type Message struct {
	// ID is the same each time the same is sent: who gets a message twice can
	// tell.
	ID string `json:"id"`
	// Person is who gets it, Target the index of the address among theirs.
	Person string `json:"person"`
	Target int    `json:"target"`
	// Title is a line; Text is what follows, in lines. Both are safe to print.
	Title string `json:"title"`
	Text  string `json:"text"`
}

// Sender sends messages. It is called for several at a time.
type Sender interface {
	// Send sends a message to an address, and returns once the service has
	// taken it. The error says what went wrong; a Notifier takes the parts of
	// the address out of it.
	Send(ctx context.Context, to labfile.Secret, m Message) error
}

// Status is how a person is reached.
type Status struct {
	// Person is their name in the lab file.
	Person string `json:"person"`
	// Targets are their addresses, in the order of the lab file; none where
	// they have none.
	Targets []TargetStatus `json:"targets"`
	// Quiet is set in their quiet hours.
	Quiet bool `json:"quiet,omitempty"`
}

// TargetStatus is how an address works.
type TargetStatus struct {
	// Address is where it leads to, without secrets.
	Address string `json:"address"`
	// Delivered is when a message was last taken by the service.
	Delivered time.Time `json:"delivered,omitzero"`
	// Error is why the last message was not taken, and Failed when that was.
	// They stay until one is taken.
	Error  string    `json:"error,omitempty"`
	Failed time.Time `json:"failed,omitzero"`
	// Again is when the next attempt is made.
	Again time.Time `json:"again,omitzero"`
	// Waiting counts what they are to get and have not got yet.
	Waiting int `json:"waiting"`
}
