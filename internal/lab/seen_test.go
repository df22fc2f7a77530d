package lab

import (
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/mod/sumdb/tlog"

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
