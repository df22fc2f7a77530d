package bus

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/url"
	"sync"
	"time"

	"github.com/ThreeDotsLabs/watermill"
	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/campaignd/campaignd/events"
)

// Subscriber delivers the events of a log as messages. It implements
// [message.Subscriber].
type Subscriber struct {
	bus   *Bus
	group string
	scope *scope

	// What a [Consumer] says in addition.
	after           events.Position // where a subscription without a group begins
	takes           func(e *events.Event) bool
	caught          func()
	bare            bool // for a Consumer: its messages hold the event, in no form, and are always answered
	refused         func(e events.Event, pause time.Duration)
	pause, pauseMax time.Duration

	mu       sync.Mutex
	failures []error // of subscriptions that ended before their time
}

var _ message.Subscriber = (*Subscriber)(nil)

// Subscriber returns a new subscriber of the consumer group; "" means without a group. The package
// comment explains groups.
func (b *Bus) Subscriber(group string) *Subscriber {
	return &Subscriber{
		bus:      b,
		group:    group,
		scope:    newScope(b.scope.ctx),
		pause:    b.config.RetryPause,
		pauseMax: b.config.RetryPauseMax,
	}
}

// Subscribe opens a subscription to a campaign's events, or to those of [All],
// and returns the channel on which they come. The channel is closed when ctx is done, when the
// subscriber, the bus or the log is closed, and when the log cannot be read any
// further; the last is an error that Close returns.
//
// A message's context is derived from ctx and ends with the message's
// acknowledgement or refusal.
func (s *Subscriber) Subscribe(ctx context.Context, topic string) (<-chan *message.Message, error) {
	if topic == "" {
		return nil, fmt.Errorf("bus: subscribe: %w", errNoTopic)
	}
	end, ok := beginBoth(s.bus.scope, s.scope)
	if !ok {
		return nil, fmt.Errorf("bus: subscribe to %q: %w", topic, ErrClosed)
	}
	out := make(chan *message.Message)
	go func() {
		defer end()
		defer close(out)
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		stop := context.AfterFunc(s.scope.ctx, cancel)
		defer stop()
		if err := s.serve(ctx, topic, out); err != nil && !errors.Is(err, events.ErrClosed) {
			s.fail(topic, err)
		}
	}()
	return out, nil
}

// Close ends the subscriptions, waits for their goroutines and returns the
// errors that ended any before. Closing twice returns them twice.
func (s *Subscriber) Close() error {
	s.scope.close()
	s.mu.Lock()
	defer s.mu.Unlock()
	return errors.Join(s.failures...)
}

func (s *Subscriber) fail(topic string, err error) {
	err = fmt.Errorf("bus: subscription of group %q to %q: %w", s.group, topic, err)
	s.bus.config.Logger.Error("The subscription ended", err,
		watermill.LogFields{"topic": topic, "group": s.group})
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failures = append(s.failures, err)
}

// serve delivers the topic's events, from where the group stands, until ctx is
// done.
func (s *Subscriber) serve(ctx context.Context, topic string, out chan<- *message.Message) error {
	after := s.after
	acknowledged := func(events.Position) error { return nil }
	if s.group != "" {
		consumer := consumerName(s.group, topic)
		endTurn, err := s.bus.turn(ctx, consumer)
		if err != nil {
			return nil // closed while waiting
		}
		defer endTurn()
		if after, err = s.bus.offsets.Offset(consumer); err != nil {
			return err
		}
		acknowledged = func(p events.Position) error { return s.bus.offsets.SetOffset(consumer, p) }
	}
	for e, err := range s.readAndFollow(ctx, after) {
		if err != nil {
			return err
		}
		if !onTopic(&e, topic) {
			continue
		}
		passed := s.takes != nil && !s.takes(&e)
		if !passed && !s.deliver(ctx, e, out) {
			return nil
		}
		if err := acknowledged(e.Position); err != nil {
			return err
		}
	}
	return nil
}

// readAndFollow is Follow of the log that calls caught, if set, on its way.
func (s *Subscriber) readAndFollow(
	ctx context.Context, after events.Position,
) iter.Seq2[events.Event, error] {
	if s.caught == nil {
		return s.bus.log.Follow(ctx, after)
	}
	return func(yield func(events.Event, error) bool) {
		for e, err := range s.bus.log.Read(ctx, after) {
			if ctx.Err() != nil {
				return // as Follow ends: without an error
			}
			after = max(after, e.Position)
			if !yield(e, err) || err != nil {
				return
			}
		}
		s.caught()
		s.bus.log.Follow(ctx, after)(yield)
	}
}

// deliver hands the event to the subscription's reader until it is
// acknowledged. It reports false where ctx ended first.
func (s *Subscriber) deliver(ctx context.Context, e events.Event, out chan<- *message.Message) bool {
	ctx = context.WithValue(ctx, eventKey{}, e)
	for pause := s.pause; ; pause = min(2*pause, s.pauseMax) {
		msg := message.NewMessage(e.ID, nil)
		if !s.bare {
			msg = toMessage(e)
		}
		switch offer(ctx, msg, out, s.bare) {
		case acked:
			return true
		case unanswered:
			return false
		}
		if s.refused != nil && ctx.Err() == nil {
			s.refused(e, pause)
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return false
		}
	}
}

// answer is the outcome of offering a message.
type answer int

const (
	unanswered answer = iota // ctx ended
	acked
	nacked
)

// offer hands out one message and waits for the answer. An acknowledgement that
// came before the end of ctx counts, also where both are seen at once. A handler
// that is at work then is waited for: it always answers, and what it has handled
// would come again.
func offer(ctx context.Context, msg *message.Message, out chan<- *message.Message, handled bool) answer {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	msg.SetContext(ctx)
	select {
	case out <- msg:
	case <-ctx.Done():
		return unanswered
	}
	select {
	case <-msg.Acked():
		return acked
	case <-msg.Nacked():
		return nacked
	case <-ctx.Done():
	}
	if handled {
		select {
		case <-msg.Acked():
			return acked
		case <-msg.Nacked():
			return unanswered
		}
	}
	select {
	case <-msg.Acked():
		return acked
	default:
		return unanswered
	}
}

// consumerName is the name under which a group's offset on a topic is kept;
// different pairs have different names.
func consumerName(group, topic string) string {
	return "bus/" + url.PathEscape(group) + "/" + topic
}
