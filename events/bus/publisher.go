package bus

import (
	"errors"
	"fmt"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/campaignd/campaignd/events"
)

// errNoTopic is a programmer's slip that Watermill's interfaces report as an
// error.
var errNoTopic = errors.New("the topic is empty; it is the name of a campaign")

// Publisher appends messages to the log. It implements [message.Publisher].
type Publisher struct {
	bus   *Bus
	scope *scope
}

var _ message.Publisher = (*Publisher)(nil)

// Publisher returns a new publisher.
func (b *Bus) Publisher() *Publisher {
	return &Publisher{bus: b, scope: newScope(b.scope.ctx)}
}

// Publish stores the messages, in order and all or none, and returns once they
// are durable. UUIDs and metadata must be UTF-8.
//
// It waits under the context of the first message. An error that wraps
// [events.ErrUncertain] leaves open whether the messages were stored; to
// publish them again may deliver them twice.
func (p *Publisher) Publish(topic string, messages ...*message.Message) error {
	if topic == "" {
		return fmt.Errorf("bus: publish: %w", errNoTopic)
	}
	end, ok := beginBoth(p.bus.scope, p.scope)
	if !ok {
		return fmt.Errorf("bus: publish to %q: %w", topic, ErrClosed)
	}
	defer end()
	if len(messages) == 0 {
		return nil
	}
	batch := make([]events.Event, len(messages))
	for i, msg := range messages {
		data, err := encodeMessage(msg)
		if err != nil {
			return fmt.Errorf("bus: publish to %q: message %d of %d: %w", topic, i+1, len(messages), err)
		}
		batch[i] = events.Event{
			Kind:    KindMessage,
			Version: messageVersion,
			Time:    p.bus.config.Now(),
			Actor:   p.bus.config.Actor,
			Data:    data,
		}
	}
	if _, err := p.bus.log.Append(messages[0].Context(), messageStream(topic), events.AnySequence,
		batch...); err != nil {
		return fmt.Errorf("bus: publish to %q: %w", topic, err)
	}
	return nil
}

// Close waits for publications under way; later ones are refused with
// [ErrClosed]. Closing twice is not an error.
func (p *Publisher) Close() error {
	p.scope.close()
	return nil
}
