package pebblelog

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/logtest"
	"github.com/campaignd/campaignd/internal/tests/must"
)

func TestConformance(t *testing.T) {
	for _, c := range []struct {
		name  string
		fresh func(testing.TB) (dir string, o Options)
	}{
		{"in memory", func(testing.TB) (string, Options) { return "store", Options{FS: vfs.NewMem()} }},
		{"on disk", func(t testing.TB) (string, Options) { return t.TempDir() + "/store", Options{} }},
	} {
		t.Run(c.name, func(t *testing.T) {
			var dir string
			var o Options
			open := func(t testing.TB) events.Store {
				return must.Get(Open(dir, o))(t)
			}
			logtest.RunStore(t, func(t testing.TB) events.Store {
				dir, o = c.fresh(t)
				return open(t)
			}, func(t testing.TB, log events.Store) events.Store {
				must.Do(t, log.Close())
				return open(t)
			})
		})
	}
}

// TestInUseByProcess: a store that one process has open is refused to another.
// The other is this test binary again.
func TestInUseByProcess(t *testing.T) {
	const variable = "PEBBLELOG_TEST_OPEN"
	if dir := os.Getenv(variable); dir != "" {
		if _, err := Open(dir, Options{}); !errors.Is(err, events.ErrInUse) {
			t.Errorf("%v, want ErrInUse", err)
		}
		return
	}
	dir := t.TempDir() + "/store"
	log := must.Get(Open(dir, Options{}))(t)
	defer func() { _ = log.Close() }()
	other := exec.Command(os.Args[0], "-test.run=^TestInUseByProcess$", "-test.v")
	other.Env = append(os.Environ(), variable+"="+dir)
	out, err := other.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "PASS: TestInUseByProcess") {
		t.Errorf("the other process: %v\n%s", err, out)
	}
	if _, err := Open(dir, Options{}); !errors.Is(err, events.ErrInUse) {
		t.Errorf("opening again in this process: %v, want ErrInUse", err)
	}
}
