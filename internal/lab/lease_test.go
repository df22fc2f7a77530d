package lab_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/campaignd/campaignd/adapters/instruments"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/files/builtin"
	"github.com/campaignd/campaignd/internal/lab"
	"github.com/campaignd/campaignd/internal/tests/must"
)

// shared is one device for all campaigns. It works once it is let.
type shared struct {
	open chan struct{}

	mu     sync.Mutex
	opened map[string]int
	sent   []string // to which campaign's commands it set to work
}

func (p *shared) Describe(context.Context) (instruments.Description, error) {
	return instruments.Description{Name: "pump", Identity: "serial 9", Capacity: 1}, nil
}

func (p *shared) Start(_ context.Context, cmd instruments.Command) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.sent = append(p.sent, cmd.Campaign)
	return nil
}

func (p *shared) Await(ctx context.Context, cmd instruments.Command) (instruments.Outcome, error) {
	select {
	case <-p.open:
	case <-ctx.Done():
		return instruments.Outcome{}, ctx.Err()
	}
	return instruments.Outcome{Status: instruments.Measured, Measurement: &events.Measurement{
		Actual: cmd.Parameters, Objective: definition.Quantity{Name: "flow", Value: 1},
	}}, nil
}

func (p *shared) Cancel(context.Context, instruments.Command) error { return nil }

type sharedSettings struct{}

func (*sharedSettings) Complete(*definition.Campaign)                                  {}
func (*sharedSettings) Check(*definition.Campaign, definition.Path) []definition.Fault { return nil }
func (*sharedSettings) Words(*definition.Campaign) string                              { return "a pump" }

// Law: campaigns that wait for a device get it whole in the order in which they came, and each
// says meanwhile who has it; one that is halted is not waited for. Those who wait do not
// open the instrument again and again.
func TestWaitForTheDevice(t *testing.T) {
	private(t)
	p := &shared{open: make(chan struct{}), opened: make(map[string]int)}
	reg := builtin.Registry()
	reg.Instruments = append(reg.Instruments, instruments.Driver{
		Name:     "pump",
		Settings: func() definition.Settings { return new(sharedSettings) },
		Open: func(_ context.Context, def definition.Campaign, _ instruments.Environment) (instruments.Instrument, error) {
			p.mu.Lock()
			defer p.mu.Unlock()
			p.opened[def.Name]++
			return p, nil
		},
	})
	l := must.Get(lab.Open(t.Context(), lab.Options{Folder: t.TempDir(), Registry: reg, Log: t.Logf}))(t)
	t.Cleanup(l.Close)
	campaigns := make(map[string]*lab.Campaign)
	names := []string{"first", "second", "third", "halted", "last"}
	for _, name := range names {
		campaigns[name] = define(t, l, fmt.Sprintf(`
name: %s
parameters: [{name: x, min: 0, max: 1}]
objective: {name: flow, goal: maximize}
initial: {experiments: 2}
budget: {experiments: 2}
policy: sobol
instrument: {pump: {}}
`, name))
	}
	for _, name := range names[1:] {
		trouble := campaigns[name].Standing().Trouble
		if trouble == nil || !strings.Contains(trouble.Error(), "waits for its instrument") || !strings.Contains(trouble.Error(), "the campaign first") {
			t.Errorf("%s says %v", name, trouble)
		}
	}
	must.Do(t, campaigns["halted"].Halt(engine.Request{Actor: "person:bo"}))
	time.Sleep(time.Second) // whoever asks again and again would
	close(p.open)
	for began := time.Now(); campaigns["last"].Standing().Status != "completed"; time.Sleep(5 * time.Millisecond) {
		if time.Since(began) > 30*time.Second {
			t.Fatalf("it came to %v", p.sent)
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	want := []string{"first", "first", "second", "second", "third", "third", "last", "last"}
	if !slices.Equal(p.sent, want) {
		t.Errorf("it was at work for %v", p.sent)
	}
	for name, n := range p.opened {
		if n > 3 { // to begin it, to see for which device it waits, and to run it
			t.Errorf("%s opened the instrument %d times", name, n)
		}
	}
}
