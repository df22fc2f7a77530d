package notify

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"strconv"
	"sync"
	"time"

	"github.com/campaignd/campaignd/events"
)

// A lab in a database has a notifier in each process that serves it. All of them fold everything,
// and one sends: the holder of the claim, a value of the lab's log that the holder keeps changing.
// Another notifier that sees it unchanged for some time, by its own clock, takes the claim over. No
// two clocks are compared.
//
// The claim usually limits sending to one process, but it is the stream that makes each message
// unique: before sending, a notifier appends the attempt on condition of the last sequence it has
// folded. If that is refused, or its success unknown, it sends nothing, and refolds everything from
// the log.

// claimKey is the key of the claim.
const claimKey = "notify/sender"

// writeTime is the database's deadline for a change.
const writeTime = 10 * time.Second

// claim is a notifier's knowledge of the sender. It is used by one goroutine at a time.
type claim struct {
	self  string
	count int
	seen  []byte    // the last value seen
	since time.Time // when it was first seen
}

func newClaim() *claim { return &claim{self: rand.Text()[:12]} }

// held is the claim's value after one of this notifier's changes.
func (c *claim) held() []byte { return []byte(c.self + " " + strconv.Itoa(c.count)) }

// own reports whether a value is this notifier's.
func (c *claim) own(value []byte) bool { return bytes.HasPrefix(value, []byte(c.self+" ")) }

// renew renews or takes the claim, and reports whether this notifier has it now. Another notifier's
// claim that has not changed for the given time is taken over.
func (c *claim) renew(ctx context.Context, log events.Store, still time.Duration) (bool, error) {
	now, err := log.Value(ctx, claimKey)
	if err != nil {
		return false, err
	}
	if !bytes.Equal(now, c.seen) {
		c.seen, c.since = now, time.Now()
	}
	if now != nil && !c.own(now) && time.Since(c.since) < still {
		return false, nil
	}
	c.count++
	next := c.held()
	swapped, err := log.SwapValue(ctx, claimKey, now, next)
	if err != nil || !swapped {
		return false, err
	}
	c.seen = next
	return true, nil
}

// release lets another notifier take the claim at once.
func (c *claim) release(ctx context.Context, log events.Store) {
	if c.own(c.seen) {
		_, _ = log.SwapValue(ctx, claimKey, c.seen, nil) // else it stands still
		c.seen = nil
	}
}

// stillFor is how long a claim must be unchanged before it is taken over. A notifier renews its own
// with each step, and while it sends.
func (n *Notifier) stillFor() time.Duration { return n.options.Every * 7 / 2 }

// claims reports whether this notifier is the sender.
func (n *Notifier) claims(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, writeTime)
	defer cancel()
	log, err := n.options.Own()
	if err != nil {
		return false
	}
	mine, err := n.claim.renew(ctx, log, n.stillFor())
	return mine && err == nil
}

// keepClaim renews the claim until stop is called: a service may take longer than others wait.
func (n *Notifier) keepClaim(ctx context.Context) (stop func()) {
	ended := make(chan struct{})
	var renewing sync.WaitGroup
	renewing.Go(func() {
		tick := time.NewTicker(n.options.Every)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				n.claims(ctx)
			case <-ended:
				return
			}
		}
	})
	return func() { close(ended); renewing.Wait() }
}

// ready reports whether this notifier should send now: it has the claim, and has folded all events
// of the others.
func (n *Notifier) ready(ctx context.Context) bool {
	mine := n.claims(ctx)
	n.mu.Lock()
	stale := n.stale
	n.mu.Unlock()
	if stale {
		if err := n.foldAnew(ctx); err != nil {
			return false
		}
	}
	if err := n.readOn(ctx); err != nil {
		return false
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	return mine && n.round.behind == 0
}

// readOn folds the others' new events.
func (n *Notifier) readOn(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, writeTime)
	defer cancel()
	log, err := n.options.Own()
	if err != nil {
		return err
	}
	n.mu.Lock()
	after := n.sequence
	n.mu.Unlock()
	for e, err := range log.ReadCampaign(ctx, Stream, after) {
		if err != nil {
			return err
		}
		payload, err := vocabulary.Decode(e)
		if err != nil {
			return err
		}
		n.mu.Lock()
		n.planner.Take(e, payload)
		n.sequence, n.changed = e.Sequence, true
		n.mu.Unlock()
	}
	return nil
}

// record appends the pending events on condition of the last folded one. On failure everything has
// to be folded anew: the planner has folded events that may not be in the log.
func (n *Notifier) record() error {
	n.mu.Lock()
	pending, behind := n.pending, n.sequence
	n.mu.Unlock()
	if len(pending) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), writeTime)
	defer cancel()
	log, err := n.options.Own()
	if err == nil {
		_, err = log.Append(ctx, Stream, behind, pending...)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if err != nil {
		n.stale = true
		return err
	}
	n.pending = n.pending[len(pending):]
	n.sequence += events.Sequence(len(pending))
	n.changed = true
	return nil
}

// round is a fold of all stores from the snapshot on. A new round begins when this notifier's fold
// differs from the log.
type round struct {
	over   chan struct{} // closed when another one begins
	behind int           // stores not yet folded to their ends
}

// foldAnew begins another round. Those that serve stores read them again.
func (n *Notifier) foldAnew(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, writeTime)
	defer cancel()
	planner, sequence, err := n.folded(ctx)
	if err != nil {
		return err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.planner, n.sequence = planner, sequence
	n.pending, n.stale = nil, false
	close(n.round.over)
	n.round = &round{over: make(chan struct{}), behind: n.serving}
	return nil
}

// beginShared is [Notifier.begin] if another notifier may begin the stream as well.
func (n *Notifier) beginShared(ctx context.Context) error {
	err := n.begin()
	if late := new(events.ConflictError); !errors.As(err, &late) {
		return err
	}
	return n.foldAnew(ctx)
}
