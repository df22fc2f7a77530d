package pebblelog

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/maphash"

	"github.com/cockroachdb/pebble/v2"
	"golang.org/x/mod/sumdb/tlog"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/internal/merkle"
)

// Verify implements [events.Store]: each record is there, has its checksum and
// is in its place; the sequences of each campaign count up from 1; the hashes
// stored and the root hash are those of the records; and the index of campaigns
// agrees. It reads every byte once. It goes on after a fault, where [Log.Check]
// stops at the first: a person who has to decide what to restore wants all of
// them. What is appended meanwhile is not looked at.
func (l *Log) Verify(ctx context.Context) (events.Report, error) {
	head, _, _ := l.state()
	v := &verifier{
		Report:    events.Report{Events: events.Position(head.N), Notes: l.notes},
		head:      head,
		tree:      &merkle.Edge{},
		seed:      maphash.MakeSeed(),
		sequences: make(map[string]events.Sequence),
		named:     make([]uint64, head.N),
	}
	if err := v.run(ctx, l); err != nil {
		return v.Report, fmt.Errorf("store: verify: %w", err)
	}
	return v.Report, nil
}

// verifier is a check under way.
type verifier struct {
	events.Report
	head      tlog.Tree
	tree      *merkle.Edge // nil once an event was not readable
	seed      maphash.Seed
	sequences map[string]events.Sequence
	// named holds a hash of the campaign and sequence of the event at each
	// position; 0 where it was not readable or the index has named it.
	named []uint64
}

// fault notes a fault; beyond the bound it only counts. A disk that loses a
// table makes thousands of positions unreadable for one reason; they are one
// line of the report.
func (v *verifier) fault(from, to events.Position, lost, what string, args ...any) {
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

// lostEvents is what a fault says is lost where events cannot be read.
const lostEvents = "these events"

// run reads everything. After an event that cannot be read the tree can no
// longer be computed, and only what is said of single events and of the index
// goes on. It reads the log in order and in one goroutine, since the tree needs
// each leaf after the one before it.
func (v *verifier) run(ctx context.Context, l *Log) error {
	// The events, in chunks so that Close need not wait for all of it.
	for after := events.Position(0); after < v.Events; {
		if err := l.usable(ctx); err != nil {
			return err
		}
		end := min(v.Events, after+4*largestChunk)
		err := l.use(func(db *pebble.DB) error {
			return scan(db, after, end, func(p events.Position, value []byte) error {
				after = p
				v.event(p, value)
				return nil
			})
		})
		switch {
		case err == nil:
		case errors.Is(err, events.ErrDamaged):
			next, skipErr := l.skip(after+1, v.Events)
			if skipErr != nil {
				return skipErr
			}
			v.tree = nil
			v.fault(after+1, next-1, lostEvents, "%s", rootCause(err))
			after = next - 1
		default:
			return err
		}
	}
	if v.tree != nil {
		if v.Root = v.tree.Head().Hash; v.Root != v.head.Hash {
			v.fault(0, 0, "", "the root hash of the events is %v, and was %v when they were acknowledged", v.Root, v.head.Hash)
		}
	}
	if err := l.usable(ctx); err != nil {
		return err
	}
	err := l.use(v.index)
	if errors.Is(err, events.ErrDamaged) || pebble.IsCorruptionError(err) {
		v.fault(0, 0, "", "the index of campaigns cannot be read: %v", err)
		err = nil
	}
	return err
}

// rootCause returns the text of an error without the sentinel it starts with.
func rootCause(err error) string {
	if pebble.IsCorruptionError(err) {
		return "the table that holds them does not have its checksum"
	}
	return "they are not there"
}

// skip returns the first readable position after p, or last + 1. One key at a
// time, by a search of its own: an iterator would stop at the same damaged
// block again.
func (l *Log) skip(p, last events.Position) (next events.Position, err error) {
	err = l.use(func(db *pebble.DB) error {
		for next = p + 1; next <= last; next++ {
			value, closer, err := db.Get(appendEventKey(nil, next))
			if err == nil && len(value) > 0 {
				return closer.Close()
			}
			if err != nil && !errors.Is(err, pebble.ErrNotFound) && !pebble.IsCorruptionError(err) {
				return err
			}
		}
		return nil
	})
	return next, err
}

// event checks the value of one position. After a loss sequences are not judged
// either: the first event of a campaign behind the gap would be a fault of its
// own, of which the gap is the cause.
func (v *verifier) event(p events.Position, value []byte) {
	e, err := decodeValue(p, value)
	if err != nil {
		v.tree = nil
		v.fault(p, p, lostEvents, "%v", err)
		return
	}
	v.Read++
	record, hashes, err := splitValue(p, value)
	if err == nil && v.tree != nil {
		if want := v.tree.Add(nil, tlog.RecordHash(record)); !bytes.Equal(hashes, want) {
			v.fault(p, p, "", "the hashes stored with the event are not those of the events")
		}
	}
	if want := v.sequences[e.Campaign] + 1; e.Sequence != want && v.tree != nil {
		v.fault(p, p, "",
			"it is sequence %d of campaign %q, and should be %d", e.Sequence, e.Campaign, want)
	}
	v.sequences[e.Campaign] = e.Sequence
	v.named[p-1] = nameOf(v.seed, e.Campaign, e.Sequence)
}

// index checks that the index names each event once, by its campaign and
// sequence, and nothing else. Entries are counted too: one that names an event
// twice under another sequence would otherwise pass, where the event has been
// struck out already.
func (v *verifier) index(db *pebble.DB) error {
	it, err := db.NewIter(&pebble.IterOptions{
		LowerBound: []byte{sequencePrefix},
		UpperBound: []byte{sequencePrefix + 1},
	})
	if err != nil {
		return err
	}
	entries := events.Position(0)
	for ok := it.First(); ok; ok = it.Next() {
		campaign, s, okKey := parseSequenceKey(it.Key())
		value, err := it.ValueAndErr()
		if err != nil {
			return errors.Join(err, it.Close())
		}
		p, okValue := parsePosition(value)
		if p <= v.Events {
			entries++
		}
		switch {
		case !okKey || !okValue || p == 0:
			v.fault(0, 0, "", "the index of campaigns has the unreadable key %x", it.Key())
		case p > v.Events: // appended meanwhile
		case v.named[p-1] == nameOf(v.seed, campaign, s):
			v.named[p-1] = 0
		case v.named[p-1] != 0:
			v.fault(p, p, "",
				"the index takes the event for sequence %d of campaign %q", s, campaign)
			v.named[p-1] = 0
		}
	}
	if err := errors.Join(it.Error(), it.Close()); err != nil {
		return err
	}
	if entries != v.Events {
		v.fault(0, 0, "", "the index of campaigns has %d entries for %d events", entries, v.Events)
	}
	for i, name := range v.named {
		if name != 0 {
			p := events.Position(i + 1)
			v.fault(p, p, "", "the index of campaigns does not name the event")
		}
	}
	return nil
}
