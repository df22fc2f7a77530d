package app

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/engine"
)

// Law: a command whose request ends the run that recorded it prints what was recorded. The run
// has ended, and its socket is gone, before the command reads the campaign's units from it: here
// always, otherwise in one of two on a busy machine.
func TestPrintedThoughTheRunHasEnded(t *testing.T) {
	folder := t.TempDir()
	file := filepath.Join(folder, "short.yaml")
	write(t, file, `{name: short, parameters: [{name: x, min: 0, max: 1}],
objective: {name: y, goal: maximize}, budget: {experiments: 1}, initial: {experiments: 1},
instrument: manual}`)
	run, _, ended := runs(t, "run", file)
	said(t, run, "e1 waits")

	out := new(heard)
	a := &app{registry: Builtin(), stdin: strings.NewReader(""), stdout: out, stderr: out, as: "ada"}
	measured := 3.5
	last := step{
		build: func(*session) (engine.Request, error) {
			return engine.Request{Tell: &engine.Tell{Experiment: "e1", Value: &measured}}, nil
		},
		send: func(ctx context.Context, s *session, r engine.Request) ([]events.Event, error) {
			stored, err := s.Submit(ctx, s.name, r)
			if err := <-ended; err != nil {
				t.Errorf("the run ended with %v\n%s", err, run)
			}
			return stored, err
		},
	}
	if err := a.recordAll(t.Context(), target{store: filepath.Join(folder, "short.campaign")}, last); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	if want := "e1 measured 3.500"; !strings.Contains(out.String(), want) {
		t.Errorf("it printed\n%s\nwithout %q", out, want)
	}
}
