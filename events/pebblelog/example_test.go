package pebblelog_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/pebblelog"
)

// What was appended is there when the store is opened again, and can be read while
// another has it open for writing.
func Example() {
	ctx := context.Background()
	folder, err := os.MkdirTemp("", "")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(folder)
	dir := filepath.Join(folder, "electrolyte.campaign")

	// Whoever only looks makes no store.
	_, err = pebblelog.Open(dir, pebblelog.Options{MustExist: true})
	fmt.Println("there is none yet:", errors.Is(err, fs.ErrNotExist))

	log, err := pebblelog.Open(dir, pebblelog.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer log.Close()
	batch := make([]events.Event, 2)
	for i, text := range []string{"new bottle of EC", "the pump was cleaned"} {
		if batch[i], err = events.New("electrolyte", &events.NoteAdded{Text: text}); err != nil {
			fmt.Println(err)
			return
		}
	}
	if _, err := log.Append(ctx, "electrolyte", 0, batch...); err != nil {
		fmt.Println(err)
		return
	}

	reader, err := pebblelog.Open(dir, pebblelog.Options{ReadOnly: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer reader.Close()
	for e, err := range events.ReadCampaign(ctx, reader, "electrolyte", 0) {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("%d %s %s\n", e.Position, e.Kind, e.Data)
	}
	report, err := reader.Verify(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%d events, sound: %t\n", report.Events, report.Sound())
	// Output:
	// there is none yet: true
	// 1 note.added {"text":"new bottle of EC"}
	// 2 note.added {"text":"the pump was cleaned"}
	// 2 events, sound: true
}
