// Package relaytest is for tests that need campaignd-forward itself.
package relaytest

import (
	"testing"

	"github.com/campaignd/campaignd/internal/ground/relay"
)

// Need skips a test where campaignd-forward is not installed.
func Need(t testing.TB) {
	t.Helper()
	if _, err := relay.Find(); err != nil {
		t.Skipf("%s is not installed: go -C cmd/%[1]s build -o FOLDER . and set %s to it", relay.Program, relay.Variable)
	}
}
