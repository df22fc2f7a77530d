package pebblelog

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/tests/must"
)

// race has eight writers append batches of two events to one campaign, each expecting
// what it read last, or what was or will be, until all is written or the log stops. It
// returns what they were told of each event, by its ID: nil where it was acknowledged.
func race(t testing.TB, log *Log) map[string]error {
	var mu sync.Mutex
	told := map[string]error{}
	var group sync.WaitGroup
	for w := range 8 {
		group.Go(func() {
			for b := range 12 {
				seen, err := log.LastSequence(t.Context(), "c")
				if err != nil {
					t.Error(err)
					return
				}
				if b%3 == 1 {
					seen += 2 // another writer's batch may make it so
				}
				batch := []events.Event{testEvent(w*100 + b), testEvent(w*100 + b + 1)}
				for i := range batch {
					batch[i].ID = fmt.Sprintf("w%d-b%d-%d", w, b, i)
				}
				_, err = log.Append(t.Context(), "c", seen, batch...)
				mu.Lock()
				for _, e := range batch {
					told[e.ID] = err
				}
				mu.Unlock()
			}
		})
	}
	group.Wait()
	return told
}

// ids returns the IDs of the events of a store, which must be sound.
func ids(t testing.TB, fsys vfs.FS) (map[string]bool, error) {
	log := mustOpen(t, fsys, small)
	defer func() { _ = log.Close() }()
	there := map[string]bool{}
	for e, err := range log.Read(t.Context(), 0) {
		if err != nil {
			return nil, err
		}
		if there[e.ID] {
			return nil, fmt.Errorf("%s is there twice", e.ID)
		}
		there[e.ID] = true
	}
	report, err := log.Verify(t.Context())
	if err == nil && !report.Sound() {
		err = fmt.Errorf("verified: %v", report.Faults)
	}
	return there, err
}

// Law: a batch that met a conflict is never on the disk: not in the store, and not in what
// a crash at any moment, before the writer was told or after, would leave of it.
func TestCrashRefused(t *testing.T) {
	disk := newCrashDisk()
	rng := rand.New(rand.NewPCG(6, 7))
	run, wait := pool()
	var mu sync.Mutex
	ever := map[string]bool{} // what was there after any of the crashes
	ops := 0
	log := mustOpen(t, disk.watch(func(errorfs.Op) {
		if ops++; ops%4 != 0 {
			return
		}
		crashed := disk.crash(50*(ops%3), rng)
		run(func() {
			there, err := ids(t, crashed)
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			maps.Copy(ever, there)
		})
	}), small)
	told := race(t, log)
	err := log.Close()
	wait()
	there, idsErr := ids(t, disk)
	must.Do(t, errors.Join(err, idsErr))
	refused := 0
	for id, err := range told {
		var conflict *events.ConflictError
		switch {
		case err == nil && !there[id]:
			t.Errorf("%s was acknowledged and is not there", id)
		case errors.As(err, &conflict):
			if refused++; there[id] || ever[id] {
				t.Errorf("%s is there: %t, and after a crash: %t; its writer was told: %v", id, there[id], ever[id], err)
			}
		case err != nil:
			t.Errorf("%s: %v", id, err)
		}
	}
	t.Logf("%d of %d events were refused; %d were there after a crash", refused, len(told), len(ever))
	if refused == 0 {
		t.Error("nobody met a conflict")
	}
}

// Law: where the disk fails, each writer is told one of three things, and it is so when
// the store is opened again, after the end of the process or of the machine: it is
// stored; it is not; or nobody knows.
func TestDiskFailsRefused(t *testing.T) {
	for _, match := range []func(errorfs.Op) bool{isWrite, isSync} {
		uncertain, refused := 0, 0
		for at := range int64(40) {
			disk := newCrashDisk()
			var open atomic.Bool
			var ops atomic.Int64
			log := mustOpen(t, errorfs.Wrap(disk, errorfs.InjectorFunc(func(op errorfs.Op) error {
				if match(op) && open.Load() && ops.Add(1) > at {
					return syscall.EIO
				}
				return nil
			})), small)
			open.Store(true)
			told := race(t, log)
			_ = log.Close() // says that the disk failed, where it did
			for _, percent := range []int{100, 0} {
				there := must.Get(ids(t, disk.crash(percent, rand.New(rand.NewPCG(8, uint64(at))))))(t)
				for id, err := range told {
					switch {
					case errors.Is(err, events.ErrUncertain):
						uncertain++
					case err == nil && !there[id]:
						t.Errorf("failing at %d: %s was acknowledged and is not there", at, id)
					case err != nil:
						if refused++; there[id] {
							t.Errorf("failing at %d: %s is there, and its writer was told: %v", at, id, err)
						}
					}
				}
			}
		}
		t.Logf("%d refused, %d uncertain", refused, uncertain)
		if refused == 0 || uncertain == 0 {
			t.Error("not all three were met")
		}
	}
}

// stuckDisk opens a log on a disk that stops answering when it is told to: after stop, the
// next sync closes reached and waits for free.
func stuckDisk(t *testing.T, fsys vfs.FS) (log *Log, stop func(), reached <-chan struct{}, free func()) {
	t.Helper()
	var stuck atomic.Bool
	var once sync.Once
	met, freed := make(chan struct{}), make(chan struct{})
	log = mustOpen(t, errorfs.Wrap(fsys, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if stuck.Load() && isSync(op) {
			once.Do(func() { close(met) })
			<-freed
		}
		return nil
	})), Options{})
	return log, func() { stuck.Store(true) }, met, func() { stuck.Store(false); close(freed) }
}

// Law: nothing is visible before it is durable, by no way of asking: what the database
// has and the disk has not confirmed could be gone after a crash.
func TestInvisibleUntilDurable(t *testing.T) {
	log, stop, reached, free := stuckDisk(t, vfs.NewMem())
	defer func() { _ = log.Close() }()
	must.Do(t, work(t, log, 1, 20, func(int) {}))
	stop()
	done := make(chan error, 1)
	go func() {
		_, err := log.Append(t.Context(), "c", 20, testEvent(21), testEvent(22))
		done <- err
	}()
	<-reached // and so in the database
	shown := func(want events.Position) {
		t.Helper()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		if s, err := log.LastSequence(ctx, "c"); s != events.Sequence(want) || err != nil {
			t.Errorf("the campaign is at sequence %d, %v; want %d", s, err, want)
		}
		if last, head := log.Last(), log.durableHead(); last != want || head.N != int64(want) {
			t.Errorf("the log's Last is %d and its head of %d events, want %d", last, head.N, want)
		}
		for name, seq := range map[string]iter.Seq2[events.Event, error]{
			"Read":         log.Read(ctx, 0),
			"ReadCampaign": log.ReadCampaign(ctx, "c", 0),
		} {
			last := events.Position(0)
			for e, err := range seq {
				if err != nil {
					t.Errorf("%s: %v", name, err)
				}
				last = e.Position
			}
			if last != want {
				t.Errorf("%s ends at position %d, want %d", name, last, want)
			}
		}
	}
	shown(20)
	free()
	must.Do(t, <-done)
	shown(22)
}

// Law: a campaign is not named before its first event is durable.
func TestCampaignInvisibleUntilDurable(t *testing.T) {
	log, stop, reached, free := stuckDisk(t, vfs.NewMem())
	defer func() { _ = log.Close() }()
	stop()
	done := make(chan error, 1)
	go func() {
		_, err := log.Append(t.Context(), "c", 0, testEvent(1))
		done <- err
	}()
	<-reached // and so in the database
	if names, err := log.Campaigns(t.Context()); err != nil || len(names) != 0 {
		t.Errorf("named are %q, %v", names, err)
	}
	free()
	must.Do(t, <-done)
	if names, err := log.Campaigns(t.Context()); err != nil || !slices.Equal(names, []string{"c"}) {
		t.Errorf("named are %q, %v, want c", names, err)
	}
}

// Law: a writer who stops waiting is told whether the batch is certainly not stored, now
// or ever. Where the committer has taken it, nobody can promise that.
func TestCancelledWhileWriting(t *testing.T) {
	fsys := vfs.NewMem()
	log, stop, reached, free := stuckDisk(t, fsys)
	stop()
	ctx, cancel := context.WithCancel(t.Context())
	told := make([]error, 30)
	var group sync.WaitGroup
	for i := range told {
		group.Go(func() {
			e := testEvent(i)
			_, told[i] = log.Append(ctx, "c", events.AnySequence, e)
		})
		if i == 0 {
			<-reached // the first is on its way to the disk, the others wait behind it
		}
		runtime.Gosched()
	}
	cancel()
	group.Wait() // although the disk does not answer
	if !errors.Is(told[0], events.ErrUncertain) || !errors.Is(told[0], context.Canceled) {
		t.Errorf("the writer of what is on its way to the disk was told: %v, want ErrUncertain and context.Canceled", told[0])
	}
	free()
	must.Do(t, log.Close())
	there := must.Get(ids(t, fsys))(t)
	certain := 0
	for i, err := range told {
		if id := testEvent(i).ID; err == nil {
			t.Errorf("%s was acknowledged while the disk was stuck", id)
		} else if !errors.Is(err, events.ErrUncertain) {
			if certain++; there[id] {
				t.Errorf("%s is there, and its writer was told: %v", id, err)
			}
		}
	}
	t.Logf("%d of %d are certainly not stored", certain, len(told))
}
