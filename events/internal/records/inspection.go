package records

import (
	"bytes"
	"fmt"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/internal/merkle"
)

// LostEvents names the loss in a fault where events cannot be read.
const LostEvents = "these events"

// Inspection is a Verify under way ([events.Store]): it is fed the content of the store, position
// by position, and notes faults. It goes on after a fault: a person who has to decide what to
// restore wants all of them.
type Inspection struct {
	events.Report
	head      tlog.Tree
	tree      *merkle.Edge // nil once an event was not readable
	sequences map[string]events.Sequence
}

// Inspect begins an inspection of the events up to a head.
func Inspect(head tlog.Tree, notes []string) *Inspection {
	return &Inspection{
		Report:    events.Report{Events: events.Position(head.N), Notes: notes},
		head:      head,
		tree:      &merkle.Edge{},
		sequences: make(map[string]events.Sequence),
	}
}

// Fault notes a fault; beyond the bound it only counts. A disk that loses a
// table makes thousands of positions unreadable for one reason; they are one
// line of the report.
func (v *Inspection) Fault(from, to events.Position, lost, what string, args ...any) {
	if len(v.Faults) == events.MaxFaults {
		v.More++
		return
	}
	// What makes a run of events unreadable is one fault.
	if n := len(v.Faults); n > 0 && lost != "" {
		if f := &v.Faults[n-1]; f.Lost == lost && f.To+1 == from && f.What == fmt.Sprintf(what, args...) {
			f.To = to
			return
		}
	}
	v.Faults = append(v.Faults, events.Fault{From: from, To: to, What: fmt.Sprintf(what, args...),
		Lost: lost})
}

// Lost notes that the events from..to cannot be read. After them the tree can no longer be
// computed, and only checks of single events continue.
func (v *Inspection) Lost(from, to events.Position, why string) {
	v.tree = nil
	v.Fault(from, to, LostEvents, "%s", why)
}

// Event checks the record at one position, and returns the event where it can be read. After a loss
// sequences are not judged either: the gap would make the next event of each campaign a fault of
// its own.
func (v *Inspection) Event(p events.Position, record, hashes []byte) (events.Event, bool) {
	e, err := Decode(p, record)
	if err != nil {
		v.Lost(p, p, err.Error())
		return e, false
	}
	v.Read++
	if v.tree != nil {
		if want := v.tree.Add(nil, tlog.RecordHash(record)); !bytes.Equal(hashes, want) {
			v.Fault(p, p, "", "the hashes stored with the event are not those of the events")
		}
	}
	if want := v.sequences[e.Campaign] + 1; e.Sequence != want && v.tree != nil {
		v.Fault(p, p, "",
			"it is sequence %d of campaign %q, and should be %d", e.Sequence, e.Campaign, want)
	}
	v.sequences[e.Campaign] = e.Sequence
	return e, true
}

// EndEvents compares the root hash of all events with the head's, where every
// one was readable.
func (v *Inspection) EndEvents() {
	if v.tree == nil {
		return
	}
	if v.Root = v.tree.Head().Hash; v.Root != v.head.Hash {
		v.Fault(0, 0, "", "the root hash of the events is %v, and was %v when they were acknowledged",
			v.Root, v.head.Hash)
	}
}
