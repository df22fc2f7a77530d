package lab_test

import (
	"os"
	"testing"

	"github.com/campaignd/campaignd/internal/ground/lock"
	"github.com/campaignd/campaignd/internal/tests/draws"
)

// TestMain gives the package a machine of its own: the notes and the locks of the user's are left
// alone. A test that needs one apart takes it with private; the others may run beside each other.
func TestMain(m *testing.M) {
	remove := draws.Apart("XDG_STATE_HOME", lock.Variable)
	draws.Waiting(8, 1)
	code := m.Run()
	remove()
	os.Exit(code)
}
