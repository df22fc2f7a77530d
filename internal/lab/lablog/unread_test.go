package lablog_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/campaignd/campaignd/internal/ground/problem"
	"github.com/campaignd/campaignd/internal/lab/lablog"
	"github.com/campaignd/campaignd/internal/tests/must"
)

// Law: a log is not begun, nor gone on with, beside what a program from before it kept there, which
// nothing reads any more: the error says which file it is and what to do. The notes of the program
// that took such a file over are no such files.
func TestUnread(t *testing.T) {
	for name, left := range map[string]struct{ data, note string }{
		"accounts": { // a folder
			note: "The accounts of this folder are in the lab's log, in the folder lab beside this file.\n" +
				"A campaignd from before it does not find them: use the one that wrote it, or a newer one.\n",
		},
		"started.json": {
			data: `["a.campaign#one"]` + "\n",
			note: "Which campaigns go on is in the lab's log, in the folder lab next to this file.\n" +
				"A campaignd from before it does not find them: use a newer one.\n",
		},
		"notify/state.json": {
			data: `{"version":1,"began":"2026-03-02T10:00:00Z","streams":{},"channels":{}}`,
			note: "What people were sent is in the lab's log, in the folder ../lab.\n" +
				"A campaignd from before it does not find it: use a newer one.\n",
		},
	} {
		dir := lablog.Dir(t.TempDir())
		path := filepath.Join(filepath.Dir(dir), name)
		folder := filepath.Dir(path)
		if left.data == "" {
			folder = path
		}
		put := func(text string) {
			t.Helper()
			must.Do(t, os.WriteFile(path, []byte(text), 0o600))
		}
		refused := func(when string) {
			t.Helper()
			l, err := lablog.Open(dir, lablog.Options{})
			if err == nil {
				_ = l.Close()
			}
			remedies := problem.RemediesOf(err)
			if problem.CodeOf(err) != problem.Unsupported || !strings.Contains(err.Error(), path) || len(remedies) != 2 ||
				!strings.Contains(remedies[0].Text, "commit") || !strings.HasPrefix(remedies[1].Text, "remove it") {
				t.Errorf("%s, %s: %v, %+v", name, when, err, remedies)
			}
		}
		must.Do(t, os.MkdirAll(folder, 0o700))
		if left.data != "" {
			put(left.data)
		}
		if refused("without a log"); lablog.Exists(dir) {
			t.Errorf("%s: a log is begun beside it", name)
		}
		must.Do(t, os.RemoveAll(path))
		put(left.note)
		l, err := lablog.Open(dir, lablog.Options{})
		if err != nil {
			t.Fatalf("%s was taken over: %v", name, err)
		}
		must.Do(t, l.Close())
		put("")
		refused("beside a log")
	}
}
