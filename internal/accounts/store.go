package accounts

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/campaignd/campaignd/internal/guardfs"
	"github.com/campaignd/campaignd/internal/problem"
)

// The files of a book. A folder with CREATING was being made when the process ended, and holds
// nothing yet.
const (
	lockName     = "LOCK"
	pebbleName   = "pebble"
	headName     = "HEAD"
	creatingName = "CREATING"
)

// The keys of the database.
const (
	formatKey     = "format"
	headKey       = "head" // of the audit trail
	accountPrefix = "a/"
	sessionPrefix = "s/" // and the hash of the session's token
	tokenPrefix   = "t/" // and the hash of the token
	entryPrefix   = "e/" // and the number, big-endian
)

// formatVersion is the version of the records.
const formatVersion = "1"

// store is the database of a book and what is kept beside it: LOCK, held by the process that
// has the book open, and HEAD, the newest entry of the audit trail that was acknowledged. A
// damaged write-ahead log ends early without a word; HEAD tells.
type store struct {
	db    *pebble.DB
	guard *guardfs.Guard
	lock  io.Closer
	head  vfs.File
	slot  int64 // of HEAD, to be written next
}

// openStore opens the store of a folder, and makes it where there is none.
func openStore(dir string, files vfs.FS) (_ *store, err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, unavailable(err)
	}
	if err := os.Chmod(dir, 0o700); err != nil {
		return nil, unavailable(err)
	}
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real // the lock only works within a process if a store has one name
	}
	lock, err := files.Lock(filepath.Join(dir, lockName))
	if err != nil {
		var path *fs.PathError
		if errors.As(err, &path) {
			return nil, unavailable(err)
		}
		return nil, ErrInUse
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, lock.Close())
		}
	}()
	if err := create(dir, files); err != nil {
		return nil, unavailable(err)
	}
	known, slot, err := readHead(filepath.Join(dir, headName))
	if err != nil {
		return nil, err
	}
	// The first look is read-only: opening for writing would remove a damaged write-ahead log,
	// and a store that is refused is not changed.
	first, _, err := openDatabase(dir, files, true)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(checkHead(first, known), first.Close()); err != nil {
		return nil, err
	}
	s := &store{lock: lock, slot: slot}
	if s.db, s.guard, err = openDatabase(dir, files, false); err != nil {
		return nil, err
	}
	guarded := guardfs.FS{FS: files, Guard: s.guard}
	if s.head, err = guarded.OpenReadWrite(filepath.Join(dir, headName), vfs.WriteCategoryUnspecified); err != nil {
		return nil, unavailable(errors.Join(err, s.db.Close()))
	}
	return s, nil
}

// create makes the store where there is none. What a process leaves that ends meanwhile is
// made again.
func create(dir string, files vfs.FS) error {
	creating, database := filepath.Join(dir, creatingName), filepath.Join(dir, pebbleName)
	_, cut := os.Stat(creating)
	_, there := os.Stat(database)
	if there == nil && cut != nil {
		return nil
	}
	if err := errors.Join(os.WriteFile(creating, nil, 0o600), os.RemoveAll(database), syncFolder(files, dir)); err != nil {
		return err
	}
	// The first write-ahead log is one of Pebble's oldest format, whatever is asked for: it
	// stays empty.
	guard := guardfs.New()
	db, err := pebble.Open(database, pebbleOptions(guard, files, false))
	if err == nil {
		err = db.Close()
	}
	if err := errors.Join(guard.Err(), err); err != nil {
		return err
	}
	if db, err = pebble.Open(database, pebbleOptions(guard, files, false)); err == nil {
		err = errors.Join(db.Set([]byte(formatKey), []byte(formatVersion), pebble.Sync), db.Close())
	}
	if err := errors.Join(guard.Err(), err); err != nil {
		return err
	}
	slot := formatSlot(head{})
	content := make([]byte, slotSpacing+len(slot))
	copy(content, slot)
	copy(content[slotSpacing:], slot)
	f, err := os.OpenFile(filepath.Join(dir, headName), os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	return errors.Join(err, f.Sync(), f.Close(), syncFolder(files, dir), os.Remove(creating), syncFolder(files, dir))
}

func pebbleOptions(guard *guardfs.Guard, files vfs.FS, readOnly bool) *pebble.Options {
	return &pebble.Options{
		FS: guardfs.FS{FS: files, Guard: guard},
		// Older formats take a damaged write-ahead log for one that ends there.
		FormatMajorVersion: pebble.FormatValueSeparation,
		ReadOnly:           readOnly,
		Logger:             guard.Logger(),
		MemTableSize:       1 << 20,
		EventListener:      &pebble.EventListener{DataCorruption: func(pebble.DataCorruptionInfo) {}},
	}
}

func openDatabase(dir string, files vfs.FS, readOnly bool) (*pebble.DB, *guardfs.Guard, error) {
	guard := guardfs.New()
	o := pebbleOptions(guard, files, readOnly)
	o.ErrorIfNotExists = true
	db, err := pebble.Open(filepath.Join(dir, pebbleName), o)
	if failure := guard.Err(); failure != nil {
		if err == nil {
			err = db.Close()
		}
		return nil, nil, unavailable(errors.Join(failure, err))
	}
	var errno syscall.Errno
	switch {
	case err == nil:
	case errors.As(err, &errno) && errno != syscall.ENOENT:
		return nil, nil, unavailable(err)
	default:
		return nil, nil, damaged("the database cannot be opened: %w", err)
	}
	format, err := get(db, formatKey)
	if err == nil && string(format) != formatVersion {
		err = problem.New(
			problem.Unsupported,
			"the accounts are in format %q, of which this campaignd knows nothing",
			format,
		)
	}
	if err != nil {
		return nil, nil, errors.Join(err, db.Close())
	}
	return db, guard, nil
}

// get returns a value, nil where there is none.
func get(db *pebble.DB, key string) ([]byte, error) {
	value, closer, err := db.Get([]byte(key))
	if errors.Is(err, pebble.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, damaged("%w", err)
	}
	copied := append([]byte{}, value...)
	return copied, closer.Close()
}

// scan hands on the records whose keys begin with a prefix, in their order, with the key
// without it. What is handed on is only valid until visit returns.
func scan(db *pebble.DB, prefix string, visit func(key, value []byte) error) (err error) {
	above := append([]byte(prefix[:len(prefix)-1]), prefix[len(prefix)-1]+1)
	it, err := db.NewIter(&pebble.IterOptions{LowerBound: []byte(prefix), UpperBound: above})
	if err != nil {
		return damaged("%w", err)
	}
	for it.First(); it.Valid() && err == nil; it.Next() {
		var value []byte
		if value, err = it.ValueAndErr(); err == nil {
			err = visit(it.Key()[len(prefix):], value)
		}
	}
	if failed := errors.Join(it.Error(), it.Close()); failed != nil {
		return damaged("%w", failed)
	}
	return err
}

// write applies a batch. With sync it returns once that is on the disk; otherwise it may be
// lost with the process.
func (s *store) write(b *pebble.Batch, newest head, sync bool) (err error) {
	if failure := s.guard.Err(); failure != nil {
		return unavailable(failure)
	}
	how := pebble.NoSync
	if sync {
		how = pebble.Sync
	}
	done := make(chan error, 1)
	go func() { // which may never come back from a disk that failed
		defer func() {
			if r := recover(); r != nil {
				s.guard.Fail(fmt.Errorf("pebble: %v", r))
			}
		}()
		done <- b.Commit(how)
	}()
	select {
	case err := <-done:
		if err != nil {
			s.guard.Fail(err)
		}
	case <-s.guard.Failed():
	}
	if failure := s.guard.Err(); failure != nil {
		return problem.New(problem.Uncertain, "it may or may not be recorded: the disk of the accounts failed: %w", failure).
			With(restart)
	}
	if sync && newest.number > 0 {
		if _, err := s.head.WriteAt(formatSlot(newest), s.slot*slotSpacing); err != nil {
			return problem.New(problem.Uncertain, "it may or may not be recorded: %w", err).With(restart)
		}
		s.slot = 1 - s.slot
	}
	return nil
}

func (s *store) close() error {
	err := s.guard.Err()
	return errors.Join(err, s.head.Close(), s.db.Close(), s.lock.Close())
}

// HEAD holds the newest head in two slots, written in turn, each in a page of its own: whatever
// tears one leaves the other.
//
//	campaignd-trail 1 NUMBER HASH CHECKSUM
//
// with the number in 20 digits, the hash in 64 hexadecimal digits, and the CRC-32C of the
// line up to there.
const (
	slotLine    = "campaignd-trail 1 %020d %x "
	slotSize    = 18 + 20 + 1 + 64 + 1 + 8 + 1
	slotSpacing = 4096
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func formatSlot(h head) []byte {
	line := fmt.Appendf(nil, slotLine, h.number, h.hash[:])
	return fmt.Appendf(line, "%08x\n", crc32.Checksum(line, castagnoli))
}

// readHead returns the newest head in HEAD, and the slot that does not hold it.
func readHead(path string) (newest head, other int64, err error) {
	content, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return head{}, 0, unavailable(err)
	}
	found := int64(-1)
	for slot := range int64(2) {
		at := int(slot * slotSpacing)
		if len(content) < at+slotSize {
			continue
		}
		line := content[at : at+slotSize]
		var h head
		var hash []byte
		var sum uint32
		_, err := fmt.Sscanf(string(line), slotLine+"%08x\n", &h.number, &hash, &sum)
		if err != nil || copy(h.hash[:], hash) != len(h.hash) || string(formatSlot(h)) != string(line) {
			continue
		}
		if found < 0 || h.number > newest.number {
			newest, found = h, slot
		}
	}
	if found < 0 {
		return head{}, 0, damaged(
			"%s, which shows that the newest entries of the audit trail are all there, is missing or cannot be read",
			headName,
		)
	}
	return newest, 1 - found, nil
}

// checkHead compares the database with the head that was kept outside it.
func checkHead(db *pebble.DB, known head) error {
	_, newest, err := storedHead(db)
	if err != nil {
		return err
	}
	if newest.number < known.number {
		return damaged("%d entries of the audit trail were acknowledged and %d are there", known.number, newest.number)
	}
	if known.number == 0 {
		return nil
	}
	value, err := get(db, entryKey(known.number))
	if err == nil && (value == nil || sum(value) != known.hash) {
		err = damaged("entry %d of the audit trail is not the one that was acknowledged", known.number)
	}
	return err
}

// storedHead is the head that the database holds.
func storedHead(db *pebble.DB) (found bool, h head, err error) {
	value, err := get(db, headKey)
	if err != nil || value == nil {
		return false, head{}, err
	}
	if len(value) != 8+len(h.hash) {
		return false, head{}, damaged("the head of the audit trail cannot be read")
	}
	h.number = binary.BigEndian.Uint64(value)
	copy(h.hash[:], value[8:])
	return true, h, nil
}

func (h head) bytes() []byte {
	return append(binary.BigEndian.AppendUint64(nil, h.number), h.hash[:]...)
}

func entryKey(number uint64) string {
	return string(binary.BigEndian.AppendUint64([]byte(entryPrefix), number))
}

func syncFolder(files vfs.FS, dir string) error {
	d, err := files.OpenDir(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// ErrInUse says that another process holds the book.
var ErrInUse = problem.New(problem.Unavailable, "another process holds the accounts of this folder")

// restart is the remedy for a disk that failed.
var restart = problem.Remedy{
	Text: "make room on the disk or mend it, and look whether it was recorded", Action: problem.Trail,
}

func unavailable(err error) error {
	return problem.New(problem.Unavailable, "the accounts cannot be read or written: %w", err)
}

func damaged(format string, args ...any) error {
	return problem.New(
		problem.Damaged,
		"the accounts are damaged: %w; nothing was changed; restore their folder from a copy",
		fmt.Errorf(format, args...),
	)
}

// Exists reports whether there is a book in a folder such as [Dir] gives.
func Exists(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, pebbleName))
	return err == nil
}
