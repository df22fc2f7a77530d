package lab_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/campaignd/campaignd/adapters/instruments"
	"github.com/campaignd/campaignd/adapters/instruments/simulated"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/files/builtin"
	"github.com/campaignd/campaignd/internal/files/registry"
	"github.com/campaignd/campaignd/internal/ground/problem"
	"github.com/campaignd/campaignd/internal/lab"
	"github.com/campaignd/campaignd/internal/tests/must"
)

// unpluggable has a simulated instrument that is not opened while why says something.
func unpluggable(why func() error) registry.Registry {
	driver := simulated.Driver
	driver.Name = "unpluggable"
	driver.Open = func(
		ctx context.Context, def definition.Campaign, env instruments.Environment,
	) (instruments.Instrument, error) {
		if err := why(); err != nil {
			return nil, err
		}
		return simulated.Driver.Open(ctx, def, env)
	}
	registry := builtin.Registry()
	registry.Instruments = append(registry.Instruments, driver)
	return registry
}

// openWith opens a lab, until the test ends.
func openWith(t *testing.T, folder string, registry registry.Registry) *lab.Lab {
	t.Helper()
	l := must.Get(lab.Open(t.Context(), lab.Options{Folder: folder, Registry: registry, Log: t.Logf}))(t)
	t.Cleanup(l.Close)
	return l
}

// beginUnpluggable begins a campaign at that instrument, and does not run it.
func beginUnpluggable(t *testing.T, l *lab.Lab) *lab.Campaign {
	t.Helper()
	file := must.Get(l.Parse(t.Context(), "campaign.yaml", []byte(`
name: bench
parameters: [{name: x1, min: -5, max: 10}, {name: x2, min: 0, max: 15}]
objective: {name: value, goal: minimize}
initial: {experiments: 2}
budget: {experiments: 3}
instrument: {unpluggable: {task: branin}}
policy: sobol
`)))(t)
	return must.Get(l.Begin(t.Context(), file, engine.Request{Actor: "person:ada"}))(t)
}

// Law: a campaign that could not be run can be started again, is told again why
// not, and goes on by itself once the lab is opened where it can be run; one
// that has ended is not run any more.
func TestStartedAgain(t *testing.T) {
	private(t)
	var off atomic.Bool
	registry := unpluggable(func() error {
		if off.Load() {
			return errors.New("the cable is out")
		}
		return nil
	})
	folder := t.TempDir()
	l := openWith(t, folder, registry)
	c := beginUnpluggable(t, l)
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
		l = openWith(t, folder, registry)
		c := must.Get(l.Campaign("bench"))(t)
		until(t, "the campaign has ended", func() bool {
			s := c.Standing()
			return s.Status.Ended() && !s.Here
		})
		l.Close()
	}
}

// Law: who asks what to measure where the instrument does that is refused at once, also while the
// campaign waits for the instrument.
func TestNothingToSuggest(t *testing.T) {
	private(t)
	var off error
	c := beginUnpluggable(t, openWith(t, t.TempDir(), unpluggable(func() error { return off })))
	off = fmt.Errorf("%w: it is switched off", instruments.ErrLater)
	must.Do(t, c.Start(t.Context(), engine.Request{Actor: "person:ada"}))
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if _, err := c.Suggest(ctx); problem.CodeOf(err) != problem.NotNow {
		t.Errorf("it waits for its instrument, and suggests: %v", err)
	}
}
