package drive

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/campaignd/campaignd/adapters/instruments"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/ground/problem"
	"github.com/campaignd/campaignd/projections/campaign"
)

// A campaign that drives something real does so under a lease of the device, by the identity
// that it describes. The lease can be lost while the campaign runs: nothing keeps others off
// any more, or another device answers in its place. Then nothing more is sent, and the campaign
// pauses until a person has looked; resuming it takes a new lease, of the device that is there
// then. Commands under way are awaited nevertheless.
//
// Several campaigns may share a device. Then each command waits for a ticket
// before it is dispatched, and keeps it until its fate is known: see
// [engine.Ticket].

// Lease keeps other campaigns off a device, or shares it with them. Its methods
// may be called by several goroutines.
type Lease interface {
	// Check returns nil while the lease holds, and otherwise why not.
	Check() error
	// Tickets is nil where no other campaign may use the device.
	Tickets() Tickets
	// Release gives the lease back.
	Release()
}

// Tickets are the queue of commands at a device that campaigns share.
type Tickets interface {
	// Wait returns once the device has room for a command, which Begin may change. It calls
	// behind with the campaign that is first in the queue, when it begins to wait and when
	// that changes.
	Wait(ctx context.Context, command string, behind func(who string)) (HeldTicket, error)
	// Adopt returns the tickets of commands that are under way, and forgets
	// those of the campaign's other commands, all of earlier processes.
	Adopt(commands []string) (map[string]HeldTicket, error)
}

// HeldTicket is the room that a device has for one command.
type HeldTicket interface {
	// Begin notes the command, before it is sent: the ticket holds until End,
	// also when this process ends.
	Begin(command string) error
	// Check returns nil while others see the ticket.
	Check() error
	// End makes room for others.
	End()
	// Leave lets go of a ticket that holds.
	Leave()
}

// leaseEvery is the interval between checks of the lease while nothing else happens; a test's
// is shorter.
var leaseEvery = 5 * time.Second

// device is an instrument of the campaign: its description, the lease, and the tickets.
//
// It belongs to the loop; the goroutines that wait for tickets speak to it
// through messages.
type device struct {
	resource    string // the campaign's name for it; empty for the only one
	instrument  instruments.Instrument
	description instruments.Description
	describing  bool                  // it is asked what it is
	noDelivery  bool                  // it gives nothing later
	lease       Lease                 // nil without a lease
	lost        string                // why the lease is gone
	leased      int                   // how often it was taken anew
	queued      *queued               // nil where no ticket is waited for or unused
	tickets     map[string]HeldTicket // of commands that the device may be at work on, by their subjects
	wg          sync.WaitGroup        // of those who wait for tickets
}

// queued is a ticket that is waited for, or that is held and not used yet.
type queued struct {
	cancel context.CancelFunc
	behind string
	held   HeldTicket // nil while it is waited for
}

// deviceOf names the device of a description.
func deviceOf(d instruments.Description) string { return cmp.Or(d.Identity, d.Name) }

// take makes the described device the campaign's, under a lease if it is of a kind that has to
// be leased. lock, if set, leases it. The tickets of commands under way are adopted.
//
// Its order: the lease first, then the tickets of commands under way, and the description last,
// so that a failure leaves the campaign without a device rather than with half of one.
func (d *device) take(
	s *campaign.State, is instruments.Description, lock func(string, instruments.Description) (Lease, error),
) error {
	if lock != nil && d.lease == nil && engine.Exclusive(*s.Definition.For(d.resource), is) {
		lease, err := lock(d.resource, is)
		if err != nil {
			return err
		}
		if err := d.adopt(s, lease.Tickets()); err != nil {
			lease.Release()
			return err
		}
		d.lease = lease
	}
	d.description = is
	return nil
}

// adopt takes up the tickets of commands whose fate is open. A ticket that this
// process holds and others still see is kept. Those that are adopted count even
// where Adopt fails for others.
func (d *device) adopt(s *campaign.State, tickets Tickets) error {
	if tickets == nil {
		return nil
	}
	var commands []string
	subjects := make(map[string]string)
	for o := range s.Orders() {
		if o.Resource != d.resource || !o.AtWork() {
			continue
		}
		if ticket := d.tickets[o.Subject]; ticket != nil {
			if ticket.Check() == nil {
				continue
			}
			ticket.Leave()
		}
		commands = append(commands, o.ID)
		subjects[o.ID] = o.Subject
	}
	adopted, err := tickets.Adopt(commands)
	for command, ticket := range adopted {
		d.tickets[subjects[command]] = ticket
	}
	return err
}

// check looks whether the device is still the campaign's. It is called before
// each step and at times while the loop waits: a lease is a file of the machine,
// and nothing tells when it is gone.
func (d *device) check() {
	if d.lost != "" || d.lease == nil {
		return
	}
	err := d.lease.Check()
	for _, ticket := range d.tickets {
		if err == nil {
			err = ticket.Check()
		}
	}
	if err != nil {
		d.lose(err.Error())
	}
}

// lose gives the lease up: nothing more is sent under it. Tickets stay, for the device is still
// at work on its commands.
func (d *device) lose(why string) {
	d.lost = cmp.Or(d.lost, why)
	if d.lease != nil {
		d.lease.Release()
		d.lease = nil
	}
	d.unqueue()
}

// restored records that the campaign has its lost device again. The count goes up, so that a
// message about the lease before (see [lost]) is not taken for one about this lease.
func (d *device) restored() {
	d.lost = ""
	d.leased++
}

// notBack is the error for a campaign that cannot be resumed since its device is still lost.
func notBack(err error) error {
	return problem.New(
		problem.NotNow, "the campaign stays paused, since it does not have its instrument: %w", err,
	).With(problem.Remedy{
		Text: "resume it once the instrument is there and free", Action: problem.Resume,
	})
}

// guard is asked, by the goroutine of a command, right before the command is
// sent.
type guard struct {
	device *device
	leased int // when the command was dispatched
	// ask returns the reason that nothing may be sent any more, "" for none.
	ask func(ctx context.Context) (why string)
}

// guard returns the check that a command goes to the campaign's device and nowhere else; it is
// called in the loop.
//
// lease and description are those of the moment of the dispatch: a command belongs to the
// device that the log says it was dispatched to. Simulations need no guard.
func (d *device) guard(def *definition.Campaign) guard {
	lease := d.lease
	had := d.description
	if !engine.Exclusive(*def.For(d.resource), had) {
		return guard{d, d.leased, func(context.Context) string { return "" }}
	}
	return guard{d, d.leased, func(ctx context.Context) string {
		now, err := d.instrument.Describe(ctx)
		if err == nil && (now.Name != had.Name || now.Identity != had.Identity) {
			return fmt.Sprintf("the instrument is another one: it was %s, and now there is %s",
				named(had.Name, had.Identity), named(now.Name, now.Identity))
		}
		// Last, and so as late as can be: describing takes time, and a process can be
		// stopped at any moment.
		if lease != nil {
			if err := lease.Check(); err != nil {
				return err.Error()
			}
		}
		return "" // nothing is sent to a device out of reach
	}}
}

// world is the process's knowledge of the device.
func (d *device) world() engine.Resource {
	_, delivers := d.instrument.(instruments.Deliverer)
	r := engine.Resource{
		Capacity:    max(1, d.description.Capacity),
		Delivers:    delivers && !d.noDelivery,
		Undescribed: d.description.Name == "",
		Describing:  d.describing,
		Ticket:      d.ticket(),
	}
	if d.lost != "" {
		r.Lost = d.lost
		r.Device = deviceOf(d.description)
	}
	return r
}

// ticket is the campaign's place in the queue of the device. It is a value for
// engine.World: the core sees no lease.
func (d *device) ticket() engine.Ticket {
	switch {
	case d.lease == nil || d.lease.Tickets() == nil:
		return engine.Ticket{}
	case d.queued == nil:
		return engine.Ticket{Place: engine.Unqueued}
	case d.queued.held == nil:
		return engine.Ticket{Place: engine.Waiting, Behind: d.queued.behind}
	}
	return engine.Ticket{Place: engine.Held}
}

// queue begins to wait for a ticket for a command. send hands news of the ticket to the loop,
// until the context is done, and reports whether it did.
//
// A ticket that arrives after the wait was given up is ended here, in whichever
// of the two places it turns up: in this goroutine, or in ticketed.
func (d *device) queue(awaiting context.Context, command string, send func(context.Context, ticketed) bool) {
	ctx, cancel := context.WithCancel(awaiting)
	q := &queued{cancel: cancel, behind: "others"}
	d.queued = q
	tickets := d.lease.Tickets()
	d.wg.Go(func() {
		ticket, err := tickets.Wait(ctx, command, func(who string) {
			send(ctx, ticketed{device: d, queued: q, behind: who})
		})
		if ctx.Err() == nil && send(ctx, ticketed{device: d, queued: q, ticket: ticket, err: err}) {
			return
		}
		if ticket != nil { // it will not be used
			ticket.End()
		}
	})
}

// ticketed takes in news of a ticket. queued is compared by its pointer: each wait has its own.
func (d *device) ticketed(m ticketed) {
	switch {
	case d.queued != m.queued: // it was given back meanwhile
		if m.ticket != nil {
			m.ticket.End()
		}
	case m.err != nil:
		d.lose(m.err.Error())
	case m.ticket != nil:
		d.queued.held = m.ticket
	default:
		d.queued.behind = m.behind
	}
}

// unqueue gives back the ticket that is waited for, or is not used.
func (d *device) unqueue() {
	if d.queued == nil {
		return
	}
	d.queued.cancel()
	if d.queued.held != nil {
		d.queued.held.End()
	}
	d.queued = nil
}

// use takes the ticket that is held, if the device is shared, for a command
// that is about to be dispatched. The ticket has the command before the log
// does, so that after a crash in between others see it as taken rather than
// free. The core dispatches only with a ticket that is held, so queued.held is
// there.
func (d *device) use(subject, command string) error {
	if d.queued == nil {
		return nil
	}
	ticket := d.queued.held
	if err := ticket.Begin(command); err != nil {
		return err
	}
	d.queued.cancel()
	d.queued = nil
	d.tickets[subject] = ticket
	return nil
}

// endTickets makes room for others where a command's fate has become known. It
// is called after each batch. The map's order does not matter: nothing is
// recorded of tickets.
func (d *device) endTickets(s *campaign.State) {
	for id, ticket := range d.tickets {
		if o := s.Order(id); o.Command == nil || !o.AtWork() {
			ticket.End()
			delete(d.tickets, id)
		}
	}
}

// leave is called when the run is over: commands under way keep their tickets.
func (d *device) leave() {
	d.unqueue()
	for id, ticket := range d.tickets {
		ticket.Leave()
		delete(d.tickets, id)
	}
}
