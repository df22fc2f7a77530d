package app

import (
	"path/filepath"
	"testing"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/builtin"
	"github.com/campaignd/campaignd/internal/control"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/lab"
	"github.com/campaignd/campaignd/internal/study"
)

// Law: what a command has had recorded it can say, although the process that recorded it ends at once, as a run does
// whose campaign is stopped.
func TestOwnerEndsBeforeItIsAsked(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	def, err := study.Define("branin", 1, 3)
	if err != nil {
		t.Fatal(err)
	}
	store := filepath.Join(t.TempDir(), "lab.campaign")
	h, err := lab.OpenLocal(t.Context(), store, lab.LocalOptions{Registry: builtin.Registry()})
	if err != nil {
		t.Fatal(err)
	}
	if err := h.Define(t.Context(), events.CampaignDefined{Definition: def}, engine.Request{Actor: "person:ada"}); err != nil {
		t.Fatal(err)
	}
	served, err := h.Serve()
	if err != nil {
		t.Fatal(err)
	}
	owner, err := control.Dial(t.Context(), store)
	if err != nil {
		t.Fatal(err)
	}
	s := &session{app: &app{registry: builtin.Registry()}, log: owner, owner: owner, store: store, name: def.Name}
	if _, err := s.definition(t.Context()); err != nil {
		t.Fatal(err)
	}
	served.Close()
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	if read, err := s.definition(t.Context()); err != nil || read.Name != def.Name {
		t.Errorf("once the owner has ended: %v", err)
	}
}
