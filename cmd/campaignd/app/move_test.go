package app

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/campaignd/campaignd/events/store"
	"github.com/campaignd/campaignd/internal/ground/lock"
	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/internal/tests/pgtest"
)

// Law: what can be done with the files of a store can be done in a database, too; and a store goes
// there and comes back with every proof that was made of it before.
func TestFilesInADatabase(t *testing.T) {
	address := store.In(pgtest.URL(t), "tiny")
	folder := t.TempDir()
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	t.Setenv(lock.Variable, t.TempDir())
	tiny := must.Get(os.ReadFile(filepath.Join("testdata", "tiny.yaml")))(t)
	t.Chdir(folder)
	for name, content := range map[string]string{"tiny.yaml": string(tiny), "a.csv": "1,2\n", "b.csv": "3,4\n"} {
		must.Do(t, os.WriteFile(name, []byte(content), 0o600))
	}
	campaignd := func(code int, want string, args ...string) {
		t.Helper()
		var out bytes.Buffer
		got := Run(t.Context(), Builtin(), args, strings.NewReader(""), &out, &out)
		if got != code || !strings.Contains(out.String(), want) {
			t.Fatalf("%q ends with %d, want %d and %q:\n%s", args, got, code, want, out.String())
		}
	}
	campaignd(0, "", "run", "tiny.yaml")
	campaignd(0, "f1, a.csv", "attach", "tiny.campaign", "e2", "a.csv")
	campaignd(0, "", "checkpoint", "tiny.campaign", "-o", "before.checkpoint")
	campaignd(0, "Moved tiny.campaign", "export", "tiny.campaign", "--to", address)
	campaignd(0, "f2, b.csv", "attach", address, "b.csv")
	campaignd(0, "f1, a.csv", "files", address)
	campaignd(0, "1,2\n", "files", address, "--get", "f1")
	campaignd(0, "2 are sound, 0 missing", "audit", address, "--files", "--since", "before.checkpoint")
	campaignd(0, "Wrote whole", "export", address, "--bundle", "whole")
	if listed, err := os.ReadFile(filepath.Join("whole", "files.csv")); err != nil || !bytes.Contains(listed, []byte("b.csv")) {
		t.Errorf("the bundle lists %s, %v", listed, err)
	}
	campaignd(0, "Removed 0 files", "files", address, "--clean")
	campaignd(0, "new: ", "export", address, "--to", "backup.campaign", "--copy")
	campaignd(0, "2 are sound, 0 missing", "audit", "backup.campaign", "--files", "--since", "before.checkpoint")
	campaignd(0, "Moved postgres://", "export", address, "--to", "tiny.campaign")
	campaignd(0, "2 are sound, 0 missing", "audit", "tiny.campaign", "--files", "--since", "before.checkpoint")
	campaignd(3, "moved to", "note", address, "too late")
	campaignd(0, "", "run", "tiny.yaml")
}
