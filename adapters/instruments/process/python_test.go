//go:build unix

package process_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/campaignd/campaignd/adapters/instruments"
	"github.com/campaignd/campaignd/adapters/instruments/instrumenttest"
	"github.com/campaignd/campaignd/events"
)

var pythonCampaign = events.Definition{
	Name:       "process",
	Parameters: []events.Parameter{{Name: "lipf6", Unit: "mol/kg", Min: ptr(0.2), Max: ptr(2.1)}, {Name: "dmc", Min: ptr(0.0), Max: ptr(1.0)}},
	Objective:  events.Objective{Name: "conductivity", Unit: "mS/cm", Goal: events.Maximize, Min: ptr(0.0), Max: ptr(30.0)},
}

// python returns a documented example, changed so that it acts for real: before
// the given line it counts its measurement in a file and takes its time.
func python(t *testing.T, example, act string) (cfg events.ProcessInstrument, acts func() (map[string]int, error)) {
	t.Helper()
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("python3 is not installed")
	}
	source, err := os.ReadFile(filepath.Join("..", "..", "..", "examples", example))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	indent := act[:len(act)-len(strings.TrimLeft(act, " "))]
	changed := strings.Replace(string(source), act,
		indent+"open(\"acts\", \"a\").write(c[\"id\"] + \"\\n\"); __import__(\"time\").sleep(0.1)\n"+act, 1)
	if changed == string(source) {
		t.Fatal("the example has changed: this test no longer finds where it acts")
	}
	if err := os.WriteFile(filepath.Join(dir, example), []byte(changed), 0o666); err != nil {
		t.Fatal(err)
	}
	cfg = events.ProcessInstrument{Command: []string{"python3", example}, Dir: dir}
	return cfg, func() (map[string]int, error) {
		data, err := os.ReadFile(filepath.Join(dir, "acts"))
		if err != nil && !os.IsNotExist(err) {
			return nil, err
		}
		counts := make(map[string]int)
		for id := range strings.Lines(string(data)) {
			counts[strings.TrimSpace(id)]++
		}
		return counts, nil
	}
}

// The lines of the examples that act.
const (
	shortAct   = `        quantity = {"name"`
	durableAct = `    try: keep(c["id"], {"status": "measured"`
)

// The documented examples in Python keep every obligation, the short one those
// that need no memory.
func TestPythonExample(t *testing.T) {
	for example, act := range map[string]string{"instrument.py": shortAct, "durable_instrument.py": durableAct} {
		t.Run(example, func(t *testing.T) {
			cfg, acts := python(t, example, act)
			conforms(t, cfg, acts)
		})
	}
}

func conforms(t *testing.T, cfg events.ProcessInstrument, acts func() (map[string]int, error)) {
	t.Helper()
	instrumenttest.Run(t, instrumenttest.Env{
		Open: func(context.Context) (instruments.Instrument, error) {
			return openFor(t, cfg, pythonCampaign)
		},
		Definition: pythonCampaign,
		Points: []events.Point{
			{"lipf6": events.Number(1), "dmc": events.Number(0.5)},
			{"lipf6": events.Number(0.5), "dmc": events.Number(0.25)},
		},
		Acts: acts, Patience: 20 * time.Second,
	})
}
