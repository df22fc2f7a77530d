package engine_test

import (
	"errors"
	"testing"

	"github.com/campaignd/campaignd/adapters/instruments"
	"github.com/campaignd/campaignd/adapters/instruments/manual"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/events/memlog"
	"github.com/campaignd/campaignd/internal/builtin"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/study"
)

// Law: something real is driven by whoever holds its lock: where that is another
// campaign, nothing is sent and nothing written. A simulation and a person at the
// bench are for all.
func TestLocked(t *testing.T) {
	taken := errors.New("it is driven by the campaign lfp")
	for name, c := range map[string]struct {
		change  func(*device, *definition.Campaign)
		refused bool
	}{
		"real":      {func(*device, *definition.Campaign) {}, true},
		"simulated": {func(d *device, _ *definition.Campaign) { d.description.Simulated = true }, false},
		"a person": {func(_ *device, def *definition.Campaign) {
			def.Instrument.Driver = manual.Choose(manual.Settings{})
			def.Instrument.ByHand = true
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			d, def, log := newDevice("serial 1"), electrolyte(t, 1, 3, unaided), memlog.New()
			c.change(d, &def)
			made, err := study.Runner(t.Context(), log, def, d)
			if err != nil {
				t.Fatal(err)
			}
			before := log.Last()
			r := &engine.Runner{Registry: builtin.Registry(), Log: log, Campaign: def.Name, Instrument: d, Now: made.Now, Eager: true}
			r.Lock = func(locked instruments.Description) error {
				if locked.Identity != "serial 1" {
					t.Errorf("%+v is locked", locked)
				}
				return taken
			}
			err = r.Start(t.Context())
			if c.refused != errors.Is(err, taken) || !c.refused && err != nil {
				t.Fatalf("Start says %v", err)
			}
			if log.Last() != before || len(d.acts) > 0 {
				t.Errorf("%d events were written, and it acted: %v", log.Last()-before, d.acts)
			}
		})
	}
	if !engine.Exclusive(electrolyte(t, 1, 3), instruments.Description{Name: "mixer"}) {
		t.Error("a real instrument without an identity is for all")
	}
}
