package console

import (
	"context"
	"regexp"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/attest"
)

// place is the position of a decision in the log, with its proof. The hash is shown so that a
// person with the log can look for it, without trusting this page.
type place struct {
	Position events.Position
	// Sequence counts within the campaign.
	Sequence events.Sequence
	// Event is the event's ID, Leaf the hash of its record: a leaf of the log's
	// tree.
	Event, Leaf string
	// Proof is the address of the proof of inclusion; empty where the visitor
	// may not have it.
	Proof string
	// File is the file name of the proof.
	File string
}

// placeOf reads the event at a position of a log, and hashes its record as the
// log's tree does. The record is made anew from the event: its bytes are a
// function of the event (events.AppendRecord).
func placeOf(ctx context.Context, log events.Log, at events.Position) (p place, err error) {
	for e, err := range log.Read(ctx, at-1) {
		if err != nil {
			return p, err
		}
		record, err := events.AppendRecord(nil, e)
		if err != nil {
			return p, err
		}
		p.Position = e.Position
		p.Sequence = e.Sequence
		p.Event = e.ID
		p.Leaf = tlog.RecordHash(record).String()
		break
	}
	return p, nil
}

// sendProof sends a proof that an event is in the log: a file for `campaignd
// verify`, which needs no access to the store. Taking one checks every byte of
// the log, and needs the permission to audit.
func sendProof(v *visit) error {
	var key note.Signer
	if v.options.Signer != nil {
		key = v.options.Signer()
	}
	what := v.r.PathValue("event")
	p, err := attest.ProveIn(v.r.Context(), v.of.Store(), v.of.Name(), what, key)
	if err != nil {
		return err
	}
	v.named(proofFile(v.of.Name(), what))
	return v.send("text/plain; charset=utf-8", []byte(p.Text))
}

// unnameable matches the characters that a file's name on any system should not hold.
var unnameable = regexp.MustCompile(`[^A-Za-z0-9._-]+`)

// proofFile is the file name of the proof of an event.
func proofFile(campaign, event string) string {
	return unnameable.ReplaceAllString(campaign+"-"+event, "-") + ".tlog-proof"
}
