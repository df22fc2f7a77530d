package pebblelog

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/tests/must"
)

// Law: that the sequences of a campaign count up by one is checked wherever in the log they do
// not, on any number of processors: here of a log whose index says the same as its events.
func TestGapsOfSequences(t *testing.T) {
	const n = 12
	for from := events.Position(1); from <= n; from++ {
		log := mustOpen(t, vfs.NewMem(), Options{})
		for i := range n {
			must.Get(log.Append(t.Context(), "c", events.AnySequence, testEvent(i)))(t)
		}
		checkedOnAnyProcessors(t, log, "c", false)
		for p := events.Position(n); p >= from; p-- { // each becomes the next one
			value, closer := must.Get2(log.db.Get(appendEventKey(nil, p)))(t)
			e := must.Get(decodeValue(p, value))(t)
			_, hashes := must.Get2(splitValue(p, value))(t)
			index := appendSequenceKey(nil, "c", e.Sequence)
			e.Sequence++
			record, err := events.AppendRecord(nil, e)
			must.Do(t, errors.Join(err,
				log.db.Set(appendEventKey(nil, p), append(record, hashes...), pebble.Sync),
				log.db.Delete(index, pebble.Sync),
				log.db.Set(appendSequenceKey(nil, "c", e.Sequence), appendEventKey(nil, p)[1:], pebble.Sync),
				closer.Close(),
			))
		}
		t.Run(fmt.Sprint("from position ", from), func(t *testing.T) {
			checkedOnAnyProcessors(t, log, "c", true)
			checkedOnAnyProcessors(t, log, "", true)
		})
		must.Do(t, log.Close())
	}
}

// Law: a directory is a store's if any part of a store is there, and no other is: where its
// database, HEAD or FORMAT alone is left, it is not said that there is none.
func TestWhatIsAStore(t *testing.T) {
	parts := []string{formatName, headName, pebbleName, lockName, "thesis.tex"}
	for set := range 1 << len(parts) {
		fsys := vfs.NewMem()
		must.Do(t, fsys.MkdirAll("store", 0o700))
		var there []string
		for i, part := range parts {
			if set&(1<<i) == 0 {
				continue
			}
			there = append(there, part)
			must.Do(t, writeFile(fsys, path.Join("store", part), []byte("x")))
		}
		isStore := set&0b111 != 0
		err := mustHoldStore(fsys, "store")
		if (err == nil) != isStore || !isStore && !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("with %q there is a store: %t; %v", there, isStore, err)
		}
	}
}

// Law: no store is made in a folder that holds anything else, whatever that is called.
func TestNoStoreBesideOthers(t *testing.T) {
	for _, name := range []string{"0", "A.tex", "LOCK.txt", "thesis.tex", "~"} {
		fsys := vfs.NewMem()
		must.Do(t, errors.Join(fsys.MkdirAll("store", 0o700), writeFile(fsys, "store/"+name, []byte("x"))))
		log, err := Open("store", Options{FS: fsys})
		if err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("beside %s: %v", name, err)
		}
		if log != nil {
			_ = log.Close()
		}
		if names, err := fsys.List("store"); err != nil || len(names) > 2 {
			t.Errorf("beside %s there are %q, %v", name, names, err)
		}
	}
}

// Law: a campaign's name may have as many bytes as an event's may, and such a one is read like any
// other; of a longer one there is nothing.
func TestLongestNameOfACampaign(t *testing.T) {
	log := mustOpen(t, vfs.NewMem(), Options{})
	defer func() { _ = log.Close() }()
	longest := strings.Repeat("c", events.MaxStringSize)
	for range 2 {
		must.Get(log.Append(t.Context(), longest, events.AnySequence, testEvent(1)))(t)
	}
	for name, want := range map[string]events.Sequence{longest: 2, longest + "c": 0, longest[1:]: 0} {
		read := events.Sequence(0)
		for e, err := range log.ReadCampaign(t.Context(), name, 0) {
			if err != nil || e.Campaign != name {
				t.Errorf("of a name of %d bytes: %v", len(name), err)
			}
			read++
		}
		last, err := log.LastSequence(t.Context(), name)
		if err != nil || last != want || read != want {
			t.Errorf("a name of %d bytes: %d events read, the last is %d, %v, want %d", len(name), read, last, err, want)
		}
	}
	if _, err := log.Append(t.Context(), longest+"c", events.AnySequence, testEvent(1)); err == nil {
		t.Error("a name too long was taken")
	}
}

// Law: nothing that reads a store of another process changes it: each change of the file system is
// refused and is not made.
func TestSnapshotChangesNothing(t *testing.T) {
	fsys := vfs.NewMem()
	log := mustOpen(t, fsys, small)
	must.Do(t, errors.Join(work(t, log, 1, 60, func(int) {}), log.Close()))
	before := readFiles(t, fsys)
	dir := fsys.PathJoin("store", pebbleName)
	s := must.Get(takeSnapshot(fsys, dir))(t)
	names, err := s.List(dir)
	if err != nil || len(names) < 4 {
		t.Fatalf("the snapshot has %q, %v", names, err)
	}
	opened := func(f vfs.File, err error) error { return err }
	for _, name := range names {
		path := fsys.PathJoin(dir, name)
		for what, err := range map[string]error{
			"create":    opened(s.Create(path, "")),
			"open":      opened(s.OpenReadWrite(path, "")),
			"reuse":     opened(s.ReuseForWrite(path, path+"x", "")),
			"link":      s.Link(path, path+"x"),
			"remove":    s.Remove(path),
			"removeall": s.RemoveAll(path),
			"rename":    s.Rename(path, path+"x"),
			"mkdir":     s.MkdirAll(path+"x", 0o700),
		} {
			if !errors.Is(err, events.ErrReadOnly) || !strings.Contains(err.Error(), path) {
				t.Errorf("%s %s: %v", what, name, err)
			}
		}
	}
	if s.Unwrap() != nil {
		t.Error("there is a way past it")
	}
	after := readFiles(t, fsys)
	for name, content := range before {
		if string(after[name]) != string(content) {
			t.Errorf("%s was changed", name)
		}
	}
	if err := s.Close(); err != nil || len(after) != len(before) {
		t.Errorf("there were %d files and are %d: %v", len(before), len(after), err)
	}
}

// Law: whatever a database does with a batch, nothing is acknowledged that it has not taken, and
// nothing after it: a panic of the database, such as that of one that is closed, is the log's failure.
func TestPanicOfTheDatabase(t *testing.T) {
	log := mustOpen(t, vfs.NewMem(), Options{})
	must.Do(t, work(t, log, 1, 1, func(int) {}))
	if err := log.db.Close(); err != nil { // not the log, which goes on
		t.Fatal(err)
	}
	_, err := log.Append(t.Context(), "c", 1, testEvent(2))
	if !errors.Is(err, events.ErrUncertain) || log.Last() != 1 {
		t.Errorf("the database has panicked: %v, and the last is %d", err, log.Last())
	}
	if _, err := log.Append(t.Context(), "c", 1, testEvent(3)); !errors.Is(err, events.ErrStopped) {
		t.Errorf("after the panic: %v", err)
	}
}

// Law: a disk that does not answer is no damage, also where there is damage: whichever read fails of
// those that a check of a damaged log makes, the check ends with what the disk said.
func TestDamageOnADiskThatDoesNotAnswer(t *testing.T) {
	const n = 60
	disk := vfs.NewMem()
	log := mustOpen(t, disk, small)
	must.Do(t, work(t, log, 1, n, func(int) {}))
	must.Do(t, errors.Join(log.db.Flush(), log.Close()))
	files := readFiles(t, disk)
	var table string // the largest
	for name, content := range files {
		if strings.HasSuffix(name, ".sst") && len(content) > len(files[table]) {
			table = name
		}
	}
	files[table][len(files[table])/3] ^= 1
	failed := 0
	for _, once := range []bool{false, true} {
		for at := int64(0); ; at++ {
			var reads, failures atomic.Int64
			var checking atomic.Bool
			log := mustOpen(t, errorfs.Wrap(writeFiles(t, files), errorfs.InjectorFunc(func(op errorfs.Op) error {
				if !checking.Load() || op.Kind != errorfs.OpFileReadAt {
					return nil
				}
				if n := reads.Add(1); n <= at || once && n > at+1 {
					return nil
				}
				failures.Add(1)
				return syscall.EIO
			})), Options{ReadOnly: true})
			checking.Store(true)
			report, err := log.Verify(context.Background())
			checking.Store(false)
			_ = log.Close()
			if failures.Load() == 0 {
				if err != nil || report.Sound() {
					t.Errorf("a disk that answers: %+v, %v", report, err)
				}
				break
			}
			failed++
			if !errors.Is(err, syscall.EIO) || errors.Is(err, events.ErrDamaged) {
				t.Errorf("after %d reads, one failure %t: %v, want EIO", at, once, err)
			}
		}
	}
	t.Logf("%d reads can fail", failed)
}
