package earlier

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2"
)

// edited is a copy of accounts of that time, with a change of the database behind its back.
func edited(t *testing.T, edit func(e *editor)) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("../testdata/before-lab-log/.campaignd/accounts")); err != nil {
		t.Fatal(err)
	}
	db, err := pebble.Open(filepath.Join(dir, pebbleName), &pebble.Options{
		FormatMajorVersion: pebble.FormatValueSeparation, Logger: quiet{},
	})
	if err != nil {
		t.Fatal(err)
	}
	edit(&editor{t, db})
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	return dir
}

type quiet struct{}

func (quiet) Infof(string, ...any)         {}
func (quiet) Errorf(string, ...any)        {}
func (quiet) Fatalf(text string, a ...any) { panic(fmt.Sprintf(text, a...)) }

type editor struct {
	*testing.T
	db *pebble.DB
}

func at(n uint64) []byte { return binary.BigEndian.AppendUint64([]byte(entryPrefix), n) }

func (e *editor) check(err error) {
	if err != nil {
		e.Fatal(err)
	}
}

func (e *editor) entry(n uint64) string {
	value, closer, err := e.db.Get(at(n))
	e.check(err)
	defer closer.Close()
	return string(value)
}

func (e *editor) set(n uint64, text string) { e.check(e.db.Set(at(n), []byte(text), pebble.Sync)) }
func (e *editor) remove(n uint64)           { e.check(e.db.Delete(at(n), pebble.Sync)) }

// end makes an entry the newest one.
func (e *editor) end(h head) {
	text := append(binary.BigEndian.AppendUint64(nil, h.number), h.hash[:]...)
	e.check(e.db.Set([]byte(headKey), text, pebble.Sync))
}

// Law: whatever is changed, removed, added or put elsewhere in the audit trail is found, and
// that its newest entries are gone, or all of it was made anew.
func TestTampering(t *testing.T) {
	sound, err := Read(edited(t, func(*editor) {}))
	if err != nil {
		t.Fatal(err)
	}
	defer sound.Close()
	last := uint64(len(sound.Entries))
	if last < 20 || len(sound.Accounts) != 4 || len(sound.Sessions) < 4 || len(sound.Tokens) != 2 {
		t.Fatalf("there are %d entries, %d accounts, %d sessions and %d tokens",
			last, len(sound.Accounts), len(sound.Sessions), len(sound.Tokens))
	}
	for name, edit := range map[string]func(e *editor){
		"changed":  func(e *editor) { e.set(3, strings.Replace(e.entry(3), "root", "toor", 1)) },
		"respaced": func(e *editor) { e.set(3, e.entry(3)+" ") },
		"removed":  func(e *editor) { e.remove(4) },
		"first":    func(e *editor) { e.remove(1) },
		"added":    func(e *editor) { e.set(last+1, e.entry(last)) },
		"moved":    func(e *editor) { e.set(last+1, e.entry(last)); e.remove(last) },
		"short":    func(e *editor) { e.remove(last) },
		"swapped": func(e *editor) {
			two, three := e.entry(2), e.entry(3)
			e.set(2, three)
			e.set(3, two)
		},
		"last changed": func(e *editor) { e.set(last, strings.Replace(e.entry(last), "203", "204", 1)) },
		"cut": func(e *editor) {
			e.remove(last)
			e.end(head{last - 1, sound.Entries[last-2].Hash})
		},
		"all anew": func(e *editor) {
			var h head
			for n := range last {
				var members map[string]any
				e.check(json.Unmarshal([]byte(e.entry(n+1)), &members))
				members["by"], members["previous"] = "mallory", fmt.Sprintf("%x", h.hash)
				text, err := json.Marshal(members)
				e.check(err)
				e.set(n+1, string(text))
				h, err = h.follow(string(at(n + 1)[len(entryPrefix):]), text)
				e.check(err)
			}
			e.end(h)
		},
	} {
		if _, err := Read(edited(t, edit)); !errors.Is(err, ErrDamaged) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Law: of HEAD, whatever tears one slot leaves the other; without either the accounts are
// not read. One process reads them at a time.
func TestHead(t *testing.T) {
	dir := edited(t, func(*editor) {})
	path := filepath.Join(dir, headName)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	tear := func(slots ...int) error {
		torn := append([]byte{}, whole...)
		for _, slot := range slots {
			torn[slot*slotSpacing+30] ^= 1
		}
		if err := os.WriteFile(path, torn, 0o600); err != nil {
			t.Fatal(err)
		}
		a, err := Read(dir)
		if err == nil {
			_, again := Read(dir)
			if !errors.Is(again, ErrInUse) {
				t.Errorf("it is read twice: %v", again)
			}
			err = a.Close()
		}
		return err
	}
	if err := errors.Join(tear(), tear(0), tear(1)); err != nil {
		t.Error(err)
	}
	if err := tear(0, 1); !errors.Is(err, ErrDamaged) {
		t.Errorf("both slots are torn: %v", err)
	}
}
