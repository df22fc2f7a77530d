package lab

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/ground/clock"
	"github.com/campaignd/campaignd/internal/ground/format"
	"github.com/campaignd/campaignd/internal/ground/problem"
	"github.com/campaignd/campaignd/internal/lab/lablog"
)

// Custody is a store's state in the lab's log: its holder, and the campaigns that the lab goes
// on with. It is a fold of the store's stream.
type Custody struct {
	Last    events.Sequence // of the newest event of the stream
	Held    *events.StoreHeld
	Hold    events.Sequence // of the hold
	Since   time.Time       // of the hold
	Started map[string]bool
}

// apply brings the custody forward by an event of its stream.
func (c *Custody) apply(e events.Event) error {
	payload, err := events.Lab.Decode(e)
	if err != nil {
		return err
	}
	c.Last = e.Sequence
	switch p := payload.(type) {
	case *events.StoreHeld:
		c.Held = p
		c.Hold = e.Sequence
		c.Since = e.Time
	case *events.StoreReleased:
		c.Held = nil
		c.Hold = 0
		c.Since = time.Time{}
	case *events.RunStarted:
		c.Started[p.Campaign] = true
	case *events.RunEnded:
		delete(c.Started, p.Campaign)
	}
	return nil
}

// CustodyOf folds the events about a store in a lab's log. It reads the stream from its
// beginning; a store changes hands seldom.
func CustodyOf(ctx context.Context, log events.Store, stream string) (*Custody, error) {
	c := &Custody{Started: make(map[string]bool)}
	return c, foldStream(ctx, log, stream, 0, c.apply)
}

// foldStream applies the events of a stream of the lab's log after a sequence.
func foldStream(
	ctx context.Context, log events.Store, stream string, after events.Sequence, apply func(events.Event) error,
) error {
	for e, err := range log.ReadCampaign(ctx, stream, after) {
		if err == nil {
			err = apply(e)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// custodyLog writes the events about a store to the lab's log. Each of its events is appended
// with the sequence of the last one that it knows, so that once another process has taken the
// store, it is refused. Its methods may be called by several goroutines.
type custodyLog struct {
	own    *lablog.Log
	stream string
	worker string // this process

	mu      sync.Mutex
	log     events.Store // from which now was folded; nil where that is to be done
	now     *Custody
	holding bool // this process has said that it holds the store
	// said is the hold that this process recorded last, its own or that of a
	// process through which it reads the store; 0 where it was released.
	said events.Sequence
}

// read folds the new events of the stream, or all of them if the log was opened again. The
// caller holds mu. A log that was opened again is a different value, which shows it.
func (c *custodyLog) read() error {
	log, err := c.own.Store()
	if err != nil {
		return err
	}
	if log != c.log {
		c.now = &Custody{Started: make(map[string]bool)}
	}
	if err := foldStream(context.Background(), log, c.stream, c.now.Last, c.now.apply); err != nil {
		c.log = nil
		return lablog.Fault(err)
	}
	c.log = log
	return nil
}

// hear folds an event that another process has recorded, if this one knows all before it;
// otherwise the events are read before they are needed.
func (c *custodyLog) hear(e events.Event) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.now == nil || e.Sequence <= c.now.Last {
		return
	}
	if e.Sequence > c.now.Last+1 || c.now.apply(e) != nil {
		c.log = nil
		_ = c.read() // tried again when it is needed
	}
}

// started is isStarted as far as this process has heard.
func (c *custodyLog) started(campaign string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now != nil && c.now.Started[campaign]
}

// ourselves is the requester of what a process does by itself.
var ourselves = engine.Request{Actor: "engine"}

// append records an event, at a sequence that the caller has seen; by names the requester. The
// caller holds mu.
func (c *custodyLog) append(
	expected events.Sequence, kind events.Kind, payload events.Payload, by engine.Request,
) error {
	e, err := events.Lab.New(c.stream, kind, payload)
	if err != nil {
		return err
	}
	e.Actor, e.Account = by.Actor, by.Account
	e.Time = engine.Stamp(clock.Now())
	stored, err := c.log.Append(context.Background(), c.stream, expected, e)
	if err != nil {
		c.log = nil // its present content is read anew
		var conflict *events.ConflictError
		if errors.As(err, &conflict) {
			return err
		}
		return lablog.Fault(err)
	}
	return c.now.apply(stored[0])
}

// look returns the sequence up to which this process knows the store's custody: it must have
// seen that much before it takes the store.
func (c *custodyLog) look() (events.Sequence, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.read(); err != nil {
		return 0, err
	}
	return c.now.Last, nil
}

// hold records who holds the store, unless another process has said so since
// the look. That one has taken it then: the error wraps [events.ErrInUse].
//
// Lost is set where the one before has not let go: it was killed, or its disk
// failed.
func (c *custodyLog) hold(seen events.Sequence, holder events.StoreHeld) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.read(); err != nil {
		return err
	}
	holder.Lost = c.now.Held != nil
	err := c.append(seen, events.KindStoreHeld, &holder, ourselves)
	var conflict *events.ConflictError
	if errors.As(err, &conflict) {
		return c.taken()
	}
	c.holding = err == nil && holder.Worker == c.worker
	if err == nil {
		c.said = c.now.Hold
	}
	return err
}

// taken is the refusal of an event that another process has forestalled. The caller holds mu.
func (c *custodyLog) taken() error {
	if err := c.read(); err != nil {
		return err
	}
	by := "another process"
	if h := c.now.Held; h != nil {
		by = fmt.Sprintf("process %d on %s, since %s", h.PID, h.Host, format.Time(c.now.Since))
	}
	return problem.New(problem.Unavailable, "%w: %s has taken it", events.ErrInUse, by)
}

// release records that the holder has let go of the store. The holder may be a
// process through which this one has read the store: its hold was recorded as
// well. A hold that another process has recorded since is not this one's to end.
func (c *custodyLog) release() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	said := c.said
	c.holding, c.said = false, 0
	for {
		if err := c.read(); err != nil {
			return err
		}
		if said == 0 || c.now.Hold != said {
			return nil
		}
		err := c.append(c.now.Last, events.KindStoreReleased, &events.StoreReleased{}, ourselves)
		var conflict *events.ConflictError
		if !errors.As(err, &conflict) { // else another event came between, and is read now
			return err
		}
	}
}

// isStarted reports whether the lab goes on with a campaign.
func (c *custodyLog) isStarted(campaign string) (bool, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	err := c.read()
	return err == nil && c.now.Started[campaign], err
}

// setStarted records that the lab goes on with a campaign, or not any more, and the requester.
// It is refused if another process has taken the store from this one. It needs no hold: a
// person may start a campaign of a store that another process has, and the loop repeats the
// attempt until no other event comes between.
func (c *custodyLog) setStarted(campaign string, started bool, by engine.Request) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	kind, payload := events.KindRunEnded, events.Payload(&events.RunEnded{Campaign: campaign})
	if started {
		kind, payload = events.KindRunStarted, &events.RunStarted{Campaign: campaign}
	}
	for {
		if err := c.read(); err != nil {
			return err
		}
		if h := c.now.Held; c.holding && (h == nil || h.Worker != c.worker) {
			return c.taken()
		}
		if c.now.Started[campaign] == started {
			return nil
		}
		err := c.append(c.now.Last, kind, payload, by)
		var conflict *events.ConflictError
		if !errors.As(err, &conflict) { // else another event came between, and is read now
			return err
		}
	}
}
