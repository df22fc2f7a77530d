// Package shoutrrr reaches people by the services of shoutrrr, e-mail, Slack, ntfy and others, whose
// clients campaignd-forward has.
package shoutrrr

import (
	"context"
	"strings"

	"github.com/campaignd/campaignd/adapters/notifications"
	"github.com/campaignd/campaignd/internal/ground/relay"
)

// Channels are the rows of the table: the services that show a title of their own, and any other.
var Channels = append(titled(
	"bark", "discord", "generic", "gotify", "ntfy", "pushbullet", "pushover", "smtp", "teams",
), notifications.Channel{Forwarded: true, Check: check, Send: send})

func titled(schemes ...string) (rows notifications.Channels) {
	for _, scheme := range schemes {
		rows = append(rows, notifications.Channel{Scheme: scheme, Titled: true, Forwarded: true, Send: send})
	}
	return rows
}

// check refuses the address of a web page, which says nothing of the form of a message.
func check(address string) (fault, remedy string) {
	scheme, _, _ := strings.Cut(address, "://")
	if scheme != "http" && scheme != "https" {
		return "", ""
	}
	return "an address begins with the service that is to be used, and this begins with " + scheme,
		"for a webhook write generic+" + scheme + "://…; ntfy://…, smtp://… and slack://… are others"
}

func send(ctx context.Context, address string, m notifications.Message) error {
	return relay.Send(ctx, relay.Message{Address: address, Title: m.Title, Text: m.Text})
}
