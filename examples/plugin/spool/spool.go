// Package spool tells people what waits for them by files in a folder, one for each message, which a
// program of the laboratory takes up: for a pager, a lamp or a loudspeaker.
package spool

import (
	"context"
	"net/url"
	"os"
	"path/filepath"

	"github.com/campaignd/campaignd/adapters/notifications"
)

// Channel is the row of the table: spool:///srv/messages is a folder.
var Channel = notifications.Channel{Scheme: "spool", Check: check, Send: send}

func check(address string) (fault, remedy string) {
	if u, err := url.Parse(address); err == nil && u.Host == "" && u.Path != "" {
		return "", ""
	}
	return "a folder for messages has an absolute path", "write spool:///srv/messages"
}

// send writes a message whole or not at all. A message that is sent again has the same name.
func send(_ context.Context, address string, m notifications.Message) error {
	u, err := url.Parse(address)
	if err != nil {
		return err
	}
	file := filepath.Join(filepath.FromSlash(u.Path), m.ID+".txt")
	if err := os.WriteFile(file+".new", []byte(m.Text), 0o600); err != nil {
		return err
	}
	return os.Rename(file+".new", file)
}
