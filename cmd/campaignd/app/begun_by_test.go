package app

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/engine/control"
	"github.com/campaignd/campaignd/internal/ground/lock"
	"github.com/campaignd/campaignd/internal/tests/must"
)

// Law: the account that began a campaign stands in the log, under whatever name, and by whichever
// command it was.
func TestTheAccountThatBeganIsRecorded(t *testing.T) {
	account := control.OwnAccount()
	if account == "" {
		t.Skip("the system does not say whose program this is")
	}
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	t.Setenv(lock.Variable, t.TempDir())
	const file = `
name: bench
parameters: [{name: x, min: 0, max: 1}]
objective: {name: flow, goal: maximize}
initial: {experiments: 1}
budget: {experiments: 2}
instrument: manual
`
	for _, begin := range []string{"suggest", "run"} {
		folder := t.TempDir()
		path := filepath.Join(folder, "bench.yaml")
		text := file
		if begin == "run" {
			text = strings.NewReplacer("manual", "{simulated: branin}",
				"{name: x, min: 0, max: 1}", "{name: x1, min: -5, max: 10}, {name: x2, min: 0, max: 15}",
				"flow, goal: maximize", "value, goal: minimize").Replace(file)
		}
		must.Do(t, os.WriteFile(path, []byte(text), 0o600))
		s := keptStore{folder: folder}
		args := []string{begin, path, "--as", "mara"}
		if printed, code := s.campaignd(t, args...); code != 0 {
			t.Fatalf("%v: exit code %d\n%s", args, code, printed)
		}
		printed, _ := s.campaignd(t, "events", filepath.Join(folder, "bench.campaign"))
		n := 0
		for line := range strings.Lines(printed) {
			e := must.Get(events.UnmarshalCloudEvent([]byte(line)))(t)
			if !strings.HasPrefix(e.Actor, "person:") {
				continue
			}
			n++
			if e.Actor != "person:mara" || e.Account != account {
				t.Errorf("%v: %s by %s has the account %q, want %q", args, e.Kind, e.Actor, e.Account, account)
			}
		}
		if n == 0 {
			t.Errorf("%v: a person did nothing\n%s", args, printed)
		}
	}
}
