package lab_test

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/builtin"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/lab"
	"github.com/campaignd/campaignd/internal/study"
)

// Law: what a command has had recorded it can say, although the process that recorded it
// ends at once, as a run does whose campaign is stopped.
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
	peer, err := lab.Look(t.Context(), store, builtin.Registry())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := lab.Definition(t.Context(), peer, def.Name); err != nil {
		t.Fatal(err)
	}
	direct, err := lab.OpenCopy(store, builtin.Registry())
	if err != nil {
		t.Fatal(err)
	}
	defer direct.Close()
	for _, s := range []lab.Store{h, peer, direct} { // the same, through whatever it is seen
		if names, err := lab.Campaigns(t.Context(), s); err != nil || !slices.Equal(names, []string{def.Name}) {
			t.Errorf("a %T has the campaigns %q, %v", s, names, err)
		}
	}
	served.Close()
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	if read, err := lab.Definition(t.Context(), peer, def.Name); err != nil || read.Name != def.Name {
		t.Errorf("once the owner has ended: %v", err)
	}
	if core, err := peer.Load(t.Context(), def.Name); err != nil || core.State().Name != def.Name {
		t.Errorf("once the owner has ended: %v", err)
	}
}
