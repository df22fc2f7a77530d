package checkpoint_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2/vfs"
	"golang.org/x/mod/sumdb/note"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/checkpoint"
	"github.com/campaignd/campaignd/events/pebblelog"
)

// A lab proves to somebody who never sees its store that an event is in the log of a
// signed checkpoint.
func Example() {
	ctx := context.Background()
	log, err := pebblelog.Open("store", pebblelog.Options{FS: vfs.NewMem()})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer log.Close()
	var stored []events.Event
	for _, text := range []string{"new bottle of EC", "the pump was cleaned", "lunch"} {
		e, err := events.New("tiny", &events.NoteAdded{Text: text})
		if err != nil {
			fmt.Println(err)
			return
		}
		if stored, err = log.Append(ctx, "tiny", events.AnySequence, e); err != nil {
			fmt.Println(err)
			return
		}
	}

	// In the lab: a key, made once, and a file.
	secret, public, err := note.GenerateKey(nil, "lab.example")
	if err != nil {
		fmt.Println(err)
		return
	}
	signer, err := note.NewSigner(secret)
	if err != nil {
		fmt.Println(err)
		return
	}
	head, err := log.Head(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	signed, err := checkpoint.Write("lab.example/tiny", head, signer)
	if err != nil {
		fmt.Println(err)
		return
	}
	hashes, err := log.ProveEvent(ctx, stored[0].Position, head.N)
	if err != nil {
		fmt.Println(err)
		return
	}
	record, err := events.AppendRecord(nil, stored[0])
	if err != nil {
		fmt.Println(err)
		return
	}
	proof := checkpoint.Inclusion{
		Index:      int64(stored[0].Position) - 1,
		Record:     record,
		Hashes:     hashes,
		Checkpoint: signed,
	}
	file := proof.Text()

	// Elsewhere: the file and the verifier key, and nothing else.
	verifier, err := note.NewVerifier(public)
	if err != nil {
		fmt.Println(err)
		return
	}
	read, err := checkpoint.Decode(file)
	if err != nil {
		fmt.Println(err)
		return
	}
	c, err := checkpoint.Read(read.Inclusion.Checkpoint, verifier)
	if err != nil {
		fmt.Println(err)
		return
	}
	e, err := read.Inclusion.Check(c.Tree)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%s of %d events, signed by %s\n", c.Origin, c.Tree.N, c.Signed)
	fmt.Printf("position %d is %s\n", e.Position, e.Data)

	// The place is proved too.
	read.Inclusion.Index--
	_, err = read.Inclusion.Check(c.Tree)
	fmt.Println("at another place:", errors.Is(err, checkpoint.ErrInvalid))
	// Output:
	// lab.example/tiny of 3 events, signed by [lab.example]
	// position 3 is {"text":"lunch"}
	// at another place: true
}
