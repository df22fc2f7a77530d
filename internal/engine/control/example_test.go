package control_test

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/memlog"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/engine/control"
)

// The process that holds a store serves it on a socket in the store's folder. Another process
// reads the log there, and asks for something to be recorded.
func Example() {
	ctx := context.Background()
	store, err := os.MkdirTemp("", "")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(store)
	log := memlog.New()
	defer log.Close()

	// What holds the store records a note; campaignd hands requests to the engine.
	submit := func(ctx context.Context, campaign string, r engine.Request) ([]events.Event, error) {
		e, err := events.New(campaign, (*events.NoteAdded)(r.Note))
		if err != nil {
			return nil, err
		}
		e.Time = time.Date(2026, 3, 1, 9, 30, 0, 0, time.UTC)
		e.Actor = r.Actor
		return log.Append(ctx, campaign, events.AnySequence, e)
	}
	server, err := control.Serve(store, control.Service{
		Log:    log,
		Submit: submit,
		Status: func() control.Status { return control.Status{PID: os.Getpid()} },
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer server.Close()

	// In another process:
	client, err := control.Dial(ctx, store)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer client.Close()
	fmt.Println("served by this process:", client.Status().PID == os.Getpid())
	request := engine.Request{Actor: "person:ada", Note: &engine.Note{Text: "new bag of flour"}}
	if _, err := client.Submit(ctx, "bread", request); err != nil {
		fmt.Println(err)
		return
	}
	for e, err := range client.Read(ctx, 0) {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("%d %s by %s: %s\n", e.Position, e.Kind, e.Actor, e.Data)
	}
	// Output:
	// served by this process: true
	// 1 note.added by person:ada: {"text":"new bag of flour"}
}
