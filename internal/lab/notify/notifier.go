package notify

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/bus"
	"github.com/campaignd/campaignd/internal/files/labfile"
	"github.com/campaignd/campaignd/internal/ground/clock"
)

// Options of a Notifier.
type Options struct {
	// Lab holds the people and their addresses; without it no messages are sent.
	Lab *labfile.File
	// Own returns the lab's log, as [lablog.Log.Store] does. Unless it is Shared, its stream
	// [Stream] is written by one Notifier at a time.
	Own func() (events.Store, error)
	// Shared is set if other processes have notifiers over the same log: one of them sends, and
	// another takes over when that one ends.
	Shared bool
	// Build is the program: only the same build believes its snapshots.
	Build events.Build
	// Now is the clock. Default: [clock.Now].
	Now func() time.Time
	// Send sends messages; see [By].
	Send Sender
	// Log, if set, receives a line about each failure. It holds no secrets.
	Log func(line string)
	// Every is the interval of looking for due messages. Default: 2 s.
	Every time.Duration
	// Within is how long a service may take. Default: 15 s.
	Within time.Duration
}

// Notifier tells people what waits for them. Its methods may be called from several goroutines.
//
// The lock is never held while a message is sent or a file is written: [Notifier.Observe] is called
// from the loops of campaigns.
type Notifier struct {
	options Options
	claim   *claim

	mu       sync.Mutex
	planner  *Planner
	pending  []events.Event // folded, to be appended
	changed  bool           // since the last snapshot
	sequence events.Sequence
	unsaid   bool // the last attempt to record failed

	round   *round
	serving int  // the number of served stores
	stale   bool // the fold differs from the log: see foldAnew
}

// New returns a notifier that continues from the lab's log. Nothing is sent before [Notifier.Run].
func New(o Options) (*Notifier, error) {
	if o.Now == nil {
		o.Now = clock.Now
	}
	if o.Log == nil {
		o.Log = func(string) {}
	}
	if o.Every <= 0 {
		o.Every = 2 * time.Second
	}
	if o.Within <= 0 {
		o.Within = 15 * time.Second
	}
	n := &Notifier{options: o, claim: newClaim(), round: &round{over: make(chan struct{})}}
	err := n.restore(context.Background())
	switch {
	case err != nil || n.sequence > 0:
	case o.Shared:
		err = n.beginShared(context.Background())
	default:
		err = n.begin()
	}
	if err != nil {
		return nil, fmt.Errorf("what people were sent: %w", err)
	}
	if o.Lab != nil {
		// Logged, not returned: one unreadable address must not keep the server, and everyone
		// else's messages, from starting.
		for _, problem := range o.Lab.CheckSecrets() {
			o.Log(problem.Error())
		}
	}
	return n, nil
}

// Serve folds the events of a store, present and future, until ctx is done or its log is closed. b
// is the bus over the log, also if another process holds the store. caught is called once the
// present events are folded, or unreadable: no message should be decided on before that.
func (n *Notifier) Serve(ctx context.Context, store string, b *bus.Bus, caught func()) {
	n.mu.Lock()
	n.serving++
	n.round.behind++
	n.mu.Unlock()
	var folded *round // the round that no longer counts this store
	defer func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		if n.serving--; n.round != folded {
			n.round.behind--
		}
	}()
	for first := true; ; first = false {
		n.mu.Lock()
		round, after := n.round, n.planner.state.Places[store]
		n.mu.Unlock()
		catch := func() {
			n.mu.Lock()
			if n.round == round && folded != round {
				folded = round
				round.behind--
			}
			n.mu.Unlock()
			caught()
		}
		reading, end := context.WithCancel(ctx)
		stop := make(chan struct{})
		go func() {
			select {
			case <-round.over:
				end()
			case <-stop:
			}
		}()
		err := b.Consume(reading, bus.Consumer{
			After:  n.found(reading, b, after),
			Takes:  takes,
			Caught: catch,
			Handle: func(_ context.Context, e events.Event) error {
				n.take(round, store, e)
				return nil
			},
		})
		again := reading.Err() != nil && ctx.Err() == nil
		close(stop)
		end()
		if again {
			continue
		}
		if err == nil {
			return
		}
		if catch(); first {
			n.options.Log(fmt.Sprintf("what happens in %s cannot be read: %v", store, err))
		}
		select {
		case <-time.After(n.options.Every):
		case <-ctx.Done():
			return
		}
	}
}

// found returns the position of a place in a log, or 0 if the log does not hold it: it is another
// log of that name, or an older copy. Folding such a log from its first event costs time but
// repeats no message, since events folded before are skipped by their sequence.
func (n *Notifier) found(ctx context.Context, b *bus.Bus, at place) (p events.Position) {
	if at.Position == 0 {
		return 0
	}
	ctx, end := context.WithCancel(ctx)
	defer end()
	_ = b.Consume(ctx, bus.Consumer{ // an unreadable log is read again
		After:  at.Position - 1,
		Caught: end,
		Handle: func(_ context.Context, e events.Event) error {
			if end(); placeOf(e) == at {
				p = at.Position
			}
			return nil
		},
	})
	return p
}

// take folds an event of a store. Unknown kinds concern no one.
//
// The place advances over such an event as well: else each start would read the log from there
// again.
func (n *Notifier) take(of *round, store string, e events.Event) {
	payload, err := events.Decode(e)
	n.mu.Lock()
	defer n.mu.Unlock()
	switch {
	case n.round != of:
		return // it is folded anew
	case store == Lab:
		n.planner.ApplyLab(e)
	case err == nil:
		n.planner.Apply(e, payload)
	}
	n.planner.state.Places[store] = placeOf(e)
	n.changed = true
}

// Status returns how each person of the lab is reached now.
func (n *Notifier) Status() []Status {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.planner.Status(n.options.Now())
}

// keepEvery is the interval between snapshots, if something has changed. It bounds the work of a
// killed process's successor.
const keepEvery = 30 * time.Second

// Run sends due messages until the context is done. By then [Notifier.Serve] has folded the stores.
func (n *Notifier) Run(ctx context.Context) {
	ticker := time.NewTicker(n.options.Every)
	defer ticker.Stop()
	kept := n.options.Now()
	for {
		n.Step(ctx)
		if now := n.options.Now(); now.Sub(kept).Abs() > keepEvery {
			n.keep()
			kept = now
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			n.keep()
			n.leave()
			return
		}
	}
}

// leave lets another notifier send at once.
func (n *Notifier) leave() {
	if !n.options.Shared {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), n.options.Every)
	defer cancel()
	if log, err := n.options.Own(); err == nil {
		n.claim.release(ctx, log)
	}
}

// Step looks once for due messages and sends them. Run only repeats it; Step is not called while it
// runs. The state is written before the messages leave, so that a process that dies between the two
// sends the same messages with the same identifiers.
func (n *Notifier) Step(ctx context.Context) {
	if n.options.Shared && !n.ready(ctx) {
		return
	}
	n.mu.Lock()
	due, attempted := n.planner.Due(n.options.Now())
	n.pending = append(n.pending, attempted...)
	n.mu.Unlock()
	// The log records the attempts before they are made.
	recorded := n.tryRecord()
	if n.options.Shared {
		if !recorded {
			return // another notifier may send them
		}
		defer n.keepClaim(ctx)()
	}
	var sending sync.WaitGroup
	for _, m := range due {
		sending.Go(func() { n.send(ctx, m) })
	}
	sending.Wait()
	n.tryRecord()
}

// send sends a message and records the result. If the context ends it records nothing, as if the
// process had died.
func (n *Notifier) send(ctx context.Context, m Message) {
	to := n.options.Lab.People[m.Person].Notify[m.Target]
	// The bound is per message: a service that hangs delays the next step by that much, and no
	// campaign.
	limited, cancel := context.WithTimeout(ctx, n.options.Within)
	defer cancel()
	err := n.options.Send.Send(limited, to, m)
	if err != nil && ctx.Err() != nil {
		return // ended: the next notifier sends the same again
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	now := n.options.Now()
	if err == nil {
		n.pending = append(n.pending, n.planner.Sent(m, now))
		return
	}
	why := to.Scrub(err.Error())
	n.pending = append(n.pending, n.planner.Failed(m, now, why))
	n.options.Log(fmt.Sprintf("%s cannot be reached at %s: %s", m.Person, to, why))
}

// tryRecord appends the pending events. A failure is logged once, until it succeeds again; messages
// are sent nevertheless, and perhaps again after a restart. Only if another notifier may send them,
// they are withheld.
func (n *Notifier) tryRecord() (recorded bool) {
	record := n.flush
	if n.options.Shared {
		record = n.record
	}
	err := record()
	if err != nil && !n.unsaid {
		n.options.Log(fmt.Sprintf("what people are sent cannot be recorded, so that they may be sent it again: %v", err))
	}
	n.unsaid = err != nil
	return err == nil
}
