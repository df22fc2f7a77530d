package pebblelog

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"runtime"
	"sync"

	"github.com/cockroachdb/pebble/v2"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/internal/records"
)

// Check implements [events.Store]. The log is read once, a range of positions on each processor;
// the index, whose entries are short, after that. It leaves the tree to [Log.Verify]: every record
// would have to be hashed, in order. A fold relies on readable records, and on sequences that agree
// with the index.
func (l *Log) Check(ctx context.Context, campaign string) error {
	c := &checker{
		log: l, last: l.Last(), campaign: campaign,
		// A seed of this check alone: no one can write names that collide in
		// it.
		seed: maphash.MakeSeed(), named: make([]uint64, l.Last()),
	}
	err := c.records(ctx)
	if err == nil {
		err = l.usable(ctx)
	}
	if err == nil {
		err = l.use(c.index)
	}
	if err != nil {
		return fmt.Errorf("store: check: %w", err)
	}
	return nil
}

// checker is a check under way of the events up to last. A hash of campaign and
// sequence takes eight bytes an event, the names themselves many times that.
type checker struct {
	log      *Log
	last     events.Position
	campaign string // whose index is checked; empty for all
	seed     maphash.Seed
	// named holds a hash of campaign and sequence for each event that the index must name; 0 for
	// others, and once it has been named.
	named []uint64
}

// span is a range of positions, and in which order its events are. Until it has
// been read through, a span belongs to the goroutine that reads it; records
// looks at it afterwards. first is compared with the last sequence of the
// ranges before.
type span struct {
	after, last events.Position
	first       map[string]events.Sequence // of each campaign, in the range
	seen        *records.Order
	err         error
}

// records reads all events: each is whole, and the sequences of each campaign count up by one.
//
// Each range counts its campaigns by itself; where two ranges meet, the first sequence of the one
// must follow the last of the other. A gap between two ranges cannot be seen by either, and a
// campaign may skip any number of ranges; so the last sequence of each is carried through all of
// them, in order.
func (c *checker) records(ctx context.Context) error {
	spans := make([]span, runtime.GOMAXPROCS(0))
	// Rounded up, so that the ranges cover everything; the last ones may be
	// empty.
	each := c.last/events.Position(len(spans)) + 1
	var reading sync.WaitGroup
	for i := range spans {
		s := &spans[i]
		s.after = min(c.last, events.Position(i)*each)
		s.last = min(c.last, s.after+each)
		s.first = make(map[string]events.Sequence)
		// Only the order within the range is checked there, also in the first
		// range: that its campaigns begin with 1 is found below, where no range
		// came before.
		s.seen = records.NewOrder(max(s.after, 1)) // it begins anywhere: see below
		reading.Go(func() { s.err = c.read(ctx, s) })
	}
	reading.Wait()
	last := make(map[string]events.Sequence)
	for _, s := range spans {
		if s.err != nil {
			return s.err
		}
		for campaign, first := range s.first {
			if first != last[campaign]+1 {
				return fmt.Errorf("%w: after position %d, sequence %d of campaign %q follows %d",
					events.ErrDamaged, s.after, first, campaign, last[campaign])
			}
			last[campaign] = s.seen.Last(campaign)
		}
	}
	return nil
}

// read reads the events of a range. It lets go of the database between chunks,
// so that Close need not wait for the whole check.
func (c *checker) read(ctx context.Context, s *span) error {
	for at := s.after; at < s.last; {
		if err := c.log.usable(ctx); err != nil {
			return err
		}
		// Longer chunks than a reader's: nothing that is read is kept, so memory is not the bound.
		end := min(s.last, at+4*largestChunk)
		err := c.log.use(func(db *pebble.DB) error {
			return scan(db, at, end, func(p events.Position, value []byte) error {
				e, err := decodeValue(p, value)
				if err == nil {
					err = s.seen.Check(&e)
				}
				if err != nil {
					return err
				}
				if _, met := s.first[e.Campaign]; !met {
					s.first[e.Campaign] = e.Sequence
				}
				if c.wants(e.Campaign) {
					c.named[p-1] = nameOf(c.seed, e.Campaign, e.Sequence)
				}
				return nil
			})
		})
		if err != nil {
			return err
		}
		at = end
	}
	return nil
}

// wants reports whether a campaign's index is checked. No campaign has an empty
// name.
func (c *checker) wants(campaign string) bool {
	return c.campaign == "" || c.campaign == campaign
}

// index checks that the index names each event by its campaign and sequence. Each entry strikes out
// its event; an event that is left in the end would never be seen by its campaign's readers.
func (c *checker) index(db *pebble.DB) error {
	prefix := []byte{sequencePrefix}
	end := []byte{sequencePrefix + 1}
	if c.campaign != "" {
		prefix = appendSequenceKey(nil, c.campaign, 0)
		end = appendSequenceKey(nil, c.campaign, events.AnySequence)
	}
	it, err := db.NewIter(&pebble.IterOptions{LowerBound: prefix, UpperBound: end})
	if err != nil {
		return err
	}
	for ok := it.First(); ok && err == nil; ok = it.Next() {
		err = c.entry(it)
	}
	if err := errors.Join(err, it.Error(), it.Close()); err != nil {
		return unreadable(c.last, err)
	}
	for i, name := range c.named {
		if name != 0 {
			return fmt.Errorf("%w: the index of campaigns does not name the event at position %d",
				events.ErrDamaged, i+1)
		}
	}
	return nil
}

// entry checks an entry of the index. The hash is compared, and not the name: a
// wrong entry passes once in 2⁶³ at random, which is far rarer than a disk's
// own errors. An event that is named twice is a fault as well, since its hash
// is 0 by then.
func (c *checker) entry(it *pebble.Iterator) error {
	campaign, s, okKey := parseSequenceKey(it.Key())
	value, err := it.ValueAndErr()
	if err != nil {
		return err
	}
	p, okValue := parsePosition(value)
	switch {
	case !okKey || !okValue || p == 0:
		return fmt.Errorf("%w: the index of campaigns is not readable", events.ErrDamaged)
	// The database holds events before they are durable; those are not judged.
	case p > c.last: // not acknowledged
		return nil
	case c.named[p-1] != nameOf(c.seed, campaign, s):
		return fmt.Errorf("%w: the index of campaigns takes position %d for sequence %d of "+
			"campaign %q", events.ErrDamaged, p, s, campaign)
	}
	c.named[p-1] = 0
	return nil
}

// nameOf returns a hash of a campaign and sequence that is not 0. 0 stands for
// "named" and "none". Setting the lowest bit keeps it from being 0 and costs
// one bit of 64.
func nameOf(seed maphash.Seed, campaign string, s events.Sequence) uint64 {
	return maphash.Comparable(seed, struct {
		campaign string
		sequence events.Sequence
	}{campaign, s}) | 1
}
