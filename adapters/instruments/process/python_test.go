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
	"github.com/campaignd/campaignd/adapters/instruments/process"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/tests/must"
)

var pythonCampaign = definition.Campaign{
	Name: "process",
	Parameters: []definition.Parameter{{Name: "lipf6", Unit: "mol/kg", Min: ptr(0.2), Max: ptr(2.1)},
		{Name: "dmc", Min: ptr(0.0), Max: ptr(1.0)}},
	Objective: definition.Objective{
		Name: "conductivity",
		Unit: "mS/cm",
		Goal: definition.Maximize,
		Min:  ptr(0.0),
		Max:  ptr(30.0),
	},
}

// python returns a documented example, changed so that it acts for real: before
// the given line it counts its measurement in a file and takes its time.
func python(t *testing.T, example, act string) (cfg process.Settings, acts func() (map[string]int, error)) {
	t.Helper()
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("python3 is not installed")
	}
	source := must.Get(os.ReadFile(filepath.Join("..", "..", "..", "examples", example)))(t)
	dir := t.TempDir()
	indent := act[:len(act)-len(strings.TrimLeft(act, " "))]
	changed := strings.Replace(string(source), act,
		indent+"open(\"acts\", \"a\").write(c[\"id\"] + \"\\n\"); __import__(\"time\").sleep(0.1)\n"+act, 1)
	if changed == string(source) {
		t.Fatal("the example has changed: this test no longer finds where it acts")
	}
	must.Do(t, os.WriteFile(filepath.Join(dir, example), []byte(changed), 0o666))
	cfg = process.Settings{Command: []string{"python3", example}, Dir: dir}
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
	shortAct   = `    try: quantity = {"name"`
	durableAct = `        try: outcome = {"status": "measured"`
)

// The documented examples in Python keep every obligation, the short one those
// that need no memory.
func TestPythonExample(t *testing.T) {
	for example, act := range map[string]string{"instrument.py": shortAct, "durable_instrument.py": durableAct} {
		t.Run(example, func(t *testing.T) {
			t.Parallel()
			cfg, acts := python(t, example, act)
			conforms(t, cfg, acts)
		})
	}
}

// Law: a device that is off has not acted, and one that failed has, where the program says so on
// purpose: of any other exception after the hand-over nobody can tell. A person's budget and the
// model of what is feasible depend on the difference.
func TestPythonExamplesTellOffFromFailed(t *testing.T) {
	t.Parallel()
	for example, act := range map[string]string{"instrument.py": shortAct, "durable_instrument.py": durableAct} {
		for _, broken := range []struct {
			place, raises string
			status        instruments.Status
		}{
			{"def reach():", "OSError", instruments.Deferred},
			{"def measure(p):", "OSError", instruments.Unknown},
			{"def measure(p):", "Failed", instruments.Failed},
			{"def measure(p):", "(lambda why: Failed(why, [{'name': 'viscosity', 'value': 3.1}]))", instruments.Failed},
			{"", "", instruments.Measured},
		} {
			place, status := broken.place, broken.status
			cfg, acts := python(t, example, act)
			file := filepath.Join(cfg.Dir, example)
			source := must.Get(os.ReadFile(file))(t)
			if place != "" {
				lines := strings.Split(string(source), "\n")
				for i, line := range lines {
					if strings.HasPrefix(line, place) {
						lines[i] += "\n    raise " + broken.raises + "('no route to host')"
					}
				}
				must.Do(t, os.WriteFile(file, []byte(strings.Join(lines, "\n")), 0o666))
			}
			inst := must.Get(openFor(t, cfg, pythonCampaign))(t)
			ctx := within(t, 20*time.Second)
			cmd := instruments.Command{
				ID:         "c/i/e1",
				Experiment: "e1",
				Parameters: definition.Point{"lipf6": definition.Number(1), "dmc": definition.Number(0.5)},
			}
			must.Do(t, inst.Start(ctx, cmd))
			o, err := inst.Await(ctx, cmd)
			if err != nil || o.Status != status || place != "" && !strings.Contains(o.Cause, "no route to host") {
				t.Errorf("%s %s: %+v, %v; want %s", example, place, o, err, status)
			}
			given := strings.Contains(broken.raises, "viscosity") // what was measured all the same
			if given != (status == instruments.Failed && o.Measurement != nil) || given && o.Measurement.Quantities[0].Value != 3.1 {
				t.Errorf("%s: of %s is given %+v", example, broken.raises, o.Measurement)
			}
			if counts, err := acts(); err != nil || status == instruments.Deferred && len(counts) > 0 {
				t.Errorf("%s: it acted: %v, %v", example, counts, err)
			}
		}
	}
}

// A ledger that knows a command with other parameters, as for a campaign whose
// store is an old copy, gives nothing of the one for the other; one that was
// written before it kept parameters is still read.
func TestPythonLedgerKeepsParameters(t *testing.T) {
	t.Parallel()
	cfg, acts := python(t, "durable_instrument.py", durableAct)
	ctx := within(t, 30*time.Second)
	at := func(x float64) instruments.Command {
		return instruments.Command{
			ID:         "c/i/e1",
			Experiment: "e1",
			Parameters: definition.Point{"lipf6": definition.Number(x), "dmc": definition.Number(0.5)},
		}
	}
	old := `["c/i/e0", null]` + "\n" + `["c/i/e0", {"status": "failed", "cause": "long ago"}]` + "\n"
	must.Do(t, os.WriteFile(filepath.Join(cfg.Dir, "instrument.ledger"), []byte(old), 0o666))
	for _, x := range []float64{1, 0.5, 1} {
		inst := must.Get(openFor(t, cfg, pythonCampaign))(t)
		e0 := instruments.Command{ID: "c/i/e0", Parameters: at(1).Parameters}
		if o, err := inst.Await(ctx, e0); err != nil || o.Cause != "long ago" {
			t.Errorf("from a ledger without parameters: %+v, %v", o, err)
		}
		err := inst.Start(ctx, at(x))
		fate, errFate := inst.(instruments.Recoverer).Recover(ctx, at(x))
		o, errAwait := inst.Await(ctx, at(x))
		if x == 1 && (err != nil || errAwait != nil || o.Status != instruments.Measured) {
			t.Errorf("the experiment itself: %v, %+v, %v", err, o, errAwait)
		}
		if x != 1 && (err == nil || !strings.Contains(err.Error(), "other parameters") || fate != instruments.FateUnknown || o.Status != instruments.Unknown) {
			t.Errorf("another experiment: %v; %s, %v; %+v, %v", err, fate, errFate, o, errAwait)
		}
		must.Do(t, inst.(*process.Instrument).Close())
	}
	if counts, err := acts(); err != nil || counts["c/i/e1"] != 1 {
		t.Errorf("it acted %v, %v", counts, err)
	}
}

func conforms(t *testing.T, cfg process.Settings, acts func() (map[string]int, error)) {
	t.Helper()
	instrumenttest.Run(t, instrumenttest.Env{
		Open: func(context.Context) (instruments.Instrument, error) {
			return openFor(t, cfg, pythonCampaign)
		},
		Definition: pythonCampaign,
		Points: []definition.Point{
			{"lipf6": definition.Number(1), "dmc": definition.Number(0.5)},
			{"lipf6": definition.Number(0.5), "dmc": definition.Number(0.25)},
		},
		Acts: instrumenttest.Counted(acts), Patience: 20 * time.Second,
	})
}
