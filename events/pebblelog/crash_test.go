package pebblelog

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
	"golang.org/x/mod/sumdb/tlog"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/ground/guardfs"
	"github.com/campaignd/campaignd/internal/tests/must"
)

// small makes Pebble rotate its write-ahead log and write tables often.
var small = Options{memTableSize: 128 << 10}

const lifeEvents = 60

// life is a store's life from before its creation: two sessions, with tables
// written and compacted in between.
func life(t testing.TB, fsys vfs.FS, acked func(int)) error {
	o := small
	o.FS = fsys
	for from := 1; from < lifeEvents; from += lifeEvents / 2 {
		log, err := Open("store", o)
		if err != nil {
			return err
		}
		err = work(t, log, from, from+lifeEvents/2-1, acked)
		if err = errors.Join(err, log.Close()); err != nil {
			return err
		}
	}
	return nil
}

// crashDisk is a file system that can be copied as a crash would leave it.
type crashDisk struct{ *vfs.MemFS }

func newCrashDisk() crashDisk { return crashDisk{vfs.NewCrashableMem()} }

// ReuseForWrite does what MemFS does, which takes a lock twice and so stops
// for ever if a copy is made meanwhile.
func (d crashDisk) ReuseForWrite(old, name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	if err := d.Rename(old, name); err != nil {
		return nil, err
	}
	return d.OpenReadWrite(name, category)
}

// crash returns the file system after a crash now.
func (d crashDisk) crash(percent int, rng *rand.Rand) crashDisk {
	return crashDisk{d.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: percent, RNG: rng})}
}

// watch returns the disk with a function that is called before each change.
func (d crashDisk) watch(before func(op errorfs.Op)) vfs.FS {
	var mu sync.Mutex
	return errorfs.Wrap(d, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if op.Kind.ReadOrWrite() == errorfs.OpIsWrite {
			mu.Lock()
			defer mu.Unlock()
			before(op)
		}
		return nil
	}))
}

// pool runs functions, two at a time; its wait waits for all of them.
func pool() (run func(func()), wait func()) {
	var group sync.WaitGroup
	slots := make(chan struct{}, 2)
	return func(f func()) {
		slots <- struct{}{}
		group.Go(func() { f(); <-slots })
	}, group.Wait
}

// TestCrash: whenever the machine stops, with none, half or all of the
// unsynced data kept, the store opens again, everything acknowledged is there,
// and nothing is there in part. The file system is copied, as a crash would
// leave it, before each of its changes in a store's life.
func TestCrash(t *testing.T) {
	var acked atomic.Int64
	disk := newCrashDisk()
	rng := rand.New(rand.NewPCG(1, 2))
	run, wait := pool()
	crashes := 0
	watched := disk.watch(func(op errorfs.Op) {
		for _, percent := range []int{0, 50, 100} {
			if crashes++; testing.Short() && crashes%7 != 0 {
				continue
			}
			acked, crashed := int(acked.Load()), disk.crash(percent, rng)
			run(func() {
				if n, err := sound(t, crashed, small, acked); err != nil {
					t.Errorf("crash before operation %d on %s, %d %% of the unsynced data kept, %d acknowledged, %d there: %v",
						op.Kind, op.Path, percent, acked, n, err)
				}
			})
		}
	})
	err := life(t, watched, func(i int) { acked.Store(int64(i)) })
	wait()
	if err != nil || acked.Load() != lifeEvents {
		t.Fatalf("the workload ended at %d: %v", acked.Load(), err)
	}
	t.Logf("%d crashes", crashes)
}

// each runs f for 0 to n-1, two at a time.
func each(t testing.TB, n int, f func(int)) {
	t.Helper()
	var group sync.WaitGroup
	for worker := range 2 {
		group.Go(func() {
			for i := worker; i < n && !t.Failed(); i += 2 {
				f(i)
			}
		})
	}
	group.Wait()
}

// TestCrashConcurrent: the same with eight writers, who share groups.
func TestCrashConcurrent(t *testing.T) {
	var mu sync.Mutex
	acked := map[string]events.Sequence{} // by the ID of a batch's first event
	disk := newCrashDisk()
	rng := rand.New(rand.NewPCG(3, 4))
	run, wait := pool()
	ops := 0
	log := mustOpen(t, disk.watch(func(errorfs.Op) {
		if ops++; ops%5 != 0 {
			return
		}
		mu.Lock()
		known := maps.Clone(acked)
		mu.Unlock()
		crashed := disk.crash(50*(ops%3), rng)
		run(func() {
			if err := wholeBatches(t, crashed, known); err != nil {
				t.Error(err)
			}
		})
	}), small)
	var group sync.WaitGroup
	for w := range 8 {
		group.Go(func() {
			for b := range 12 {
				batch := make([]events.Event, 1+(w+b)%3)
				for j := range batch {
					batch[j] = testEvent(w*100 + b)
					batch[j].ID = fmt.Sprintf(batchID, w, b, j, len(batch))
				}
				stored, err := log.Append(t.Context(), fmt.Sprintf("c%d", w%3), events.AnySequence, batch...)
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				acked[stored[0].ID] = stored[0].Sequence
				mu.Unlock()
			}
		})
	}
	group.Wait()
	err := log.Close()
	wait()
	if err != nil {
		t.Fatal(err)
	}
}

// batchID is the ID of an event: writer, batch, place in the batch and size of
// the batch.
const batchID = "w%d-b%d-%d of %d"

// wholeBatches reports a batch that is not whole, a gap, and whatever was
// acknowledged and is not there.
func wholeBatches(t testing.TB, disk vfs.FS, acked map[string]events.Sequence) error {
	log := mustOpen(t, disk, small)
	defer func() { _ = log.Close() }()
	next := map[string]events.Sequence{}
	var want string // the ID that must follow, empty at the end of a batch
	for e, err := range log.Read(t.Context(), 0) {
		if err != nil {
			return err
		}
		if next[e.Campaign]++; e.Sequence != next[e.Campaign] {
			return fmt.Errorf("position %d is sequence %d of %s, want %d", e.Position, e.Sequence, e.Campaign, next[e.Campaign])
		}
		if want != "" && e.ID != want {
			return fmt.Errorf("position %d holds %s, want %s", e.Position, e.ID, want)
		}
		var w, b, j, n int
		if _, err := fmt.Sscanf(e.ID, batchID, &w, &b, &j, &n); err != nil {
			return err
		}
		if want = ""; j+1 < n {
			want = fmt.Sprintf(batchID, w, b, j+1, n)
		}
		if acked[e.ID] == e.Sequence {
			delete(acked, e.ID)
		}
	}
	if len(acked) > 0 || want != "" {
		return fmt.Errorf("acknowledged and not there: %v; %q is missing", acked, want)
	}
	return nil
}

// TestDiskFails: wherever a write fails for want of room, or a sync fails,
// once or from then on, the log stops with that error, the process lives, and
// what was acknowledged is there when the store is opened again, after the end
// of the process or of the machine.
func TestDiskFails(t *testing.T) {
	for _, c := range []struct {
		name  string
		err   error
		match func(errorfs.Op) bool
		stays bool
	}{
		{"no room from then on", syscall.ENOSPC, isWrite, true},
		{"no room once", syscall.ENOSPC, isWrite, false},
		{"sync fails from then on", syscall.EIO, isSync, true},
		{"sync fails once", syscall.EIO, isSync, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			// One life without a fault counts the operations.
			var total atomic.Int64
			counted := errorfs.Wrap(vfs.NewMem(), errorfs.InjectorFunc(func(op errorfs.Op) error {
				if c.match(op) {
					total.Add(1)
				}
				return nil
			}))
			must.Do(t, life(t, counted, func(int) {}))
			var unnoticed atomic.Int64
			each(t, int(total.Load()), func(at int) {
				if testing.Short() && at%6 != 0 {
					return
				}
				disk := newCrashDisk()
				var ops, failed atomic.Int64
				var acked int
				err := life(t, errorfs.Wrap(disk, errorfs.InjectorFunc(func(op errorfs.Op) error {
					if !c.match(op) {
						return nil
					}
					if n := int(ops.Add(1)) - 1; n == at || c.stays && n > at {
						failed.Add(1)
						return c.err
					}
					return nil
				})), func(i int) { acked = i })
				switch {
				case failed.Load() == 0:
					return // background work differs a little from run to run
				case err == nil && acked == lifeEvents:
					unnoticed.Add(1) // for example an optional removal
				case !errors.Is(err, c.err):
					t.Errorf("at %d: %v, want %v", at, err, c.err)
				}
				rng := rand.New(rand.NewPCG(5, uint64(at)))
				for _, percent := range []int{100, 0} {
					crashed := disk.crash(percent, rng)
					if n, err := sound(t, crashed, small, acked); err != nil {
						t.Errorf("failing at %d, %d %% of the unsynced data kept, %d acknowledged, %d there: %v", at, percent, acked, n, err)
					}
				}
			})
			t.Logf("%d places to fail, %d of them without effect", total.Load(), unnoticed.Load())
		})
	}
}

func isWrite(op errorfs.Op) bool {
	switch op.Kind {
	case errorfs.OpCreate, errorfs.OpLink, errorfs.OpRename, errorfs.OpReuseForWrite, errorfs.OpMkdirAll,
		errorfs.OpFileWrite, errorfs.OpFileWriteAt:
		return true
	}
	return false
}

func isSync(op errorfs.Op) bool {
	switch op.Kind {
	case errorfs.OpFileSync, errorfs.OpFileSyncData, errorfs.OpFileSyncTo:
		return true
	}
	return false
}

// Law: the first change of the file system that fails is the log's failure, and nothing
// reaches the disk after it, whatever Pebble goes on to do, which is not told of it. To
// find nothing where something may be is not a failure.
func TestGuard(t *testing.T) {
	changes := map[string]func(vfs.FS) error{
		"Rename":        func(fsys vfs.FS) error { return fsys.Rename("store/a", "store/b") },
		"Link":          func(fsys vfs.FS) error { return fsys.Link("store/a", "store/c") },
		"MkdirAll":      func(fsys vfs.FS) error { return fsys.MkdirAll("store/d", 0o700) },
		"Create":        func(fsys vfs.FS) error { return writeFile(fsys, "store/e", []byte("e")) },
		"ReuseForWrite": func(fsys vfs.FS) error { return reuse(fsys, "store/a", "store/f") },
	}
	for first, failing := range changes {
		disk := vfs.NewMem()
		must.Do(t, errors.Join(disk.MkdirAll("store/pebble", 0o700), writeFile(disk, "store/a", []byte("a"))))
		var down atomic.Bool
		g := guardfs.New()
		fsys := guardfs.FS{FS: errorfs.Wrap(disk, errorfs.InjectorFunc(func(op errorfs.Op) error {
			if down.Load() && isWrite(op) {
				return syscall.EROFS
			}
			return nil
		})), Guard: g}
		if err := fsys.Rename("store/x", "store/y"); !errors.Is(err, fs.ErrNotExist) || g.Err() != nil {
			t.Errorf("what is not there cannot be renamed: %v; failure: %v", err, g.Err())
		}
		before := readFiles(t, disk)
		down.Store(true)
		if err := failing(fsys); err != nil || !errors.Is(g.Err(), syscall.EROFS) {
			t.Errorf("%s: %v; failure: %v, want EROFS", first, err, g.Err())
		}
		down.Store(false) // once is enough
		for name, change := range changes {
			if err := change(fsys); err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.EROFS) {
				t.Errorf("%s after %s: %v", name, first, err)
			}
		}
		if after := readFiles(t, disk); !maps.EqualFunc(after, before, bytes.Equal) {
			t.Errorf("after %s there are %v", first, slices.Sorted(maps.Keys(after)))
		}
		if _, err := disk.Stat("store/d"); err == nil {
			t.Errorf("after %s a directory was made", first)
		}
	}
}

// reuse writes a file in the place of an old one.
func reuse(fsys vfs.FS, old, name string) error {
	f, err := fsys.ReuseForWrite(old, name, vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	_, err = f.Write([]byte("f"))
	return errors.Join(err, f.Close())
}

// Law: a disk that does not answer is no damage. Where any one file of a store cannot be
// opened or read, opening the store says why and leaves all files as they were, or reading
// all of it says why, or the file, which is neither FORMAT nor HEAD, is not needed and every
// event is there. Nobody is asked to restore a copy, and nothing is made anew.
func TestDiskDoesNotAnswer(t *testing.T) {
	const n = 60
	faults := map[string]func(errorfs.Op) bool{
		"open": func(op errorfs.Op) bool { return op.Kind == errorfs.OpOpen },
		"read": func(op errorfs.Op) bool { return op.Kind == errorfs.OpFileRead || op.Kind == errorfs.OpFileReadAt },
	}
	for _, killed := range []bool{false, true} {
		files := damagedStore(t, n, killed)
		for fault, matches := range faults {
			for _, readOnly := range []bool{false, true} {
				refused := 0
				for path := range files {
					disk := writeFiles(t, files)
					if path == "store/FORMAT" { // the end of creating it is not taken for its middle
						must.Do(t, writeFile(disk, "store/CREATING", nil))
					}
					before := readFiles(t, disk)
					log, err := Open("store", Options{ReadOnly: readOnly, FS: errorfs.Wrap(disk, errorfs.InjectorFunc(func(op errorfs.Op) error {
						if op.Path == path && matches(op) {
							return syscall.EIO
						}
						return nil
					}))})
					where := fmt.Sprintf("cannot %s %s, killed: %t, read-only: %t", fault, path, killed, readOnly)
					if err != nil {
						after := readFiles(t, disk)
						delete(after, "store/LOCK")
						delete(after, "store/pebble/LOCK")
						if !maps.EqualFunc(after, before, bytes.Equal) {
							t.Errorf("%s: refused (%v), and changed", where, err)
						}
					} else {
						err = errors.Join(holds(t, log, n), log.Close())
					}
					switch {
					case err == nil && (path == "store/FORMAT" || path == "store/HEAD"):
						t.Errorf("%s: opened, and nobody knows what the store is or whether all is there", where)
					case err == nil:
					case !errors.Is(err, syscall.EIO) || errors.Is(err, events.ErrDamaged):
						t.Errorf("%s: %v, want EIO", where, err)
					default:
						refused++
					}
				}
				if refused == 0 {
					t.Errorf("cannot %s, killed: %t, read-only: %t: no file was needed", fault, killed, readOnly)
				}
			}
		}
	}
}

// Law: nor is a disk damage that stops answering while the log is open: whoever asks for
// what is not in memory is told why there is no answer.
func TestDiskStopsAnswering(t *testing.T) {
	const n = 60
	files := damagedStore(t, n, false)
	head := mustOpen(t, writeFiles(t, files), Options{ReadOnly: true}).durableHead()
	ask := map[string]func(*Log) error{
		"Read": func(log *Log) error { return holds(t, log, n) },
		"ReadCampaign": func(log *Log) (err error) {
			for _, err = range log.ReadCampaign(t.Context(), "c", 0) {
			}
			return err
		},
		"LastSequence": func(log *Log) error { _, err := log.LastSequence(t.Context(), "c"); return err },
		"Offset":       func(log *Log) error { _, err := log.Offset("consumer"); return err },
		"Verify": func(log *Log) error {
			r, err := log.Verify(t.Context())
			if err == nil && !r.Sound() {
				return fmt.Errorf("%w: %v", events.ErrDamaged, r.Faults)
			}
			return err
		},
		"ProveEvent":   func(log *Log) error { _, err := log.ProveEvent(t.Context(), 3, n); return err },
		"ProveExtends": func(log *Log) error { _, err := log.ProveExtends(t.Context(), 7, n); return err },
		"VerifyExtends": func(log *Log) error {
			return log.VerifyExtends(t.Context(), tlog.Tree{N: n, Hash: head.Hash})
		},
	}
	told := 0
	for name, ask := range ask {
		for _, readOnly := range []bool{false, true} {
			var silent atomic.Bool
			log := mustOpen(t, errorfs.Wrap(writeFiles(t, files), errorfs.InjectorFunc(func(op errorfs.Op) error {
				if silent.Load() && (op.Kind == errorfs.OpFileReadAt || op.Kind == errorfs.OpOpen) {
					return syscall.EIO
				}
				return nil
			})), Options{ReadOnly: readOnly})
			silent.Store(true)
			err := ask(log)
			if err != nil {
				told++
			}
			if err != nil && (!errors.Is(err, syscall.EIO) || errors.Is(err, events.ErrDamaged)) {
				t.Errorf("%s, read-only: %t: %v, want EIO", name, readOnly, err)
			}
			silent.Store(false)
			_ = log.Close()
		}
	}
	if told == 0 {
		t.Error("everything was in memory")
	}
	t.Logf("%d were told", told)
}

// TestStopped: after a failure the log says so to every writer, in flight and
// later, and its readers go on.
func TestStopped(t *testing.T) {
	var full atomic.Bool
	log := mustOpen(t, errorfs.Wrap(vfs.NewMem(), errorfs.InjectorFunc(func(op errorfs.Op) error {
		if full.Load() && isWrite(op) {
			return syscall.ENOSPC
		}
		return nil
	})), Options{})
	must.Do(t, work(t, log, 1, 10, func(int) {}))
	full.Store(true)
	_, err := log.Append(t.Context(), "c", 10, testEvent(11))
	if !errors.Is(err, events.ErrUncertain) || !errors.Is(err, events.ErrStopped) || !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("the Append that met the full disk: %v, want ErrUncertain, ErrStopped and the cause", err)
	}
	full.Store(false)
	_, err = log.Append(t.Context(), "c", 10, testEvent(11))
	if errors.Is(err, events.ErrUncertain) || !errors.Is(err, events.ErrStopped) {
		t.Errorf("a later Append: %v, want ErrStopped without doubt", err)
	}
	if err := log.SetOffset("consumer", 3); !errors.Is(err, events.ErrStopped) {
		t.Errorf("SetOffset: %v, want ErrStopped", err)
	}
	if err := holds(t, log, 10); err != nil {
		t.Errorf("reading: %v", err)
	}
	if err := log.Close(); err == nil {
		t.Error("Close keeps the failure for itself")
	}
}
