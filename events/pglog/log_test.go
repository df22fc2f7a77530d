package pglog

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/logtest"
	"github.com/campaignd/campaignd/events/pebblelog"
	"github.com/campaignd/campaignd/internal/tests/draws"
	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/internal/tests/pgtest"
)

// conform runs the laws of a store on stores of one database.
func conform(t *testing.T, d *Database) {
	logtest.RunStore(t, func(t testing.TB) events.Store {
		return mustOpen(t, d, t.Name(), Options{})
	}, func(t testing.TB, log events.Store) events.Store {
		must.Do(t, log.Close())
		return mustOpen(t, d, log.(*Log).name, Options{MustExist: true})
	})
}

// Law: a store keeps the laws where each commit waits for one of two standbys.
func TestConformance(t *testing.T) {
	t.Parallel()
	conform(t, mustConnect(t, pgtest.NewCluster(t, pgtest.Options{Standbys: 2}).Address("")))
}

// Law: a store keeps the laws on a bad line, where answers to appends that are
// committed are lost with their connection.
func TestConformanceOnABadLine(t *testing.T) {
	if !draws.Whole() {
		t.Skip("it waits a lot, and is tried where all is: set CAMPAIGND_DRAWS")
	}
	x := newBadLine(t, 0.2)
	x.Delay(500*time.Microsecond, 0.02)
	d := mustConnect(t, x.address(freshDatabase(t)))
	conform(t, d)
	if x.lost.Load() == 0 {
		t.Error("no answer was lost: the test tests nothing")
	}
	t.Logf("%d answers were lost", x.lost.Load())
	// Closed before the line is.
	if err := d.Close(); err != nil {
		t.Error(err)
	}
}

// Law: an append whose answer is lost is stored once and acknowledged, where it
// is; the next writer finds it.
func TestLostAnswer(t *testing.T) {
	x := newBadLine(t, 1)
	d := mustConnect(t, x.address(freshDatabase(t)))
	l := mustOpen(t, d, "s", Options{})
	var want []string
	for i := range events.Sequence(5) {
		stored, err := l.Append(t.Context(), "c", i, testEvents(1, "e%d", i)...)
		if err != nil || stored[0].Sequence != i+1 {
			t.Fatalf("append %d: %v, %v", i, stored, err)
		}
		want = append(want, fmt.Sprintf("e%d-0", i))
	}
	// The first append of a connection is that which the proxy cuts.
	if x.lost.Load() == 0 {
		t.Error("no answer was lost: the test tests nothing")
	}
	sound(t, l, want...)
	if err := d.Close(); err != nil {
		t.Error(err)
	}
}

// Law: processes that start together, on a database without tables, make them once,
// and all begin.
func TestStartTogether(t *testing.T) {
	for range 5 {
		address := freshDatabase(t)
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				d, err := Connect(t.Context(), address)
				if err != nil {
					t.Error(err)
					return
				}
				_ = d.Close()
			})
		}
		all.Wait()
	}
}

// Law: processes that fight over a store lose nothing, store nothing twice, and
// none is starved; a follower in one of them sees what the other appends.
func TestTwoProcesses(t *testing.T) {
	address := pgtest.Shared(t).Database(t, "single=yes connections=4")
	logs := []*Log{
		mustOpen(t, mustConnect(t, address), "s", Options{}),
		mustOpen(t, mustConnect(t, address), "s", Options{}),
	}
	const writers, each = 3, 30
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var mu sync.Mutex
	where := make(map[string]events.Position)
	refused := make(map[string]bool)
	var all sync.WaitGroup
	for i, l := range logs {
		for w := range writers {
			all.Go(func() {
				campaign, expected := fmt.Sprint("c", w), events.AnySequence
				for n := 0; n < each; {
					if w == 0 { // an optimistic writer
						var err error
						if expected, err = l.LastSequence(ctx, campaign); err != nil {
							t.Error(err)
							return
						}
					}
					batch := testEvents(2, "%d/%d/%d/%d", i, w, n, expected)
					stored, err := l.Append(ctx, campaign, expected, batch...)
					var conflict *events.ConflictError
					mu.Lock()
					switch {
					case err == nil:
						n++
						for _, e := range stored {
							where[e.ID] = e.Position
						}
					case errors.As(err, &conflict):
						refused[batch[0].ID] = true
						if conflict.Actual <= expected {
							t.Errorf("a conflict without cause: %v", err)
						}
					default:
						t.Error(err)
						n = each
					}
					mu.Unlock()
				}
			})
		}
	}
	seen := make(map[string]events.Position)
	all.Go(func() {
		for e, err := range logs[0].Follow(ctx, 0) {
			if err != nil {
				t.Error(err)
				return
			}
			if seen[e.ID] != 0 {
				t.Errorf("%s was seen twice", e.ID)
			}
			if seen[e.ID] = e.Position; len(seen) == len(logs)*writers*each*2 {
				return
			}
		}
		t.Error("the follower did not see all")
	})
	all.Wait()
	for id := range refused {
		if seen[id] != 0 {
			t.Errorf("%s was refused, and is there", id)
		}
	}
	if !reflect.DeepEqual(seen, where) {
		t.Errorf("%d events were acknowledged, and %d others seen", len(where), len(seen))
	}
	verified(t, logs[1])
}

// Law: a process that is far from the database gets on against those that are near,
// whose appends always come between its look and its own.
func TestFarProcess(t *testing.T) {
	t.Parallel()
	address := freshDatabase(t)
	line := newBadLine(t, 0)
	line.Delay(20*time.Millisecond, 0)
	d := mustConnect(t, line.address(address))
	far := mustOpen(t, d, "s", Options{})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	near, stop := context.WithCancel(ctx)
	var all sync.WaitGroup
	for i := range 2 {
		l := mustOpen(t, mustConnect(t, address), "s", Options{})
		all.Go(func() {
			for n := 0; near.Err() == nil; n++ {
				batch := testEvents(1, "near%d/%d", i, n)
				if _, err := l.Append(context.Background(), "near", events.AnySequence, batch...); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	for n := range 10 {
		if _, err := far.Append(ctx, "far", events.Sequence(n), testEvents(1, "far%d", n)...); err != nil {
			t.Errorf("append %d of the far process: %v", n, err)
			break
		}
	}
	stop()
	all.Wait()
	verified(t, far)
	if err := d.Close(); err != nil { // before its line is
		t.Error(err)
	}
}

// Law: a writer is refused, or not, by the store as it is, and not by what its
// process has seen of it; also where nothing is to be stored.
func TestConflictsAreCurrent(t *testing.T) {
	address := freshDatabase(t)
	one := mustOpen(t, mustConnect(t, address), "s", Options{})
	two := mustOpen(t, mustConnect(t, address), "s", Options{})
	put := func(l *Log, expected events.Sequence, n int) error {
		_, err := l.Append(t.Context(), "c", expected, testEvents(n, "e%d", expected)...)
		return err
	}
	at := events.Sequence(0)
	for range 3 {
		for _, l := range []*Log{one, two} {
			for _, n := range []int{2, 0} { // an empty batch asks alone
				if err := put(l, at, n); err != nil {
					t.Fatalf("expecting %d, which is so: %v", at, err)
				}
				at += events.Sequence(n)
			}
		}
		// The first has not seen what the second has stored.
		var conflict *events.ConflictError
		if err := put(one, at-2, 0); !errors.As(err, &conflict) || conflict.Actual != at {
			t.Fatalf("expecting %d where %d is so: %v", at-2, at, err)
		}
	}
	verified(t, one)
}

// Law: any number of stores share the connections of their database, which are as
// many as the address says, and one that listens.
func TestManyStores(t *testing.T) {
	address := pgtest.Shared(t).Database(t, "single=yes connections=4")
	d := mustConnect(t, address)
	var all sync.WaitGroup
	for i := range 100 {
		all.Go(func() {
			l, err := d.Open(t.Context(), fmt.Sprint("s", i), Options{})
			if err != nil {
				t.Error(err)
				return
			}
			for n := range events.Sequence(3) {
				if _, err := l.Append(t.Context(), "c", n, testEvents(1, "e%d", i)...); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	n := pgtest.SQL(t, address, `select count(*) from pg_stat_activity
		where datname = current_database() and application_name = 'campaignd'`)[0]
	if n != "4" && n != "5" && n != "3" {
		t.Errorf("100 stores have %s connections", n)
	}
	if n := pgtest.SQL(t, address, `select count(*) from cd_event`)[0]; n != "300" {
		t.Errorf("there are %s events, want 300", n)
	}
}

// follows waits for an event with an ID.
func follows(t *testing.T, l *Log, id string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	for e := range must.Each(t, l.Follow(ctx, 0)) {
		if e.ID == id {
			return
		}
	}
	t.Fatalf("the follower waited in vain for %s", id)
}

// Law: what is told while the listener waits is told on the connection that it has: an append costs
// no other connection, and what others tell meanwhile is heard.
func TestListenerKeepsItsConnection(t *testing.T) {
	address := freshDatabase(t)
	d, err := connectTo(t.Context(), address, 5*time.Second, time.Hour) // nothing but news ends its wait
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	l := mustOpen(t, d, "s", Options{})
	name, at, first := pgtest.SQL(t, address, `select current_database()`)[0], "-infinity", ""
	for n := range 4 {
		must.Get(l.Append(t.Context(), "c", events.AnySequence, testEvents(1, "e%d", n)...))(t)
		pgtest.Shared(t).Eventually(t, "it is told", `select count(*) from pg_stat_activity where datname = '`+name+`'
			and query like 'select pg_notify%' and state = 'idle' and query_start > '`+at+`'`, "1")
		told := strings.Fields(pgtest.SQL(t, address, `select pid || ' ' || replace(query_start::text, ' ', 'T')
			from pg_stat_activity where datname = '`+name+`' and query like 'select pg_notify%'`)[0])
		if first == "" {
			first = told[0]
		}
		if at = told[1]; told[0] != first {
			t.Errorf("append %d is told by the session %s, the first by %s", n, told[0], first)
		}
	}
}

// Law: a follower in another process is woken by a notification, and, where that
// is lost, by a look at the head.
func TestWake(t *testing.T) {
	address := freshDatabase(t)
	writer := mustConnect(t, address)
	l := mustOpen(t, writer, "s", Options{})
	put := func(id string) {
		t.Helper()
		must.Get(l.Append(t.Context(), "c", events.AnySequence, testEvents(1, "%s", id)...))(t)
	}
	late := func(id string) *sync.WaitGroup {
		var beside sync.WaitGroup
		beside.Go(func() { time.Sleep(300 * time.Millisecond); put(id) })
		return &beside
	}
	put("first")
	// Nobody polls.
	deaf := must.Get(connectTo(t.Context(), address, time.Minute, time.Hour))(t)
	defer func() { _ = deaf.Close() }()
	beside := late("told")
	follows(t, mustOpen(t, deaf, "s", Options{ReadOnly: true}), "told-0")
	beside.Wait()
	if err := deaf.Close(); err != nil {
		t.Error(err)
	}
	// Nobody tells, and the follower listened before, so that it has looked once.
	listens := pgtest.SQL(t, address, `select current_database()`)[0]
	mute := mustConnect(t, address)
	followed := mustOpen(t, mute, "s", Options{ReadOnly: true})
	ctx, cancel := context.WithCancel(t.Context())
	var listening sync.WaitGroup
	listening.Go(func() {
		for range followed.Follow(ctx, 0) {
		}
	})
	pgtest.Shared(t).Eventually(t, "the follower listens", `select count(*) from pg_stat_activity
		where datname = '`+listens+`' and query like '%from cd_head where store = any%' and state = 'idle'`, "1")
	writer.wake.mu.Lock()
	unlock := sync.OnceFunc(writer.wake.mu.Unlock)
	defer unlock() // Close needs it
	beside = late("untold")
	follows(t, followed, "untold-0")
	unlock()
	cancel()
	listening.Wait()
	beside.Wait()
}

// Law: the same events have the same root, and the same proofs byte for byte,
// in Pebble and in PostgreSQL.
func TestSameTreeAsPebble(t *testing.T) {
	const n = 2000
	pebble := must.Get(pebblelog.Open(t.TempDir()+"/store", pebblelog.Options{}))(t)
	defer func() { _ = pebble.Close() }()
	l := mustOpen(t, mustConnect(t, freshDatabase(t)), "s", Options{})
	stores := []events.Store{pebble, l}
	for at := 0; at < n; at += 40 {
		batch := testEvents(40, "e%d", at)
		for i := range batch {
			batch[i].Data = fmt.Appendf(nil, `{"i": %d}`, at+i)
			batch[i].Time = time.Unix(int64(at), int64(i)*1000)
		}
		for _, s := range stores {
			must.Get(s.Append(t.Context(), fmt.Sprint("c", at%3), events.AnySequence, batch...))(t)
		}
	}
	same := func(what string, f func(events.Store) (any, error)) {
		t.Helper()
		a := must.Get(f(pebble))(t)
		if b, err := f(l); err != nil || !reflect.DeepEqual(a, b) {
			t.Errorf("%s differ: %v and %v, %v", what, a, b, err)
		}
	}
	same("heads", func(s events.Store) (any, error) { return s.Head(t.Context()) })
	same("reports", func(s events.Store) (any, error) { return s.Verify(t.Context()) })
	for _, p := range []int64{1, 2, 3, 512, 1023, 1024, 1025, 1999, 2000} {
		same("proofs of events", func(s events.Store) (any, error) {
			return s.ProveEvent(t.Context(), events.Position(p), n)
		})
		same("proofs of growth", func(s events.Store) (any, error) { return s.ProveExtends(t.Context(), p, n) })
	}
}

// Law: a follower asks the database once for each event that is new, and it alone: a
// thousand that are followed and have nothing new cost one statement a second.
func TestFollowersAskOnce(t *testing.T) {
	address := freshDatabase(t)
	l := mustOpen(t, mustConnect(t, address), "s", Options{})
	others := mustConnect(t, address)
	ctx, cancel := context.WithCancel(t.Context())
	var following sync.WaitGroup
	defer following.Wait()
	defer cancel()
	came := make(chan string)
	begun := make(chan struct{}, 50)
	for i := range cap(begun) { // which have nothing new after their first event
		s := mustOpen(t, others, fmt.Sprint("still", i), Options{})
		must.Get(s.Append(t.Context(), "c", 0, testEvents(1, "e")...))(t)
		following.Go(func() {
			for range s.Follow(ctx, 0) {
				begun <- struct{}{}
			}
		})
	}
	follower := mustOpen(t, others, "s", Options{ReadOnly: true})
	following.Go(func() {
		for e := range follower.Follow(ctx, 0) {
			came <- e.ID
		}
	})
	put := func(id string) {
		t.Helper()
		must.Get(l.Append(t.Context(), "c", events.AnySequence, testEvents(1, "%s", id)...))(t)
		if got := <-came; got != id+"-0" {
			t.Errorf("the follower has %s, want %s", got, id)
		}
	}
	put("first")
	for range cap(begun) {
		<-begun
	}
	const n = 20
	asked := 0
	for text, times := range pgtest.Shared(t).Statements(t, func() {
		for i := range n {
			put(fmt.Sprint("e", i))
		}
	}) {
		if strings.HasPrefix(text, "select size, root, edge from cd_head") || strings.Contains(text, "from cd_event") {
			asked += times
		}
	}
	if asked != n {
		t.Errorf("for %d events the database was asked %d times", n, asked)
	}
}
