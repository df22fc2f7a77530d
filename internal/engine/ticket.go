package engine

import (
	"github.com/campaignd/campaignd/adapters/instruments"
	"github.com/campaignd/campaignd/events/definition"
)

// Ticket is the campaign's place in the queue of an instrument that campaigns share. Each
// command has a ticket of its own, from before it is dispatched until its fate is known.
//
// While the campaign waits for one, the experiment is only requested: no time
// runs against the instrument, and nothing has a fate that a crash could leave
// open.
type Ticket struct {
	Place Place
	// Behind says who comes first, while the campaign waits.
	Behind string
}

// Place is a place in the queue of an instrument.
type Place uint8

// The zero Place is that of a campaign that has its instrument alone.
const (
	// Alone needs no ticket: the instrument is the campaign's own, or any
	// number of campaigns may use it at once.
	Alone Place = iota
	// Unqueued has to queue before the next command.
	Unqueued
	// Waiting is in the queue.
	Waiting
	// Held has a ticket that no command uses yet.
	Held
)

// keepsTicket reports whether a ticket that is not used yet is kept while a step is done. A
// step that takes long, or waits for a person, does not keep it: others wait for it. A step
// that only records may lead to the ticket's command: a Record, such as a question that
// expires, can stand between the ticket and its command.
func keepsTicket(step Step) bool {
	switch step.(type) {
	case Record, Take, Occupy, Vacate, Dispatch, Collect, Ask, CallOff:
		return true
	}
	return false
}

// Exclusive reports whether a campaign drives something that has to be leased.
// A simulation can be shared; and a person at the bench sees whom they work
// for.
func Exclusive(def definition.Campaign, d instruments.Description) bool {
	return !d.Simulated && !def.Instrument.ByHand
}
