// Package notifications is the contract of the channels by which a lab tells people what waits for
// them: questions, alarms and finished campaigns. A channel is a row of the table of what lab files
// can name, found by the scheme of an address.
package notifications

import (
	"context"
	"errors"
	"slices"
	"strings"
)

// Message is a message to one person.
type Message struct {
	// ID is the same each time the same message is sent: a process that dies after a service has
	// accepted a message sends it again.
	ID string
	// Title is a line, Text the lines below it. Both are safe to print.
	Title string
	Text  string
}

// Channel is a way to reach people.
type Channel struct {
	// Scheme begins its addresses: "ntfy" those that begin with ntfy:// or ntfy+, and a transport.
	// Empty: all that no other channel has.
	Scheme string
	// Titled says that a title is shown apart. Elsewhere the title is the first line of the text.
	Titled bool
	// Forwarded says that messages leave by campaignd-forward, which has to be installed.
	Forwarded bool
	// Check returns the fault of an address and what to write in its place; both are empty for a
	// right one. Parts that come from the environment are x in it. Nil: every address is right.
	Check func(address string) (fault, remedy string)
	// Send sends a message, and returns once the service has accepted it, or why it has not: it is
	// then sent again later. It ends with its context and is called for several messages at a time.
	// Parts of the address are removed from the error before anyone sees it.
	Send func(ctx context.Context, address string, m Message) error
}

// Channels is the table.
type Channels []Channel

// Of returns the channel of an address.
func (c Channels) Of(address string) (Channel, bool) {
	scheme, _, _ := strings.Cut(address, "://")
	name, _, _ := strings.Cut(strings.ToLower(scheme), "+")
	for _, name := range []string{name, ""} {
		if i := slices.IndexFunc(c, func(row Channel) bool { return row.Scheme == name }); i >= 0 {
			return c[i], true
		}
	}
	return Channel{}, false
}

// Send sends a message by the channel of its address.
func (c Channels) Send(ctx context.Context, address string, m Message) error {
	row, ok := c.Of(address)
	if !ok {
		return errors.New("no channel sends messages to such an address")
	}
	if !row.Titled {
		m.Title, m.Text = "", m.Title+"\n"+m.Text
	}
	return row.Send(ctx, address, m)
}
