package notify

import (
	"testing"
	"time"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/tests/must"
)

// Law: an act whose fate is unknown, or whose instrument is silent, is a matter as an experiment's is,
// until the act has ended.
func TestActsAreMatters(t *testing.T) {
	p := NewPlanner(nil)
	sequence := events.Sequence(0)
	happens := func(payload events.Payload) {
		sequence++
		e := must.Get(events.New("bread", payload))(t)
		e.Sequence, e.Time = sequence, time.Unix(int64(sequence), 0)
		p.Apply(e, payload)
	}
	happens(&events.InstrumentStalled{Act: "a1", Instrument: "oven", Waited: 60})
	if m := p.find("bread", stalled, "a1"); m == nil || m.Heading != "oven has been silent about a1 of bread for 1 min 0 s" {
		t.Errorf("silence: %+v", m)
	}
	happens(&events.ActUnresolved{Act: "a1", Instrument: "oven", Cause: "the power failed"})
	if m := p.find("bread", unresolved, "a1"); m == nil || m.Heading != "The fate of a1 of bread is unknown: the power failed" {
		t.Errorf("its fate: %+v", m)
	}
	if p.find("bread", stalled, "a1") != nil {
		t.Error("it is silent still")
	}
	happens(&events.ActResolved{Act: "a1", Status: events.ActFailed})
	if p.find("bread", unresolved, "a1") != nil {
		t.Error("it is not settled")
	}
}
