package bus_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/bus"
	"github.com/campaignd/campaignd/events/memlog"
)

// Law: a consumer has the events of all campaigns, those that it takes, in the
// order of the log; one that it refuses comes again after pauses of its own, and
// before any other. With a name it goes on where it stood, and its distance from
// the end is known; without one it begins where it says.
func TestConsumer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := memlog.New()
		b := bus.New(log, bus.Config{})
		defer closeAll(t, b, log)
		record(t, log, campaign, 2)
		record(t, log, "another", 2)

		var handled []events.Position
		var pauses []time.Duration
		c := bus.Consumer{
			Name:          "reader",
			RetryPause:    time.Second,
			RetryPauseMax: 3 * time.Second,
			Takes:         func(e *events.Event) bool { return e.Position != 2 },
		}
		refuse := 0
		c.Handle = func(_ context.Context, e events.Event) error {
			if e.Position == 3 && refuse < 4 {
				refuse++
				return errors.New("not now")
			}
			handled = append(handled, e.Position)
			return nil
		}
		c.Refused = func(e events.Event, err error, pause time.Duration) {
			if e.Position != 3 || err == nil || err.Error() != "not now" {
				t.Errorf("event %d was refused for %v", e.Position, err)
			}
			pauses = append(pauses, pause/time.Second)
		}
		consume := func(c bus.Consumer, within time.Duration) {
			t.Helper()
			ctx, cancel := context.WithTimeout(t.Context(), within)
			defer cancel()
			if err := b.Consume(ctx, c); err != nil {
				t.Error(err)
			}
		}
		consume(c, 2500*time.Millisecond)
		if behind, err := b.Behind("reader"); behind != 2 || err != nil {
			t.Errorf("it is %d behind, %v", behind, err)
		}
		consume(c, time.Minute) // it is refused twice more
		expect(t, handled, 1, 3, 4)
		if want := []time.Duration{1, 2, 1, 2}; !slices.Equal(pauses, want) {
			t.Errorf("the pauses are %d s, want %d", pauses, want)
		}
		record(t, log, campaign, 1)
		consume(c, time.Second)
		expect(t, handled, 1, 3, 4, 5)
		if behind, err := b.Behind("reader"); behind != 0 || err != nil {
			t.Errorf("it is %d behind, %v", behind, err)
		}
		handled = nil
		c.Name, c.After = "", 3
		consume(c, time.Second)
		consume(c, time.Second)
		expect(t, handled, 4, 5, 4, 5)
	})
}

// Law: what a consumer was handling when its turn ended counts, and does not come again.
func TestHandledAtTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := memlog.New()
		b := bus.New(log, bus.Config{})
		defer closeAll(t, b, log)
		record(t, log, campaign, 2)
		var handled []events.Position
		for range 3 {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			err := b.Consume(ctx, bus.Consumer{Name: "reader", Handle: func(_ context.Context, e events.Event) error {
				time.Sleep(time.Minute)
				handled = append(handled, e.Position)
				return nil
			}})
			if cancel(); err != nil {
				t.Error(err)
			}
		}
		expect(t, handled, 1, 2)
	})
}

// Law: a consumer is said once to have caught up, when it has handled all that
// was there as it began, refused events too, and before anything later; and not
// where it ends before that.
func TestCaught(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := memlog.New()
		b := bus.New(log, bus.Config{})
		defer closeAll(t, b, log)
		record(t, log, campaign, 3)
		var handled, caught []events.Position
		consume := func(c bus.Consumer, within time.Duration) {
			t.Helper()
			handled = nil
			caught = nil
			c.Caught = func() {
				caught = append(caught, events.Position(len(handled)))
				record(t, log, campaign, 1)
			}
			ctx, cancel := context.WithTimeout(t.Context(), within)
			defer cancel()
			if err := b.Consume(ctx, c); err != nil {
				t.Error(err)
			}
		}
		refuse := 3
		c := bus.Consumer{RetryPause: time.Second, Handle: func(_ context.Context, e events.Event) error {
			if e.Position == 3 && refuse > 0 {
				refuse--
				return errors.New("not now")
			}
			handled = append(handled, e.Position)
			return nil
		}}
		consume(c, 1500*time.Millisecond)
		expect(t, handled, 1, 2)
		expect(t, caught)
		consume(c, time.Minute)
		expect(t, handled, 1, 2, 3, 4)
		expect(t, caught, 3)
		c.After = 4
		consume(c, time.Minute)
		expect(t, handled, 5)
		expect(t, caught, 0)

		ctx, cancel := context.WithCancel(t.Context())
		err := b.Consume(ctx, bus.Consumer{
			Takes:  func(e *events.Event) bool { cancel(); return false },
			Caught: func() { t.Error("it ended, and is said to have caught up") },
		})
		if err != nil {
			t.Errorf("a consumer that is ended while it reads: %v", err)
		}
	})
}

// elsewhere is a log that another process holds: it keeps no offsets.
type elsewhere struct{ events.Log }

// Law: a bus says whether a consumer with a name goes on after a restart.
func TestKeeps(t *testing.T) {
	log := memlog.New()
	for _, c := range []struct {
		log  events.Log
		want bool
	}{{log, true}, {elsewhere{log}, false}} {
		b := bus.New(c.log, bus.Config{})
		if b.Keeps() != c.want {
			t.Errorf("%T keeps offsets: %t", c.log, b.Keeps())
		}
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	}
	if err := log.Close(); err != nil {
		t.Error(err)
	}
}
