package lab

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/store"
	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/projections/campaign"
)

// Law: what was seen of a campaign is the newest head that was written whole, across
// restarts, cut-off lines and garbage, and no other campaign's.
func TestSeen(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	state := &campaign.State{Name: "p", Instance: "K3JD", DefinedAt: time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)}
	open := func() *seen {
		t.Helper()
		return must.Get(openSeen(state))(t)
	}
	want := func(s *seen, n int64) {
		t.Helper()
		head, ok, err := s.newest()
		if err != nil || ok != (n > 0) || head.N != n || n > 0 && head.Hash != (tlog.Hash{byte(n)}) {
			t.Errorf("%v %v %v, want %d events", head, ok, err, n)
		}
	}
	s := open()
	want(s, 0)
	for n := range int64(5) {
		must.Do(t, s.add(tlog.Tree{N: n + 1, Hash: tlog.Hash{byte(n + 1)}}))
		want(s, n+1)
	}
	// Killed here, with a line that was not finished.
	must.Get(s.file.WriteString("99 AAAA"))(t)
	want(open(), 5)
	s = open()
	must.Do(t, s.add(tlog.Tree{N: 6, Hash: tlog.Hash{6}}))
	want(s, 6)
	must.Do(t, s.close())
	content, err := os.ReadFile(s.path)
	if err != nil || strings.Count(string(content), "\n") != 1 {
		t.Errorf("closed: %q, %v", content, err)
	}
	must.Do(t, os.WriteFile(s.path, append(content, "garbage\n\n-3 x\n"...), 0o600))
	want(open(), 6)
	other := *state
	other.Instance = "OTHER"
	state = &other
	want(open(), 0)
}

// Law: acts are commands, too. The head of the log is noted before one is given, and a log with acts that this machine
// has not seen is not believed.
func TestSeenOfActs(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	log := must.Get(store.Open(filepath.Join(t.TempDir(), "p"+store.Ending), store.Options{}))(t)
	defer log.Close()
	state := &campaign.State{Name: "p", Instance: "K3JD"}
	s := must.Get(openSeen(state))(t)
	if difference := must.Get(s.unlike(t.Context(), log, state))(t); difference != "" {
		t.Errorf("without a command it is not believed: %s", difference)
	}
	state.Acts = []campaign.Act{{ID: "a1"}}
	if difference := must.Get(s.unlike(t.Context(), log, state))(t); difference == "" {
		t.Error("acts of another machine are believed")
	}
	watched := &watchedLog{Store: log, seen: s, failed: func(err error) { t.Error(err) }}
	e := must.Get(events.New("p", &events.ActDispatched{Act: "a1", Batch: "b1", Stage: "dose", Command: "p/K3JD/a1"}))(t)
	e.Actor, e.Time = "engine", time.Unix(1, 0).UTC()
	must.Get(watched.Append(t.Context(), "p", 0, e))(t)
	if head, ok, err := s.newest(); err != nil || !ok || head.N != 1 {
		t.Errorf("noted: %v %v %v", head, ok, err)
	}
}
