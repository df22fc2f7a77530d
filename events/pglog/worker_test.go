package pglog

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/internal/tests/pgtest"
)

// lab is a database with workers.
type lab struct {
	t       *testing.T
	address string
	lease   time.Duration
}

// The leases of workers: one that no test waits for, however slow the machine is, and one
// that a test waits to end.
const (
	lasting = time.Minute
	brief   = 2 * time.Second
)

func newLab(t *testing.T, lease time.Duration) lab {
	return lab{t, freshDatabase(t), lease}
}

// worker is a process that uses the database and is a worker.
func (l lab) worker(id string) *Worker {
	l.t.Helper()
	d := mustConnect(l.t, l.address)
	d.leaseTime = l.lease
	return must.Get(d.Work(l.t.Context(), id, func() []byte { return []byte("I am " + id) }))(l.t)
}

// took opens a store and takes hold of it for a worker.
func (l lab) took(w *Worker, store string) *Log {
	l.t.Helper()
	log := mustOpen(l.t, w.db, store, Options{})
	must.Do(l.t, log.Hold(l.t.Context(), w))
	return log
}

// tookOver takes hold of a store for a worker as soon as its holder is taken for dead.
func (l lab) tookOver(w *Worker, store string) *Log {
	l.t.Helper()
	for {
		log := mustOpen(l.t, w.db, store, Options{})
		err := log.Hold(l.t.Context(), w)
		if err == nil {
			return log
		}
		if !errors.Is(err, events.ErrInUse) {
			l.t.Fatal(err)
		}
		_ = log.Close()
	}
}

// refusedTo fails unless a worker is refused a store that another one has.
func (l lab) refusedTo(w *Worker, store, holder string) {
	l.t.Helper()
	log := mustOpen(l.t, w.db, store, Options{})
	defer log.Close()
	var held *HeldError
	err := log.Hold(l.t.Context(), w)
	if !errors.As(err, &held) || held.Worker != holder || !errors.Is(err, events.ErrInUse) {
		l.t.Errorf("%s takes hold of what %s has: %v", w.ID(), holder, err)
	}
}

// mute has the heartbeats of a worker wait until the result is called.
func (l lab) mute(worker string) (speak func()) {
	l.t.Helper()
	return pgtest.Hold(l.t, l.address, `select from cd_worker where worker = '`+worker+`' for update`)
}

// Law: after another has taken hold of a store, an earlier holder stores
// nothing, and is told so.
func TestFence(t *testing.T) {
	l := newLab(t, lasting)
	first := l.took(l.worker("first"), "s")
	must.Get(first.Append(t.Context(), "c", 0, testEvents(1, "first")...))(t)
	// As if it had been stopped for long, and went on just now.
	pgtest.SQL(t, l.address, `update cd_head set holder = ''`)
	second := l.took(l.worker("second"), "s")
	_, err := first.Append(t.Context(), "c", 1, testEvents(1, "late")...)
	if !errors.Is(err, ErrFenced) || errors.Is(err, events.ErrUncertain) {
		t.Errorf("an append without the hold: %v, want ErrFenced, which is certain", err)
	}
	select {
	case <-first.Failed():
	default:
		t.Error("the log that was fenced goes on")
	}
	if err := first.Err(); !errors.Is(err, events.ErrStopped) || !errors.Is(err, ErrFenced) || first.Sure() == nil {
		t.Errorf("the log that was fenced says %v", err)
	}
	must.Get(second.Append(t.Context(), "c", 1, testEvents(1, "second")...))(t)
	sound(t, second, "first-0", "second-0")
	// What the first lets go of is not the second's hold.
	must.Do(t, first.Close())
	if holder := pgtest.SQL(t, l.address, `select holder from cd_head`); holder[0] != "second" {
		t.Errorf("the holder is %q", holder)
	}
}

// Law: one worker holds a store, in one log; who lets go of it, or ends, leaves
// it to the next at once.
func TestHoldIsExclusive(t *testing.T) {
	l := newLab(t, lasting)
	first, second := l.worker("first"), l.worker("second")
	log := l.took(first, "s")
	l.refusedTo(second, "s", "first")
	l.refusedTo(first, "s", "first")
	must.Do(t, log.Close())
	log = l.took(second, "s")
	l.refusedTo(first, "s", "second")
	stores, err := first.db.Stores(t.Context())
	if err != nil || len(stores) != 1 || stores[0].Holder != "second" || stores[0].Epoch != 2 {
		t.Errorf("the stores are %+v, %v", stores, err)
	}
	second.Close()
	l.took(first, "s")
	if err := log.Sure(); err == nil {
		t.Error("the log of a worker that has ended is sure of its hold")
	}
	workers, err := first.db.Workers(t.Context())
	if err != nil || len(workers) != 1 || workers[0].ID != "first" || string(workers[0].Said) != "I am first" {
		t.Errorf("the workers are %v, %v", workers, err)
	}
}

// Law: of two workers that want a store at the same time, one gets it.
func TestHoldRace(t *testing.T) {
	l := newLab(t, lasting)
	var workers []*Worker
	for i := range 4 {
		workers = append(workers, l.worker(fmt.Sprint("w", i)))
	}
	for round := range 10 {
		name := fmt.Sprint("s", round)
		held := make([]bool, len(workers))
		var all sync.WaitGroup
		for i, w := range workers {
			log := mustOpen(t, w.db, name, Options{})
			all.Go(func() { held[i] = log.Hold(t.Context(), w) == nil })
		}
		all.Wait()
		n := 0
		for _, h := range held {
			if h {
				n++
			}
		}
		if n != 1 {
			t.Errorf("%d workers hold %s", n, name)
		}
	}
}

// Law: a worker that was killed is taken for dead, and its store can be taken.
func TestDeadWorker(t *testing.T) {
	t.Parallel()
	l := newLab(t, brief)
	w := l.worker("living")
	mustOpen(t, w.db, "s", Options{})
	pgtest.SQL(t, l.address, `insert into cd_worker values ('killed', now(), clock_timestamp() + interval '1 s', '')`,
		`update cd_head set holder = 'killed', epoch = 1`)
	l.refusedTo(w, "s", "killed")
	l.tookOver(w, "s")
}

// Law: a worker whose heartbeats are not answered ceases to append before
// another one can have its store; once they are, it can take it again.
func TestLapse(t *testing.T) {
	t.Parallel()
	l := newLab(t, brief)
	first, second := l.worker("first"), l.worker("second")
	log := l.took(first, "s")
	speak := l.mute("first")
	l.tookOver(second, "s")
	if err := log.Sure(); err == nil {
		t.Error("another worker has the store, and the first is sure of it")
	}
	<-log.Failed()
	if err := log.Err(); !errors.Is(err, ErrLapsed) || !errors.Is(err, events.ErrInUse) {
		t.Errorf("the log says %v", err)
	}
	_, err := log.Append(t.Context(), "c", 0, testEvents(1, "late")...)
	if !errors.Is(err, ErrLapsed) || errors.Is(err, events.ErrUncertain) {
		t.Errorf("an append after the lapse: %v", err)
	}
	second.Close()
	speak()
	for !first.Sure() {
		time.Sleep(time.Millisecond)
	}
	l.took(first, "s")
}

// Law: a machine that is gone, and says nothing, keeps no worker from another one of
// the address, though the wait for it is longer than a heartbeat's.
func TestWorkerLooksElsewhere(t *testing.T) {
	t.Parallel()
	p := pgtest.Shared(t)
	gone, there := pgtest.NewLine(t, p, nil), pgtest.NewLine(t, p, nil)
	l := newLab(t, brief)
	l.address += fmt.Sprintf(" host=127.0.0.1,127.0.0.1 port=%d,%d", gone.Port(), there.Port())
	w := l.worker("worker")
	gone.Hold()
	for w.Sure() {
		time.Sleep(time.Millisecond)
	}
	for began := time.Now(); !w.Sure(); time.Sleep(time.Millisecond) {
		if time.Since(began) > time.Minute {
			t.Fatal("the worker does not find the server that is there")
		}
	}
	l.took(w, "s")
}

// Law: a worker that could not reach the database itself does not take another
// one for dead that is about to come back, too.
func TestComingBack(t *testing.T) {
	t.Parallel()
	l := newLab(t, brief)
	first, second := l.worker("first"), l.worker("second")
	l.took(first, "s")
	speakFirst, speakSecond := l.mute("first"), l.mute("second")
	for first.Sure() || second.Sure() {
		time.Sleep(time.Millisecond)
	}
	time.Sleep(second.db.leaseTime) // so that the first is dead by the database's clock
	speakSecond()
	for !second.Sure() {
		time.Sleep(time.Millisecond)
	}
	time.AfterFunc(second.db.leaseTime/4, speakFirst)
	l.refusedTo(second, "s", "first")
}

// Law: what is asked of a worker is answered once, and one that ends leaves no
// one waiting: nothing was done where it had not taken the letter, and may have
// been where it had.
func TestLetters(t *testing.T) {
	t.Parallel()
	l := newLab(t, brief)
	asked, asker := l.worker("asked"), mustConnect(t, l.address)
	// More letters than are taken at once, which are not read yet.
	const n = 2*lettersOnce + 1
	var mu sync.Mutex
	seen := make(map[string]int)
	var asking sync.WaitGroup
	for i := range n {
		asking.Go(func() {
			want := fmt.Sprint("letter ", i)
			answer, err := asker.Ask(t.Context(), "asked", []byte(want))
			if err != nil || string(answer) != "re: "+want {
				t.Errorf("the answer is %q, %v", answer, err)
			}
		})
	}
	ctx, stop := context.WithCancel(t.Context())
	var answering sync.WaitGroup
	taken := make(chan struct{})
	answering.Go(func() {
		asked.Answer(ctx, func(ctx context.Context, request []byte) []byte {
			if string(request) == "wait" {
				close(taken)
				<-ctx.Done()
				return nil
			}
			mu.Lock()
			seen[string(request)]++
			mu.Unlock()
			return append([]byte("re: "), request...)
		})
	})
	asking.Wait()
	for request, times := range seen {
		if times != 1 {
			t.Errorf("%q was read %d times", request, times)
		}
	}
	if _, err := asker.Ask(t.Context(), "no one", []byte("hello")); !errors.Is(err, ErrUnread) {
		t.Errorf("a worker that there is not: %v", err)
	}
	// One that is taken when the worker is killed.
	asking.Go(func() {
		if _, err := asker.Ask(t.Context(), "asked", []byte("wait")); !errors.Is(err, ErrUnanswered) {
			t.Errorf("a letter that was taken: %v, want ErrUnanswered", err)
		}
	})
	<-taken
	l.mute("asked")
	asking.Wait()
	stop()
	answering.Wait()
	if left := pgtest.SQL(t, l.address, `select count(*) from cd_letter`); left[0] != "0" {
		t.Errorf("%s letters are left", left[0])
	}
}

// Law: a letter is answered though the answer to its taking was lost.
func TestLetterTakenUnawares(t *testing.T) {
	l := newLab(t, lasting)
	asked, asker := l.worker("asked"), mustConnect(t, l.address)
	var asking sync.WaitGroup
	asking.Go(func() {
		if answer, err := asker.Ask(t.Context(), "asked", []byte("hello")); err != nil || string(answer) != "yes" {
			t.Errorf("the answer is %q, %v", answer, err)
		}
	})
	for pgtest.SQL(t, l.address, `update cd_letter set taken = true returning 'taken'`) == nil {
	}
	ctx, stop := context.WithCancel(t.Context())
	asking.Go(func() {
		asked.Answer(ctx, func(context.Context, []byte) []byte { defer stop(); return []byte("yes") })
	})
	asking.Wait()
}
