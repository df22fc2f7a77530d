package control

import (
	"context"
	"errors"
	"iter"
	"strings"
	"testing"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/memlog"
	"github.com/campaignd/campaignd/internal/tests/must"
)

// faultyLog cannot be read beyond its second event.
type faultyLog struct{ events.Log }

func (l faultyLog) Read(
	ctx context.Context, after events.Position,
) iter.Seq2[events.Event, error] {
	return func(yield func(events.Event, error) bool) {
		for e, err := range l.Log.Read(ctx, after) {
			if e.Position > 2 {
				yield(events.Event{}, errors.New("block 7 cannot be read"))
				return
			}
			if !yield(e, err) {
				return
			}
		}
	}
}

// Law: what cannot be read to its end is said to be, after what can be: a
// reader never takes a part of a log for all of it.
func TestFaultOfTheLogIsHeard(t *testing.T) {
	store, log := t.TempDir(), memlog.New()
	appendNotes(t, log, "a", 4)
	s := must.Get(Serve(store, Service{
		Log:    faultyLog{log},
		Status: func() Status { return Status{PID: 42, Last: log.Last()} },
	}))(t)
	t.Cleanup(s.Close)
	c := dial(t, store)
	read := 0
	var fault error
	for _, err := range c.Read(t.Context(), 0) {
		if err != nil {
			fault = err
			break
		}
		read++
	}
	if read != 2 || fault == nil || !strings.Contains(fault.Error(), "block 7 cannot be read") {
		t.Errorf("after %d events the reader hears %v", read, fault)
	}
}
