package pebblelog

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"

	"github.com/cockroachdb/pebble/v2"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/internal/records"
)

// Verify implements [events.Store]: each record is there, has its checksum and is in its place; the
// sequences of each campaign count up from 1; the hashes stored and the root hash are those of the
// records; and the index of campaigns agrees. It reads every byte once. It goes on after a fault,
// where [Log.Check] stops at the first: a person who has to decide what to restore wants all of
// them. Events that are appended meanwhile are not looked at.
func (l *Log) Verify(ctx context.Context) (events.Report, error) {
	head, _, _ := l.state()
	v := &verifier{
		Inspection: records.Inspect(head, l.notes),
		seed:       maphash.MakeSeed(),
		named:      make([]uint64, head.N),
	}
	if err := v.run(ctx, l); err != nil {
		return v.Report, fmt.Errorf("store: verify: %w", err)
	}
	return v.Report, nil
}

// verifier is a check under way.
type verifier struct {
	*records.Inspection
	seed maphash.Seed
	// named holds a hash of the campaign and sequence of the event at each
	// position; 0 where it was not readable or the index has named it.
	named []uint64
}

// run reads everything. After an event that cannot be read the tree can no longer be computed, and
// only the checks of single events and of the index continue. It reads the log in order and in one
// goroutine, since the tree needs each leaf after the one before it.
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
			v.Lost(after+1, next-1, rootCause(err))
			after = next - 1
		default:
			return err
		}
	}
	v.EndEvents()
	if err := l.usable(ctx); err != nil {
		return err
	}
	err := l.use(v.index)
	if errors.Is(err, events.ErrDamaged) || pebble.IsCorruptionError(err) {
		v.Fault(0, 0, "", "the index of campaigns cannot be read: %v", err)
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

// event checks the value of one position.
func (v *verifier) event(p events.Position, value []byte) {
	record, hashes, err := splitValue(p, value)
	if err != nil {
		v.Lost(p, p, err.Error())
		return
	}
	if e, ok := v.Event(p, record, hashes); ok {
		v.named[p-1] = nameOf(v.seed, e.Campaign, e.Sequence)
	}
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
			v.Fault(0, 0, "", "the index of campaigns has the unreadable key %x", it.Key())
		case p > v.Events: // appended meanwhile
		case v.named[p-1] == nameOf(v.seed, campaign, s):
			v.named[p-1] = 0
		case v.named[p-1] != 0:
			v.Fault(p, p, "",
				"the index takes the event for sequence %d of campaign %q", s, campaign)
			v.named[p-1] = 0
		}
	}
	if err := errors.Join(it.Error(), it.Close()); err != nil {
		return err
	}
	if entries != v.Events {
		v.Fault(0, 0, "", "the index of campaigns has %d entries for %d events", entries, v.Events)
	}
	for i, name := range v.named {
		if name != 0 {
			p := events.Position(i + 1)
			v.Fault(p, p, "", "the index of campaigns does not name the event")
		}
	}
	return nil
}
