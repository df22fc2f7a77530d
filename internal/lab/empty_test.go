package lab

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/tests/must"
)

// Law: a folder without anything in it, or that is not there, is not a store yet;
// of what cannot be read nobody says that it is empty.
func TestEmptyFolders(t *testing.T) {
	dir := t.TempDir()
	bare, full := filepath.Join(dir, "bare"), filepath.Join(dir, "full")
	for _, folder := range []string{bare, filepath.Join(full, "in")} {
		must.Do(t, os.MkdirAll(folder, 0o700))
	}
	file := filepath.Join(dir, "file")
	must.Do(t, os.WriteFile(file, nil, 0o600))
	for path, want := range map[string]bool{
		filepath.Join(dir, "absent"): true, bare: true, full: false, file: false,
	} {
		if got := empty(path); got != want {
			t.Errorf("%s is empty: %v, want %v", filepath.Base(path), got, want)
		}
	}
}

// headless is a store whose head cannot be read.
type headless struct{ events.Store }

var errNoHead = errors.New("no head")

func (headless) Head(context.Context) (tlog.Tree, error) { return tlog.Tree{}, errNoHead }

// Law: what was not seen is not noted as seen: a head that cannot be read is an
// error, and nothing is written.
func TestUnreadHeadIsNotSeen(t *testing.T) {
	file := must.Get(os.Create(filepath.Join(t.TempDir(), "seen")))(t)
	defer file.Close()
	s := &seen{path: file.Name(), file: file}
	if err := s.addHead(t.Context(), headless{}); !errors.Is(err, errNoHead) {
		t.Errorf("the head cannot be read: %v", err)
	}
	if text, err := os.ReadFile(file.Name()); err != nil || len(text) > 0 {
		t.Errorf("it is noted: %q, %v", text, err)
	}
}
