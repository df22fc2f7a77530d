package pebblelog

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"golang.org/x/mod/sumdb/tlog"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/internal/merkle"
	"github.com/campaignd/campaignd/internal/ground/guardfs"
)

const (
	// formatVersion is the version of a store's layout. It goes up when an earlier program would
	// misread a later one's stores.
	formatVersion = 1
	// pebbleFormat is the version of Pebble's own formats. Older ones take a
	// damaged write-ahead log for one that ends there.
	pebbleFormat = pebble.FormatValueSeparation

	formatName   = "FORMAT"
	headName     = "HEAD"
	lockName     = "LOCK"
	pebbleName   = "pebble"
	creatingName = "CREATING" // there while the store is being created
)

// Open opens the store in dir, or creates it. Close releases it.
//
// With Options.ReadOnly it takes no lock and writes nothing: the result is the log as it was at
// that moment, although another process may write to it meanwhile.
//
// Otherwise it answers with [events.ErrInUse] where another process has the store open, with
// [events.ErrNewerFormat] where a newer campaignd wrote it, with [events.ErrEarlierFormat] where
// one from before 0.1.0 did, and with [events.ErrDamaged], which names the loss, where events are
// missing or differ from the acknowledged ones. A store that is refused is not changed.
//
// Opening checks the end of the log; [Log.Verify] checks all of it, and a reader the events that it
// reads. Most of the code is about what must not happen: a damaged store that is opened for writing
// loses its evidence, since the database repairs itself by forgetting.
func Open(dir string, o Options) (*Log, error) {
	fsys := o.FS
	if fsys == nil {
		fsys = vfs.Default
		// The lock only works within a process if a store has one name.
		if absolute, err := filepath.Abs(dir); err == nil {
			dir = absolute
		}
		if real, err := filepath.EvalSymlinks(dir); err == nil {
			dir = real
		}
		fsys = modeFS{FS: fsys, store: dir}
	}
	l, err := open(fsys, dir, o)
	if err != nil {
		return nil, fmt.Errorf("store: open %s: %w", dir, err)
	}
	return l, nil
}

// open is Open on a file system.
func open(fsys vfs.FS, dir string, o Options) (*Log, error) {
	if o.ReadOnly {
		return openToRead(fsys, dir, o)
	}
	return openToWrite(fsys, dir, o)
}

// How often a reader looks at a store that is being written to, and how long it waits in between. A
// look takes a few milliseconds, and only a flush or a compaction, once in some thousand events,
// can disturb it.
const (
	looks     = 60
	lookPause = 10 * time.Millisecond
	// quietLooks is the number of looks at an unchanged store after which their finding is
	// believed: fewer would take a write in progress for damage.
	quietLooks = 3
)

// openToRead opens a store as it is now, without a lock: others may read and write it meanwhile.
// HEAD is read before the database, which then must hold all that HEAD names.
//
// A fault is believed only once the store has not changed for a few looks: files that are being
// replaced look damaged for a moment. Errors of permission and of format do not pass, and end it at
// once.
func openToRead(fsys vfs.FS, dir string, o Options) (l *Log, err error) {
	if err := mustHoldStore(fsys, dir); err != nil {
		return nil, err
	}
	var head, last tlog.Tree
	// 60 looks, 10 ms apart, are more than half a second: longer than a flush
	// takes, and short enough for a command line.
	for look, quiet := 0, 0; look < looks && quiet < quietLooks; look++ {
		if l, head, err = lookOnce(fsys, dir, o); err == nil || otherFormat(err) ||
			errors.Is(err, fs.ErrPermission) {
			return l, err
		}
		quiet++
		if head != last || errors.Is(err, errChanging) {
			quiet, last = 0, head
		}
		time.Sleep(lookPause)
	}
	return nil, err
}

// otherFormat reports whether an error says that another campaignd is needed.
func otherFormat(err error) bool {
	return errors.Is(err, events.ErrNewerFormat) || errors.Is(err, events.ErrEarlierFormat)
}

// lookOnce is one look at a store. It copies the small files and opens the
// database on the copy (snapshotFS). It reads HEAD first and the database
// after: what HEAD names has been durable before the files were copied, and so
// must be in them. The other way round a store that grows would look damaged.
func lookOnce(fsys vfs.FS, dir string, o Options) (_ *Log, head tlog.Tree, err error) {
	if err := prepare(fsys, dir, o); err != nil {
		return nil, head, err
	}
	head, _, note, err := readHead(fsys, fsys.PathJoin(dir, headName))
	if note != "" { // a slot may just be being written
		time.Sleep(lookPause)
		head, _, note, err = readHead(fsys, fsys.PathJoin(dir, headName))
	}
	if err != nil {
		return nil, head, err
	}
	files, err := takeSnapshot(fsys, fsys.PathJoin(dir, pebbleName))
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			err = openingFailed(err)
		}
		return nil, head, err
	}
	l, err := openPebble(files, dir, o, true)
	if err != nil {
		return nil, head, errors.Join(err, files.Close())
	}
	if l.edge, err = checkTail(l.db, head); err != nil {
		return nil, head, errors.Join(err, l.db.Close(), files.Close())
	}
	l.lock, l.readOnly = files, true
	// A writer's newest events are in HEAD in a moment.
	known := head
	for wait := 0; known.N < int64(l.edge.Size()) && wait < quietLooks; wait++ {
		time.Sleep(lookPause)
		if newer, _, _, err := readHead(fsys, fsys.PathJoin(dir, headName)); err == nil {
			known = newer
		}
	}
	l.shows(note, known)
	return l, head, nil
}

// openToWrite opens a store for this process alone, or creates it.
//
// The order: the lock, the layout, HEAD, a look that changes nothing, and only
// then the database for writing. All that can refuse an existing store comes
// before the database is opened for writing. Between the look and the opening
// nothing can change, since the lock is held.
func openToWrite(fsys vfs.FS, dir string, o Options) (_ *Log, err error) {
	if o.MustExist {
		if err := mustHoldStore(fsys, dir); err != nil {
			return nil, err
		}
	} else if err := makeDir(fsys, dir); err != nil {
		return nil, err
	}
	lock, err := lockStore(fsys, fsys.PathJoin(dir, lockName))
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, lock.Close())
		}
	}()
	if err := prepare(fsys, dir, o); err != nil {
		return nil, err
	}
	head, other, note, err := readHead(fsys, fsys.PathJoin(dir, headName))
	if err != nil {
		return nil, err
	}
	// The first look is read-only: opening for writing would replay a damaged
	// write-ahead log, take what it finds for all there was, and remove it. It
	// has a guard of its own: a failure there must not stop the log that is
	// opened after it.
	first, err := openPebble(fsys, dir, o, true)
	if err != nil {
		return nil, err
	}
	if first.edge, err = checkTail(first.db, head); err == nil && o.Check != nil {
		first.readOnly = true
		first.shows(note, head)
		err = o.Check(first)
	}
	if err := errors.Join(err, first.db.Close()); err != nil {
		return nil, err
	}
	l, err := openPebble(fsys, dir, o, false)
	if err != nil {
		return nil, err
	}
	l.lock, l.edge = lock, first.edge
	l.probe = func() error { return guardfs.Probe(fsys, dir) }
	if err := l.resume(fsys, dir, other); err != nil {
		return nil, errors.Join(err, l.db.Close())
	}
	l.shows(note, head)
	l.start()
	return l, nil
}

// shows makes the content of the database visible, with a note on events that HEAD does not know.
// For a writer events beyond HEAD are durable by now: the HEAD that resume has written names them.
// A reader cannot know that, and gets the note.
func (l *Log) shows(note string, head tlog.Tree) {
	l.notes = nil
	if note != "" {
		l.notes = append(l.notes, note)
	}
	if beyond := int64(l.edge.Size()) - head.N; beyond > 0 {
		l.notes = append(l.notes, fmt.Sprintf("the newest %d events were not yet in %s (the "+
			"process or the machine stopped right after writing them); they are sound",
			beyond, headName))
	}
	l.durable, l.changed = l.edge.Head(), make(chan struct{})
}

// mustHoldStore refuses a directory without a store. One of the three is enough: prepare, or
// reading HEAD, then reports which of them is missing.
func mustHoldStore(fsys vfs.FS, dir string) error {
	names, err := fsys.List(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("there is no store: %w", fs.ErrNotExist)
	}
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(names, func(name string) bool {
		return name == formatName ||
			name == headName || name == pebbleName
	}) {
		return fmt.Errorf("the directory holds no store: %w", fs.ErrNotExist)
	}
	return nil
}

// makeDir makes the directory of a new store: private, since a campaign is. Its
// owner lets others read it by the permissions of the directory. The folder
// that holds it is synced, or a power failure could take the whole store with
// the name.
func makeDir(fsys vfs.FS, dir string) error {
	_, err := fsys.Stat(dir)
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := fsys.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	return syncDir(fsys, fsys.PathDir(dir))
}

// openPebble opens the database, and returns a Log with nothing else in it. A
// failure of the guard comes first: Pebble may have carried on, or have said
// something else about the same cause.
func openPebble(fsys vfs.FS, dir string, o Options, readOnly bool) (*Log, error) {
	l := &Log{guard: guardfs.New(), files: fsys, database: fsys.PathJoin(dir, pebbleName)}
	db, err := pebble.Open(l.database, pebbleOptions(fsys, o, readOnly, l.guard))
	if failure := l.guard.Err(); failure != nil {
		if err == nil {
			err = db.Close()
		}
		return nil, errors.Join(failure, err)
	}
	if err != nil {
		return nil, openingFailed(err)
	}
	l.db = db
	return l, nil
}

// pebbleOptions are those of a log that is appended to and mostly read in order.
// Every file goes through the guard. Four memtables, 64 MiB, may hold events
// that are not flushed before a writer waits.
func pebbleOptions(fsys vfs.FS, o Options, readOnly bool, g *guardfs.Guard) *pebble.Options {
	var large atomic.Bool // whether a memtable worth the name was flushed
	size := cmp.Or(o.memTableSize, 16<<20)
	po := &pebble.Options{
		FS:                          guardfs.FS{FS: fsys, Guard: g},
		FormatMajorVersion:          pebbleFormat,
		ErrorIfNotExists:            true,
		ReadOnly:                    readOnly,
		Logger:                      g.Logger(),
		MemTableSize:                size,
		MemTableStopWritesThreshold: 4,
		EventListener: &pebble.EventListener{
			// Damage is reported by the reader that meets it, with the
			// position.
			DataCorruption: func(pebble.DataCorruptionInfo) {},
			FlushBegin: func(i pebble.FlushInfo) {
				if i.InputBytes >= size/16 {
					large.Store(true)
				}
			},
		},
	}
	for i := range po.Levels {
		// Larger blocks than Pebble's own make fewer reads of a scan, and cost
		// a read of one event a little.
		po.Levels[i].BlockSize = 32 << 10 // the log is mostly read in order
	}
	// In a log that grows fast, no table holds keys of two kinds. The tables of
	// events then follow each other, and Pebble need not merge them, which
	// would write each event again. The small tables of many short runs it does
	// merge.
	po.Experimental.SpanPolicyFunc = func(start []byte) (pebble.SpanPolicy, []byte, error) {
		if !large.Load() {
			return pebble.SpanPolicy{}, nil, nil
		}
		return pebble.SpanPolicy{}, []byte{start[0] + 1}, nil
	}
	return po
}

// openingFailed tells damage from a disk that does not answer.
func openingFailed(err error) error {
	var errno syscall.Errno
	if errors.As(err, &errno) && errno != syscall.ENOENT {
		return err
	}
	return fmt.Errorf("%w: its database cannot be opened, and nothing of it was changed: %w; "+
		"restore the store from a copy", events.ErrDamaged, err)
}

// checkTail compares the end of the database with the head that was kept
// outside it, and returns the edge of the tree.
//
// Events beyond the head are sound where their hashes are: HEAD is written
// after the database. Fewer events than the head knows are a loss, whatever the
// database says. Only the end is looked at, since opening must not take longer
// with the length of the log.
func checkTail(db *pebble.DB, head tlog.Tree) (*merkle.Edge, error) {
	first, last, err := bounds(db)
	if err != nil {
		return nil, err
	}
	if last > 0 && first != 1 {
		return nil, fmt.Errorf("%w: the events at positions 1 to %d are lost; restore the "+
			"store from a copy", events.ErrDamaged, first-1)
	}
	if events.Position(head.N) > last {
		return nil, fmt.Errorf("%w: %d events were acknowledged and %d are there: those at "+
			"positions %d to %d are lost; restore the store from a copy",
			events.ErrDamaged, head.N, last, last+1, head.N)
	}
	// The last event that the head knows is checked too. So that the root at
	// head.N is computed from its leaf at least, and not only read back from
	// the stored hashes.
	from := events.Position(max(head.N-1, 0))
	t, err := merkle.Load(uint64(from), hashReader{db})
	if err != nil {
		return nil, err
	}
	if head.N == 0 && t.Head() != head {
		return nil, fmt.Errorf("%w: the head of the empty log is wrong", events.ErrDamaged)
	}
	err = scan(db, from, last, func(p events.Position, value []byte) error {
		if err := checkValue(t, p, value); err != nil {
			return err
		}
		if p == events.Position(head.N) && t.Head() != head {
			return fmt.Errorf("%w: the events up to position %d are not those that were "+
				"acknowledged: their root hash is %v and was %v; restore the store from a copy",
				events.ErrDamaged, p, t.Head().Hash, head.Hash)
		}
		return nil
	})
	return t, err
}

// checkValue checks the value of p against the tree up to p and adds it.
func checkValue(t *merkle.Edge, p events.Position, value []byte) error {
	if _, err := decodeValue(p, value); err != nil {
		return err
	}
	record, hashes, err := splitValue(p, value)
	if err != nil {
		return err
	}
	if want := t.Add(nil, tlog.RecordHash(record)); !bytes.Equal(hashes, want) {
		return fmt.Errorf("%w: the hashes stored at position %d are not those of the events",
			events.ErrDamaged, p)
	}
	return nil
}

// resume opens HEAD for writing and brings it up to date. The database must hold
// the same events as at the first look: no one else can have written, under the
// lock. HEAD is synced here, as it is not after each group: from now on it
// names all that was found.
func (l *Log) resume(fsys vfs.FS, dir string, other int64) error {
	_, last, err := bounds(l.db)
	if err != nil {
		return err
	}
	if last != events.Position(l.edge.Size()) {
		return fmt.Errorf("%w: its database ends at position %d after it ended at %d",
			events.ErrDamaged, last, l.edge.Size())
	}
	guarded := guardfs.FS{FS: fsys, Guard: l.guard}
	l.head, err = openHead(guarded, fsys.PathJoin(dir, headName), other)
	if err != nil {
		return err
	}
	if err := errors.Join(l.head.write(l.edge.Head()), l.head.file.Sync()); err != nil {
		return errors.Join(err, l.head.file.Close())
	}
	return nil
}

// lockStore takes the lock of a store. Errors of the path are passed on; any
// other one means that a process holds it. A lock is the file system's: it ends
// with the process, however that ends, so that no stale one is left behind.
func lockStore(fsys vfs.FS, name string) (io.Closer, error) {
	lock, err := fsys.Lock(name)
	var pathErr *fs.PathError
	if err == nil || errors.As(err, &pathErr) || errors.Is(err, fs.ErrNotExist) {
		return lock, err
	}
	return nil, fmt.Errorf("%w: let it finish, or ask it through its socket (%w)",
		events.ErrInUse, err)
}

// prepare checks the layout of a store, and creates a missing one.
//
// A directory with files of other kinds is refused, so that a mistyped path does not become a
// store. A creation that stopped while FORMAT was written is begun again, which is safe: such a
// store holds no event.
func prepare(fsys vfs.FS, dir string, o Options) error {
	names, err := fsys.List(dir)
	if err != nil {
		return err
	}
	has := func(name string) bool { return slices.Contains(names, name) }
	if has(formatName) {
		err := checkFormat(fsys, fsys.PathJoin(dir, formatName))
		switch {
		case err == nil && has(creatingName) && !o.ReadOnly:
			return errors.Join(fsys.Remove(fsys.PathJoin(dir, creatingName)), syncDir(fsys, dir))
		case !has(creatingName) || !errors.Is(err, events.ErrDamaged):
			return err
		} // else creating it stopped in the middle of writing FORMAT
	}
	// The lock is there already where the store is opened for writing, and no
	// other file.
	if !has(creatingName) {
		if has(headName) || has(pebbleName) {
			return fmt.Errorf("%w: %s is missing; restore it, or the store, from a copy",
				events.ErrDamaged, formatName)
		}
		if i := slices.IndexFunc(names, func(name string) bool { return name != lockName }); i >= 0 {
			return fmt.Errorf("the directory holds other files (%s), and no store; name a "+
				"directory that does not exist yet", names[i])
		}
	}
	if o.MustExist || o.ReadOnly {
		return fmt.Errorf("the store was never completed: %w", fs.ErrNotExist)
	}
	return create(fsys, dir, o)
}

// create makes an empty store. FORMAT comes last, and CREATING is there until it has, so that the
// next Open recognizes the remains of a crash in between. Each step is synced before the next
// begins, or a power failure could keep FORMAT and lose the files that it vouches for.
func create(fsys vfs.FS, dir string, o Options) error {
	path := func(name string) string { return fsys.PathJoin(dir, name) }
	if err := writeFile(fsys, path(creatingName), nil); err != nil {
		return err
	}
	if err := errors.Join(syncDir(fsys, dir), fsys.RemoveAll(path(pebbleName))); err != nil {
		return err
	}
	g := guardfs.New()
	po := pebbleOptions(fsys, o, false, g)
	po.ErrorIfNotExists, po.ErrorIfExists = false, true
	// Pebble's first write-ahead log is older than its newest format: the
	// database is closed, and opened again for use.
	db, err := pebble.Open(path(pebbleName), po)
	if err == nil {
		err = db.Close()
	}
	if err := errors.Join(g.Err(), err); err != nil {
		return err
	}
	if err := createHead(fsys, path(headName)); err != nil {
		return err
	}
	if err := syncDir(fsys, dir); err != nil {
		return err
	}
	if err := writeFile(fsys, path(formatName), formatLine(formatVersion)); err != nil {
		return err
	}
	if err := syncDir(fsys, dir); err != nil {
		return err
	}
	return errors.Join(fsys.Remove(path(creatingName)), syncDir(fsys, dir))
}

// formatLine is all that FORMAT holds.
func formatLine(version int) []byte {
	return fmt.Appendf(nil, "campaignd-store %d\n", version)
}

// checkFormat refuses a layout that this program does not know. It formats the
// version again and compares, so that only what this program writes is
// accepted.
func checkFormat(fsys vfs.FS, name string) error {
	f, err := fsys.Open(name)
	if err != nil {
		return err
	}
	content, err := io.ReadAll(f)
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	var version int
	if _, err := fmt.Sscanf(string(content), "campaignd-store %d\n", &version); err != nil ||
		!bytes.Equal(content, formatLine(version)) || version < 1 {
		return fmt.Errorf("%w: %s does not say what the store is; restore it, or the store, "+
			"from a copy", events.ErrDamaged, name)
	}
	if version > formatVersion {
		return fmt.Errorf("%w: its format is %d and this campaignd knows %d; use the "+
			"campaignd that wrote it, or a newer one",
			events.ErrNewerFormat, version, formatVersion)
	}
	return nil
}

// writeFile writes and syncs a file; its directory is for syncDir.
func writeFile(fsys vfs.FS, name string, content []byte) error {
	f, err := fsys.Create(name, vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	return errors.Join(err, f.Sync(), f.Close())
}

// syncDir makes the names in a directory durable. A file's own sync does not
// make its name durable.
func syncDir(fsys vfs.FS, dir string) error {
	d, err := fsys.OpenDir(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
