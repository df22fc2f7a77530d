package pglog

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/tests/must"
)

// These are the three rules of doc.go, on a primary and the standby it waits for.

// appended is what an Append that runs beside the test came to.
type appended struct {
	done   chan struct{}
	stored []events.Event
	err    error
}

func appendBeside(l *Log, ctx context.Context, expected events.Sequence, id string) *appended {
	a := &appended{done: make(chan struct{})}
	go func() {
		defer close(a.done)
		a.stored, a.err = l.Append(ctx, "c", expected, testEvents(1, "%s", id)...)
	}()
	return a
}

// open fails where the append has ended.
func (a *appended) open(t *testing.T) {
	t.Helper()
	select {
	case <-a.done:
		t.Fatalf("the append ended with %v, %v, and no standby has it", a.stored, a.err)
	default:
	}
}

// ok fails where the append does not end well, at a position.
func (a *appended) ok(t *testing.T, at events.Position) {
	t.Helper()
	select {
	case <-a.done:
	case <-time.After(time.Minute):
		t.Fatal("the append did not end")
	}
	if a.err != nil || len(a.stored) != 1 || a.stored[0].Position != at {
		t.Fatalf("the append ended with %v, %v; want position %d", a.stored, a.err, at)
	}
}

// Law: no statement is cancelled: not when its caller stops waiting, and not
// when its connection is cut after it took too long. While no standby has the
// event the primary shows it to nobody. When one has it, it is there, once.
func TestNeverCancelled(t *testing.T) {
	t.Parallel()
	c, standby := newCluster(t)
	d := must.Get(connectTo(t.Context(), c.Address(""), time.Second, defaultPollTime))(t)
	defer func() { _ = d.Close() }()
	l := mustOpen(t, d, "s", Options{})
	must.Get(l.Append(t.Context(), "c", 0, testEvents(1, "first")...))(t)
	standby.Signal(t, syscall.SIGSTOP)
	// What need not wait does not, and has nothing else not wait.
	must.Do(t, l.SetOffset("consumer", 1))
	ctx, cancel := context.WithCancel(t.Context())
	abandoned := appendBeside(l, ctx, 1, "abandoned")
	c.Primary.Eventually(t, "the commit waits for the standby", appending, "1")
	cancel()
	<-abandoned.done
	if !errors.Is(abandoned.err, events.ErrUncertain) || !errors.Is(abandoned.err, context.Canceled) {
		t.Fatalf("an append that is not waited for: %v, want ErrUncertain", abandoned.err)
	}
	waits := appendBeside(l, t.Context(), 2, "second")
	// Longer than the patience: the connections are cut, and new ones tried.
	for range 25 {
		time.Sleep(200 * time.Millisecond)
		if n := c.Primary.Count(t, visible); n != 1 {
			t.Fatalf("the primary shows %d events, of which no standby has more than 1", n)
		}
	}
	waits.open(t)
	// Whoever tries again and again leaves no session behind each time.
	before := c.Primary.Count(t, waiting)
	time.Sleep(4 * time.Second)
	if n := c.Primary.Count(t, waiting); n > before {
		t.Errorf("%d sessions waited for the standby, and now %d", before, n)
	}
	standby.Signal(t, syscall.SIGCONT)
	waits.ok(t, 3)
	sound(t, l, "first-0", "abandoned-0", "second-0")
}

// Law: a commit whose wait for a standby somebody ended is not a success, though the
// server says so; nor is it lost. It is acknowledged when a standby has it.
func TestWarningIsNoSuccess(t *testing.T) {
	t.Parallel()
	c, standby := newCluster(t)
	d := mustConnect(t, c.Address(""))
	l := mustOpen(t, d, "s", Options{})
	var want []string
	for i, end := range []string{"pg_cancel_backend", "pg_terminate_backend"} {
		// More connections than one are behind their barriers.
		var readers sync.WaitGroup
		for range 4 {
			readers.Go(func() { _, _ = l.LastSequence(t.Context(), "c") })
		}
		readers.Wait()
		standby.Signal(t, syscall.SIGSTOP)
		a := appendBeside(l, t.Context(), events.Sequence(i), end)
		c.Primary.Eventually(t, "the commit waits for the standby", appending, "1")
		c.Primary.SQL(t, `select `+end+`(pid) from pg_stat_activity
			where wait_event = 'SyncRep' and query like '%cd_event%'`)
		c.Primary.Eventually(t, "the server shows what no standby has", visible, fmt.Sprint(i+1))
		time.Sleep(500 * time.Millisecond)
		a.open(t)
		// Nor do new readers see it.
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		for e, err := range l.Read(ctx, events.Position(i)) {
			if err == nil {
				t.Fatalf("a reader was shown %s, which no standby has", e.ID)
			}
		}
		cancel()
		standby.Signal(t, syscall.SIGCONT)
		a.ok(t, events.Position(i+1))
		want = append(want, end+"-0")
	}
	sound(t, l, want...)
	// The same for values: it is not known whether they are there.
	standby.Signal(t, syscall.SIGSTOP)
	set := make(chan error)
	go func() { set <- l.SetValues(t.Context(), events.KeyValue{Key: "k", Value: []byte("v")}) }()
	c.Primary.Eventually(t, "the commit waits for the standby", setting, "1")
	c.Primary.SQL(t, `select pg_cancel_backend(pid) from pg_stat_activity
		where wait_event = 'SyncRep' and query like '%cd_value%'`)
	if err := <-set; !errors.Is(err, events.ErrUncertain) {
		t.Errorf("values that no standby has: %v, want ErrUncertain", err)
	}
	standby.Signal(t, syscall.SIGCONT)
}

// Law: what a primary shows after a crash, and no standby has, is shown to no
// reader and settles no append: the standby is promoted, and it never was. And
// a server on an earlier timeline than one that was seen is not used again.
func TestBarrier(t *testing.T) {
	t.Parallel()
	c, standby := newCluster(t)
	d := mustConnect(t, c.Address("single=yes"))
	l := mustOpen(t, d, "s", Options{})
	must.Get(l.Append(t.Context(), "c", 0, testEvents(1, "first")...))(t)
	following, stop := context.WithCancel(t.Context())
	var mu sync.Mutex
	var seen []string
	var follower sync.WaitGroup
	follower.Go(func() {
		for e, err := range l.Follow(following, 0) {
			mu.Lock()
			if err != nil {
				seen = append(seen, err.Error())
			} else {
				seen = append(seen, e.ID)
			}
			mu.Unlock()
		}
	})
	shown := func() string {
		mu.Lock()
		defer mu.Unlock()
		return strings.Join(seen, " ")
	}
	showing := func(want string) {
		t.Helper()
		for range 200 {
			if shown() == want {
				return
			}
			time.Sleep(50 * time.Millisecond)
		}
		t.Fatalf("the follower was shown %q, want %q", shown(), want)
	}
	showing("first-0") // and so its connection is behind its barrier

	standby.Signal(t, syscall.SIGSTOP)
	a := appendBeside(l, t.Context(), 1, "second")
	c.Primary.Eventually(t, "the commit waits for the standby", appending, "1")
	c.Primary.Crash(t)
	c.Primary.Start(t)
	if n := c.Primary.Count(t, visible); n != 2 {
		t.Fatalf("after its crash the primary shows %d events; this test wants it to show what no standby has", n)
	}
	time.Sleep(3 * time.Second) // readers and the writer try
	a.open(t)
	if got := shown(); got != "first-0" {
		t.Fatalf("the follower was shown %q; no standby has more than the first", got)
	}
	// Another begins here.
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Second)
	defer cancel()
	if d, err := connectTo(ctx, c.Address("single=yes"), 3*time.Second, defaultPollTime); err == nil {
		t.Error("a primary that no standby follows any more is connected to")
		_ = d.Close()
	} else if !strings.Contains(err.Error(), "standby") {
		t.Errorf("the error does not say what is wrong: %v", err)
	}

	c.Primary.Crash(t)
	standby.Signal(t, syscall.SIGCONT)
	standby.Set(t, "synchronous_standby_names", "")
	standby.Promote(t)
	a.ok(t, 2)
	must.Get(l.Append(t.Context(), "c", 2, testEvents(1, "third")...))(t)
	sound(t, l, "first-0", "second-0", "third-0")
	showing("first-0 second-0 third-0")

	// The primary of the past comes back, alone and willing.
	standby.Stop(t, "immediate")
	c.Primary.Configure(t, "synchronous_standby_names = ''")
	c.Primary.Start(t)
	late, cancelLate := context.WithTimeout(t.Context(), 3*time.Second)
	defer cancelLate()
	if _, err := l.Append(late, "c", events.AnySequence, testEvents(1, "fourth")...); err == nil {
		t.Error("a primary of the past has taken an event")
	}
	if err := l.Probe(); err == nil || !strings.Contains(err.Error(), "primary of the past") {
		t.Errorf("a primary of the past: %v", err)
	}
	for _, err := range l.Read(late, 0) {
		if errors.Is(err, events.ErrDamaged) {
			t.Errorf("a primary of the past is taken for damage: %v", err)
		}
	}
	if got := shown(); got != "first-0 second-0 third-0" {
		t.Fatalf("the follower was shown %q", got)
	}
	c.Primary.Crash(t)
	standby.Start(t)
	stop()
	follower.Wait()
	verified(t, l)
}
