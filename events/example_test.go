package events_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/memlog"
)

// A writer appends what happened, at the sequence it has seen; a reader decodes the kinds
// it knows and passes over the others.
func Example() {
	ctx := context.Background()
	log := memlog.New()
	defer log.Close()

	note, err := events.New("electrolyte", &events.NoteAdded{Text: "new bottle of EC"})
	if err != nil {
		fmt.Println(err)
		return
	}
	note.Time = time.Date(2026, 3, 1, 9, 30, 0, 0, time.UTC)
	note.Actor = "person:ada"
	stored, err := log.Append(ctx, "electrolyte", 0, note)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("stored at position %d, as event %s of its campaign\n", stored[0].Position, stored[0].ID)

	// Another writer has not seen it. Nothing of what it appends is stored, ever: it reads
	// what is new and decides again.
	_, err = log.Append(ctx, "electrolyte", 0, note)
	var conflict *events.ConflictError
	if errors.As(err, &conflict) {
		fmt.Printf("a conflict: expected %d, and the campaign is at %d\n", conflict.Expected, conflict.Actual)
	}

	for e, err := range log.Read(ctx, 0) {
		if err != nil {
			fmt.Println(err)
			return
		}
		payload, err := events.Decode(e)
		var unknown *events.UnknownKindError
		switch {
		case errors.As(err, &unknown):
			continue
		case err != nil:
			fmt.Println(err)
			return
		}
		if note, ok := payload.(*events.NoteAdded); ok {
			fmt.Printf("%s %s: %s\n", e.Time.Format(time.DateTime), events.ActorName(e.Actor), note.Text)
		}
	}
	// Output:
	// stored at position 1, as event 1 of its campaign
	// a conflict: expected 0, and the campaign is at 1
	// 2026-03-01 09:30:00 ada: new bottle of EC
}

// The CloudEvents form is how events leave a store: a line of JSON each.
func ExampleMarshalCloudEvent() {
	line, err := events.MarshalCloudEvent(events.Event{
		Position: 57, Campaign: "electrolyte", Sequence: 41, ID: "41", Kind: events.KindNoteAdded, Version: 1,
		Time: time.Date(2026, 3, 1, 9, 30, 0, 0, time.UTC), Actor: "person:ada", Data: []byte(`{"text":"new bottle of EC"}`),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(string(line))
	back, err := events.UnmarshalCloudEvent(line)
	fmt.Println(back.Kind, back.Sequence, err)
	// Output:
	// {"specversion":"1.0","id":"41","type":"campaignd.note.added","source":"/campaigns/electrolyte","time":"2026-03-01T09:30:00.000000Z","dataschema":"urn:campaignd:schema:note.added:1","datacontenttype":"application/json","position":57,"sequence":41,"actor":"person:ada","simulated":false,"data":{"text":"new bottle of EC"}}
	// note.added 41 <nil>
}
