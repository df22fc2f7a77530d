package remote

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/campaignd/campaignd/adapters/instruments"
	"github.com/campaignd/campaignd/events/definition"
	_ "github.com/campaignd/campaignd/internal/tests/draws"
	"github.com/campaignd/campaignd/internal/tests/must"
)

// Law: wherever a crash cuts a file of the ledger off, its command is either known, with everything
// that was whole, or the file is refused; it is never taken for one that was not handed over. What is
// added afterwards is read.
func TestCutOff(t *testing.T) {
	l := ledger{dir: filepath.Join(t.TempDir(), "ledger")}
	must.Do(t, l.open())
	cmd := instruments.Command{ID: "a/B/e1", Parameters: definition.Point{"x": definition.Number(1)}, Replicate: 1}
	if claimed := must.Get(l.claim(cmd))(t); !claimed {
		t.Fatal("a new command is not this process's")
	}
	if claimed := must.Get(l.claim(cmd))(t); claimed {
		t.Error("a command is handed over twice")
	}
	must.Do(t, l.add(cmd.ID, line{Confirmed: true, Handle: "h"}))
	must.Do(t, l.add(cmd.ID, line{Outcome: &instruments.Outcome{Status: instruments.Failed, Cause: "a bubble"}}))
	whole := string(must.Get(os.ReadFile(l.path(cmd.ID)))(t))
	first := strings.Index(whole, "}\n") + 1 // an object is whole without the end of its line
	for n := range len(whole) + 1 {
		must.Do(t, os.WriteFile(l.path(cmd.ID), []byte(whole[:n]), 0o600))
		e, err := l.read(cmd.ID)
		switch {
		case n < first && err == nil:
			t.Fatalf("cut off after %d bytes it is %+v", n, e)
		case n >= first && (err != nil || e == nil || e.command.ID != cmd.ID):
			t.Fatalf("cut off after %d bytes: %+v, %v", n, e, err)
		case n >= first && e.outcome != nil && n < len(whole)-1:
			t.Fatalf("cut off after %d bytes it has the outcome %+v", n, e.outcome)
		}
		if n < first {
			continue
		}
		must.Do(t, l.add(cmd.ID, line{Outcome: &instruments.Outcome{Status: instruments.Infeasible, Cause: "thick"}}))
		want := instruments.Infeasible
		if n >= len(whole)-1 {
			want = instruments.Failed // the first word stands
		}
		if e := must.Get(l.read(cmd.ID))(t); e.outcome == nil || e.outcome.Status != want {
			t.Fatalf("cut off after %d bytes, and added to: %+v", n, e)
		}
	}
}

// Law: two identifiers never share a file's name, and a name is one on any system.
func TestFileName(t *testing.T) {
	id := rapid.StringMatching(`[a-zA-Z0-9%./ _\\é-]{0,12}`)
	rapid.Check(t, func(t *rapid.T) {
		a, b := id.Draw(t, "a"), id.Draw(t, "b")
		if a != b && FileName(a) == FileName(b) {
			t.Fatalf("%q and %q are both %q", a, b, FileName(a))
		}
		if strings.ContainsAny(FileName(a), `/\ :*?"<>|`) {
			t.Fatalf("%q is named %q", a, FileName(a))
		}
	})
	if got := FileName("electrolyte/7XKQ2M4PZB/e7"); got != "electrolyte.7XKQ2M4PZB.e7" {
		t.Errorf("a command's name is %q", got)
	}
}

// Law: a part of a command that is the whole of a template keeps its type, one within a text is
// written with every digit.
func TestFill(t *testing.T) {
	cmd := instruments.Command{ID: "a/B/e1", Parameters: definition.Point{"x": definition.Number(0.1234567890123), "base": definition.Category("EC")}}
	filled := Fill(map[string]any{"x": "{parameters.x}", "list": []any{"{parameters.base}", "run {id}: {parameters.x}"}, "n": 7}, cmd)
	text := string(must.Get(json.Marshal(filled))(t))
	if want := `{"list":["EC","run a/B/e1: 0.1234567890123"],"n":7,"x":0.1234567890123}`; text != want {
		t.Errorf("got  %s\nwant %s", text, want)
	}
}
