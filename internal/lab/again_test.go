package lab_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/campaignd/campaignd/adapters/instruments"
	"github.com/campaignd/campaignd/adapters/instruments/simulated"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/builtin"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/lab"
)

// Law: a campaign that could not be run can be started again, is told again why
// not, and goes on by itself once the lab is opened where it can be run; one
// that has ended is not run any more.
func TestStartedAgain(t *testing.T) {
	private(t)
	var off atomic.Bool
	driver := simulated.Driver
	driver.Name = "unplugged"
	driver.Open = func(
		ctx context.Context, def definition.Campaign, env instruments.Environment,
	) (instruments.Instrument, error) {
		if off.Load() {
			return nil, errors.New("the cable is out")
		}
		return simulated.Driver.Open(ctx, def, env)
	}
	registry := builtin.Registry()
	registry.Instruments = append(registry.Instruments, driver)
	folder := t.TempDir()
	begin := func() *lab.Lab {
		l, err := lab.Open(t.Context(), lab.Options{Folder: folder, Registry: registry, Log: t.Logf})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(l.Close)
		return l
	}
	l := begin()
	file, err := l.Parse("campaign.yaml", []byte(`
name: bench
parameters: [{name: x1, min: -5, max: 10}, {name: x2, min: 0, max: 15}]
objective: {name: value, goal: minimize}
initial: {experiments: 2}
budget: {experiments: 3}
instrument: {unplugged: {task: branin}}
policy: sobol
`))
	if err != nil {
		t.Fatal(err)
	}
	c, err := l.Begin(t.Context(), file, engine.Request{Actor: "person:ada"})
	if err != nil {
		t.Fatal(err)
	}
	off.Store(true)
	for i := range 2 {
		err := c.Start(t.Context(), engine.Request{Actor: "person:bo"})
		if err == nil || !strings.Contains(err.Error(), "the cable is out") {
			t.Fatalf("the instrument cannot be opened, and starting (%d) says %v", i, err)
		}
		until(t, "the run has ended", func() bool { return !c.Standing().Here })
	}
	l.Close()
	off.Store(false)
	for range 2 { // the second time there is nothing left to be run
		l = begin()
		c, err := l.Campaign("bench")
		if err != nil {
			t.Fatal(err)
		}
		until(t, "the campaign has ended", func() bool {
			s := c.Standing()
			return s.Status.Ended() && !s.Here
		})
		l.Close()
	}
}
