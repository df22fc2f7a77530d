package server_test

import (
	"encoding/json"
	"errors"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/engine/control"
	"github.com/campaignd/campaignd/internal/files/builtin"
	"github.com/campaignd/campaignd/internal/ground/problem"
	"github.com/campaignd/campaignd/internal/lab"
	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/internal/web/server"
)

// Law: the protocol of a store, offered for a campaign, shows that campaign and changes that
// campaign, and no other of the same store.
func TestControlOfOneCampaign(t *testing.T) {
	folder := t.TempDir()
	l := must.Get(lab.Open(t.Context(), lab.Options{
		Folder: folder, Stores: []string{filepath.Join(folder, "both.campaign")}, Registry: builtin.Registry(), Log: t.Logf,
	}))(t)
	s := httptest.NewServer(server.New(server.Options{Lab: l, Log: t.Logf}).Handler())
	t.Cleanup(func() { s.Close(); l.Close() })
	c := &client{t, s.URL}
	c.begin(strings.Replace(bench, "name: bench", "name: mine", 1))
	c.begin(strings.Replace(bench, "name: bench", "name: other", 1))
	mine := must.Get(control.DialURL(t.Context(), s.URL+"/api/v1/campaigns/mine/control", ""))(t)
	defer mine.Close()
	stored, err := mine.Submit(t.Context(), "mine", engine.Request{Actor: "person:ada", Note: &engine.Note{Text: "hello"}})
	if err != nil || len(stored) != 1 || stored[0].Actor != "person:ada" {
		t.Fatalf("%v, %v", stored, err)
	}
	_, err = mine.Submit(t.Context(), "other", engine.Request{Actor: "person:ada", Note: &engine.Note{Text: "hello"}})
	if !errors.Is(err, problem.NoCampaign) {
		t.Errorf("a request on the other one: %v", err)
	}
	seen := 0
	for e, err := range mine.Read(t.Context(), 0) {
		if err != nil || e.Campaign != "mine" {
			t.Fatalf("%s, %v", e.Campaign, err)
		}
		seen++
	}
	for e, err := range mine.Follow(t.Context(), 0) {
		if err != nil || e.Campaign != "mine" {
			t.Fatalf("followed: %s, %v", e.Campaign, err)
		}
		if seen--; seen == 0 {
			break
		}
	}
	for e := range mine.ReadCampaign(t.Context(), "other", 0) {
		t.Errorf("event %d of the other one", e.Sequence)
	}
	if last, err := mine.LastSequence(t.Context(), "other"); last != 0 || err != nil {
		t.Errorf("the other one has %d events, %v", last, err)
	}
	if _, err := control.DialURL(t.Context(), s.URL+"/api/v1/campaigns/nobody/control", ""); !errors.Is(err, problem.NoCampaign) {
		t.Errorf("nobody: %v", err)
	}
}

// Law: what an amendment that comes by the protocol changes is what the campaign file beside it
// says, and what the log says of it is what it changes, whatever the program that sends it says.
func TestForgedAmendment(t *testing.T) {
	l, err := lab.Open(t.Context(), lab.Options{Folder: t.TempDir(), Registry: builtin.Registry(), Log: t.Logf})
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(server.New(server.Options{Lab: l, Log: t.Logf}).Handler())
	t.Cleanup(func() { s.Close(); l.Close() })
	c := &client{t, s.URL}
	c.begin(bench)
	store := must.Get(control.DialURL(t.Context(), s.URL+"/api/v1/campaigns/bench/control", ""))(t)
	defer store.Close()
	amend := func(said, wanted string) ([]events.Event, error) {
		t.Helper()
		file := must.Get(l.Parse(t.Context(), "bench.yaml", []byte(wanted)))(t)
		return store.Submit(t.Context(), "bench", engine.Request{Actor: "person:ada", Amend: &events.CampaignAmended{
			Definition: file.Definition,
			Changes:    []events.Change{{Path: "/description", To: "nothing of interest"}},
			Source:     said,
		}})
	}
	more := strings.Replace(bench, "budget: {experiments: 3}", "budget: {experiments: 5}", 1)
	if _, err := amend(bench, more); !errors.Is(err, problem.Invalid) || !strings.Contains(err.Error(), "/budget/experiments") {
		t.Errorf("another file than what it changes: %v", err)
	}
	stored, err := amend(more, more)
	if err != nil || len(stored) != 1 {
		t.Fatalf("%v, %v", stored, err)
	}
	var amended events.CampaignAmended
	if err := json.Unmarshal(stored[0].Data, &amended); err != nil || len(amended.Changes) != 1 || amended.Changes[0].Path != "/budget/experiments" {
		t.Errorf("it is recorded as %+v, %v", amended.Changes, err)
	}
}
