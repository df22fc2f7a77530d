package lablog

import (
	"bytes"
	"os"
	"path/filepath"

	"github.com/campaignd/campaignd/events/store"
	"github.com/campaignd/campaignd/internal/ground/problem"
)

// unread are the files next to the log that commits after 0.1.0 used before the log took over. No
// release has written or read them. The last commit that takes them over leaves notes in their
// place, which say takenOver.
var unread = []struct{ path, held, without string }{
	{"accounts", "accounts and their audit trail", "no one has an account then"},
	{"started.json", "which campaigns go on", "none does then until it is started again"},
	{"notify/state.json", "what people were sent", "people are told again then of what waits for them"},
}

const (
	takenOver  = "in the lab's log"
	lastReader = "a5fb94c7"
)

// Unread says why the log at an address is not opened: next to it is a file that only an earlier
// campaignd would take over, and that must not be ignored, since without the accounts everyone
// would be admitted. It is usually nil.
func Unread(address string) error {
	if store.InDatabase(address) {
		return nil // a lab in a database never kept them
	}
	for _, f := range unread {
		path := filepath.Join(filepath.Dir(address), f.path)
		_, missing := os.Lstat(path)
		text, _ := os.ReadFile(path) // nothing of a folder
		if missing != nil || bytes.Contains(text, []byte(takenOver)) {
			continue
		}
		return problem.New(problem.Unsupported, "%s holds %s in a form that no release has written", path, f.held).
			With(problem.Remedy{Text: "start campaignd of the commit " + lastReader + " there once, which takes it over"}).
			With(problem.Remedy{Text: "remove it: " + f.without})
	}
	return nil
}
