//go:build unix

package notify

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/bus"
	"github.com/campaignd/campaignd/events/memlog"
	"github.com/campaignd/campaignd/internal/files/builtin"
	"github.com/campaignd/campaignd/internal/files/labfile"
	"github.com/campaignd/campaignd/internal/lab/lablog"
	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/internal/tests/pgtest"
)

// service counts what it was sent, by message and by who sent it.
type service struct {
	mu   sync.Mutex
	sent map[string][]string // the notifiers, by title
	// known, if set, is asked whether the log knew of a message when it was sent.
	known   func(id string) bool
	unknown []string
	// hangs, if set, is of whom it takes nothing until they end.
	hangs map[string]bool
}

func (s *service) of(name string) Sender { return &line{s, name} }

func (s *service) takes(title string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sent[title]
}

// line is a service as one notifier reaches it.
type line struct {
	*service
	name string
}

func (l *line) Send(ctx context.Context, _ labfile.Secret, m Message) error {
	l.mu.Lock()
	l.sent[m.Title] = append(l.sent[m.Title], l.name)
	hangs := l.hangs[l.name]
	l.mu.Unlock()
	if l.known != nil && !l.known(m.ID) {
		l.mu.Lock()
		l.unknown = append(l.unknown, m.ID)
		l.mu.Unlock()
	}
	if hangs {
		<-ctx.Done()
		return ctx.Err()
	}
	return nil
}

// sharing are notifiers of several processes over one lab in a database, and one store.
type sharing struct {
	t        *testing.T
	database string
	store    *memlog.Log
	service  *service
	began    time.Time
}

// now runs fast, so that what is new is sent in a fraction of a second.
func (s *sharing) now() time.Time { return monday.Add(20 * time.Since(s.began)) }

// process begins a notifier. end ends it in good order, kill as a process that is killed.
func (s *sharing) process(name string) (n *Notifier, end, kill func()) {
	return s.processBy(name, 400*time.Millisecond, (*Notifier).Run)
}

// processBy is process for a notifier that looks so often what is due, and is run by a function.
func (s *sharing) processBy(
	name string, every time.Duration, run func(*Notifier, context.Context),
) (n *Notifier, end, kill func()) {
	s.t.Helper()
	file, err := labfile.Parse(builtin.Registry(), "lab.yaml", []byte("people: {ada: {notify: [\"ntfy://h/ada\"]}}\nalarms: [ada]\n"))
	if err != nil {
		s.t.Fatal(err)
	}
	own := must.Get(lablog.Open(lablog.Address(s.database+"&application_name="+name), lablog.Options{}))(s.t)
	ctx, cancel := context.WithCancelCause(s.t.Context())
	n = must.Get(New(Options{
		Lab: file, Send: s.service.of(name), Shared: own.Shared(), Now: s.now, Every: every,
		Own: func() (events.Store, error) {
			if errors.Is(context.Cause(ctx), errShot) {
				return nil, errShot
			}
			return own.Store()
		},
	}))(s.t)
	carrier := bus.New(s.store, bus.Config{})
	caught := make(chan struct{})
	var work sync.WaitGroup
	work.Go(func() { n.Serve(ctx, "kitchen", carrier, sync.OnceFunc(func() { close(caught) })) })
	<-caught
	work.Go(func() { run(n, ctx) })
	var once sync.Once
	over := func(cause error) func() {
		return func() {
			once.Do(func() {
				cancel(cause)
				work.Wait()
				_ = carrier.Close()
				_ = own.Close()
			})
		}
	}
	s.t.Cleanup(over(nil))
	return n, over(nil), over(errShot)
}

var errShot = errors.New("the process was killed")

// loses has an experiment get lost, of which people hear.
func (s *sharing) loses(id string) (title string) {
	s.t.Helper()
	e, err := events.New("bread", &events.ExperimentUnresolved{Experiment: id, Instrument: "oven", Cause: "the power failed"})
	if err != nil {
		s.t.Fatal(err)
	}
	e.Time, e.Actor = s.now(), "engine"
	must.Get(s.store.Append(s.t.Context(), "bread", events.AnySequence, e))(s.t)
	return fmt.Sprintf("The fate of %s of bread is unknown: the power failed", id)
}

// arrives waits until a message was sent, and returns by whom.
func (s *sharing) arrives(title string, times int) []string {
	s.t.Helper()
	for began := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		if by := s.service.takes(title); len(by) >= times {
			return by
		}
		if time.Since(began) > 30*time.Second {
			s.t.Fatalf("%q was sent by %v", title, s.service.takes(title))
		}
	}
}

// Law: of the notifiers of several processes one sends each message, once; another one goes on
// where that ends, and also where it is killed; and then what it was sending is sent again, by the
// same identifier, and nothing else is.
func TestShared(t *testing.T) {
	t.Parallel()
	s := &sharing{
		t: t, database: pgtest.URL(t), store: memlog.New(), began: time.Now(),
		service: &service{sent: make(map[string][]string), hangs: make(map[string]bool)},
	}
	_, endA, killA := s.process("a")
	_, endB, killB := s.process("b")
	ends := map[string]func(){"a": endA, "b": endB}
	kills := map[string]func(){"a": killA, "b": killB}
	want := make(map[string]int)
	sender := ""
	for n := range 4 {
		title := s.loses(fmt.Sprint("e", n))
		by := s.arrives(title, 1)
		want[title] = 1
		if n > 0 && by[0] != sender {
			t.Errorf("the sender was %s, and is %s while both live", sender, by[0])
		}
		sender = by[0]
	}
	ends[sender]()
	title := s.loses("e5")
	if by := s.arrives(title, 1); by[0] == sender {
		t.Errorf("%s sends though it has ended", sender)
	} else {
		sender = by[0]
	}
	want[title] = 1

	_, _, kills["c"] = s.process("c")
	s.service.mu.Lock()
	s.service.hangs[sender] = true
	s.service.mu.Unlock()
	title = s.loses("e6")
	s.arrives(title, 1)
	time.Sleep(3 * time.Second) // longer than a claim stands still: it is renewed while the service hangs
	if by := s.service.takes(title); len(by) != 1 {
		t.Errorf("while its sender lives a message was sent by %v", by)
	}
	kills[sender]()
	if by := s.arrives(title, 2); by[1] != "c" {
		t.Errorf("after %s was killed, %v", sender, by)
	}
	want[title] = 2
	title = s.loses("e7")
	s.arrives(title, 1)
	want[title] = 1
	time.Sleep(time.Second) // in which nothing is sent again
	got := make(map[string]int)
	s.service.mu.Lock()
	for title, by := range s.service.sent {
		got[title] = len(by)
	}
	s.service.mu.Unlock()
	if !maps.Equal(got, want) {
		t.Errorf("sent:\n%v\nwant:\n%v", got, want)
	}
}

// Law: where two notifiers take each other for dead all the time, each message still arrives, none
// leaves before the log knows of it, and what they have recorded is what a third one reads: nothing
// is left to be sent.
func TestSharedContended(t *testing.T) {
	t.Parallel()
	s := &sharing{t: t, database: pgtest.URL(t), store: memlog.New(), began: time.Now()}
	own := must.Get(lablog.Open(lablog.Address(s.database), lablog.Options{}))(t)
	defer own.Close()
	log := must.Get(own.Store())(t)
	s.service = &service{sent: make(map[string][]string), known: func(id string) bool {
		for e := range log.Read(context.Background(), 0) {
			if e.Kind == kindAttempted && strings.Contains(string(e.Data), id) {
				return true
			}
		}
		return false
	}}
	var ends []func()
	for _, name := range []string{"a", "b"} {
		_, end, _ := s.processBy(name, time.Microsecond, (*Notifier).Run)
		ends = append(ends, end)
	}
	senders := make(map[string]bool)
	for n := range 12 {
		for _, by := range s.arrives(s.loses(fmt.Sprint("e", n)), 1) {
			senders[by] = true
		}
	}
	for _, end := range ends {
		end()
	}
	if len(senders) != 2 {
		t.Errorf("the two did not contend: %v", senders)
	}
	if len(s.service.unknown) > 0 {
		t.Errorf("sent before the log knew of them: %v", s.service.unknown)
	}
	before := len(kindsIn(t, log))
	_, end, _ := s.processBy("c", 100*time.Millisecond, (*Notifier).Run)
	time.Sleep(2 * time.Second)
	end()
	// Of the last message it may be that nothing is known but that it was attempted.
	if after := kindsIn(t, log)[before:]; len(after) > 1 || len(after) == 1 && after[0] != kindDelivered {
		t.Errorf("a third one has recorded %v", after)
	}
}

// kindsIn are the kinds of the events of the stream in a lab's log.
func kindsIn(t *testing.T, log events.Store) (kinds []events.Kind) {
	t.Helper()
	for e := range must.Each(t, log.ReadCampaign(t.Context(), Stream, 0)) {
		kinds = append(kinds, e.Kind)
	}
	return kinds
}

// late is a lab's log in which another notifier records just before this one does.
type late struct {
	events.Store
	before func()
}

func (l *late) Append(
	ctx context.Context, stream string, expected events.Sequence, batch ...events.Event,
) ([]events.Event, error) {
	if before := l.before; before != nil {
		l.before = nil
		before()
	}
	return l.Store.Append(ctx, stream, expected, batch...)
}

// Law: a notifier that has decided on a message, and finds that another one has recorded meanwhile,
// does not send it; it folds what the other one did, and goes on.
func TestSharedLate(t *testing.T) {
	s := &sharing{t: t, database: pgtest.URL(t), store: memlog.New(), began: time.Now()}
	s.service = &service{sent: make(map[string][]string)}
	idle := func(_ *Notifier, ctx context.Context) { <-ctx.Done() }
	n, _, _ := s.processBy("a", time.Microsecond, idle)
	other, _, _ := s.processBy("b", time.Microsecond, idle)
	want := []events.Kind{kindBegun}
	for range 3 {
		title := s.loses(fmt.Sprint("e", len(s.service.sent)))
		for began := time.Now(); n.Status()[0].Targets[0].Waiting == 0 || other.Status()[0].Targets[0].Waiting == 0; {
			if time.Since(began) > 10*time.Second {
				t.Fatal("it is not folded")
			}
			time.Sleep(time.Millisecond)
		}
		s.began = s.began.Add(-time.Second) // that is 20 s, in which it settles
		own := n.options.Own
		log := must.Get(own())(t)
		// To take a claim over one looks twice: it stands still in between.
		n.claims(t.Context())
		n.claims(t.Context())
		l := &late{log, func() { other.Step(t.Context()); other.Step(t.Context()) }}
		n.options.Own = func() (events.Store, error) { return l, nil }
		n.Step(t.Context())
		for _, each := range []*Notifier{n, n, n, other, other, other, n} {
			each.Step(t.Context())
			time.Sleep(20 * time.Millisecond) // in which it folds anew
		}
		n.options.Own = own
		if by := s.service.takes(title); len(by) != 1 || by[0] != "b" {
			t.Errorf("%q was sent by %v", title, by)
		}
		if a, b := n.Status()[0].Targets[0], other.Status()[0].Targets[0]; a != b || a.Waiting != 0 {
			t.Errorf("the one says %+v, the other %+v", a, b)
		}
		want = append(want, kindAttempted, kindDelivered)
		if got := kindsIn(t, log); !slices.Equal(got, want) {
			t.Errorf("recorded is %v", got)
		}
	}
}
