// Package bus carries the events of a log to Watermill handlers, and messages
// of Watermill publishers into the log.
//
// The log is the source of truth and of order; the bus only reads it and
// appends to it. A topic is the name of a campaign, or [All].
//
// # Consumers
//
// A reader of a whole log (forwarders, messages to people, streams) is a
// [Consumer], a function that handles one event at a time; [Bus.Consume] serves
// it. A consumer with a name goes on where it stood, after a restart too:
// its position is kept in the store, and moves with it. One without a name
// sets its beginning each time.
//
// # Subscribing
//
// A subscription delivers every event of its campaign, in the order of their
// positions, one at a time: the next message comes when the last one was
// acknowledged. It first catches up with the stored events and then goes on live,
// without a gap. A handler's refusal (Nack) has the same message delivered
// again, after a pause that doubles with each further refusal.
//
// A [Subscriber] belongs to a consumer group, or to none:
//
//   - A group remembers, per topic, the position it has acknowledged, and goes
//     on from there; a new group begins with the first event. Where several
//     subscriptions of one group and topic are open, one is served and the
//     others wait until it ends, so that the group as a whole sees each event in
//     order.
//   - A subscription without group begins with the first event each time and
//     has its own reading of the topic.
//
// Delivery is at least once. A message comes again after a refusal, and after a
// crash, since offsets are kept where the log keeps them
// ([events.OffsetStore]), without waiting for the disk; a log that keeps none
// forgets them when the bus is closed. Handlers must be idempotent.
//
// # Messages
//
// An event arrives as a message whose UUID is the event's ID, whose payload is
// its Data and whose metadata are its CloudEvents attributes (see
// [events.CloudEventAttributes]). [FromMessage] returns the event itself.
//
// A message that is published is stored durably before Publish returns, and
// arrives with its UUID, metadata and payload as they were. It is kept as an
// event of kind [KindMessage] in a stream of its own, apart from the
// campaign's, so that publishing neither moves a campaign's sequence on under
// the engine's feet nor can be mistaken for one of its facts. Subscribers to
// the topic see both streams as one, by position.
package bus

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/ThreeDotsLabs/watermill"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/ground/clock"
)

// ErrClosed is returned by operations on a publisher, subscriber or bus that
// was closed.
var ErrClosed = errors.New("the bus is closed")

// Config is the configuration of a bus. The zero value is ready for use.
type Config struct {
	// Actor is recorded as the actor of published messages. Default: "bus".
	Actor string
	// RetryPause is the time from a first refusal to the next delivery of the
	// message; each further refusal doubles it, up to RetryPauseMax. Defaults,
	// also for values that are not positive: 10 ms and 1 s.
	RetryPause    time.Duration
	RetryPauseMax time.Duration
	// Now is the clock that stamps published messages. Default: clock.Now.
	Now func() time.Time
	// Logger hears of subscriptions that end with an error. Default: silent;
	// Subscriber.Close returns the errors in any case.
	Logger watermill.LoggerAdapter
}

func (c Config) withDefaults() Config {
	if c.Actor == "" {
		c.Actor = "bus"
	}
	if c.RetryPause <= 0 {
		c.RetryPause = 10 * time.Millisecond
	}
	if c.RetryPauseMax <= 0 {
		c.RetryPauseMax = time.Second
	}
	c.RetryPauseMax = max(c.RetryPauseMax, c.RetryPause)
	if c.Now == nil {
		c.Now = clock.Now
	}
	if c.Logger == nil {
		c.Logger = watermill.NopLogger{}
	}
	return c
}

// Bus makes publishers and subscribers over one log. Groups take turns within
// one bus, so a log should have one bus.
type Bus struct {
	log     events.Log
	offsets events.OffsetStore
	config  Config
	scope   *scope

	mu    sync.Mutex
	turns map[string]chan struct{} // by consumer; holds a token while one is served
}

// New returns a bus over log. The log must stay open until the bus is closed;
// it stays the caller's to close.
func New(log events.Log, config Config) *Bus {
	offsets, ok := log.(events.OffsetStore)
	if !ok {
		offsets = &memoryOffsets{positions: make(map[string]events.Position)}
	}
	return &Bus{
		log:     log,
		offsets: offsets,
		config:  config.withDefaults(),
		scope:   newScope(context.Background()),
		turns:   make(map[string]chan struct{}),
	}
}

// Keeps reports whether the log keeps how far a consumer with a name has come.
// One that does not, since another process holds it, forgets that with the bus.
func (b *Bus) Keeps() bool {
	_, ok := b.log.(events.OffsetStore)
	return ok
}

// Close closes every publisher and subscriber of the bus and waits for their
// goroutines. Closing twice is not an error.
func (b *Bus) Close() error {
	b.scope.close()
	return nil
}

// turn waits until the consumer is not served elsewhere. It returns what ends
// the turn, or the context's error.
func (b *Bus) turn(ctx context.Context, consumer string) (end func(), err error) {
	b.mu.Lock()
	token, ok := b.turns[consumer]
	if !ok {
		token = make(chan struct{}, 1)
		b.turns[consumer] = token
	}
	b.mu.Unlock()
	select {
	case token <- struct{}{}:
		return func() { <-token }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// scope is a span of time in which work may be begun: it ends when closed,
// cancels its context and waits for the work under way.
type scope struct {
	ctx    context.Context
	cancel context.CancelFunc

	mu     sync.Mutex
	closed bool
	work   sync.WaitGroup
}

func newScope(parent context.Context) *scope {
	s := &scope{}
	s.ctx, s.cancel = context.WithCancel(parent)
	return s
}

// begin adds a piece of work, for which the caller calls s.work.Done. It
// reports false where the scope is closed.
func (s *scope) begin() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	s.work.Add(1)
	return true
}

func (s *scope) close() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.cancel()
	s.work.Wait()
}

// beginBoth adds a piece of work to two scopes; end ends it in both.
func beginBoth(outer, inner *scope) (end func(), ok bool) {
	if !outer.begin() {
		return nil, false
	}
	if !inner.begin() {
		outer.work.Done()
		return nil, false
	}
	return func() { inner.work.Done(); outer.work.Done() }, true
}

// memoryOffsets stands in where a log keeps no offsets.
type memoryOffsets struct {
	mu        sync.Mutex
	positions map[string]events.Position
}

func (m *memoryOffsets) Offset(consumer string) (events.Position, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.positions[consumer], nil
}

func (m *memoryOffsets) SetOffset(consumer string, position events.Position) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.positions[consumer] = position
	return nil
}
