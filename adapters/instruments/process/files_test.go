//go:build unix

package process_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/campaignd/campaignd/adapters/instruments"
	"github.com/campaignd/campaignd/adapters/instruments/process"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/events/filestore"
	"github.com/campaignd/campaignd/internal/tests/must"
)

// filer is a program that answers each command with the files in the settings.
const filer = `
import json, sys
for line in sys.stdin:
    q = json.loads(line); op = q["op"]; a = {"ok": True}
    if op == "handshake": files = q["settings"]["files"]; a = {"protocol": 1, "recover": True}
    if op == "describe": a = {"description": {"name": "filer"}}
    if op == "recover": a = {"fate": "finished"}
    if op == "await": a = {"outcome": {"status": "measured", "files": files, "measurement": {"objective": {"name": "y", "value": 1}}}}
    print(json.dumps({"id": q["id"], **a}), flush=True)
`

// filing starts a program that names files in its folder.
func filing(t *testing.T, dir string, store *filestore.Store, files ...any) *process.Instrument {
	t.Helper()
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("python3 is not installed")
	}
	must.Do(t, os.WriteFile(filepath.Join(dir, "filer.py"), []byte(filer), 0o600))
	def := definition.Campaign{Name: "files", Objective: definition.Objective{Name: "y"}}
	cfg := process.Settings{Command: []string{"python3", "filer.py"}, Settings: map[string]any{"files": files}}
	i := must.Get(process.New(cfg, def, dir, t.Logf))(t)
	t.Cleanup(func() { i.Close() })
	if store != nil {
		i.KeepFiles(store)
	}
	return i
}

func awaited(t *testing.T, i *process.Instrument) instruments.Outcome {
	t.Helper()
	cmd := instruments.Command{ID: "files/A/e1", Campaign: "files", Experiment: "e1", Parameters: definition.Point{"x": definition.Number(1)}}
	must.Do(t, i.Start(t.Context(), cmd))
	return must.Get(i.Await(t.Context(), cmd))(t)
}

// Law: the bytes of each file that a program names in its folder are on the disk, under their
// digest, when its outcome is told; what lies outside of that folder, however it is named and
// linked to, and what is not a regular file, is not read, and a remark says so.
func TestFilesOfAProgram(t *testing.T) {
	dir, folder := t.TempDir(), t.TempDir()
	outside := filepath.Join(t.TempDir(), "secret.txt")
	for path, content := range map[string]string{
		"a.csv": "1,2\n", "runs/b.csv": "3,4\n", "empty.csv": "", outside: "secret",
	} {
		if !filepath.IsAbs(path) {
			path = filepath.Join(dir, path)
		}
		must.Do(t, os.MkdirAll(filepath.Dir(path), 0o700))
		must.Do(t, os.WriteFile(path, []byte(content), 0o600))
	}
	for link, to := range map[string]string{"link.csv": outside, "folder": filepath.Dir(outside), "inner.csv": "a.csv"} {
		must.Do(t, os.Symlink(to, filepath.Join(dir, link)))
	}
	must.Do(t, syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600))
	large := filepath.Join(dir, "large.bin")
	must.Do(t, os.WriteFile(large, nil, 0o600))
	must.Do(t, os.Truncate(large, filestore.MaxSize+1))
	store := filestore.Of(folder)
	relative := must.Get(filepath.Rel(dir, outside))(t)
	refused := []string{
		outside, relative, "runs/../../x", "link.csv", "folder/secret.txt", "pipe", "runs", "absent.csv", "empty.csv",
		"large.bin", "/dev/zero", "\x1b[2J", "a\x00b",
	}
	files := []any{
		"a.csv", map[string]any{"path": "runs/b.csv", "name": "second.csv", "quantity": "y"}, filepath.Join(dir, "a.csv"),
		"inner.csv", map[string]any{"uri": "https://example.org/run.h5"},
		map[string]any{"path": "a.csv", "digest": "sha256:" + strings.Repeat("0", 64)},
	}
	for _, path := range refused {
		files = append(files, path)
	}
	o := awaited(t, filing(t, dir, store, files...))
	var got []string
	for _, f := range o.Files {
		got = append(got, fmt.Sprint(f.Name, " ", f.MediaType, " ", f.Quantity, f.Size, f.URI))
		if f.Path != "" || f.Fault() != "" {
			t.Errorf("%+v: %s", f, f.Fault())
		}
		if f.Kept() {
			if state, err := store.State(t.Context(), f.Digest, f.Size); state != filestore.Sound {
				t.Errorf("%s is told and %s: %v", f.Name, state, err)
			}
		}
	}
	want := "a.csv text/csv 4; second.csv text/csv y4; a.csv text/csv 4; inner.csv text/csv 4; " +
		"run.h5 application/x-hdf5 0https://example.org/run.h5"
	if strings.Join(got, "; ") != want {
		t.Errorf("the files are\n%q, want\n%q", got, want)
	}
	if len(o.Remarks) != len(refused)+1 {
		t.Errorf("%d remarks: %q", len(o.Remarks), o.Remarks)
	}
	if n := strings.Count(strings.Join(o.Remarks, "\n"), "does not lie in"); n != 4 {
		t.Errorf("%d remarks say that a file lies outside: %q", n, o.Remarks)
	}
	for _, r := range o.Remarks {
		if strings.ContainsAny(r, "\x1b\x00") {
			t.Errorf("a remark holds what moves the cursor: %q", r)
		}
	}
	if left, err := store.Unnamed(t.Context(), func(string) bool { return false }); err != nil || len(left) != 2 {
		t.Errorf("there are kept %v, %v", left, err) // a.csv and b.csv
	}
}

// Law: an outcome that was told stays as it is: a file that the program changes afterwards is
// not read again, and a second process finds the same bytes under the same digest.
func TestFilesAreKeptOnce(t *testing.T) {
	dir, folder := t.TempDir(), t.TempDir()
	path := filepath.Join(dir, "a.csv")
	write := func(content string) {
		t.Helper()
		must.Do(t, os.WriteFile(path, []byte(content), 0o600))
	}
	write("1,2\n")
	store := filestore.Of(folder)
	i := filing(t, dir, store, "a.csv")
	first := awaited(t, i)
	again := awaited(t, filing(t, dir, store, "a.csv"))
	write("changed")
	second := awaited(t, i)
	for _, o := range []instruments.Outcome{again, second} {
		if len(o.Files) != 1 || o.Files[0] != first.Files[0] {
			t.Errorf("it was told %+v, and then %+v", first.Files, o.Files)
		}
	}
}

// Law: a check without a store keeps nothing, and says what could not be kept.
func TestFilesOfACheck(t *testing.T) {
	dir := t.TempDir()
	must.Do(t, os.WriteFile(filepath.Join(dir, "a.csv"), []byte("1"), 0o600))
	o := awaited(t, filing(t, dir, nil, "a.csv", "absent.csv"))
	if len(o.Files) != 1 || o.Files[0].Path != "a.csv" || len(o.Remarks) != 1 {
		t.Errorf("%+v", o)
	}
}
