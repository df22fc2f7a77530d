package pebblelog

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	mathrand "math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"golang.org/x/mod/sumdb/tlog"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/tests/must"
)

// Law: a key says what it is and of what, and nothing else is taken for it.
func TestKeys(t *testing.T) {
	for _, p := range []events.Position{1, 300, math.MaxUint64} {
		key := appendEventKey(nil, p)
		if got, ok := parseEventKey(key); got != p || !ok {
			t.Errorf("the key of position %d is read as %d, %t", p, got, ok)
		}
		for name, other := range map[string][]byte{
			"empty": nil, "short": key[:len(key)-1], "long": append(slices.Clone(key), 0),
			"of another kind": append([]byte{offsetPrefix}, key[1:]...), "short, of another kind": append([]byte{offsetPrefix}, key[2:]...),
		} {
			if got, ok := parseEventKey(other); ok {
				t.Errorf("a key that is %s is read as of position %d", name, got)
			}
		}
		value := key[1:]
		if got, ok := parsePosition(value); got != p || !ok {
			t.Errorf("position %d is read as %d, %t", p, got, ok)
		}
		for _, other := range [][]byte{nil, value[1:], append(slices.Clone(value), 0)} {
			if got, ok := parsePosition(other); ok {
				t.Errorf("%x is read as position %d", other, got)
			}
		}
	}
	for _, campaign := range []string{"c", "größer/2", strings.Repeat("c", events.MaxStringSize)} {
		key := appendSequenceKey(nil, campaign, 7)
		if got, s, ok := parseSequenceKey(key); got != campaign || s != 7 || !ok {
			t.Errorf("the key of sequence 7 of %q is read as of %d of %q, %t", campaign, s, got, ok)
		}
		for name, other := range map[string][]byte{
			"empty": nil, "short": key[:len(key)-1], "long": append(slices.Clone(key), 0), "without a campaign": key[:2],
			"of another kind": append([]byte{eventPrefix}, key[1:]...),
		} {
			if got, s, ok := parseSequenceKey(other); ok {
				t.Errorf("a key that is %s is read as of sequence %d of %q", name, s, got)
			}
		}
	}
}

// TestVerifyTampered: changes that a database cannot see, because they were
// made through it, are found.
func TestVerifyTampered(t *testing.T) {
	key := func(p events.Position) []byte { return appendEventKey(nil, p) }
	get := func(db *pebble.DB, k []byte) []byte {
		value, closer := must.Get2(db.Get(k))(t)
		defer func() { _ = closer.Close() }()
		return slices.Clone(value)
	}
	// moved returns the record of one value with the hashes of another.
	moved := func(value []byte, of events.Position, place []byte, at events.Position) []byte {
		record, _ := must.Get2(splitValue(of, value))(t)
		_, hashes := must.Get2(splitValue(at, place))(t)
		return slices.Concat(record, hashes)
	}
	for _, c := range []struct {
		name   string
		tamper func(*pebble.DB) error
		want   string // in the report, or in the error of Open
	}{
		{"nothing", func(*pebble.DB) error { return nil }, ""},
		{"an event removed", func(db *pebble.DB) error { return db.Delete(key(20), pebble.Sync) }, "position 20: they are not there; lost: these events"},
		{"events removed", func(db *pebble.DB) error { return db.DeleteRange(key(20), key(25), pebble.Sync) }, "positions 20 to 24: they are not there; lost: these events"},
		{"the first events removed", func(db *pebble.DB) error { return db.DeleteRange(key(1), key(4), pebble.Sync) }, "positions 1 to 3 are lost"},
		{"the last events removed", func(db *pebble.DB) error { return db.DeleteRange(key(58), key(99), pebble.Sync) }, "positions 58 to 60 are lost"},
		{"an event replaced", func(db *pebble.DB) error {
			e, err := decodeValue(20, get(db, key(20)))
			if err != nil {
				return err
			}
			e.Actor = "person:mallory"
			record, err := events.AppendRecord(nil, e)
			if err != nil {
				return err
			}
			_, hashes, err := splitValue(20, get(db, key(20)))
			if err != nil {
				return err
			}
			return db.Set(key(20), append(record, hashes...), pebble.Sync)
		}, "position 20: the hashes stored with the event are not those of the events"},
		{"the last event replaced by an earlier one", func(db *pebble.DB) error {
			return db.Set(key(60), get(db, key(20)), pebble.Sync)
		}, "the hashes stored at position 60 are not those of the events"},
		{"an event replaced by a copy of another", func(db *pebble.DB) error {
			return db.Set(key(23), get(db, key(21)), pebble.Sync)
		}, "position 23: it is sequence 21 of campaign \"c\", and should be 23"},
		{"an event replaced by a copy of another, with the hashes of its place", func(db *pebble.DB) error {
			return db.Set(key(21), moved(get(db, key(23)), 23, get(db, key(21)), 21), pebble.Sync)
		}, "position 21: the hashes stored with the event are not those of the events"},
		{"two events swapped", func(db *pebble.DB) error {
			a, b := get(db, key(21)), get(db, key(23))
			return errors.Join(db.Set(key(21), b, pebble.Sync), db.Set(key(23), a, pebble.Sync))
		}, "position 22: the hashes stored with the event are not those of the events"},
		{"two events swapped, of which one completes more of the tree", func(db *pebble.DB) error {
			a, b := get(db, key(20)), get(db, key(21))
			return errors.Join(db.Set(key(20), b, pebble.Sync), db.Set(key(21), a, pebble.Sync))
		}, "position 20: the store is damaged: the event at position 20 is lost"},
		{"a key that is too short", func(db *pebble.DB) error {
			return db.Set(key(20)[:8], get(db, key(20)), pebble.Sync)
		}, "a key is not an event's"},
		{"a key that is too long", func(db *pebble.DB) error {
			return db.Set(append(key(60), 0), get(db, key(60)), pebble.Sync)
		}, "a key is not an event's"},
		{"an index entry removed", func(db *pebble.DB) error {
			return db.Delete(appendSequenceKey(nil, "c", 20), pebble.Sync)
		}, "position 20: the index of campaigns does not name the event"},
		{"an index entry moved", func(db *pebble.DB) error {
			return db.Set(appendSequenceKey(nil, "c", 20), key(21)[1:], pebble.Sync)
		}, "position 21: the index takes the event for sequence 20"},
		{"an index entry of no campaign", func(db *pebble.DB) error {
			other := appendSequenceKey(nil, "c", 20)
			other[2]++ // the length of its campaign's name
			return db.Set(other, key(20)[1:], pebble.Sync)
		}, "the index of campaigns has the unreadable key"},
		{"an index entry added", func(db *pebble.DB) error {
			return db.Set(appendSequenceKey(nil, "d", 1), key(21)[1:], pebble.Sync)
		}, "the index of campaigns has 61 entries for 60 events"},
	} {
		t.Run(c.name, func(t *testing.T) {
			fsys := vfs.NewMem()
			log := mustOpen(t, fsys, Options{})
			must.Do(t, work(t, log, 1, 60, func(int) {}))
			must.Do(t, c.tamper(log.db))
			must.Do(t, log.Close())
			log, err := Open("store", Options{FS: fsys, ReadOnly: true})
			if err != nil {
				if !errors.Is(err, events.ErrDamaged) || c.want == "" || !strings.Contains(err.Error(), c.want) {
					t.Errorf("open: %v, want %q", err, c.want)
				}
				return
			}
			defer func() { _ = log.Close() }()
			report := must.Get(log.Verify(t.Context()))(t)
			if c.want == "" {
				if !report.Sound() || report.Read != 60 || report.Root != log.durableHead().Hash {
					t.Errorf("%+v", report)
				}
				return
			}
			if !slices.ContainsFunc(report.Faults, func(f events.Fault) bool { return strings.Contains(f.String(), c.want) }) {
				t.Errorf("%v, want %q", report.Faults, c.want)
			}
		})
	}
}

// Law: what is wrong with the index of campaigns is told of each event once, and of no
// other event, and no event is said to be lost: each of them is there and sound.
func TestIndexFaults(t *testing.T) {
	entry := func(campaign string, s events.Sequence) []byte { return appendSequenceKey(nil, campaign, s) }
	place := func(p events.Position) []byte { return appendEventKey(nil, p)[1:] }
	const count = "the index of campaigns has %d entries for 60 events"
	for _, c := range []struct {
		name   string
		tamper func(*pebble.Batch) error
		want   []string
	}{
		{"nothing", func(*pebble.Batch) error { return nil }, nil},
		{"an entry removed", func(b *pebble.Batch) error { return b.Delete(entry("c", 21), nil) }, []string{
			fmt.Sprintf(count, 59), "position 21: the index of campaigns does not name the event",
		}},
		{"an entry under another campaign", func(b *pebble.Batch) error {
			return errors.Join(b.Delete(entry("c", 21), nil), b.Set(entry("d", 1), place(21), nil))
		}, []string{`position 21: the index takes the event for sequence 1 of campaign "d"`}},
		{"two entries that change places", func(b *pebble.Batch) error {
			return errors.Join(b.Set(entry("c", 20), place(21), nil), b.Set(entry("c", 21), place(20), nil))
		}, []string{
			`position 21: the index takes the event for sequence 20 of campaign "c"`,
			`position 20: the index takes the event for sequence 21 of campaign "c"`,
		}},
		{"an entry more", func(b *pebble.Batch) error { return b.Set(entry("d", 1), place(21), nil) }, []string{fmt.Sprintf(count, 61)}},
		{"an entry of no event", func(b *pebble.Batch) error { return b.Set(entry("c", 61), place(0), nil) }, []string{
			fmt.Sprintf("the index of campaigns has the unreadable key %x", entry("c", 61)), fmt.Sprintf(count, 61),
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			log := mustOpen(t, vfs.NewMem(), Options{})
			defer func() { _ = log.Close() }()
			must.Do(t, work(t, log, 1, 60, func(int) {}))
			batch := log.db.NewBatch()
			must.Do(t, errors.Join(c.tamper(batch), batch.Commit(pebble.Sync)))
			checkedOnAnyProcessors(t, log, "", c.want != nil)
			report, err := log.Verify(t.Context())
			if err != nil || report.Read != 60 || report.Root != log.durableHead().Hash {
				t.Errorf("%+v, %v", report, err)
			}
			var got []string
			for _, f := range report.Faults {
				got = append(got, f.String())
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("told:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(c.want, "\n"))
			}
		})
	}
}

// Law: of the events that are gone each run is one fault, and the others are read; there is
// no root without them. A hundred faults are listed, the others counted.
func TestVerifyCounts(t *testing.T) {
	log := mustOpen(t, vfs.NewMem(), Options{})
	defer func() { _ = log.Close() }()
	batch := log.db.NewBatch()
	err := work(t, log, 1, 60, func(int) {})
	for _, p := range []events.Position{20, 25, 26, 28} {
		err = errors.Join(err, batch.Delete(appendEventKey(nil, p), nil))
	}
	err = errors.Join(err, batch.Set(appendEventKey(nil, 29), nil, nil)) // nothing is there of it either
	must.Do(t, errors.Join(err, batch.Commit(pebble.Sync)))
	report, err := log.Verify(t.Context())
	if err != nil || report.Read != 55 || report.Events != 60 || report.Root != (tlog.Hash{}) || report.More != 0 {
		t.Errorf("%+v, %v", report, err)
	}
	var got [][2]events.Position
	for _, f := range report.Faults {
		got = append(got, [2]events.Position{f.From, f.To})
	}
	if want := [][2]events.Position{{20, 20}, {25, 26}, {28, 29}}; !slices.Equal(got, want) {
		t.Errorf("the faults are %v, want %v", report.Faults, want)
	}

	const more = 150
	for i := range more {
		err = errors.Join(err, log.db.Set(appendSequenceKey(nil, "d", events.Sequence(i+1)), []byte{1}, pebble.Sync))
	}
	if err != nil {
		t.Fatal(err)
	}
	report, err = log.Verify(t.Context())
	// The runs, each entry, and that the index has more entries than there are events.
	if n := len(got) + more + 1; err != nil || len(report.Faults) != 100 || report.More != n-100 {
		t.Errorf("%d faults and %d more, %v", len(report.Faults), report.More, err)
	}
}

// Law: a check that was not made to its end is an error, and so is one of a closed log,
// also where there is nothing to read.
func TestVerifyEnds(t *testing.T) {
	ended, end := context.WithCancel(t.Context())
	end()
	for _, n := range []int{0, 3} {
		log := mustOpen(t, vfs.NewMem(), Options{})
		must.Do(t, work(t, log, 1, n, func(int) {}))
		if report, err := log.Verify(ended); !errors.Is(err, context.Canceled) {
			t.Errorf("%d events, no longer wanted: %+v, %v", n, report, err)
		}
		must.Do(t, log.Close())
		if report, err := log.Verify(t.Context()); !errors.Is(err, events.ErrClosed) {
			t.Errorf("%d events, closed: %+v, %v", n, report, err)
		}
	}
}

// Law: whatever tears one slot of HEAD leaves the other, from the first moment on: a new
// store has nothing to note, and opens with either slot unreadable, which it notes; with
// neither it is refused.
func TestHeadSlots(t *testing.T) {
	notes := func(fsys vfs.FS) ([]string, error) {
		log, err := Open("store", Options{FS: fsys, ReadOnly: true})
		if err != nil {
			return nil, err
		}
		defer func() { _ = log.Close() }()
		report, err := log.Verify(t.Context())
		if err == nil && !report.Sound() {
			err = errors.New("it is not sound")
		}
		return report.Notes, err
	}
	for _, n := range []int{0, 1, 3, 6} {
		fsys := vfs.NewMem()
		log := mustOpen(t, fsys, Options{})
		report, err := log.Verify(t.Context())
		if err != nil || report.Notes != nil {
			t.Errorf("just made: noted %q, %v", report.Notes, err)
		}
		must.Do(t, errors.Join(work(t, log, 1, n, func(int) {}), log.Close()))
		if found, err := notes(fsys); err != nil || found != nil {
			t.Errorf("%d events: noted %q, %v", n, found, err)
		}
		files := readFiles(t, fsys)
		for _, torn := range [][]int{{0}, {1}, {0, 1}} {
			damaged := maps.Clone(files)
			head := slices.Clone(files["store/HEAD"])
			for _, slot := range torn {
				clear(head[slot*slotSpacing:][:slotSize])
			}
			damaged["store/HEAD"] = head
			found, err := notes(writeFiles(t, damaged))
			switch {
			case len(torn) == 2:
				if !errors.Is(err, events.ErrDamaged) {
					t.Errorf("%d events, no slot: %v, want ErrDamaged", n, err)
				}
			case err != nil || len(found) == 0 || !strings.Contains(found[0], fmt.Sprintf("slot %d of", torn[0]+1)):
				t.Errorf("%d events, slot %d torn: noted %q, %v", n, torn[0]+1, found, err)
			}
		}
	}
}

// TestOpenRefuses: what cannot be opened is refused with an error that says
// what to do, and left alone.
func TestOpenRefuses(t *testing.T) {
	store := func(t *testing.T, fsys vfs.FS) {
		t.Helper()
		must.Do(t, mustOpen(t, fsys, Options{}).Close())
	}
	for _, c := range []struct {
		name  string
		setup func(*testing.T, vfs.FS)
		o     Options
		want  error
		says  string
	}{
		{"no store", func(*testing.T, vfs.FS) {}, Options{MustExist: true}, fs.ErrNotExist, "no store"},
		{"no store, read-only", func(*testing.T, vfs.FS) {}, Options{ReadOnly: true}, fs.ErrNotExist, "no store"},
		{"another directory", func(t *testing.T, fsys vfs.FS) {
			if err := errors.Join(fsys.MkdirAll("store", 0o755), writeFile(fsys, "store/thesis.tex", []byte("x"))); err != nil {
				t.Fatal(err)
			}
		}, Options{}, nil, "thesis.tex"},
		{"in use", func(t *testing.T, fsys vfs.FS) {
			log := mustOpen(t, fsys, Options{})
			t.Cleanup(func() { _ = log.Close() })
			// The holder's database tidies up behind its opening, beside everything else.
			for options := 2; options > 1; time.Sleep(time.Millisecond) {
				names := must.Get(fsys.List("store/pebble"))(t)
				names = slices.DeleteFunc(names, func(name string) bool { return !strings.HasPrefix(name, "OPTIONS-") })
				options = len(names)
			}
		}, Options{}, events.ErrInUse, "let it finish"},
		{"a newer format", func(t *testing.T, fsys vfs.FS) {
			store(t, fsys)
			must.Do(t, writeFile(fsys, "store/FORMAT", formatLine(formatVersion+1)))
		}, Options{}, events.ErrNewerFormat, "use the campaignd that wrote it"},
		{"a newer format, as it was completed", func(t *testing.T, fsys vfs.FS) {
			store(t, fsys)
			if err := errors.Join(writeFile(fsys, "store/FORMAT", formatLine(formatVersion+1)), writeFile(fsys, "store/CREATING", nil)); err != nil {
				t.Fatal(err)
			}
		}, Options{}, events.ErrNewerFormat, "use the campaignd that wrote it"},
		{"another format", func(t *testing.T, fsys vfs.FS) {
			store(t, fsys)
			must.Do(t, writeFile(fsys, "store/FORMAT", []byte("campaignd-store 01\n")))
		}, Options{}, events.ErrDamaged, "does not say what the store is"},
		{"no format", func(t *testing.T, fsys vfs.FS) {
			store(t, fsys)
			must.Do(t, fsys.Remove("store/FORMAT"))
		}, Options{}, events.ErrDamaged, "FORMAT is missing"},
		{"no head", func(t *testing.T, fsys vfs.FS) {
			store(t, fsys)
			must.Do(t, fsys.Remove("store/HEAD"))
		}, Options{}, events.ErrDamaged, "HEAD is missing"},
		{"the events of another log", func(t *testing.T, fsys vfs.FS) {
			// Sound in itself and as long, but not what its head says was acknowledged.
			other := vfs.NewMem()
			for i, disk := range []vfs.FS{fsys, other} {
				log := mustOpen(t, disk, Options{})
				_, err := log.Append(t.Context(), "c", 0, testEvent(1), testEvent(2+i), testEvent(4))
				must.Do(t, errors.Join(err, log.Close()))
			}
			must.Do(t, writeFile(fsys, "store/HEAD", readFiles(t, other)["store/HEAD"]))
		}, Options{}, events.ErrDamaged, "are not those that were acknowledged"},
		{"no database", func(t *testing.T, fsys vfs.FS) {
			store(t, fsys)
			must.Do(t, fsys.RemoveAll("store/pebble"))
		}, Options{}, events.ErrDamaged, "restore"},
	} {
		t.Run(c.name, func(t *testing.T) {
			fsys := vfs.NewMem()
			c.setup(t, fsys)
			before := readFiles(t, fsys)
			c.o.FS = fsys
			_, err := Open("store", c.o)
			if err == nil || c.want != nil && !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%v, want %v that says %q", err, c.want, c.says)
			}
			after := readFiles(t, fsys)
			delete(after, "store/LOCK") // which says nothing
			for path, content := range before {
				if now, ok := after[path]; path != "store/LOCK" && (!ok || string(now) != string(content)) {
					t.Errorf("%s was changed", path)
				}
				delete(after, path)
			}
			for path := range after {
				t.Errorf("%s was made", path)
			}
		})
	}
}

// TestReadOnly: a store opened for reading answers everything and changes
// nothing.
func TestReadOnly(t *testing.T) {
	disk := newCrashDisk()
	log := mustOpen(t, disk, small)
	must.Do(t, work(t, log, 1, 60, func(int) {}))
	killed := disk.crash(100, mathrand.New(mathrand.NewPCG(1, 1)))
	_ = log.Close()
	before := readFiles(t, killed)
	log = mustOpen(t, killed, Options{ReadOnly: true})
	if err := holds(t, log, 60); err != nil {
		t.Error(err)
	}
	if _, err := log.Append(t.Context(), "c", events.AnySequence, testEvent(61)); !errors.Is(err, events.ErrReadOnly) {
		t.Errorf("Append: %v", err)
	}
	if err := log.SetOffset("consumer", 1); !errors.Is(err, events.ErrReadOnly) {
		t.Errorf("SetOffset: %v", err)
	}
	if err := log.Close(); err != nil {
		t.Error(err)
	}
	for path, content := range readFiles(t, killed) {
		if string(before[path]) != string(content) {
			t.Errorf("%s was changed", path)
		}
	}
}
