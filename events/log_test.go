package events_test

import (
	"context"
	"iter"
	"slices"
	"testing"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/memlog"
	"github.com/campaignd/campaignd/internal/tests/must"
)

// unreadable is a log that can be read by campaign alone.
type unreadable struct{ *memlog.Log }

func (unreadable) Read(context.Context, events.Position) iter.Seq2[events.Event, error] {
	panic("the events of all campaigns were read")
}

// Law: ReadCampaign yields the events of one campaign after a sequence, the same from a log
// that can read one as from one that cannot; the first is not made to read them all.
func TestReadCampaign(t *testing.T) {
	log := memlog.New()
	defer func() { _ = log.Close() }()
	for i := range 12 {
		note := events.Event{Kind: events.KindNoteAdded, Version: 1, Data: []byte(`{}`)}
		must.Get(log.Append(t.Context(), []string{"a", "b", "a"}[i%3], events.AnySequence, note))(t)
	}
	for after := range events.Sequence(10) {
		var want []events.Position // of "a": 1, 3, 4, 6, 7, 9, 10, 12
		for p := events.Position(1); p <= 12; p++ {
			if p%3 != 2 {
				want = append(want, p)
			}
		}
		want = want[min(int(after), len(want)):]
		for name, l := range map[string]events.Log{"by campaign": unreadable{log}, "by filtering": struct{ events.Log }{log}} {
			var got []events.Position
			for e := range must.Each(t, events.ReadCampaign(t.Context(), l, "a", after)) {
				got = append(got, e.Position)
			}
			if !slices.Equal(got, want) {
				t.Errorf("%s after %d: the events at %d, want %d", name, after, got, want)
			}
		}
	}
}

// byKind is a log that can read the events of some kinds alone.
type byKind struct {
	unreadable
	asked []events.Kind
}

func (l *byKind) ReadKinds(
	_ context.Context, _ string, kinds ...events.Kind,
) iter.Seq2[events.Event, error] {
	l.asked = kinds
	return func(func(events.Event, error) bool) {}
}

// Law: ReadKinds yields the events of some kinds, of one campaign or of all. A log that can
// read them alone is not made to read the others.
func TestReadKinds(t *testing.T) {
	log := memlog.New()
	defer func() { _ = log.Close() }()
	kinds := []events.Kind{events.KindNoteAdded, events.KindCampaignStopped, events.KindCampaignResumed}
	for i := range 12 { // the campaigns a and b in turn, the kinds in turn
		e := events.Event{Kind: kinds[i%3], Version: 1, Data: []byte(`{}`)}
		must.Get(log.Append(t.Context(), []string{"a", "b"}[i%2], events.AnySequence, e))(t)
	}
	for _, c := range []struct {
		campaign string
		kinds    []events.Kind
		want     []events.Position
	}{
		{"", kinds[:1], []events.Position{1, 4, 7, 10}},
		{"", kinds[1:], []events.Position{2, 3, 5, 6, 8, 9, 11, 12}},
		{"a", kinds[:1], []events.Position{1, 7}},
		{"b", kinds[:2], []events.Position{2, 4, 8, 10}},
		{"c", kinds, nil},
		{"", nil, nil},
	} {
		var got []events.Position
		for e := range must.Each(t, events.ReadKinds(t.Context(), log, c.campaign, c.kinds...)) {
			got = append(got, e.Position)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%v of %q: the events at %d, want %d", c.kinds, c.campaign, got, c.want)
		}
	}
	able := &byKind{unreadable: unreadable{log}}
	for range events.ReadKinds(t.Context(), able, "", kinds[0]) {
		t.Error("an event")
	}
	if !slices.Equal(able.asked, kinds[:1]) {
		t.Errorf("asked for were %v", able.asked)
	}
}
