// Package records checks the stored records of events: that each is whole, in its place, and
// followed by the next. It is the same for every store of package events, in whatever medium the
// records are kept.
package records

import (
	"fmt"
	"iter"

	"github.com/campaignd/campaignd/events"
)

// Decode returns the event that the record at p holds. That it belongs there is
// for the tree to say, and for its sequence.
func Decode(p events.Position, record []byte) (events.Event, error) {
	e, err := events.DecodeRecord(record)
	if err != nil {
		return events.Event{}, unfit(p, record, err)
	}
	e.Position = p
	return e, nil
}

// unfit says why a record cannot be decoded. To find out whether it is of an
// earlier form takes longer than to decode one, so only what cannot be read is
// asked that.
func unfit(p events.Position, record []byte, err error) error {
	if at, earlier := events.EarlierRecord(record); earlier && at == p {
		return fmt.Errorf("%w: the event at position %d is whole, in a form that this campaignd does not read; "+
			"go on with the campaignd that wrote it, "+
			"or export the experiments with that one and import them into a new campaign",
			events.ErrEarlierFormat, p)
	}
	return fmt.Errorf("%w: the event at position %d is lost: %w", events.ErrDamaged, p, err)
}

// Missing is the error of a gap.
func Missing(from, to events.Position) error {
	return fmt.Errorf("%w: the events at positions %d to %d are missing",
		events.ErrDamaged, from, to)
}

// Values yields values that were read from a store, or the error of reading those whose keys begin
// with a prefix. They are read before: nothing is held open while the caller's code runs.
func Values(prefix string, all []events.KeyValue, err error) iter.Seq2[events.KeyValue, error] {
	return func(yield func(events.KeyValue, error) bool) {
		if err != nil {
			yield(events.KeyValue{}, fmt.Errorf("store: values of %q: %w", prefix, err))
			return
		}
		for _, kv := range all {
			if !yield(kv, nil) {
				return
			}
		}
	}
}

// Order finds misplaced events among those that one reader is given: in each campaign their
// sequences count up by one. A record does not hold its place in the log, and to compute the tree
// again is for Verify. It costs a map look-up only where the campaign changes, so that readers can
// afford it for every event.
type Order struct {
	whole    bool // the reader began with the first event
	last     map[string]*events.Sequence
	campaign string           // of the event before, as most are of the same
	of       *events.Sequence // and its entry in last
}

// NewOrder is that of a reader who begins behind a position. Only one who begins
// with the first event knows that each campaign begins with 1.
func NewOrder(after events.Position) *Order {
	return &Order{whole: after == 0, last: make(map[string]*events.Sequence)}
}

// Check takes the next event. A campaign that a reader begins in the middle of
// is taken at its word for the first event, and held to it from then on.
func (o *Order) Check(e *events.Event) error {
	if o.of == nil || e.Campaign != o.campaign {
		o.campaign, o.of = e.Campaign, o.last[e.Campaign]
		if o.of == nil {
			o.of = new(events.Sequence)
			o.last[e.Campaign] = o.of
			if !o.whole {
				*o.of = e.Sequence - 1
			}
		}
	}
	if e.Sequence != *o.of+1 {
		return fmt.Errorf("%w: position %d holds sequence %d of campaign %q, where sequence "+
			"%d belongs",
			events.ErrDamaged, e.Position, e.Sequence, e.Campaign, *o.of+1)
	}
	*o.of = e.Sequence
	return nil
}

// Last is the sequence of the newest checked event of a campaign, 0 before the first.
func (o *Order) Last(campaign string) events.Sequence {
	if s := o.last[campaign]; s != nil {
		return *s
	}
	return 0
}
