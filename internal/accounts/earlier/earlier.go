// Package earlier reads the accounts of a folder as campaignd kept them before
// they were events of the lab's log: a Pebble database of their own, with an
// audit trail in which each entry held the hash of the one before it.
package earlier

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/campaignd/campaignd/internal/guardfs"
)

var (
	// ErrInUse means that a campaignd of that time has the accounts open.
	ErrInUse = errors.New("a campaignd of an earlier version has them open")
	// ErrDamaged means that an entry or a record is not what was acknowledged.
	ErrDamaged = errors.New("they are not what was acknowledged")
	// ErrFormat means that the records are of a form that no campaignd has
	// written.
	ErrFormat = errors.New("their form is not known")
)

// Accounts are what the database held, each record as its JSON.
type Accounts struct {
	Accounts [][]byte
	// Sessions and Tokens are by the SHA-256 of their secrets, in hexadecimal
	// digits.
	Sessions, Tokens map[string][]byte
	// Entries are those of the audit trail, from the first one.
	Entries []Entry

	lock io.Closer
}

// Entry is an entry of the audit trail.
type Entry struct {
	// Text is the entry as JSON in the canonical form of RFC 8785, Hash its
	// SHA-256.
	Text []byte
	Hash [sha256.Size]byte
}

// Exist reports whether a folder holds accounts of that time.
func Exist(dir string) bool {
	info, err := os.Stat(filepath.Join(dir, pebbleName))
	_, cut := os.Stat(filepath.Join(dir, creatingName))
	return err == nil && info.IsDir() && cut != nil
}

// Close releases the accounts. Closing again is no error.
func (a *Accounts) Close() error {
	if a.lock == nil {
		return nil
	}
	lock := a.lock
	a.lock = nil
	return lock.Close()
}

// Read reads accounts, and checks that their audit trail is whole: that each
// entry follows from the one before it, and that the newest which was
// acknowledged is there. It changes nothing. No campaignd of that time opens
// them until they are closed.
func Read(dir string) (_ *Accounts, err error) {
	lock, err := vfs.Default.Lock(filepath.Join(dir, lockName))
	if err != nil {
		var path *fs.PathError
		if errors.As(err, &path) {
			return nil, err
		}
		return nil, ErrInUse
	}
	a := &Accounts{Sessions: make(map[string][]byte), Tokens: make(map[string][]byte), lock: lock}
	defer func() {
		if err != nil {
			err = errors.Join(err, lock.Close())
		}
	}()
	known, err := readHead(filepath.Join(dir, headName))
	if err != nil {
		return nil, err
	}
	guard := guardfs.New()
	db, err := pebble.Open(filepath.Join(dir, pebbleName), &pebble.Options{
		FS:               guardfs.FS{FS: vfs.Default, Guard: guard},
		ReadOnly:         true,
		ErrorIfNotExists: true,
		Logger:           guard.Logger(),
		EventListener:    &pebble.EventListener{DataCorruption: func(pebble.DataCorruptionInfo) {}},
	})
	if err != nil {
		return nil, damaged("the database cannot be opened: %w", err)
	}
	err = a.read(db, known)
	return a, errors.Join(err, db.Close())
}

const (
	lockName     = "LOCK"
	pebbleName   = "pebble"
	headName     = "HEAD"
	creatingName = "CREATING" // there while the database was being made
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

// read reads all records, each kind by its prefix. All faults are reported, not
// the first alone.
func (a *Accounts) read(db *pebble.DB, known head) error {
	var stored head
	return errors.Join(
		scan(db, formatKey, func(_ string, value []byte) error {
			if string(value) != "1" {
				return fmt.Errorf("%w: %q", ErrFormat, value)
			}
			return nil
		}),
		scan(db, headKey, func(_ string, value []byte) error {
			if len(value) != 8+sha256.Size {
				return damaged("the head of the audit trail cannot be read")
			}
			stored.number = binary.BigEndian.Uint64(value)
			copy(stored.hash[:], value[8:])
			return nil
		}),
		scan(db, accountPrefix, func(_ string, value []byte) error {
			a.Accounts = append(a.Accounts, value)
			return nil
		}),
		scan(db, sessionPrefix, func(key string, value []byte) error {
			a.Sessions[key] = value
			return nil
		}),
		scan(db, tokenPrefix, func(key string, value []byte) error {
			a.Tokens[key] = value
			return nil
		}),
		a.readEntries(db, &stored, known),
	)
}

// readEntries reads the audit trail, which must lead from its first entry to
// the head that the database holds, by way of the one that was kept outside it.
func (a *Accounts) readEntries(db *pebble.DB, stored *head, known head) error {
	var at head
	err := scan(db, entryPrefix, func(key string, value []byte) error {
		next, err := at.follow(key, value)
		if err != nil {
			return damaged("the audit trail: %w", err)
		}
		if at = next; at.number == known.number && at.hash != known.hash {
			return damaged("entry %d of the audit trail is not the one that was acknowledged", at.number)
		}
		a.Entries = append(a.Entries, Entry{Text: value, Hash: at.hash})
		return nil
	})
	switch {
	case err != nil:
		return err
	case at != *stored:
		return damaged("the audit trail ends with entry %d, and should with %d", at.number, stored.number)
	case at.number < known.number:
		return damaged("%d entries of the audit trail were acknowledged and %d are there",
			known.number, at.number)
	}
	return nil
}

// head names the newest entry.
type head struct {
	number uint64
	hash   [sha256.Size]byte
}

// follow checks that a stored entry is the next one.
func (h head) follow(key string, value []byte) (head, error) {
	number := h.number + 1
	if key != string(binary.BigEndian.AppendUint64(nil, number)) {
		return h, fmt.Errorf("entry %d is missing", number)
	}
	var e struct {
		Number   uint64
		Previous string
	}
	err := json.Unmarshal(value, &e)
	switch {
	case err != nil:
		return h, fmt.Errorf("entry %d cannot be read: %w", number, err)
	case e.Number != number:
		return h, fmt.Errorf("entry %d says that it is entry %d", number, e.Number)
	case e.Previous != hex.EncodeToString(h.hash[:]):
		return h, fmt.Errorf("entry %d does not follow from the one before it: one of the two was changed", number)
	}
	return head{number: number, hash: sha256.Sum256(value)}, nil
}

// scan hands on the records whose keys begin with a prefix, in their order,
// with the key without it.
func scan(db *pebble.DB, prefix string, visit func(key string, value []byte) error) error {
	above := append([]byte(prefix[:len(prefix)-1]), prefix[len(prefix)-1]+1)
	it, err := db.NewIter(&pebble.IterOptions{LowerBound: []byte(prefix), UpperBound: above})
	if err != nil {
		return damaged("%w", err)
	}
	for ok := it.First(); ok && err == nil; ok = it.Next() {
		var value []byte
		if value, err = it.ValueAndErr(); err == nil {
			err = visit(string(it.Key()[len(prefix):]), append([]byte{}, value...))
		}
	}
	if failed := errors.Join(it.Error(), it.Close()); failed != nil {
		return damaged("%w", failed)
	}
	return err
}

// HEAD held the newest entry that was acknowledged, in two slots, each in a
// page of its own, of which a crash tears at most one.
//
//	campaignd-trail 1 NUMBER HASH CHECKSUM
//
// with the number in 20 digits, the hash in 64 hexadecimal digits, and the
// CRC-32C of the line up to there.
const (
	slotLine    = "campaignd-trail 1 %020d %x "
	slotSize    = 18 + 20 + 1 + 64 + 1 + 8 + 1
	slotSpacing = 4096
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// readHead returns the newest head in HEAD.
func readHead(path string) (newest head, err error) {
	content, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return head{}, err
	}
	found := false
	for at := 0; at <= slotSpacing; at += slotSpacing {
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
		if !found || h.number > newest.number {
			newest, found = h, true
		}
	}
	if !found {
		return head{}, damaged("%s, which shows that the newest entries of the audit trail are all there, "+
			"is missing or cannot be read", headName)
	}
	return newest, nil
}

// formatSlot writes a slot as it was written then. readHead compares with it, so
// that anything that scans alike and differs is refused.
func formatSlot(h head) []byte {
	line := fmt.Appendf(nil, slotLine, h.number, h.hash[:])
	return fmt.Appendf(line, "%08x\n", crc32.Checksum(line, castagnoli))
}

// damaged is an [ErrDamaged] with what is wrong.
func damaged(format string, args ...any) error {
	return fmt.Errorf("%w: %w", ErrDamaged, fmt.Errorf(format, args...))
}
