// Package forward sends the events of a lab's campaigns to other systems: an HTTP address, or
// Kafka, NATS and AMQP through the program with their clients (package relay).
//
// For each target and each store there is a [bus.Consumer]. It publishes one event at a time, in
// the order of the log, as a CloudEvent in structured mode; the next one follows once the target
// has durably accepted it: HTTP answers with 2xx, a broker confirms the storage. The consumer's
// position is kept in the store itself, and moves with it. The guarantees, whatever is cut, killed
// or restored:
//
//   - No event is left out, and each is sent at least once. An event is repeated if its acceptance
//     is unknown, or if a crash lost the consumer's position.
//   - The first arrivals of the events of a store are in the order of its log. A repeated event may
//     come behind later ones. Its message identifier is the same each time.
//   - A refused event holds up that store's events at that target, and nothing else: no other
//     store, no other target, no campaign.
package forward

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/bus"
	"github.com/campaignd/campaignd/internal/files/labfile"
	"github.com/campaignd/campaignd/internal/ground/clock"
	"github.com/campaignd/campaignd/internal/ground/plaintext"
	"github.com/campaignd/campaignd/internal/ground/relay"
)

// Options of a Forwarder.
type Options struct {
	// Targets are the destinations, by name.
	Targets map[string]labfile.Forward
	// Log, if set, receives a line when a target begins to refuse events and when it accepts them
	// again. It holds no secrets.
	Log func(line string)
	// Now is the clock. Default: [clock.Now].
	Now func() time.Time
	// Within is the time limit of a target for an event. Default: 30 s.
	Within time.Duration
	// RetryPause and RetryPauseMax are the pauses between attempts: the first,
	// which doubles, and the longest. Defaults: 1 s and 1 min.
	RetryPause, RetryPauseMax time.Duration
}

// Forwarder sends events to the targets of a lab. Its methods may be called from several
// goroutines.
//
// It knows the state of each target; the bus keeps the position of each, in the store.
type Forwarder struct {
	options Options
	targets []*target // in the order of their names

	mu sync.Mutex // guards what targets and routes remember
}

// target is a destination of events.
type target struct {
	name   string
	to     labfile.Forward
	routes map[string]*route // by store
}

// route is a store's connection to a target.
type route struct {
	bus       *bus.Bus
	delivered time.Time
	failed    time.Time
	again     time.Time
	err       string
}

// New returns a forwarder. Nothing is sent before its consumers are served.
func New(o Options) *Forwarder {
	if o.Log == nil {
		o.Log = func(string) {}
	}
	if o.Now == nil {
		o.Now = clock.Now
	}
	if o.Within <= 0 {
		o.Within = 30 * time.Second
	}
	if o.RetryPause <= 0 {
		o.RetryPause = time.Second
	}
	if o.RetryPauseMax <= 0 {
		o.RetryPauseMax = time.Minute
	}
	f := &Forwarder{options: o}
	for _, name := range slices.Sorted(maps.Keys(o.Targets)) {
		f.targets = append(f.targets, &target{
			name: name, to: o.Targets[name], routes: make(map[string]*route),
		})
	}
	return f
}

// Serve sends the events of a store to every target until ctx is done or the store is closed. store
// names it in messages; b is the bus over its log. It returns when nothing more is being sent. If
// another process holds the store it sends nothing: positions could not be kept in it.
func (f *Forwarder) Serve(ctx context.Context, store string, b *bus.Bus) {
	if !b.Keeps() {
		return
	}
	var serving sync.WaitGroup
	for _, t := range f.targets {
		serving.Go(func() { f.serve(ctx, t, store, b) })
	}
	serving.Wait()
}

// group returns the name of a target's consumer.
func group(target string) string { return "forward/" + target }

// serve sends a store's events to one target. The sender is its own, so that no store waits for
// another's connection.
func (f *Forwarder) serve(ctx context.Context, t *target, store string, b *bus.Bus) {
	r := &route{bus: b}
	f.mu.Lock()
	t.routes[store] = r
	f.mu.Unlock()
	s := &sender{to: t.to, within: f.options.Within}
	defer s.drop()
	err := b.Consume(ctx, bus.Consumer{
		Name:  group(t.name),
		Takes: t.to.Takes,
		Handle: func(ctx context.Context, e events.Event) error {
			out, err := outgoing(e)
			if err == nil {
				err = s.send(ctx, out)
			}
			if err == nil {
				f.took(t, store, r)
			}
			return err
		},
		Refused: func(e events.Event, err error, pause time.Duration) {
			f.refused(t, store, r, e, err, pause)
		},
		RetryPause:    f.options.RetryPause,
		RetryPauseMax: f.options.RetryPauseMax,
	})
	f.mu.Lock()
	delete(t.routes, store)
	f.mu.Unlock()
	if err != nil {
		f.options.Log(fmt.Sprintf("events of %s are not sent to %s any more: %v", store, t.name, err))
	}
}

// outgoing returns an event in its sent form: CloudEvents, under the hash of its record. The hash
// is the same each time it is sent, and differs for every other event, also of a campaign of the
// same name in another lab.
func outgoing(e events.Event) (relay.Event, error) {
	data, err := events.MarshalCloudEvent(e)
	if err != nil {
		return relay.Event{}, err
	}
	record, err := events.AppendRecord(nil, e)
	if err != nil {
		return relay.Event{}, err
	}
	hash := tlog.RecordHash(record)
	return relay.Event{ID: hex.EncodeToString(hash[:16]), Campaign: e.Campaign, Data: data}, nil
}

// took notes that a target has accepted an event, and logs that if it refused before.
func (f *Forwarder) took(t *target, store string, r *route) {
	f.mu.Lock()
	failed := !r.failed.IsZero()
	r.delivered = f.options.Now()
	r.failed = time.Time{}
	r.again = time.Time{}
	r.err = ""
	f.mu.Unlock()
	if failed {
		f.options.Log(fmt.Sprintf("%s takes the events of %s again", t.name, store))
	}
}

// refused notes why a target has not accepted an event. It logs the first refusal; the status has
// the last.
func (f *Forwarder) refused(
	t *target, store string, r *route, e events.Event, err error, pause time.Duration,
) {
	why := plaintext.Line(t.to.Token.Scrub(t.to.To.Scrub(err.Error())))
	why = fmt.Sprintf("%s, event %d: %s", e.Campaign, e.Sequence, why)
	f.mu.Lock()
	first := r.failed.IsZero()
	now := f.options.Now()
	r.failed = now
	r.again = now.Add(pause)
	r.err = why
	f.mu.Unlock()
	if first {
		f.options.Log(fmt.Sprintf("%s (%s) does not take events of %s, and is tried again: %s", t.name,
			t.to.To, store, why))
	}
}

// Status is the state of a target.
type Status struct {
	// Name is the target's name in the lab file, Address its address without secrets.
	Name    string `json:"name"`
	Address string `json:"address"`
	// Behind is the number of events, in the stores that this process holds, still to be considered
	// for it.
	Behind uint64 `json:"behind"`
	// Delivered is when it last accepted an event.
	Delivered time.Time `json:"delivered,omitzero"`
	// Error is why it does not accept the next event, Failed when it was last tried, and Again when
	// it is tried next. If it refuses the events of several stores, this is the first by name.
	Error  string    `json:"error,omitempty"`
	Failed time.Time `json:"failed,omitzero"`
	Again  time.Time `json:"again,omitzero"`
	// Store is the store that the error is about.
	Store string `json:"store,omitempty"`
}

// Status returns the state of each target, in the order of their names.
func (f *Forwarder) Status() []Status {
	f.mu.Lock()
	defer f.mu.Unlock()
	list := []Status{}
	for _, t := range f.targets {
		s := Status{Name: t.name, Address: t.to.To.String()}
		for _, store := range slices.Sorted(maps.Keys(t.routes)) {
			r := t.routes[store]
			behind, err := r.bus.Behind(group(t.name))
			s.Behind += behind
			if r.delivered.After(s.Delivered) {
				s.Delivered = r.delivered
			}
			why := r.err
			if err != nil && !errors.Is(err, events.ErrClosed) {
				why = err.Error()
			}
			if why != "" && s.Error == "" {
				s.Store = store
				s.Error = why
				s.Failed = r.failed
				s.Again = clock.Within(r.again, f.options.Now(), f.options.RetryPauseMax)
			}
		}
		list = append(list, s)
	}
	return list
}

// Behind returns the number of unprocessed events for each target.
func (f *Forwarder) Behind() map[string]uint64 {
	behind := make(map[string]uint64)
	for _, s := range f.Status() {
		behind[s.Name] = s.Behind
	}
	return behind
}
