package app

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/ground/lock"
	"github.com/campaignd/campaignd/internal/tests/must"
)

// earlierPrograms is the folder in which `.ci/earlier-programs` leaves the programs of
// earlier commits.
const earlierPrograms = "CAMPAIGND_EARLIER"

// ending keeps what is printed, and ends the program once a text was.
type ending struct {
	bytes.Buffer
	at  []byte
	end func()
}

func (e *ending) Write(text []byte) (int, error) {
	if bytes.Contains(text, e.at) {
		e.end()
	}
	return e.Buffer.Write(text)
}

// Law: a program of before writes nothing in a store of today that was left in the middle, since
// it would pass over what it does not know, and decide by rules of its own: it says that it needs
// a newer one. Today's goes on, and its audit is complete and clean.
func TestEarlierProgramsRefuse(t *testing.T) {
	folder := os.Getenv(earlierPrograms)
	if folder == "" {
		t.Skip(earlierPrograms + " names no folder of earlier programs")
	}
	programs, err := filepath.Glob(filepath.Join(folder, "*"))
	if err != nil || len(programs) == 0 {
		t.Fatalf("there are no earlier programs in %s: %v", folder, err)
	}
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	t.Setenv(lock.Variable, t.TempDir())
	const file = `
name: today
parameters: [{name: x1, min: -5, max: 10}, {name: x2, min: 0, max: 15}]
objective: {name: value, goal: minimize}
initial: {experiments: 2}
budget: {experiments: 8}
instrument: {simulated: {task: branin, latency: 50ms}}
`
	for _, program := range programs {
		t.Run(filepath.Base(program), func(t *testing.T) {
			s := keptStore{name: filepath.Base(program), folder: t.TempDir()}
			path, store := filepath.Join(s.folder, "today.yaml"), filepath.Join(s.folder, "today.campaign")
			must.Do(t, os.WriteFile(path, []byte(file), 0o600))
			ctx, cancel := context.WithCancel(t.Context())
			out := &ending{at: []byte("e3"), end: cancel}
			Run(ctx, Builtin(), []string{"run", path}, strings.NewReader(""), out, out)
			cancel()
			before, _ := s.campaignd(t, "events", store)
			for _, args := range [][]string{
				{"run", path}, {"suggest", store}, {"tell", store, "--parameters", "x1=1,x2=2", "3"}, {"note", store, "seen"},
			} {
				printed, err := exec.CommandContext(t.Context(), program, args...).CombinedOutput()
				if err == nil || !strings.Contains(string(printed), "does not know") {
					t.Errorf("%s: %v\n%s", args[0], err, printed)
				}
			}
			after, _ := s.campaignd(t, "events", store)
			if after != before {
				t.Error("the store is another one than before")
			}
			if printed, code := s.campaignd(t, "run", path); code != 0 || !strings.Contains(before, string(events.KindExperimentMeasured)) {
				t.Errorf("exit code %d\n%s", code, printed)
			}
			if report, code := s.campaignd(t, "audit", store); code != 0 {
				t.Errorf("exit code %d\n%s", code, report)
			}
		})
	}
}
