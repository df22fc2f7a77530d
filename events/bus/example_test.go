package bus_test

import (
	"context"
	"fmt"
	"time"

	"github.com/ThreeDotsLabs/watermill"
	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/bus"
	"github.com/campaignd/campaignd/events/memlog"
)

// A Watermill router hands each event of a campaign to a handler, which decodes
// what it knows and passes over the rest.
func Example() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	log := memlog.New()
	defer log.Close()
	b := bus.New(log, bus.Config{})
	defer b.Close()

	note, _ := events.New("electrolyte", events.NoteAdded{Text: "new bottle of EC"})
	note.Time = time.Date(2026, 3, 1, 9, 30, 0, 0, time.UTC)
	if _, err := log.Append(ctx, "electrolyte", 0, note); err != nil {
		fmt.Println(err)
		return
	}
	if err := b.Publisher().Publish("electrolyte", message.NewMessage("m1", []byte("coffee is ready"))); err != nil {
		fmt.Println(err)
		return
	}

	router, err := message.NewRouter(message.RouterConfig{}, watermill.NopLogger{})
	if err != nil {
		fmt.Println(err)
		return
	}
	handle := func(msg *message.Message) error {
		e, err := bus.FromMessage(msg)
		if err != nil {
			return err
		}
		if e.Kind == bus.KindMessage {
			fmt.Printf("%d message %s: %s\n", e.Position, msg.UUID, msg.Payload)
			cancel() // the last one of the example
			return nil
		}
		payload, err := events.Decode(e)
		if err != nil {
			return err
		}
		if note, ok := payload.(*events.NoteAdded); ok {
			fmt.Printf("%d note: %s\n", e.Position, note.Text)
		}
		return nil
	}
	router.AddConsumerHandler("notes", "electrolyte", b.Subscriber("notes"), handle)
	if err := router.Run(ctx); err != nil {
		fmt.Println(err)
	}
	// Output:
	// 1 note: new bottle of EC
	// 2 message m1: coffee is ready
}
