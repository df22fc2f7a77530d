package bus

import (
	"bytes"
	"encoding/json"
	"fmt"
	"unicode/utf8"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/campaignd/campaignd/events"
)

// KindMessage is the kind of the events that hold published messages. Version 1 of its payload is
//
//	{"uuid": "…", "metadata": {"name": "value", …}, "payload": "base64"}
//
// with empty fields left out. Such an event is in the stream "bus/" and the topic.
const KindMessage events.Kind = "bus.message"

const messageVersion = 1

// messageStream is where messages published to a topic are kept.
func messageStream(topic string) string { return "bus/" + topic }

// onTopic reports whether subscribers to the topic receive an event.
func onTopic(e *events.Event, topic string) bool {
	return topic == All || e.Campaign == topic || e.Campaign == messageStream(topic)
}

// storedMessage is the payload of an event of KindMessage.
type storedMessage struct {
	UUID     string            `json:"uuid,omitempty"`
	Metadata map[string]string `json:"metadata,omitempty"`
	Payload  []byte            `json:"payload,omitempty"`
}

// encodeMessage returns the payload that keeps msg. It refuses text that JSON
// would alter.
func encodeMessage(msg *message.Message) ([]byte, error) {
	if !utf8.ValidString(msg.UUID) {
		return nil, fmt.Errorf("the UUID %q is not UTF-8", msg.UUID)
	}
	for name, value := range msg.Metadata {
		if !utf8.ValidString(name) || !utf8.ValidString(value) {
			return nil, fmt.Errorf("the metadata %q: %q is not UTF-8", name, value)
		}
	}
	return json.Marshal(storedMessage{UUID: msg.UUID, Metadata: msg.Metadata, Payload: msg.Payload})
}

// toMessage returns a new message for an event: the published message it holds,
// or its CloudEvents form.
func toMessage(e events.Event) *message.Message {
	if e.Kind == KindMessage {
		var stored storedMessage
		if json.Unmarshal(e.Data, &stored) == nil {
			msg := message.NewMessage(stored.UUID, stored.Payload)
			for name, value := range stored.Metadata {
				msg.Metadata.Set(name, value)
			}
			return msg
		}
	}
	msg := message.NewMessage(e.ID, bytes.Clone(e.Data)) // a handler may change its message
	msg.Metadata = events.CloudEventAttributes(e)
	return msg
}

// eventKey is the context key under which a delivered message holds its event.
type eventKey struct{}

// FromMessage returns the event behind a message; [events.Decode] then gives
// the typed payload.
//
// For a message as a [Subscriber] delivered it, that is the stored event. A
// published message is an event of [KindMessage] then, whatever its metadata
// say, and Decode refuses it. A message that came another way (a copy, another
// transport) is taken at its word, that is at the CloudEvents attributes in its
// metadata, and is refused with [events.ErrBadCloudEvent] if these are not an
// event's.
func FromMessage(msg *message.Message) (events.Event, error) {
	if e, ok := msg.Context().Value(eventKey{}).(events.Event); ok {
		return e, nil
	}
	e, err := events.FromCloudEventAttributes(msg.Metadata, msg.Payload)
	if err != nil {
		return events.Event{}, fmt.Errorf("bus: message %q: %w", msg.UUID, err)
	}
	return e, nil
}
