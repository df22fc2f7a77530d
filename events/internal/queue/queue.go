// Package queue holds the requests of a log's writers that its committer has not taken yet, for
// every store of package events that groups appends.
package queue

import (
	"bytes"
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"

	"github.com/campaignd/campaignd/events"
)

// MaxGroupSize is the size in bytes from which a group of requests that are
// stored together takes no more. A group that grew without end would keep its
// first writer waiting for all the others. A single request may be larger: it is
// never split (it is atomic).
const MaxGroupSize = 2 << 20

// Request is one Append on its way through the committer. The committer owns it
// from put to Done; withdraw takes it back only while no one has it.
type Request struct {
	Campaign string
	Expected events.Sequence
	Batch    []events.Event

	// Stored and Err are written by the committer, and read by the caller after
	// Done.
	Stored []events.Event
	Err    error
	Done   chan struct{} // gets a value once Stored and Err are final
}

// requests are those that were answered, to be used again. One that was not
// answered to its caller (uncertain, withdrawn) is not given back: the
// committer may still hold it, and would answer someone else's Append.
var requests = sync.Pool{New: func() any { return &Request{Done: make(chan struct{}, 1)} }}

// newRequest returns the request to append a batch. It holds a copy: the caller
// may use its own again.
func newRequest(campaign string, expected events.Sequence, batch []events.Event) *Request {
	r := requests.Get().(*Request)
	r.Campaign = campaign
	r.Expected = expected
	r.Batch = slices.Clone(batch)
	for i := range r.Batch {
		r.Batch[i].Data = bytes.Clone(r.Batch[i].Data)
	}
	return r
}

// answer returns the result of a finished request, and gives the request back.
func (r *Request) answer() ([]events.Event, error) {
	stored, err := r.Stored, r.Err
	*r = Request{Done: r.Done}
	requests.Put(r)
	return stored, err
}

// Queue holds the requests that the committer has not taken yet.
type Queue struct {
	mu       sync.Mutex
	waiting  *sync.Cond
	requests []*Request
	closed   bool
}

// New returns an empty queue.
func New() *Queue {
	q := new(Queue)
	q.waiting = sync.NewCond(&q.mu)
	return q
}

// Append has a batch appended by the committer, under the contract of [events.Log].
//
// A batch that the committer has taken cannot be withdrawn: a context that ends then leaves it open
// whether the batch is stored ([events.ErrUncertain]). The same goes for a store that fails, where
// the committer may never answer: failed is closed then, and stopped returns the cause. A store
// that never gives up has no such channel.
func (q *Queue) Append(
	ctx context.Context, campaign string, expected events.Sequence, batch []events.Event,
	failed <-chan struct{}, stopped func() error,
) ([]events.Event, error) {
	r := newRequest(campaign, expected, batch)
	if !q.put(r) {
		return nil, fmt.Errorf("store: append: %w", events.ErrClosed)
	}
	var why error
	select {
	case <-r.Done:
		return r.answer()
	case <-ctx.Done():
		why = context.Cause(ctx)
	// A disk that hangs closes this channel too late or never; then the caller's context ends the
	// wait.
	case <-failed:
		select {
		case <-r.Done:
			return r.answer()
		default:
		}
		why = stopped()
	}
	if q.withdraw(r) {
		return nil, fmt.Errorf("store: append: %w", why)
	}
	return nil, fmt.Errorf("store: append: %w: %w", events.ErrUncertain, why)
}

// put adds a request. It returns false once the queue is closed. No bound: the
// writers are the goroutines of this process, and each waits for its answer
// before it appends again.
func (q *Queue) put(r *Request) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return false
	}
	q.requests = append(q.requests, r)
	q.waiting.Signal()
	return true
}

// withdraw removes a request. It returns false if the committer has it. The
// queue's lock decides between withdraw and Take: a request is either out of
// the queue for good and never stored, or the committer's.
func (q *Queue) withdraw(r *Request) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	i := slices.Index(q.requests, r)
	if i >= 0 {
		q.requests = slices.Delete(q.requests, i, i+1)
	}
	return i >= 0
}

// Take waits for requests and moves them all to buf. None means that the queue is closed and empty.
//
// While requests go on arriving, it lets their writers run first: writers that were answered at the
// same time come back at the same time, and all of them in one batch cost one wait for the disk
// instead of two.
func (q *Queue) Take(buf []*Request) []*Request {
	q.mu.Lock()
	defer q.mu.Unlock()
	for {
		for len(q.requests) == 0 && !q.closed {
			q.waiting.Wait()
		}
		// The lock is let go in between, or no writer could put anything. It
		// ends as soon as a round brings nothing new; with one writer that is
		// the first.
		for n := 0; n < len(q.requests); {
			n = len(q.requests)
			q.mu.Unlock()
			runtime.Gosched()
			q.mu.Lock()
		}
		if len(q.requests) > 0 || q.closed {
			break
		}
		// All that there was has been withdrawn meanwhile.
	}
	buf = append(buf[:0], q.requests...)
	// Requests that were taken must not be kept alive by the array behind the
	// queue.
	clear(q.requests)
	q.requests = q.requests[:0]
	return buf
}

// Close lets the committer end once the queue is empty. Requests that come later
// are refused.
func (q *Queue) Close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.waiting.Signal()
}
