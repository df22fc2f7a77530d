package sdk_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/campaignd/campaignd/adapters/instruments"
	"github.com/campaignd/campaignd/adapters/instruments/sdk"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/tests/must"
)

// telling is a device that says that it gives signs.
type telling struct{ *device }

func (telling) Signals() {}

// Law: what a Measure says of its work is sent at once, and is no outcome.
func TestSigns(t *testing.T) {
	third := 1.0 / 3
	goesOn := make(chan struct{})
	s := serve(t, filepath.Join(t.TempDir(), "ledger"), telling{&device{
		measure: func(ctx context.Context, _ instruments.Command) (events.Measurement, error) {
			sdk.Signal(ctx, events.Sign{Handle: "run 7", Fraction: &third, Text: "cycle 1 of 3", NextBy: 90})
			<-goesOn
			return conductivity(10)
		},
	}})
	if s.hello["signs"] != true {
		t.Errorf("the handshake does not say that signs come: %v", s.hello)
	}
	s.send(`"op":"start","command":{"id":"c/e1","parameters":{"salt":1}}`)
	lines := []map[string]any{s.next(), s.next()} // the answer to start, and the sign, in any order
	sign, _ := lines[0]["sign"].(map[string]any)
	if sign == nil {
		sign, _ = lines[1]["sign"].(map[string]any)
	}
	if sign["handle"] != "run 7" || sign["fraction"] != third || sign["text"] != "cycle 1 of 3" || sign["next_by"] != "1m30s" {
		t.Errorf("the sign is %v", lines)
	}
	close(goesOn)
	if status, _ := s.outcome("c/e1"); status != "measured" {
		t.Errorf("it is %s", status)
	}
}

// finder is a device that goes on by itself, and finds a run by its handle.
type finder struct {
	*device
	handle string // that Resume was given
}

func (f *finder) Resume(_ context.Context, cmd instruments.Command) (events.Measurement, error) {
	f.handle = cmd.Handle
	return conductivity(12)
}

// Law: a handle is in the ledger before anybody hears of it: a program that is killed in between finds
// its run by it in its next life, though campaignd never had it. The last one counts, and the outcome
// stands behind them.
func TestHandleIsKept(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "ledger")
	file := filepath.Join(dir, "c%2Fe1.jsonl")
	var kept [][]byte
	s := serve(t, dir, &device{measure: func(ctx context.Context, _ instruments.Command) (events.Measurement, error) {
		for _, handle := range []string{"run 7", "run 7", "", "run 8"} {
			sdk.Signal(ctx, events.Sign{Handle: handle})
			kept = append(kept, must.Get(os.ReadFile(file))(t))
		}
		return conductivity(10)
	}})
	s.send(`"op":"start","command":{"id":"c/e1","parameters":{"salt":1}}`)
	for range 5 { // the answer to start, and four signs
		s.next()
	}
	if status, _ := s.outcome("c/e1"); status != "measured" {
		t.Errorf("it is %s", status)
	}
	s.end()
	if a, b := string(kept[0]), string(kept[2]); a != b || !strings.HasSuffix(a, `{"handle":"run 7"}`+"\n") {
		t.Errorf("the ledger holds\n%sand later\n%s", a, b)
	}
	for n, want := range map[int]string{0: "run 7", 3: "run 8"} {
		must.Do(t, os.WriteFile(file, kept[n], 0o600)) // it was killed then
		f := &finder{device: &device{measure: quick}}
		s := serve(t, dir, f)
		s.ask(`"op":"await","command":{"id":"c/e1","parameters":{"salt":1}}`)
		s.end()
		if f.handle != want {
			t.Errorf("it is found by %q, want %q", f.handle, want)
		}
	}
}

// Law: a command whose handle is known has begun, whatever the ledger says: where the ledger is
// gone the device is asked by the handle, and nothing is measured a second time. Who cannot ask
// does not know.
func TestHandleOutlivesTheLedger(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "ledger")
	command := `"command":{"id":"c/e1","parameters":{"salt":1},"handle":"run 7"}`
	f := &finder{device: &device{measure: quick}}
	s := serve(t, dir, f)
	if fate := s.ask(`"op":"recover",` + command)["fate"]; fate != "running" && fate != "finished" {
		t.Errorf("its fate is %v", fate)
	}
	outcome, _ := s.ask(`"op":"await",` + command)["outcome"].(map[string]any)
	if outcome["status"] != "measured" || f.handle != "run 7" {
		t.Errorf("found by %q: %v", f.handle, outcome)
	}
	s.ask(`"op":"start",` + command)
	f.acted(t, "c/e1", 0)
	s.end()

	must.Do(t, os.Truncate(filepath.Join(dir, "c%2Fe1.jsonl"), 7)) // the file system was cut off
	f.handle = ""
	s = serve(t, dir, f)
	s.ask(`"op":"await",` + command)
	if f.handle != "run 7" {
		t.Errorf("of a ledger that was cut off it is found by %q", f.handle)
	}
	s.end()

	must.Do(t, os.RemoveAll(dir))
	s = serve(t, dir, f.device)
	if fate := s.ask(`"op":"recover",` + command)["fate"]; fate != "unknown" {
		t.Errorf("of one that cannot ask the fate is %v", fate)
	}
}
