package lab_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/campaignd/campaignd/adapters/instruments"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/files/builtin"
	"github.com/campaignd/campaignd/internal/files/registry"
	"github.com/campaignd/campaignd/internal/ground/lock"
	"github.com/campaignd/campaignd/internal/lab"
	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/internal/tests/pgtest"
)

// pumped is a registry with one device for all campaigns.
func pumped(p *shared) registry.Registry {
	reg := builtin.Registry()
	reg.Instruments = append(reg.Instruments, instruments.Driver{
		Name:     "pump",
		Settings: func() definition.Settings { return new(sharedSettings) },
		Open: func(context.Context, definition.Campaign, instruments.Environment) (instruments.Instrument, error) {
			return p, nil
		},
	})
	return reg
}

// pumping is a campaign of so many experiments at it.
func pumping(name string, experiments int) string {
	return fmt.Sprintf(`
name: %s
parameters: [{name: x, min: 0, max: 1}]
objective: {name: flow, goal: maximize}
initial: {experiments: %d}
budget: {experiments: %d}
policy: sobol
instrument: {pump: {}}
`, name, experiments, experiments)
}

func (p *shared) count() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.sent)
}

// Law: a device that a campaign has alone is kept for it while it may be at work on its command,
// over a restart of the lab and when the campaign is halted: until a person has resolved it.
// Meanwhile the next campaign says for which command it waits, and nothing is sent.
func TestDeviceOfAnUnknownFate(t *testing.T) {
	private(t)
	p := &shared{open: make(chan struct{}), opened: make(map[string]int)}
	folder := t.TempDir()
	begin := func() *lab.Lab {
		l := must.Get(lab.Open(t.Context(), lab.Options{Folder: folder, Registry: pumped(p), Log: t.Logf}))(t)
		t.Cleanup(l.Close)
		return l
	}
	l := begin()
	define(t, l, pumping("first", 2))
	eventually(t, "the first one's command is sent", func() bool { return p.count() == 1 })
	define(t, l, pumping("second", 1))
	l.Close()

	l = begin() // the instrument does not say what became of the command
	first := must.Get(l.Campaign("first"))(t)
	second := must.Get(l.Campaign("second"))(t)
	ada := engine.Request{Actor: "person:ada"}
	eventually(t, "nobody knows what became of it", func() bool { return len(first.Standing().Unresolved) > 0 })
	must.Do(t, first.Halt(ada))
	eventually(t, "the second one waits for the command", func() bool {
		trouble := second.Standing().Trouble
		return trouble != nil && strings.Contains(trouble.Error(), "may be at work on first/") &&
			strings.Contains(trouble.Error(), "the campaign first")
	})
	if n := p.count(); n != 1 {
		t.Fatalf("%d commands were sent", n)
	}
	resolve := engine.Request{Actor: "person:ada", Resolve: &engine.Resolve{
		Experiment: "e1", Resolution: events.ResolvedNotPerformed, Voided: events.VoidedByPower, // it is halted: no process calls it off
	}}
	must.Get(first.Submit(t.Context(), resolve))(t)
	close(p.open)
	eventually(t, "the second one has its turn", func() bool { return second.Standing().Status == "completed" })
}

// Law: what a process that was killed has left in the queue, for a campaign that no one goes on
// with, is freed for those who wait: a ticket of a command that the campaign's log does not have,
// and the campaign's own. So is all of a campaign whose store was removed from the folder.
func TestLeftAtTheDevice(t *testing.T) {
	for _, place := range []string{"a folder", "a database", "a folder without the store"} {
		t.Run(place, func(t *testing.T) {
			private(t)
			p := &shared{open: make(chan struct{}), opened: make(map[string]int)}
			close(p.open)
			path, o := "first.campaign", lab.Options{Folder: t.TempDir(), Registry: pumped(p), Log: t.Logf}
			if place == "a database" {
				path, o.Database = "first", pgtest.URL(t)
			}
			l := must.Get(lab.Open(t.Context(), o))(t)
			t.Cleanup(sync.OnceFunc(l.Close))
			if place == "a folder without the store" {
				path = "removed.campaign"
			}
			first := define(t, l, pumping("first", 1))
			eventually(t, "it has ended", func() bool { return first.Standing().Status == "completed" && !first.Standing().Runs() })
			log := must.Get(l.Log())(t)
			for _, command := range []string{"", "first/never-dispatched"} {
				e := must.Get(events.Lab.New(events.DevicesStream, events.KindDeviceTaken, &events.DeviceTaken{
					DeviceUser: events.DeviceUser{Store: path, Campaign: "first", Command: command, Worker: "killed", PID: 1},
					Tickets:    []events.DeviceTicket{{Device: "serial 9", Capacity: 1}},
				}))(t)
				e.Actor = "engine"
				must.Get(log.Append(t.Context(), events.DevicesStream, events.AnySequence, e))(t)
			}
			second := define(t, l, pumping("second", 1))
			eventually(t, "the second one has its turn", func() bool { return second.Standing().Status == "completed" })
		})
	}
}

// Law: a campaign whose device cannot be taken on this machine is not begun, rather than begun and
// never driven. (Where the lab is in a database, another machine drives it.)
func TestNothingIsBegunWithoutItsDevice(t *testing.T) {
	private(t)
	blocked := filepath.Join(t.TempDir(), "file")
	must.Do(t, os.WriteFile(blocked, nil, 0o600))
	t.Setenv(lock.Variable, blocked)
	l, err := lab.Open(t.Context(), lab.Options{Folder: t.TempDir(), Registry: pumped(new(shared)), Log: t.Logf})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.Close)
	file := must.Get(l.Parse(t.Context(), "campaign.yaml", []byte(pumping("left", 2))))(t)
	if c, err := l.Define(t.Context(), file, engine.Request{Actor: "person:ada"}); err == nil || c != nil {
		t.Errorf("it is begun: %v, %v", c, err)
	} else if _, err := l.Campaign("left"); err == nil {
		t.Error("it is refused, and there")
	}
}
