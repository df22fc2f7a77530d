package events_test

import (
	"context"
	"iter"
	"slices"
	"testing"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/memlog"
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
		if _, err := log.Append(t.Context(), []string{"a", "b", "a"}[i%3], events.AnySequence, note); err != nil {
			t.Fatal(err)
		}
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
			for e, err := range events.ReadCampaign(t.Context(), l, "a", after) {
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, e.Position)
			}
			if !slices.Equal(got, want) {
				t.Errorf("%s after %d: the events at %d, want %d", name, after, got, want)
			}
		}
	}
}
