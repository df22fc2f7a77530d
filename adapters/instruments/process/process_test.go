//go:build unix

package process_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/campaignd/campaignd/adapters/instruments"
	"github.com/campaignd/campaignd/adapters/instruments/instrumenttest"
	"github.com/campaignd/campaignd/adapters/instruments/process"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/tests/draws"
	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/internal/tests/testinstrument"
)

// The test binary is also the program that the instrument runs: a sound one
// (internal/tests/testinstrument) or one of the misbehaving ones of peer_test.go.
func TestMain(m *testing.M) {
	testinstrument.RunIfAsked()
	misbehaveIfAsked()
	driveIfAsked()
	draws.Waiting(8, 1)
	os.Exit(m.Run())
}

func ptr[T any](v T) *T { return &v }

var campaign = definition.Campaign{
	Name: "test",
	Parameters: []definition.Parameter{
		{Name: "salt", Unit: "mol/kg", Min: ptr(0.0), Max: ptr(2.0)},
		{Name: "solvent", Categories: []definition.CategoryDef{{Name: "EC"}, {Name: "DMC"}}},
	},
	Objective: definition.Objective{
		Name: "conductivity",
		Unit: "mS/cm",
		Goal: definition.Maximize,
		Min:  ptr(0.0),
		Max:  ptr(30.0),
	},
}

var safePoints = []definition.Point{
	{"salt": definition.Number(1), "solvent": definition.Category("EC")},
	{"salt": definition.Number(0.5), "solvent": definition.Category("DMC")},
}

// logbook keeps what an instrument reports.
type logbook struct {
	t     *testing.T
	mu    sync.Mutex
	lines []string
}

func (l *logbook) logf(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, fmt.Sprintf(format, args...))
}

func (l *logbook) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Join(l.lines, "\n")
}

// expect waits until something was reported that contains words.
func (l *logbook) expect(words string) {
	l.t.Helper()
	for range 1000 {
		if strings.Contains(l.String(), words) {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	l.t.Errorf("nothing reported contains %q:\n%s", words, l)
}

func open(t *testing.T, cfg process.Settings) (*process.Instrument, *logbook) {
	t.Helper()
	inst, book := must.Get2(openWith(t, cfg, campaign))(t)
	return inst, book
}

func openFor(t *testing.T, cfg process.Settings, def definition.Campaign) (instruments.Instrument, error) {
	inst, _, err := openWith(t, cfg, def)
	return inst, err
}

func openWith(t *testing.T, cfg process.Settings, def definition.Campaign) (*process.Instrument, *logbook, error) {
	book := &logbook{t: t}
	inst, err := process.New(cfg, def, t.TempDir(), book.logf)
	if err != nil {
		return nil, nil, err
	}
	t.Cleanup(func() {
		inst.Close()
		if t.Failed() {
			t.Logf("reported:\n%s", book)
		}
	})
	return inst, book, nil
}

// sound returns a sound instrument's settings and its record of actions.
func sound(t *testing.T, o testinstrument.Options) (process.Settings, func() (map[string]int, error)) {
	t.Helper()
	if o.Dir == "" {
		o.Dir = t.TempDir()
	}
	cfg := must.Get(testinstrument.Config(o))(t)
	return cfg, func() (map[string]int, error) { return testinstrument.Acts(o.Dir) }
}

func command(n int) instruments.Command {
	e := fmt.Sprintf("e%d", n)
	return instruments.Command{
		ID:         "test/" + e,
		Campaign:   "test",
		Experiment: e,
		Parameters: safePoints[n%2],
		Replicate:  1,
	}
}

func within(t *testing.T, d time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

// A program that serves the SDK passes the suite, with restarts as new
// processes and actions counted by the program itself.
func TestConformance(t *testing.T) {
	for _, capacity := range []int{1, 3} {
		t.Run(fmt.Sprintf("capacity %d", capacity), func(t *testing.T) {
			t.Parallel()
			cfg, acts := sound(t, testinstrument.Options{
				Latency:  definition.Duration(50 * time.Millisecond),
				Capacity: capacity,
			})
			instrumenttest.Run(t, instrumenttest.Env{
				Open: func(context.Context) (instruments.Instrument, error) {
					inst, _ := open(t, cfg)
					return inst, nil
				},
				Definition: campaign,
				Points:     safePoints,
				Acts:       instrumenttest.Counted(acts),
				Patience:   20 * time.Second,
			})
		})
	}
}

// A relative program is taken from the campaign file's folder, and so is the
// working directory; faults are told in words.
func TestNewResolvesPaths(t *testing.T) {
	base := t.TempDir()
	must.Do(t, os.WriteFile(filepath.Join(base, "robot"), []byte("#!/bin/sh\n"), 0o777))
	for _, test := range []struct {
		name string
		cfg  process.Settings
		want string // of the error
	}{
		{"relative program", process.Settings{Command: []string{"./robot"}}, ""},
		{"in PATH", process.Settings{Command: []string{"sh"}}, ""},
		{"no command", process.Settings{}, "command is empty"},
		{"absent program", process.Settings{Command: []string{"./absent"}}, "cannot be run"},
		{"not in PATH", process.Settings{Command: []string{"robot"}}, "cannot be run"},
		{"absent directory", process.Settings{Command: []string{"sh"}, Dir: "absent"}, "working directory"},
	} {
		t.Run(test.name, func(t *testing.T) {
			inst, err := process.New(test.cfg, campaign, base, nil)
			if err == nil {
				defer inst.Close()
			}
			switch {
			case test.want == "" && err != nil:
				t.Error(err)
			case test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)):
				t.Errorf("got %v, want an error with %q", err, test.want)
			}
		})
	}
}
