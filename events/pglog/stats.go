package pglog

import (
	"sync/atomic"
	"time"

	"github.com/campaignd/campaignd/events"
)

// Stats count this process's experience with a database since it opened it.
type Stats struct {
	// Held is how many stores it holds now.
	Held int
	// TakenOver is how many it took hold of whose holder had ended without a word,
	// and Lost how many it held and lost: to another process, or because its heartbeats were
	// not answered.
	TakenOver, Lost int64
	// Heartbeat is the time since the newest heartbeat was sent that was answered,
	// 0 without a worker, and Missed how many were not answered in time.
	Heartbeat time.Duration
	Missed    int64
	// Settled is how many appends broke off without an answer and then were found to be
	// stored, and Resent how often one was sent again.
	Settled, Resent int64
	// Asked is how many letters it has sent to other processes, and Answered how
	// many of others it has answered.
	Asked, Answered int64
	// Behind is how many events the logs that are followed are known to have that
	// the furthest behind of the followers of each has not been given.
	Behind int64
}

// counts are those parts of Stats that only grow.
type counts struct {
	takenOver, lost, missed, settled, resent, asked, answered atomic.Int64
}

// Stats returns what this process has seen. It asks the database nothing.
func (d *Database) Stats() Stats {
	c := &d.counts
	s := Stats{
		TakenOver: c.takenOver.Load(), Lost: c.lost.Load(), Missed: c.missed.Load(),
		Settled: c.settled.Load(), Resent: c.resent.Load(), Asked: c.asked.Load(), Answered: c.answered.Load(),
	}
	d.mu.Lock()
	worker := d.worker
	d.mu.Unlock()
	if worker != nil {
		worker.mu.Lock()
		for _, l := range worker.held {
			if l != nil {
				s.Held++
			}
		}
		if !worker.beaten.IsZero() {
			s.Heartbeat = time.Since(worker.beaten)
		}
		worker.mu.Unlock()
	}
	for _, l := range d.followed() {
		behind, _ := l.extent.followed()
		s.Behind += behind
	}
	return s
}

// follow notes how far a follower is, which it keeps up itself until it leaves.
func (x *extent) follow(after events.Position) (at *atomic.Int64, leave func()) {
	at = new(atomic.Int64)
	at.Store(int64(after))
	x.mu.Lock()
	defer x.mu.Unlock()
	x.followers[at] = struct{}{}
	return at, func() {
		x.mu.Lock()
		defer x.mu.Unlock()
		delete(x.followers, at)
	}
}

// followed reports whether there are followers, and behind is how many events the one that is
// furthest behind lacks of those that are known of.
func (x *extent) followed() (behind int64, any bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for at := range x.followers {
		behind = max(behind, max(x.seen, x.hint)-at.Load())
	}
	return behind, len(x.followers) > 0
}
