package pebblelog

import (
	"errors"
	"io/fs"
	mathrand "math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"golang.org/x/mod/sumdb/tlog"

	"github.com/campaignd/campaignd/events"
)

// TestTree: the hashes stored with each record, the root and the edge that is
// loaded are those of golang.org/x/mod/sumdb/tlog.
func TestTree(t *testing.T) {
	var stored []tlog.Hash
	reader := tlog.HashReaderFunc(func(indexes []int64) ([]tlog.Hash, error) {
		var out []tlog.Hash
		for _, i := range indexes {
			out = append(out, stored[i])
		}
		return out, nil
	})
	tree := &edge{}
	for n := range int64(200) {
		want, err := tlog.TreeHash(n, reader)
		if err != nil {
			t.Fatal(err)
		}
		if head := tree.head(); head.N != n || head.Hash != want {
			t.Fatalf("the head of %d leaves is %v, want %v", n, head, want)
		}
		loaded, err := loadEdge(events.Position(n), reader)
		if err != nil {
			t.Fatal(err)
		}
		if loaded.head() != tree.head() {
			t.Fatalf("the edge of %d leaves loads as another", n)
		}
		hashes, err := tlog.StoredHashes(n, []byte{byte(n)}, reader)
		if err != nil {
			t.Fatal(err)
		}
		var wantBytes []byte
		for _, h := range hashes {
			wantBytes = append(wantBytes, h[:]...)
		}
		if got := tree.add(nil, tlog.RecordHash([]byte{byte(n)})); !slices.Equal(got, wantBytes) {
			t.Fatalf("leaf %d completes other hashes", n)
		}
		if len(hashes) != hashCount(events.Position(n+1)) {
			t.Fatalf("leaf %d completes %d hashes, not %d", n, len(hashes), hashCount(events.Position(n+1)))
		}
		stored = append(stored, hashes...)
	}
}

// TestCheckpoint: a grown log extends an earlier head, and an event and the growth
// can be proved from outside.
func TestCheckpoint(t *testing.T) {
	log := mustOpen(t, vfs.NewMem(), Options{})
	defer func() { _ = log.Close() }()
	if err := work(t, log, 1, 30, func(int) {}); err != nil {
		t.Fatal(err)
	}
	old := log.Head()
	if err := work(t, log, 31, 100, func(int) {}); err != nil {
		t.Fatal(err)
	}
	if err := log.VerifyExtends(old); err != nil {
		t.Error(err)
	}
	other := old
	other.Hash[0] ^= 1
	for _, head := range []tlog.Tree{other, {N: 101, Hash: old.Hash}, {N: -1, Hash: old.Hash}} {
		if err := log.VerifyExtends(head); !errors.Is(err, ErrNotExtended) {
			t.Errorf("extends %v: %v, want ErrNotExtended", head, err)
		}
	}
	head := log.Head()
	// What there is no proof of is refused in the log's own words.
	for _, c := range []struct{ p, size int64 }{{0, 100}, {31, 30}, {101, 101}, {1, 101}} {
		if _, err := log.ProveEvent(events.Position(c.p), c.size); err == nil || !strings.Contains(err.Error(), "no proof") {
			t.Errorf("position %d among %d events: %v", c.p, c.size, err)
		}
		if _, err := log.ProveExtends(c.p, c.size); err == nil || !strings.Contains(err.Error(), "no proof") {
			t.Errorf("%d events extend %d: %v", c.size, c.p, err)
		}
	}
	growth, err := log.ProveExtends(old.N, head.N)
	if err != nil {
		t.Fatal(err)
	}
	if err := tlog.CheckTree(growth, head.N, head.Hash, old.N, old.Hash); err != nil {
		t.Error(err)
	}
	for e, err := range log.Read(t.Context(), 0) {
		if err != nil {
			t.Fatal(err)
		}
		record, err := events.AppendRecord(nil, e)
		if err != nil {
			t.Fatal(err)
		}
		proof, err := log.ProveEvent(e.Position, head.N)
		if err != nil {
			t.Fatal(err)
		}
		if err := tlog.CheckRecord(proof, head.N, head.Hash, int64(e.Position)-1, tlog.RecordHash(record)); err != nil {
			t.Errorf("position %d: %v", e.Position, err)
		}
	}
}

// TestVerifyTampered: changes that a database cannot see, because they were
// made through it, are found.
func TestVerifyTampered(t *testing.T) {
	key := func(p events.Position) []byte { return appendEventKey(nil, p) }
	get := func(db *pebble.DB, k []byte) []byte {
		value, closer, err := db.Get(k)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = closer.Close() }()
		return slices.Clone(value)
	}
	// moved returns the record of one value with the hashes of another.
	moved := func(value []byte, of events.Position, place []byte, at events.Position) []byte {
		record, _, err := splitValue(of, value)
		if err != nil {
			t.Fatal(err)
		}
		_, hashes, err := splitValue(at, place)
		if err != nil {
			t.Fatal(err)
		}
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
			if err := work(t, log, 1, 60, func(int) {}); err != nil {
				t.Fatal(err)
			}
			if err := c.tamper(log.db); err != nil {
				t.Fatal(err)
			}
			if err := log.Close(); err != nil {
				t.Fatal(err)
			}
			log, err := Open("store", Options{FS: fsys, ReadOnly: true})
			if err != nil {
				if !errors.Is(err, events.ErrDamaged) || c.want == "" || !strings.Contains(err.Error(), c.want) {
					t.Errorf("open: %v, want %q", err, c.want)
				}
				return
			}
			defer func() { _ = log.Close() }()
			report, err := log.Verify(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if c.want == "" {
				if !report.Sound() || report.Read != 60 || report.Root != log.Head().Hash {
					t.Errorf("%+v", report)
				}
				return
			}
			if !slices.ContainsFunc(report.Faults, func(f Fault) bool { return strings.Contains(f.String(), c.want) }) {
				t.Errorf("%v, want %q", report.Faults, c.want)
			}
		})
	}
}

// TestOpenRefuses: what cannot be opened is refused with an error that says
// what to do, and left alone.
func TestOpenRefuses(t *testing.T) {
	store := func(t *testing.T, fsys vfs.FS) {
		t.Helper()
		if err := mustOpen(t, fsys, Options{}).Close(); err != nil {
			t.Fatal(err)
		}
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
		}, Options{}, events.ErrInUse, "let it finish"},
		{"a newer format", func(t *testing.T, fsys vfs.FS) {
			store(t, fsys)
			if err := writeFile(fsys, "store/FORMAT", formatLine(formatVersion+1)); err != nil {
				t.Fatal(err)
			}
		}, Options{}, events.ErrNewerFormat, "use the campaignd that wrote it"},
		{"no head", func(t *testing.T, fsys vfs.FS) {
			store(t, fsys)
			if err := fsys.Remove("store/HEAD"); err != nil {
				t.Fatal(err)
			}
		}, Options{}, events.ErrDamaged, "HEAD is missing"},
		{"the events of another log", func(t *testing.T, fsys vfs.FS) {
			// Sound in itself and as long, but not what its head says was acknowledged.
			other := vfs.NewMem()
			for i, disk := range []vfs.FS{fsys, other} {
				log := mustOpen(t, disk, Options{})
				_, err := log.Append(t.Context(), "c", 0, testEvent(1), testEvent(2+i), testEvent(4))
				if err := errors.Join(err, log.Close()); err != nil {
					t.Fatal(err)
				}
			}
			if err := writeFile(fsys, "store/HEAD", readFiles(t, other)["store/HEAD"]); err != nil {
				t.Fatal(err)
			}
		}, Options{}, events.ErrDamaged, "are not those that were acknowledged"},
		{"no database", func(t *testing.T, fsys vfs.FS) {
			store(t, fsys)
			if err := fsys.RemoveAll("store/pebble"); err != nil {
				t.Fatal(err)
			}
		}, Options{}, events.ErrDamaged, "restore"},
	} {
		t.Run(c.name, func(t *testing.T) {
			fsys := vfs.NewMem()
			c.setup(t, fsys)
			c.o.FS = fsys
			_, err := Open("store", c.o)
			if err == nil || c.want != nil && !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%v, want %v that says %q", err, c.want, c.says)
			}
		})
	}
}

// TestReadOnly: a store opened for reading answers everything and changes
// nothing.
func TestReadOnly(t *testing.T) {
	disk := newCrashDisk()
	log := mustOpen(t, disk, small)
	if err := work(t, log, 1, 60, func(int) {}); err != nil {
		t.Fatal(err)
	}
	killed := disk.crash(100, mathrand.New(mathrand.NewPCG(1, 1)))
	_ = log.Close()
	before := readFiles(t, killed)
	log = mustOpen(t, killed, Options{ReadOnly: true})
	if err := holds(t, log, 60); err != nil {
		t.Error(err)
	}
	if _, err := log.Append(t.Context(), "c", events.AnySequence, testEvent(61)); !errors.Is(err, ErrReadOnly) {
		t.Errorf("Append: %v", err)
	}
	if err := log.SetOffset("consumer", 1); !errors.Is(err, ErrReadOnly) {
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
