// Package devices is the queue of a lab's devices, in the lab's log: which campaign has which
// device, and which command it is at work on, over all machines of the lab.
//
// A campaign that drives a real device has a ticket for it, and one for each command from before it
// is dispatched until its fate is known. Tickets are events, appended on condition of the last
// sequence read ([events.DevicesStream]): the number of valid ones never exceeds the device's
// capacity. They end with the fate, never by time, and not with the process: after a crash the next
// process that drives the campaign adopts them, on whichever machine that is ([Campaign.Adopt]).
//
// Time decides only on the order: a waiter that does not come when it is its turn is skipped.
package devices

import (
	"context"
	"errors"
	"maps"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/ground/clock"
	"github.com/campaignd/campaignd/internal/lab/lablog"
)

// Options of a queue. The zero value of each means its default.
type Options struct {
	// Review, if set, is called, at times, if a campaign of this lab holds a device that others
	// wait for: it calls [Campaign.Forget] if no process drives that campaign.
	Review func(store, campaign string)
	// Fresh is the maximum age of the data read from a log that other processes append to; 500 ms
	// by default.
	Fresh time.Duration
	// Patience is how long the first in line is waited for; 5 s by default.
	Patience time.Duration
	// Within is the time limit of the log for an answer; 10 s by default.
	Within time.Duration
}

// Queue is the queue as this process knows it. Its methods may be called by several goroutines. It
// is nil in a program without a lab's log, which has no campaigns.
type Queue struct {
	own    *lablog.Log
	o      Options
	worker string
	host   string

	// io is held while the log is read or appended to.
	io  sync.Mutex
	log events.Store // the log that line was folded from; nil before that

	mu       sync.Mutex
	line     *line
	read     time.Time                  // when the log was last read
	heard    events.Sequence            // the newest that another process is known to have appended
	owed     map[events.Sequence]bool   // ended, and not freed in the log yet
	places   map[events.Sequence]*Place // held by this process
	unsure   []*Place                   // given up, with a possible entry unknown to them
	reviewed map[user]time.Time
	changed  chan struct{} // closed and replaced at each event
	settling bool
	closed   chan struct{}
	wg       sync.WaitGroup
}

// New returns the queue in a lab's log.
func New(own *lablog.Log, o Options) *Queue {
	set := func(d *time.Duration, usual time.Duration) {
		if *d == 0 {
			*d = usual
		}
	}
	set(&o.Fresh, 500*time.Millisecond)
	set(&o.Patience, 5*time.Second)
	set(&o.Within, 10*time.Second)
	q := &Queue{
		own: own, o: o, worker: engine.NewInstance(), line: new(line),
		owed: make(map[events.Sequence]bool), places: make(map[events.Sequence]*Place),
		reviewed: make(map[user]time.Time), changed: make(chan struct{}), closed: make(chan struct{}),
	}
	q.host, _ = os.Hostname()
	return q
}

// Close frees the ended tickets; all others stay valid.
func (q *Queue) Close() {
	q.mu.Lock()
	select {
	case <-q.closed:
	default:
		close(q.closed)
	}
	q.mu.Unlock()
	q.wg.Wait()
}

// Shared reports whether several machines share the queue.
func (q *Queue) Shared() bool { return q != nil && q.own.Shared() }

// Changed returns a channel that is closed when the queue changes.
func (q *Queue) Changed() <-chan struct{} {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.changed
}

// Hear reports that the log has an event of the queue, perhaps of another process.
func (q *Queue) Hear(at events.Sequence) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if at > q.line.last {
		q.heard = max(q.heard, at)
		q.tell()
	}
}

// tell wakes the waiters. The caller holds mu.
func (q *Queue) tell() {
	close(q.changed)
	q.changed = make(chan struct{})
}

// refresh folds new events of the stream, if other processes append to it and the last read is too
// old. The caller holds io.
func (q *Queue) refresh(ctx context.Context) error {
	log, err := q.own.Store()
	if err != nil {
		return err
	}
	q.mu.Lock()
	now, heard := q.line, q.heard
	fresh := q.heard <= now.last && (!q.own.Shared() || time.Since(q.read) < q.o.Fresh)
	q.mu.Unlock()
	if log == q.log && fresh {
		return nil
	}
	if log != q.log {
		now = new(line)
	}
	began := time.Now()
	var came []events.Event
	for e, err := range log.ReadCampaign(ctx, events.DevicesStream, now.last) {
		if err != nil {
			return lablog.Fault(err)
		}
		came = append(came, e)
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.line, q.log = now, log
	q.read = began
	err = q.fold(came)
	if q.heard == heard { // it is read, or was never stored
		q.heard = q.line.last
	}
	return err
}

// fold applies events. The caller holds io and mu.
func (q *Queue) fold(came []events.Event) error {
	for _, e := range came {
		ended, err := q.line.apply(e)
		if err != nil {
			q.log = nil
			return lablog.Fault(err)
		}
		for _, n := range ended {
			delete(q.owed, n)
			delete(q.places, n)
		}
	}
	if len(came) > 0 {
		q.tell()
	}
	return nil
}

// change appends the events that decide derives from the line, which it must not modify, together
// with those that free the owed tickets. If another process is quicker, decide is called again.
// Without events nothing is appended.
func (q *Queue) change(decide func(l *line) []events.Payload) error {
	ctx, cancel := context.WithTimeout(context.Background(), q.o.Within)
	defer cancel()
	q.io.Lock()
	defer q.io.Unlock()
	for {
		if err := q.refresh(ctx); err != nil {
			return err
		}
		q.mu.Lock()
		payloads := decide(q.line)
		q.recallUnsure()
		if len(q.owed) > 0 {
			ended := &events.DeviceFreed{Taken: slices.Sorted(maps.Keys(q.owed)), Because: events.DeviceEnded}
			payloads = append([]events.Payload{ended}, payloads...)
		}
		last := q.line.last
		q.mu.Unlock()
		if len(payloads) == 0 {
			return nil
		}
		err := q.append(ctx, last, payloads)
		var conflict *events.ConflictError
		if !errors.As(err, &conflict) {
			return err
		}
	}
}

// recallUnsure adds late entries of given-up places to the owed ones. The caller holds mu.
func (q *Queue) recallUnsure() {
	for _, p := range q.unsure {
		for _, e := range q.line.of(p.me.Store, p.me.Campaign) {
			if other := q.places[e.n]; p.means(e) && e.Worker == q.worker && (other == nil || other == p) {
				q.owed[e.n] = true
			}
		}
	}
	q.unsure = nil
}

// append records events on condition of the last sequence read, as one batch. The caller holds io.
//
// After an error the stream is read anew: the batch may be stored nevertheless.
func (q *Queue) append(ctx context.Context, last events.Sequence, payloads []events.Payload) error {
	batch := make([]events.Event, len(payloads))
	now := engine.Stamp(clock.Now())
	for i, payload := range payloads {
		e, err := events.Lab.New(events.DevicesStream, kindOf(payload), payload)
		if err != nil {
			return err
		}
		e.Actor, e.Time = "engine", now
		batch[i] = e
	}
	stored, err := q.log.Append(ctx, events.DevicesStream, last, batch...)
	q.mu.Lock()
	defer q.mu.Unlock()
	if err == nil {
		return q.fold(stored)
	}
	q.heard = max(q.heard, last+1)
	var conflict *events.ConflictError
	if errors.As(err, &conflict) {
		return err
	}
	return lablog.Fault(err)
}

// kindOf returns the kind of a payload of the queue.
func kindOf(payload events.Payload) events.Kind {
	switch payload.(type) {
	case *events.DeviceAwaited:
		return events.KindDeviceAwaited
	case *events.DeviceTaken:
		return events.KindDeviceTaken
	}
	return events.KindDeviceFreed
}

// retryAfter is the delay before ended tickets are freed again after a failed append; tests shorten
// it.
var retryAfter = time.Second

// pay frees the owed tickets, now or as soon as the log accepts events. The campaign does not wait
// for it. The caller holds mu.
func (q *Queue) pay() {
	if !q.settling {
		q.settling = true
		q.wg.Go(q.settle)
	}
}

// settle frees the owed tickets. When the queue is closed it tries once more. The next process that
// drives the campaign frees the rest.
func (q *Queue) settle() {
	for {
		err := q.change(func(*line) []events.Payload { return nil })
		q.mu.Lock()
		if len(q.owed)+len(q.unsure) == 0 {
			q.settling = false
			q.mu.Unlock()
			return
		}
		q.mu.Unlock()
		if err == nil {
			continue
		}
		select {
		case <-q.closed:
			return
		case <-time.After(retryAfter):
		}
	}
}
