package bus

import (
	"context"
	"fmt"
	"time"

	"github.com/campaignd/campaignd/events"
)

// All is the topic of every event of the log, in the order of their positions.
const All = "*"

// Consumer is a reader of a whole log: what [Bus.Consume] serves. One at a
// time, each event is handled until Handle returns no error; then the next one
// comes. So nothing is passed over, and nothing overtakes.
type Consumer struct {
	// Name is the consumer's group on the topic [All]. How far it has come is
	// kept in the store under it. Without a name it begins behind After each
	// time, and nothing is kept.
	Name string
	// After is the position behind which a consumer without a name begins.
	After events.Position
	// Takes, if set, says which events are handled; the others are passed over.
	Takes func(e *events.Event) bool
	// Handle handles an event. It may come again after an error, and after a
	// crash. The context ends with the consumer.
	Handle func(ctx context.Context, e events.Event) error
	// Refused, if set, is called after an error of Handle; the same event comes
	// again after a pause.
	Refused func(e events.Event, err error, pause time.Duration)
	// Caught, if set, is called once, when all that was in the log as the
	// consumer began is handled.
	Caught func()
	// RetryPause and RetryPauseMax are those of [Config] where they are not
	// positive.
	RetryPause, RetryPauseMax time.Duration
}

// Consume has a consumer handle the events of the log until ctx is done, the bus is closed or the
// log is; these are not errors. It returns the error that kept it from reading on.
func (b *Bus) Consume(ctx context.Context, c Consumer) error {
	s := b.Subscriber(c.Name)
	s.after = c.After
	s.takes = c.Takes
	s.caught = c.Caught
	s.bare = true
	if c.RetryPause > 0 {
		s.pause = c.RetryPause
	}
	if c.RetryPauseMax > 0 {
		s.pauseMax = max(c.RetryPauseMax, s.pause)
	}
	var refusal error // written before the message is refused, read behind that
	if c.Refused != nil {
		s.refused = func(e events.Event, pause time.Duration) { c.Refused(e, refusal, pause) }
	}
	messages, err := s.Subscribe(ctx, All)
	if err != nil {
		return err
	}
	for msg := range messages {
		e, err := FromMessage(msg)
		if err == nil {
			err = c.Handle(msg.Context(), e)
		}
		if err != nil {
			refusal = err
			msg.Nack()
			continue
		}
		msg.Ack()
	}
	return s.Close()
}

// Behind returns how many events a consumer of that name has still to look at.
func (b *Bus) Behind(name string) (uint64, error) {
	at, err := b.offsets.Offset(consumerName(name, All))
	if err != nil {
		return 0, fmt.Errorf("bus: where %q stands: %w", name, err)
	}
	last := b.log.Last()
	if last < at {
		return 0, nil // Last is a lower bound
	}
	return uint64(last - at), nil
}
