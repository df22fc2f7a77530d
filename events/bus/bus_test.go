package bus_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"pgregory.net/rapid"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/bus"
	"github.com/campaignd/campaignd/events/memlog"
	_ "github.com/campaignd/campaignd/internal/tests/draws"
	"github.com/campaignd/campaignd/internal/tests/must"
)

// The tests run in synctest bubbles: time is simulated, and a goroutine that
// outlives its owner's Close fails the test.

const campaign = "electrolyte"

// now is a clock for events of tests.
func now() time.Time { return time.Date(2026, 3, 1, 9, 30, 0, 0, time.UTC) }

// tb is what *testing.T and *rapid.T share.
type tb interface {
	Helper()
	Context() context.Context
	Error(...any)
	Errorf(string, ...any)
	Fatal(...any)
	Fatalf(string, ...any)
}

// record appends n notes to a campaign, as the engine would.
func record(t tb, log events.Log, campaign string, n int) []events.Event {
	t.Helper()
	batch := make([]events.Event, n)
	for i := range batch {
		e := must.Get(events.New(campaign, events.NoteAdded{Text: fmt.Sprintf("note %d", i+1)}))(t)
		e.Time, e.Actor, e.Simulated = now(), "person:ada", true
		batch[i] = e
	}
	seen := must.Get(log.LastSequence(t.Context(), campaign))(t)
	return must.Get(log.Append(t.Context(), campaign, seen, batch...))(t)
}

func subscribe(t tb, sub message.Subscriber, topic string) <-chan *message.Message {
	t.Helper()
	return must.Get(sub.Subscribe(t.Context(), topic))(t)
}

func publish(t tb, pub message.Publisher, topic string, messages ...*message.Message) {
	t.Helper()
	must.Do(t, pub.Publish(topic, messages...))
}

// take receives and acknowledges n messages and returns the positions of their
// events.
func take(t tb, messages <-chan *message.Message, n int) []events.Position {
	t.Helper()
	var positions []events.Position
	for range n {
		msg, ok := <-messages
		if !ok {
			t.Fatalf("the channel closed after %d of %d messages", len(positions), n)
		}
		e := must.Get(bus.FromMessage(msg))(t)
		positions = append(positions, e.Position)
		msg.Ack()
	}
	return positions
}

func closeAll(t tb, closers ...interface{ Close() error }) {
	t.Helper()
	for _, c := range closers {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
}

func expect(t tb, got []events.Position, want ...events.Position) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("got the events at positions %d, want %d", got, want)
	}
}

// A handler sees an event's identity as CloudEvents metadata and can decode
// its typed payload, also from a copy that went another way.
func TestEventsArriveAsCloudEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := memlog.New()
		b := bus.New(log, bus.Config{})
		defer closeAll(t, b, log)
		stored := record(t, log, campaign, 1)[0]

		msg := <-subscribe(t, b.Subscriber("reader"), campaign)
		defer msg.Ack()
		if msg.UUID != stored.ID || string(msg.Payload) != string(stored.Data) {
			t.Errorf("UUID %q, payload %s; want %q, %s", msg.UUID, msg.Payload, stored.ID, stored.Data)
		}
		want := message.Metadata{
			"specversion": "1.0", "id": "1", "type": "campaignd.note.added", "source": "/campaigns/electrolyte",
			"time": "2026-03-01T09:30:00.000000Z", "dataschema": "urn:campaignd:schema:note.added:1",
			"datacontenttype": "application/json", "position": "1", "sequence": "1", "actor": "person:ada", "simulated": "true",
		}
		if !maps.Equal(msg.Metadata, want) {
			t.Errorf("got  %v\nwant %v", msg.Metadata, want)
		}
		for _, m := range []*message.Message{msg, msg.Copy()} {
			e := must.Get(bus.FromMessage(m))(t)
			payload := must.Get(events.Decode(e))(t)
			if note, ok := payload.(*events.NoteAdded); !ok || note.Text != "note 1" || e.Actor != stored.Actor {
				t.Errorf("got %+v, %+v", e, payload)
			}
		}
	})
}

// Whatever UUID, metadata and payload a message has, they arrive unchanged.
// Text that is not UTF-8 is refused whole, before anything is stored.
func TestPublishedMessagesArriveUnchanged(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		log := memlog.New()
		b := bus.New(log, bus.Config{})
		defer closeAll(t, b, log)
		sent := message.NewMessage(rapid.String().Draw(t, "uuid"), rapid.SliceOf(rapid.Byte()).Draw(t, "payload"))
		for name, value := range rapid.MapOf(rapid.String(), rapid.String()).Draw(t, "metadata") {
			sent.Metadata.Set(name, value)
		}
		publish(t, b.Publisher(), campaign, sent)
		got := <-subscribe(t, b.Subscriber(""), campaign)
		if !got.Equals(sent) {
			t.Fatalf("got %q %v %x\nwant %q %v %x", got.UUID, got.Metadata, got.Payload, sent.UUID, sent.Metadata, sent.Payload)
		}
		got.Ack()
	})
	log := memlog.New()
	b := bus.New(log, bus.Config{})
	defer closeAll(t, b, log)
	bad := message.NewMessage("b", nil)
	bad.Metadata.Set("name", "\xff")
	for _, msg := range []*message.Message{message.NewMessage("\xff", nil), bad} {
		if err := b.Publisher().Publish(campaign, message.NewMessage("a", nil), msg); err == nil {
			t.Error("a message that JSON would alter was accepted")
		}
	}
	if log.Last() != 0 {
		t.Errorf("%d messages of refused batches were stored", log.Last())
	}
}

// Publishing to a campaign's topic leaves the campaign as it was: its sequence,
// its events, and what a handler takes for one of its facts. Subscribers see
// events and messages in the order in which they became durable.
func TestPublishingNeverClashesWithTheCampaign(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := memlog.New()
		b := bus.New(log, bus.Config{Actor: "robot", Now: now})
		defer closeAll(t, b, log)
		first := record(t, log, campaign, 1)[0]

		forged := message.NewMessage(first.ID, first.Data)
		forged.Metadata = events.CloudEventAttributes(first)
		publish(t, b.Publisher(), campaign, forged)

		next := first
		next.ID = ""
		if _, err := log.Append(t.Context(), campaign, first.Sequence, next); err != nil {
			t.Errorf("the campaign's own writer was disturbed: %v", err)
		}
		for e, err := range events.ReadCampaign(t.Context(), log, campaign, 0) {
			if err != nil || e.Kind == bus.KindMessage {
				t.Errorf("the campaign holds %v, %v", e, err)
			}
		}

		messages := subscribe(t, b.Subscriber("reader"), campaign)
		take(t, messages, 1)
		msg := <-messages
		e := must.Get(bus.FromMessage(msg))(t)
		if e.Kind != bus.KindMessage || e.Actor != "robot" || e.Position != 2 {
			t.Errorf("the published message came as %+v", e)
		}
		var unknown *events.UnknownKindError
		if _, err := events.Decode(e); !errors.As(err, &unknown) {
			t.Errorf("a published message passes for a fact of the campaign: %v", err)
		}
		msg.Ack()
		expect(t, take(t, messages, 1), 3)
	})
}

// A handler that keeps failing is called with growing pauses, gets the same
// message each time, and nothing overtakes it.
func TestRefusedMessageComesAgainAfterAPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := memlog.New()
		b := bus.New(log, bus.Config{RetryPause: 10 * time.Millisecond, RetryPauseMax: 100 * time.Millisecond})
		defer closeAll(t, b, log)
		record(t, log, campaign, 2)
		messages := subscribe(t, b.Subscriber("reader"), campaign)

		var waited []time.Duration
		last := time.Now()
		for range 7 {
			msg := <-messages
			if msg.UUID != "1" {
				t.Fatalf("message %s overtook a refused one", msg.UUID)
			}
			waited = append(waited, time.Since(last)/time.Millisecond)
			last = time.Now()
			msg.Nack()
			<-msg.Context().Done()
		}
		if want := []time.Duration{0, 10, 20, 40, 80, 100, 100}; !slices.Equal(waited, want) {
			t.Errorf("came after %d ms, want %d", waited, want)
		}
		expect(t, take(t, messages, 2), 1, 2)
	})
}

// Law: what a handler does to a message that it then refuses is not in the one that comes
// again, nor in the log.
func TestRefusedMessageComesAgainAsItWas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := memlog.New()
		b := bus.New(log, bus.Config{})
		defer closeAll(t, b, log)
		stored := record(t, log, campaign, 1)[0]
		want := string(stored.Data)
		messages := subscribe(t, b.Subscriber("reader"), campaign)
		msg := <-messages
		clear(msg.Payload)
		clear(msg.Metadata)
		msg.Nack()
		msg = <-messages
		if e, err := bus.FromMessage(msg.Copy()); string(msg.Payload) != want || err != nil || e.ID != stored.ID {
			t.Errorf("it came again as %q, %+v, %v", msg.Payload, e, err)
		}
		msg.Ack()
		for e, err := range log.Read(t.Context(), 0) {
			if err != nil || string(e.Data) != want {
				t.Errorf("the log holds %q, %v", e.Data, err)
			}
		}
	})
}

// Law: without settings the pause after a refusal is 10 ms at first and 1 s at most; a
// greatest pause below the first is no pause at all, and the first holds.
func TestPauses(t *testing.T) {
	for _, c := range []struct {
		config bus.Config
		want   []time.Duration
	}{
		{bus.Config{}, []time.Duration{10, 20, 40, 80, 160, 320, 640, 1000, 1000}},
		{bus.Config{RetryPause: -1, RetryPauseMax: -1}, []time.Duration{10, 20}},
		{bus.Config{RetryPause: 50 * time.Millisecond, RetryPauseMax: time.Millisecond}, []time.Duration{50, 50}},
	} {
		synctest.Test(t, func(t *testing.T) {
			log := memlog.New()
			b := bus.New(log, c.config)
			defer closeAll(t, b, log)
			record(t, log, campaign, 1)
			messages := subscribe(t, b.Subscriber("reader"), campaign)
			msg := <-messages
			for i, pause := range c.want {
				refused := time.Now()
				msg.Nack()
				msg = <-messages
				if waited := time.Since(refused) / time.Millisecond; waited != pause {
					t.Errorf("%+v: pause %d is %d ms, want %d", c.config, i+1, waited, pause)
				}
			}
			msg.Ack()
		})
	}
}

// Law: a topic is one campaign: what is published to another does not arrive, and where
// names look alike, groups of one topic are not those of the other.
func TestTopicsAreApart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := memlog.New()
		b := bus.New(log, bus.Config{})
		defer closeAll(t, b, log)
		for _, topic := range []string{"c", "b/c", "bus/c", campaign} {
			publish(t, b.Publisher(), topic, message.NewMessage(topic, nil))
		}
		for group, topic := range map[string]string{"a/b": "c", "a": "b/c", "": campaign} {
			msg := <-subscribe(t, b.Subscriber(group), topic)
			if msg.UUID != topic {
				t.Errorf("to group %q of %q came what was published to %q", group, topic, msg.UUID)
			}
			msg.Ack()
			synctest.Wait()
		}
		if err := b.Publisher().Publish("", message.NewMessage("a", nil)); err == nil {
			t.Error("published to a topic without a name")
		}
		if _, err := b.Subscriber("").Subscribe(t.Context(), ""); err == nil {
			t.Error("subscribed to a topic without a name")
		}
	})
}

// A group goes on behind what it acknowledged, whoever of it reads; a
// subscription without group begins with the first event.
func TestGroupsGoOnWhereTheyStand(t *testing.T) {
	for _, test := range []struct {
		name string
		log  events.Log
	}{
		{"offsets in the log", memlog.New()},
		{"a log without offsets", struct{ events.Log }{memlog.New()}},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := bus.New(test.log, bus.Config{})
				defer closeAll(t, b)
				record(t, test.log, campaign, 2)
				record(t, test.log, "another", 1)
				record(t, test.log, campaign, 2)

				sub := b.Subscriber("a")
				expect(t, take(t, subscribe(t, sub, campaign), 1), 1)
				closeAll(t, sub)

				sub = b.Subscriber("a")
				messages := subscribe(t, sub, campaign)
				expect(t, take(t, messages, 1), 2)
				<-messages // not acknowledged: it comes again
				closeAll(t, sub)

				expect(t, take(t, subscribe(t, b.Subscriber("a"), campaign), 2), 4, 5)
				expect(t, take(t, subscribe(t, b.Subscriber("a"), "another"), 1), 3)
				expect(t, take(t, subscribe(t, b.Subscriber("b"), campaign), 4), 1, 2, 4, 5)
				expect(t, take(t, subscribe(t, b.Subscriber(""), campaign), 4), 1, 2, 4, 5)
				expect(t, take(t, subscribe(t, b.Subscriber(""), campaign), 4), 1, 2, 4, 5)
			})
		})
	}
}

// A group's offset outlives the bus where the log keeps it.
func TestOffsetsOutliveTheBus(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := memlog.New()
		record(t, log, campaign, 3)
		b := bus.New(log, bus.Config{})
		take(t, subscribe(t, b.Subscriber("reader"), campaign), 2)
		closeAll(t, b)

		b = bus.New(log, bus.Config{})
		defer closeAll(t, b, log)
		expect(t, take(t, subscribe(t, b.Subscriber("reader"), campaign), 1), 3)
	})
}

// Of one group and topic, one subscription is served at a time; when it ends,
// the next goes on. No event is handled twice at once and none out of order.
func TestSubscriptionsOfAGroupTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := memlog.New()
		b := bus.New(log, bus.Config{})
		defer closeAll(t, b, log)
		record(t, log, campaign, 4)

		first, second := b.Subscriber("reader"), b.Subscriber("reader")
		messages := subscribe(t, first, campaign)
		expect(t, take(t, messages, 2), 1, 2)
		waiting := subscribe(t, second, campaign)
		synctest.Wait()
		select {
		case msg := <-waiting:
			t.Fatalf("message %s went to a second subscription of the group", msg.UUID)
		default:
		}
		closeAll(t, first)
		expect(t, take(t, waiting, 2), 3, 4)
	})
}

// Catching up goes over into live delivery without a gap.
func TestLiveAfterCatchingUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := memlog.New()
		b := bus.New(log, bus.Config{})
		defer closeAll(t, b, log)
		record(t, log, campaign, 1)
		messages := subscribe(t, b.Subscriber("reader"), campaign)
		expect(t, take(t, messages, 1), 1)
		synctest.Wait()
		record(t, log, campaign, 2)
		expect(t, take(t, messages, 2), 2, 3)
	})
}

// Close of a subscriber, of the bus and of the log, and the end of the
// context, each close the channel and cancel the message in hand.
func TestEndOfASubscription(t *testing.T) {
	ends := map[string]func(*testing.T, context.CancelFunc, *bus.Bus, *bus.Subscriber, events.Log){
		"context": func(_ *testing.T, cancel context.CancelFunc, _ *bus.Bus, _ *bus.Subscriber, _ events.Log) { cancel() },
		"subscriber": func(t *testing.T, _ context.CancelFunc, _ *bus.Bus, s *bus.Subscriber, _ events.Log) {
			closeAll(t, s, s)
		},
		"bus": func(t *testing.T, _ context.CancelFunc, b *bus.Bus, _ *bus.Subscriber, _ events.Log) {
			closeAll(t, b, b)
		},
	}
	for _, name := range slices.Sorted(maps.Keys(ends)) {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				log := memlog.New()
				b := bus.New(log, bus.Config{})
				record(t, log, campaign, 1)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				sub := b.Subscriber("reader")
				messages := must.Get(sub.Subscribe(ctx, campaign))(t)
				inHand := <-messages
				ends[name](t, cancel, b, sub, log)
				<-inHand.Context().Done()
				if _, open := <-messages; open {
					t.Error("a message after the end")
				}
				closeAll(t, b, log)
			})
		})
	}
	t.Run("log", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			log := memlog.New()
			b := bus.New(log, bus.Config{})
			sub := b.Subscriber("reader")
			messages := subscribe(t, sub, campaign)
			closeAll(t, log)
			if _, open := <-messages; open {
				t.Error("a message of a closed log")
			}
			closeAll(t, sub, b)
		})
	})
}

// What is closed refuses work.
func TestClosedRefuses(t *testing.T) {
	log := memlog.New()
	b := bus.New(log, bus.Config{})
	pub, sub := b.Publisher(), b.Subscriber("reader")
	closeAll(t, pub, sub)
	open, openSub := b.Publisher(), b.Subscriber("reader")
	publish(t, open, campaign, message.NewMessage("a", nil))
	closeAll(t, b, log)
	for i, p := range []message.Publisher{pub, open} {
		if err := p.Publish(campaign, message.NewMessage("b", nil)); !errors.Is(err, bus.ErrClosed) {
			t.Errorf("publisher %d: %v", i, err)
		}
	}
	for i, s := range []message.Subscriber{sub, openSub} {
		if _, err := s.Subscribe(t.Context(), campaign); !errors.Is(err, bus.ErrClosed) {
			t.Errorf("subscriber %d: %v", i, err)
		}
	}
}

// damagedLog cannot be read behind its first event.
type damagedLog struct{ *memlog.Log }

func (l damagedLog) Follow(ctx context.Context, after events.Position) iter.Seq2[events.Event, error] {
	return func(yield func(events.Event, error) bool) {
		for e, err := range l.Log.Follow(ctx, after) {
			if e.Position > 1 {
				yield(events.Event{}, fmt.Errorf("position %d: %w", e.Position, events.ErrDamaged))
				return
			}
			if !yield(e, err) {
				return
			}
		}
	}
}

// A subscription that cannot go on is not passed over in silence.
func TestDamageIsReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := memlog.New()
		b := bus.New(damagedLog{log}, bus.Config{})
		record(t, log, campaign, 2)
		sub := b.Subscriber("reader")
		messages := subscribe(t, sub, campaign)
		expect(t, take(t, messages, 1), 1)
		if _, open := <-messages; open {
			t.Error("a message from a damaged place")
		}
		if err := sub.Close(); !errors.Is(err, events.ErrDamaged) {
			t.Errorf("Close returned %v", err)
		}
		closeAll(t, b, log)
	})
}

// A message that says nothing about an event, and did not come from the bus, is
// refused.
func TestFromMessageRefuses(t *testing.T) {
	if _, err := bus.FromMessage(message.NewMessage("a", nil)); !errors.Is(err, events.ErrBadCloudEvent) {
		t.Errorf("got %v", err)
	}
}

// BenchmarkDeliver measures one event from a stored log to an acknowledging
// reader.
func BenchmarkDeliver(b *testing.B) {
	log := memlog.New()
	bus := bus.New(log, bus.Config{})
	defer closeAll(b, bus, log)
	const stored = 1000
	record(b, log, campaign, stored)
	b.ReportAllocs()
	var messages <-chan *message.Message
	for i := range b.N {
		if i%stored == 0 {
			messages = subscribe(b, bus.Subscriber(""), campaign)
		}
		msg := <-messages
		msg.Ack()
	}
}
