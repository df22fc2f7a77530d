//go:build unix

package killtest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/campaignd/campaignd/adapters/console"
	"github.com/campaignd/campaignd/adapters/instruments"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/events/memlog"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/engine/drive"
	"github.com/campaignd/campaignd/internal/files/builtin"
	"github.com/campaignd/campaignd/internal/files/campaignfile"
	"github.com/campaignd/campaignd/internal/tests/testinstrument"
	"github.com/campaignd/campaignd/projections/campaign"
)

// drivers are the campaigns whose commands are called off, by the driver: what stands under
// `instrument` in the file.
var drivers = map[string]func(t *testing.T, folder string) any{
	"simulated": func(*testing.T, string) any {
		return map[string]any{"simulated": map[string]any{"task": "branin", "latency": "1h"}}
	},
	"table": func(t *testing.T, folder string) any {
		rows := "x1,x2,value\n0,1,50\n1,2,40\n"
		if err := os.WriteFile(filepath.Join(folder, "rows.csv"), []byte(rows), 0o600); err != nil {
			t.Fatal(err)
		}
		return map[string]any{"table": map[string]any{"file": "rows.csv"}}
	},
	"manual": func(*testing.T, string) any { return "manual" },
	"folder": func(t *testing.T, folder string) any {
		for _, name := range []string{"requests", "results"} {
			if err := os.MkdirAll(filepath.Join(folder, "orders", name), 0o700); err != nil {
				t.Fatal(err)
			}
		}
		return map[string]any{"folder": map[string]any{
			"device": map[string]any{"name": "mixer", "identity": "M2", "capacity": 2},
			"folder": "orders", "takes_away": true, "every": "20ms",
			"result": map[string]any{"id": "/order", "quantities": map[string]any{"value": map[string]any{"at": "/value"}}},
		}}
	},
	"http": func(t *testing.T, _ string) any {
		url := mixer(t) + "/runs"
		return map[string]any{"http": map[string]any{
			"device": map[string]any{"name": "mixer", "identity": "M2", "capacity": 2},
			"start":  map[string]any{"url": url, "body": map[string]any{"key": "{id}"}, "handle": "/key"},
			"find":   map[string]any{"url": url + "?key={id}", "handle": "/key"},
			"poll": map[string]any{"url": url + "?key={handle}", "every": "20ms", "state": map[string]any{
				"at": "/state", "running": []string{"mixing"}, "measured": []string{"done"}, "failed": []string{"stopped"},
			}},
			"result": map[string]any{"quantities": map[string]any{"value": map[string]any{"at": "/value"}}},
			"cancel": map[string]any{"url": url + "?key={handle}"},
		}}
	},
	"process": func(t *testing.T, folder string) any {
		bench := filepath.Join(folder, "bench")
		if err := os.MkdirAll(filepath.Join(bench, livesName), 0o700); err != nil {
			t.Fatal(err)
		}
		cfg, err := testinstrument.Config(testinstrument.Options{
			Dir: bench, Real: true, Capacity: 2, Latency: definition.Duration(time.Hour),
		})
		if err != nil {
			t.Fatal(err)
		}
		return map[string]any{"process": cfg}
	},
}

// mixer is a device behind HTTP that works on each run until it is stopped, and outlives campaignd.
func mixer(t *testing.T) (url string) {
	var mu sync.Mutex
	runs := make(map[string]string)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		run := struct {
			Key   string `json:"key"`
			State string `json:"state"`
		}{Key: r.URL.Query().Get("key")}
		switch r.Method {
		case http.MethodPost:
			_ = json.NewDecoder(r.Body).Decode(&run)
			runs[run.Key] = "mixing"
		case http.MethodDelete:
			runs[run.Key] = "stopped"
		}
		if run.State = runs[run.Key]; run.State == "" {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		_ = json.NewEncoder(w).Encode(run)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// listener is an instrument that writes down which commands it is told are off. It is at work
// on each until then.
type listener struct {
	instruments.Instrument
	mu   sync.Mutex
	told []string
	off  chan struct{} // closed and made anew with each
}

func (l *listener) Cancel(ctx context.Context, cmd instruments.Command) error {
	err := l.Instrument.Cancel(ctx, cmd)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.told = append(l.told, cmd.ID)
	close(l.off)
	l.off = make(chan struct{})
	return err
}

func (l *listener) Recover(ctx context.Context, cmd instruments.Command) (instruments.Fate, error) {
	if inner, ok := l.Instrument.(instruments.Recoverer); ok {
		return inner.Recover(ctx, cmd)
	}
	return instruments.FateUnknown, nil
}

func (l *listener) Await(ctx context.Context, cmd instruments.Command) (instruments.Outcome, error) {
	for !l.heard(cmd.ID) {
		l.mu.Lock()
		off := l.off
		l.mu.Unlock()
		select {
		case <-off:
		case <-time.After(time.Second):
		case <-ctx.Done():
			return instruments.Outcome{}, ctx.Err()
		}
	}
	return l.Instrument.Await(ctx, cmd)
}

// heard reports whether it was told that a command is off.
func (l *listener) heard(command string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Contains(l.told, command)
}

// absent is a terminal before which no one sits.
type absent struct{}

func (absent) Prompt(ctx context.Context, _ console.Form) (string, error) {
	<-ctx.Done()
	return "", ctx.Err()
}

// attended is a process that runs a campaign with a listening instrument.
type attended struct {
	runner   *drive.Runner
	device   *listener
	end      context.CancelFunc
	over     chan error
	instance instruments.Instrument
}

// attend begins a process, as on a machine that has just started.
func attend(t *testing.T, log events.Log, def definition.Campaign, folder string) *attended {
	t.Helper()
	driver, ok := builtin.Registry().DriverOf(&def)
	if !ok {
		t.Fatalf("no driver of %s", def.Driver().Name)
	}
	env := instruments.Environment{Folder: folder, Prompter: absent{}, Logf: func(string, ...any) {}}
	inner, err := driver.Open(t.Context(), def, env)
	if err != nil {
		t.Fatal(err)
	}
	device := &listener{Instrument: inner, off: make(chan struct{})}
	a := &attended{
		runner: &drive.Runner{Registry: builtin.Registry(), Log: log, Campaign: def.Name, Instrument: device},
		device: device, over: make(chan error, 1), instance: inner,
	}
	if err := a.runner.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	a.end = cancel
	go func() { a.over <- a.runner.Run(ctx) }()
	return a
}

// kill ends the process without a word, with its instrument's program.
func (a *attended) kill(t *testing.T) {
	t.Helper()
	a.end()
	if err := <-a.over; err != nil && !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if killer, ok := a.instance.(instruments.Killer); ok {
		if err := killer.Kill(context.WithoutCancel(t.Context()), true); err != nil {
			t.Error(err)
		}
	}
	if closer, ok := a.instance.(interface{ Close() error }); ok {
		_ = closer.Close()
	}
}

// until waits for a state of the campaign in a log.
func until(t *testing.T, log events.Log, name string, reached func(*campaign.State) bool) *campaign.State {
	t.Helper()
	for began := time.Now(); ; time.Sleep(2 * time.Millisecond) {
		core, err := engine.Load(t.Context(), builtin.Registry(), log, name)
		if err != nil {
			t.Fatal(err)
		}
		if reached(core.State()) {
			return core.State()
		}
		if time.Since(began) > time.Minute {
			t.Fatalf("it is never reached: %+v", core.State().Experiments)
		}
	}
}

// historyOf is all that a log holds of a campaign.
func historyOf(t *testing.T, log events.Log, name string) (all []events.Event) {
	t.Helper()
	for e, err := range events.ReadCampaign(t.Context(), log, name, 0) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, e)
	}
	return all
}

// Law: whatever is called off reaches the instrument, of every driver, by each way to say it,
// and whenever campaignd is killed between the order and its answer: it is answered, or it is
// unresolved.
func TestCallOffReachesEveryDriver(t *testing.T) {
	ways := map[string]engine.Request{
		"cancel":     {Cancel: &engine.Cancel{Experiment: "e1,e2", Reason: "solvent leak"}},
		"stop --now": {Abort: &engine.Abort{Stop: true, Reason: "solvent leak"}},
		"abort":      {Abort: &engine.Abort{Reason: "solvent leak"}},
	}
	for _, driver := range builtin.Registry().Instruments {
		for way, request := range ways {
			t.Run(driver.Name+", "+way, func(t *testing.T) {
				t.Parallel()
				make := drivers[driver.Name]
				if make == nil {
					t.Fatalf("add %s to drivers", driver.Name)
				}
				folder := folder(t)
				calledOff(t, folder, make(t, folder), request)
			})
		}
	}
}

// calledOff has the commands of a campaign called off while they are under way, and then once
// more from each event between the order and its answers.
func calledOff(t *testing.T, folder string, instrument any, request engine.Request) {
	text, err := json.Marshal(map[string]any{ // JSON is YAML
		"name":       "off",
		"parameters": []any{map[string]any{"name": "x1", "min": -5, "max": 10}, map[string]any{"name": "x2", "min": 0, "max": 15}},
		"objective":  map[string]any{"name": "value", "goal": "minimize"},
		"initial":    map[string]any{"points": []any{map[string]any{"x1": 0, "x2": 1}, map[string]any{"x1": 1, "x2": 2}}},
		"budget":     map[string]any{"experiments": 2},
		"policy":     "sobol",
		"parallel":   2,
		"instrument": instrument,
	})
	if err != nil {
		t.Fatal(err)
	}
	file, err := campaignfile.Parse(builtin.Registry(), "off.yaml", text)
	if err != nil {
		t.Fatal(err)
	}
	def := file.Definition
	log := memlog.New()
	defined := events.CampaignDefined{Instance: "ABCDEFGHIJ", Definition: def}
	if err := engine.Define(t.Context(), log, defined, "person:ada", time.Now(), ""); err != nil {
		t.Fatal(err)
	}
	a := attend(t, log, def, folder)
	does, err := a.instance.Describe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	until(t, log, def.Name, func(s *campaign.State) bool { return s.Count(campaign.Started) == min(2, does.Capacity) })
	request.Actor = "person:ada"
	stored, err := a.runner.Submit(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	s := until(t, log, def.Name, func(s *campaign.State) bool { return s.BeingCalledOff() == nil })
	for _, x := range s.Experiments {
		if x.Command.CallOff != nil && !a.device.heard(x.Command.ID) {
			t.Errorf("the instrument never heard that %s is off", x.ID)
		}
	}
	a.kill(t)
	all := historyOf(t, log, def.Name)
	ordered := int(stored[len(stored)-1].Sequence)
	for cut := ordered; cut < len(all); cut++ {
		t.Run(fmt.Sprintf("killed after event %d", cut), func(t *testing.T) {
			short := memlog.New()
			for _, e := range all[:cut] {
				if _, err := short.Append(t.Context(), e.Campaign, e.Sequence-1, e); err != nil {
					t.Fatal(err)
				}
			}
			before := until(t, short, def.Name, func(*campaign.State) bool { return true })
			b := attend(t, short, def, folder)
			now := until(t, short, def.Name, func(s *campaign.State) bool { return s.BeingCalledOff() == nil })
			for _, x := range before.BeingCalledOff() {
				outrun := now.Experiment(x.Subject).Command.CallOff.Over // its outcome was quicker
				if !outrun && !b.device.heard(x.Command.ID) {
					t.Errorf("the instrument of the next process never heard that %s is off", x.Subject)
				}
			}
			b.kill(t)
		})
	}
}
