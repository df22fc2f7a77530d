package engine

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/campaignd/campaignd/adapters/instruments"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/problem"
	"github.com/campaignd/campaignd/projections/campaign"
)

// A campaign that drives something real does so under a lease of the device, by the
// identity that it describes. The lease can be lost while the campaign runs: what keeps
// others off is gone, or another device answers in its place. Then nothing more is sent, and
// the campaign pauses until a person has looked; resuming it takes the lease anew, of the
// device that is there then. What is under way is awaited all the same.
//
// Several campaigns may share a device. Then each command waits for a ticket before it is
// dispatched, and keeps it until its fate is known: see [Ticket].

// Lease keeps other campaigns off a device, or shares it with them. Its methods may be called by
// several goroutines.
type Lease interface {
	// Check returns nil while the lease holds, and otherwise why not.
	Check() error
	// Tickets is nil where nobody else may use the device.
	Tickets() Tickets
	// Release gives the lease back.
	Release()
}

// Tickets are the queue of commands at a device that campaigns share.
type Tickets interface {
	// Wait returns once the device has room for a command. behind is told who comes first,
	// when it begins to wait and when that changes.
	Wait(ctx context.Context, behind func(who string)) (HeldTicket, error)
	// Adopt returns the tickets of commands that are under way, and forgets those of the
	// campaign's other commands, all of earlier processes.
	Adopt(commands []string) (map[string]HeldTicket, error)
}

// HeldTicket is the room that a device has for one command.
type HeldTicket interface {
	// Begin notes the command, before it is sent: the ticket holds until End, also when this
	// process ends.
	Begin(command string) error
	// Check returns nil while others see the ticket.
	Check() error
	// End makes room for others.
	End()
	// Leave lets go of a ticket that holds.
	Leave()
}

// leaseEvery is how often the lease is looked at where nothing else happens; a test's is
// shorter.
var leaseEvery = 5 * time.Second

// Exclusive reports whether a campaign drives something that has to be leased. A simulation
// can be shared; and a person at the bench sees whom they work for.
func Exclusive(def definition.Campaign, d instruments.Description) bool {
	return !d.Simulated && !def.Instrument.ByHand
}

// device names what a description is of.
func deviceOf(d instruments.Description) string { return cmp.Or(d.Identity, d.Name) }

// takeLease takes the lease of what an instrument describes, and the tickets of what is under way.
func (r *Runner) takeLease(d instruments.Description) error {
	if r.Lock == nil || r.lease != nil || !Exclusive(*r.core.State().Definition, d) {
		return nil
	}
	lease, err := r.Lock(d)
	if err != nil {
		return err
	}
	if err := r.adoptTickets(lease); err != nil {
		lease.Release()
		return err
	}
	r.lease = lease
	return nil
}

// adoptTickets takes up the tickets of commands whose fate is open.
func (r *Runner) adoptTickets(lease Lease) error {
	tickets := lease.Tickets()
	if tickets == nil {
		return nil
	}
	s := r.core.State()
	var commands []string
	experiments := make(map[string]string)
	for i := range s.Experiments {
		x := &s.Experiments[i]
		if !AtWork(x) {
			continue
		}
		if ticket := r.tickets[x.ID]; ticket != nil {
			if ticket.Check() == nil {
				continue
			}
			ticket.Leave()
		}
		commands = append(commands, x.Command)
		experiments[x.Command] = x.ID
	}
	adopted, err := tickets.Adopt(commands)
	for command, ticket := range adopted {
		r.tickets[experiments[command]] = ticket
	}
	return err
}

// AtWork reports whether the device may be at work on an experiment.
func AtWork(x *campaign.Experiment) bool {
	switch x.Status {
	case campaign.Dispatched, campaign.Started, campaign.Unresolved:
		return x.Command != ""
	}
	return false
}

// checkLease looks whether the device is still the campaign's.
func (r *Runner) checkLease() {
	if r.lost != "" || r.lease == nil {
		return
	}
	err := r.lease.Check()
	for _, ticket := range r.tickets {
		if err == nil {
			err = ticket.Check()
		}
	}
	if err != nil {
		r.lose(err.Error())
	}
}

// lose gives the lease up: nothing more is sent under it. Tickets stay, for the device is at
// work on what it was sent.
func (r *Runner) lose(why string) {
	r.lost = cmp.Or(r.lost, why)
	if r.lease != nil {
		r.lease.Release()
		r.lease = nil
	}
	r.unqueue()
}

// retake takes the lease anew, of the device that is there now.
func (r *Runner) retake(ctx context.Context) error {
	if err := r.describe(ctx); err != nil {
		return problem.New(problem.NotNow, "the campaign stays paused, since it does not have its instrument: %w", err).
			With(problem.Remedy{Text: "resume it once the instrument is there and free", Action: problem.Resume})
	}
	r.lost = ""
	r.leased++
	return nil
}

// guard is asked, by the goroutine of a command, right before the command is sent.
type guard struct {
	leased int // when the command was dispatched
	// ask says why nothing may be sent any more, "" where it may.
	ask func(ctx context.Context) (why string)
}

// guard returns what sees that a command goes to the device that the campaign has, and
// nowhere else; in the loop.
func (r *Runner) guard() guard {
	lease, had := r.lease, r.description
	if !Exclusive(*r.core.State().Definition, had) {
		return guard{r.leased, func(context.Context) string { return "" }}
	}
	return guard{r.leased, func(ctx context.Context) string {
		if lease != nil {
			if err := lease.Check(); err != nil {
				return err.Error()
			}
		}
		now, err := r.Instrument.Describe(ctx)
		if err != nil || now.Name == had.Name && now.Identity == had.Identity {
			return "" // what is out of reach is not sent anything
		}
		return fmt.Sprintf("the instrument is another one: it was %s, and now there is %s",
			named(had.Name, had.Identity), named(now.Name, now.Identity))
	}}
}

// queued is a ticket that is waited for, or that is held and not used yet.
type queued struct {
	cancel context.CancelFunc
	behind string
	held   HeldTicket // nil while it is waited for
}

// queue begins to wait for a ticket.
func (r *Runner) queue(awaiting context.Context) {
	ctx, cancel := context.WithCancel(awaiting)
	q := &queued{cancel: cancel, behind: "others"}
	r.queued = q
	tickets := r.lease.Tickets()
	r.wg.Go(func() {
		ticket, err := tickets.Wait(ctx, func(who string) {
			r.send(ctx, message{queued: q, behind: who})
		})
		if ctx.Err() == nil {
			select {
			case r.inbox <- message{queued: q, ticket: ticket, err: err}:
				return
			case <-ctx.Done():
			}
		}
		if ticket != nil {
			ticket.End()
		}
	})
}

// ticketed takes in what is heard of a ticket.
func (r *Runner) ticketed(m message) {
	switch {
	case r.queued != m.queued: // it was given back meanwhile
		if m.ticket != nil {
			m.ticket.End()
		}
	case m.err != nil:
		r.lose(m.err.Error())
	case m.ticket != nil:
		r.queued.held = m.ticket
	default:
		r.queued.behind = m.behind
	}
}

// ticket is the campaign's place in the queue of its device.
func (r *Runner) ticket() Ticket {
	switch {
	case r.lease == nil || r.lease.Tickets() == nil:
		return Ticket{}
	case r.queued == nil:
		return Ticket{Place: Unqueued}
	case r.queued.held == nil:
		return Ticket{Place: Waiting, Behind: r.queued.behind}
	}
	return Ticket{Place: Held}
}

// unqueue gives back the ticket that is waited for, or is not used.
func (r *Runner) unqueue() {
	if r.queued == nil {
		return
	}
	r.queued.cancel()
	if r.queued.held != nil {
		r.queued.held.End()
	}
	r.queued = nil
}

// useTicket takes the ticket that is held for a command that is about to be dispatched. The
// ticket has the command before the log does, so that after a crash in between others see it as
// taken rather than free.
func (r *Runner) useTicket(experiment, command string) error {
	ticket := r.queued.held
	if err := ticket.Begin(command); err != nil {
		return err
	}
	r.queued.cancel()
	r.queued = nil
	r.tickets[experiment] = ticket
	return nil
}

// endTickets makes room for others where a command's fate has become known.
func (r *Runner) endTickets() {
	for id, ticket := range r.tickets {
		if x := r.core.State().Experiment(id); x == nil || !AtWork(x) {
			ticket.End()
			delete(r.tickets, id)
		}
	}
}

// leaveTickets is called when the run is over: what is under way keeps its tickets.
func (r *Runner) leaveTickets() {
	r.unqueue()
	for {
		select {
		case m := <-r.inbox:
			if m.ticket != nil {
				m.ticket.End()
			}
			continue
		default:
		}
		break
	}
	for id, ticket := range r.tickets {
		ticket.Leave()
		delete(r.tickets, id)
	}
}
