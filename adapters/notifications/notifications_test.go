package notifications_test

import (
	"context"
	"testing"

	"github.com/campaignd/campaignd/adapters/notifications"
)

// Law: an address is that of the row with its scheme, whatever transport it names and however it is
// spelled, and else of the row for any other; a title is the first line where it is not shown apart.
func TestSend(t *testing.T) {
	var by, got string
	row := func(scheme string, titled bool) notifications.Channel {
		return notifications.Channel{Scheme: scheme, Titled: titled,
			Send: func(_ context.Context, _ string, m notifications.Message) error {
				by, got = scheme, m.Title+"|"+m.Text
				return nil
			}}
	}
	table := notifications.Channels{row("", false), row("hook", true)}
	for address, want := range map[string][2]string{
		"hook://h/x": {"hook", "T|t"}, "hook+https://h/x": {"hook", "T|t"}, "HOOK://h": {"hook", "T|t"},
		"hooks://h": {"", "|T\nt"}, "slack://x": {"", "|T\nt"},
	} {
		err := table.Send(t.Context(), address, notifications.Message{Title: "T", Text: "t"})
		if err != nil || by != want[0] || got != want[1] {
			t.Errorf("%s: by %q, %q, %v; want %q", address, by, got, err, want)
		}
	}
	if err := table[1:].Send(t.Context(), "slack://x", notifications.Message{}); err == nil {
		t.Error("an address of no row is sent to")
	}
}
