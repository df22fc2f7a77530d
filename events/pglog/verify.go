package pglog

import (
	"context"
	"fmt"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/internal/records"
)

// Verify implements [events.Store]: each record is there, has its checksum and
// is in its place; the sequences of each campaign count up from 1; the hashes
// stored and the root hash are those of the records; and the columns by which a
// campaign's readers find an event name it.
func (l *Log) Verify(ctx context.Context) (events.Report, error) {
	head, err := l.head(ctx)
	if err != nil {
		return events.Report{}, fmt.Errorf("store: verify: %w", err)
	}
	v := records.Inspect(head, nil)
	err = l.each(ctx, v.Events, func(r row) error {
		if e, ok := v.Event(r.position, r.record, r.hashes); ok && r.misnamed(e) != nil {
			v.Fault(r.position, r.position, "", "it is sequence %d of campaign %q, and is kept as %d of %q",
				e.Sequence, e.Campaign, r.sequence, r.campaign)
		}
		return nil
	}, func(from, to events.Position) error {
		v.Lost(from, to, "they are not there")
		return nil
	})
	if err == nil {
		v.EndEvents()
		err = l.verifyFirsts(ctx, v)
	}
	if err != nil {
		return v.Report, fmt.Errorf("store: verify: %w", err)
	}
	return v.Report, nil
}

// verifyFirsts checks that the indexes find as many events, and campaigns, as
// there are: what an index does not name, the readers of a campaign do not see.
func (l *Log) verifyFirsts(ctx context.Context, v *records.Inspection) error {
	entries, err := l.entries(ctx, "", v.Events)
	if err == nil && entries != v.Read && v.Sound() {
		v.Fault(0, 0, "", "the index of campaigns has %d entries for %d events", entries, v.Read)
	}
	return err
}

// entries counts the events up to last that the index of campaigns names: of a
// campaign or, where its name is empty, of all.
func (l *Log) entries(ctx context.Context, campaign string, last events.Position) (events.Position, error) {
	n, err := glance(ctx, l, func(ctx context.Context, c *conn) (n, size int64, err error) {
		// The order by the index's columns has the server use it.
		err = c.query(ctx, `select h.size, (select count(*) from (
				select position from cd_event where store = $1 and ($2 = '' or campaign = $2)
				order by campaign, sequence) as e where e.position <= $3)
			from cd_head h where h.store = $1`, l.id, campaign, int64(last)).one(&size, &n)
		return n, size, err
	})
	return events.Position(n), err
}

// each calls f with each row up to last, and missing with each gap in the positions. The first
// error ends it.
func (l *Log) each(
	ctx context.Context, last events.Position, f func(row) error, missing func(from, to events.Position) error,
) error {
	for after := events.Position(0); after < last; {
		end := min(last, after+4*largestChunk)
		rows, _, err := l.chunk(ctx, after, end)
		if err != nil {
			return err
		}
		if len(rows) == 0 {
			if err := missing(after+1, end); err != nil {
				return err
			}
			after = end
		}
		for _, r := range rows {
			if r.position != after+1 {
				if err := missing(after+1, r.position-1); err != nil {
					return err
				}
			}
			if err := f(r); err != nil {
				return err
			}
			after = r.position
		}
	}
	return nil
}

// Check implements [events.Store]. What it leaves to [Log.Verify] is the tree.
func (l *Log) Check(ctx context.Context, campaign string) error {
	if err := l.check(ctx, campaign); err != nil {
		return fmt.Errorf("store: check: %w", err)
	}
	return nil
}

func (l *Log) check(ctx context.Context, campaign string) error {
	head, err := l.head(ctx)
	if err != nil {
		return err
	}
	order := records.NewOrder(0)
	last := events.Position(head.N)
	named := events.Position(0)
	err = l.each(ctx, last, func(r row) error {
		e, err := records.Decode(r.position, r.record)
		if err == nil {
			err = order.Check(&e)
		}
		if err == nil && (campaign == "" || campaign == e.Campaign || campaign == r.campaign) {
			named++
			err = r.misnamed(e)
		}
		return err
	}, func(from, to events.Position) error { return records.Missing(from, to) })
	if err != nil || !nameable(campaign) {
		return err
	}
	entries, err := l.entries(ctx, campaign, last)
	if err == nil && entries != named {
		err = fmt.Errorf("%w: the index of campaigns has %d entries for %d events",
			events.ErrDamaged, entries, named)
	}
	return err
}
