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
	own, err := os.MkdirTemp("", "")
	if err != nil {
		panic(err)
	}
	for _, name := range []string{"XDG_STATE_HOME", lock.Variable} {
		if err := os.Setenv(name, own); err != nil {
			panic(err)
		}
	}
	draws.Waiting(8, 1)
	code := m.Run()
	_ = os.RemoveAll(own)
	os.Exit(code)
}
