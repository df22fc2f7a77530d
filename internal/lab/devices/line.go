package devices

import (
	"cmp"
	"slices"
	"time"

	"github.com/campaignd/campaignd/events"
)

// line is the queue: the valid tickets, and the places of waiting campaigns. It is a pure fold.
type line struct {
	last    events.Sequence // of the newest event of the stream
	entries []*entry        // in the order of their arrival
}

// entry is a ticket, or a place in the queue for one.
type entry struct {
	n events.Sequence // of the event that took or awaited
	events.DeviceTicket
	events.DeviceUser
	since   time.Time
	waiting bool
}

// apply folds an event of the stream, and returns the entries it has ended.
func (l *line) apply(e events.Event) (ended []events.Sequence, err error) {
	payload, err := events.Lab.Decode(e)
	if err != nil {
		return nil, err
	}
	l.last = e.Sequence
	switch p := payload.(type) {
	case *events.DeviceAwaited:
		ended = p.InsteadOf
		l.remove(ended)
		l.add(e, p.Tickets, p.DeviceUser, true)
	case *events.DeviceTaken:
		ended = p.InsteadOf
		l.remove(ended)
		l.add(e, p.Tickets, p.DeviceUser, false)
	case *events.DeviceFreed:
		ended = p.Taken
		l.remove(ended)
	}
	return ended, nil
}

func (l *line) add(e events.Event, tickets []events.DeviceTicket, user events.DeviceUser, waiting bool) {
	for _, t := range tickets {
		l.entries = append(l.entries, &entry{e.Sequence, t, user, e.Time, waiting})
	}
}

func (l *line) remove(all []events.Sequence) {
	l.entries = slices.DeleteFunc(l.entries, func(e *entry) bool { return slices.Contains(all, e.n) })
}

// entry returns the entry of an event, or nil if it has ended.
func (l *line) entry(n events.Sequence) *entry {
	for _, e := range l.entries {
		if e.n == n {
			return e
		}
	}
	return nil
}

// of returns the entries of a campaign.
func (l *line) of(store, campaign string) (found []*entry) {
	for _, e := range l.entries {
		if e.Store == store && e.Campaign == campaign {
			found = append(found, e)
		}
	}
	return found
}

// same reports whether two entries are of the same campaign.
func (e *entry) same(other *entry) bool {
	return e.Store == other.Store && e.Campaign == other.Campaign
}

// ahead returns the holders of an entry's device, and the earlier waiters that matter to the entry;
// room is set if the device has room for it, apart from the waiters.
//
// A ticket of a command competes with those of all other commands, including its own campaign's. A
// campaign's own ticket competes with other campaigns: the holders of the device, and those that
// have left it but may still have a command at work on it.
func (l *line) ahead(me *entry) (have, before []*entry, room bool) {
	most := max(1, me.Capacity)
	for _, e := range l.entries {
		kin := (e.Command == "") == (me.Command == "")
		switch {
		case e.Device != me.Device || e.n == me.n:
		case me.Command == "" && e.same(me):
		case me.Command != "" && e.same(me) && e.Command == me.Command: // of an earlier process
		case e.waiting:
			if kin && (me.n == 0 || e.n < me.n) {
				before = append(before, e)
			}
		case kin:
			have = append(have, e)
			most = min(most, max(1, e.Capacity))
		case me.Command == "":
			have = append(have, e)
		}
	}
	if me.Command == "" { // a campaign counts once
		have = slices.CompactFunc(slices.SortedStableFunc(slices.Values(have), campaigns), (*entry).same)
		slices.SortFunc(have, func(a, b *entry) int { return cmp.Compare(a.n, b.n) })
	}
	return have, before, len(have) < most
}

// campaigns is the order of entries by their campaigns.
func campaigns(a, b *entry) int {
	return cmp.Or(cmp.Compare(a.Store, b.Store), cmp.Compare(a.Campaign, b.Campaign))
}

// next reports whether it is a waiter's turn: the device has room, and no one comes first.
func (l *line) next(e *entry) bool {
	_, before, room := l.ahead(e)
	return room && len(before) == 0
}
