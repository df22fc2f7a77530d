package engine_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/memlog"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/files/builtin"
	"github.com/campaignd/campaignd/internal/study/studytest"
	"github.com/campaignd/campaignd/internal/tests/must"
)

// Law: who follows a log hears of each event once, in order, with what it says, in the state after it,
// from where the core was up to the given event; an error of theirs ends it.
func TestFollow(t *testing.T) {
	def := must.Get(studytest.Define("branin", 1, 5))(t)
	log := memlog.New()
	must.Get(studytest.Simulate(t.Context(), log, def))(t)
	core := engine.NewCore(builtin.Registry())
	var heard []string
	each := func(e events.Event, payload events.Payload) error {
		if at := core.State().Sequence; at != e.Sequence {
			t.Errorf("it hears of event %d after event %d", e.Sequence, at)
		}
		heard = append(heard, fmt.Sprint(e.Sequence, events.KindOf(payload)))
		return nil
	}
	var want []string
	last := events.Sequence(0)
	for e := range must.Each(t, events.ReadCampaign(t.Context(), log, def.Name, 0)) {
		want = append(want, fmt.Sprint(e.Sequence, e.Kind))
		last = e.Sequence
	}
	for _, to := range []events.Sequence{last / 2, last / 3, last - 1} {
		must.Do(t, core.Follow(t.Context(), log, def.Name, to, each))
	}
	if got := fmt.Sprint(heard); got != fmt.Sprint(want[:last-1]) {
		t.Errorf("it heard %s of %s", got, want)
	}
	enough := errors.New("enough")
	each = func(events.Event, events.Payload) error { return enough }
	if err := core.Follow(t.Context(), log, def.Name, last, each); !errors.Is(err, enough) {
		t.Errorf("it ended with %v", err)
	}
	if err := core.Follow(t.Context(), log, def.Name, last, each); err != nil {
		t.Errorf("it hears of the last event twice: %v", err)
	}
}
