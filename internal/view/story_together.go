package view

import (
	"fmt"
	"strings"
	"time"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/ground/format"
)

// A plate that jams leaves 24 experiments without a word and then with an unknown fate. Each is an
// event; in a story those with the same fate at the same instrument, one after the other, are one
// entry.

// loss is the state in which an instrument leaves an experiment, apart from which one it is.
type loss struct {
	kind              events.Kind
	instrument, cause string
	waited            float64
	account           string
}

// losses are experiments with the same loss, in the order of the log.
type losses struct {
	of  loss
	ids []string
}

// lossOf returns the loss of an experiment in an event; ok is false for any other event.
func lossOf(e events.Event, payload events.Payload) (l loss, ok bool) {
	l = loss{kind: events.KindOf(payload), account: e.ToldBy()}
	switch p := payload.(type) {
	case *events.InstrumentStalled:
		if p.Act != "" {
			return loss{}, false // an act says what it serves
		}
		l.instrument, l.waited = p.Instrument, p.Waited
	case *events.ExperimentUnresolved:
		l.instrument, l.cause = p.Instrument, p.Cause
	default:
		return loss{}, false
	}
	return l, true
}

// entry is the line about experiments: "the fate of e1-e24 is UNKNOWN".
func (l loss) entry(ids ...string) Entry {
	list := events.ExperimentList(ids)
	if l.kind == events.KindInstrumentStalled {
		return silent(l.instrument, list, l.waited)
	}
	return fateUnknown(list, strings.ReplaceAll(list, " ", ""), l.cause)
}

// silent is the entry about an instrument that is silent.
func silent(instrument, about string, seconds float64) Entry {
	waited := format.Duration(time.Duration(seconds * float64(time.Second)))
	return Entry{Text: fmt.Sprintf("%s has been silent about %s for %s", instrument, about, waited)}
}

// Tell returns an event's addition to the story: nothing for a routine event, and more where it
// settles an earlier one. The initial answers of an expert become one entry, after the last of
// them, and so do experiments that were lost together: see [Story.Rest]. It differs from Entry in
// its memory: its result depends on the events before.
func (s *Story) Tell(e events.Event, payload events.Payload) []Entry {
	entries := s.entries(e, payload)
	lost, ok := lossOf(e, payload)
	switch {
	case len(entries) == 0:
		return nil
	case !ok || len(entries) > 1: // more came to an end with it
		return append(s.Rest(), entries...)
	case s.lost.ids != nil && s.lost.of == lost:
		s.lost.ids = append(s.lost.ids, payload.Subject())
		return nil
	}
	before := s.Rest()
	s.lost = losses{lost, []string{payload.Subject()}}
	return before
}

// Rest returns the entry that Tell holds back, since the next event may go on with it; empty if it
// holds back nothing. A caller that tells a story as it happens asks for it after a moment, and
// every caller at the end.
func (s *Story) Rest() []Entry {
	if s.lost.ids == nil {
		return nil
	}
	entry := s.lost.of.entry(s.lost.ids...)
	entry.Kind = s.lost.of.kind
	entry.Account = s.lost.of.account
	if len(s.lost.ids) == 1 {
		entry.Subject = s.lost.ids[0]
	}
	s.lost = losses{}
	return []Entry{entry}
}
