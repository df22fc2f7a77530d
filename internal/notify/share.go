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

// A lab in a database has a notifier in each process that serves it. All of them
// fold everything, and one sends: the one that has the claim, a value of the
// lab's log, which it changes again and again. Where another one has seen it
// stand still for some time, by its own clock, it takes the claim over. No two
// clocks are compared.
//
// The claim is so that one sends as a rule. That a message is sent once rests on
// the stream: who is about to send appends that with the sequence that it has
// folded up to. Where that is refused, or not known to have succeeded, it sends
// nothing, and folds all anew from what the log says.

// claimKey is the key of the claim.
const claimKey = "notify/sender"

// writeTime is how long the database may take for a change.
const writeTime = 10 * time.Second

// claim is what a notifier knows of who sends. It is used by one goroutine at a
// time.
type claim struct {
	self  string
	count int
	seen  []byte    // the value as it was last
	since time.Time // when it was first seen so
}

func newClaim() *claim { return &claim{self: rand.Text()[:12]} }

// held is the claim of a notifier at one change of it.
func (c *claim) held() []byte { return []byte(c.self + " " + strconv.Itoa(c.count)) }

// own reports whether a value is this notifier's.
func (c *claim) own(value []byte) bool { return bytes.HasPrefix(value, []byte(c.self+" ")) }

// renew has or takes the claim, and reports whether this notifier has it now. A
// claim of another one that has stood still for so long is taken over.
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

// stillFor is how long a claim must have stood still that is taken over. A
// notifier renews its own with each step, and while it sends.
func (n *Notifier) stillFor() time.Duration { return n.options.Every * 7 / 2 }

// claims reports whether this notifier is the one that sends.
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

// keepClaim renews the claim until stop is called: a service may take longer
// than others wait.
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

// ready reports whether this notifier is to send what is due: it has the claim,
// and has folded all that others have recorded.
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

// readOn folds what others have recorded since.
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

// record appends what is to be appended, behind what this notifier has folded.
// Where it fails, all has to be folded anew: the planner has taken in what may
// not be in the log.
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

// round is a fold of all stores from the snapshot on. Another one begins where
// what this notifier has folded is not what the log says.
type round struct {
	over   chan struct{} // closed when another one begins
	behind int           // how many stores are not folded up to their ends yet
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

// beginShared is [Notifier.begin] where another notifier may begin the stream as well.
func (n *Notifier) beginShared(ctx context.Context) error {
	err := n.begin()
	if late := new(events.ConflictError); !errors.As(err, &late) {
		return err
	}
	return n.foldAnew(ctx)
}
