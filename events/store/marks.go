package store

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/pglog"
)

// Marks record the fate of a store. Empty ones say nothing.
type Marks = pglog.Marks

// The marks of a store in a folder are files in it, which hold an address.
const (
	movedName      = "MOVED"
	unfinishedName = "UNFINISHED"
)

// MarksOf returns the marks of the store at an address.
func MarksOf(ctx context.Context, address string) (m Marks, err error) {
	if !InDatabase(address) {
		m.Moved, err = readMark(address, movedName)
		if err == nil {
			m.Unfinished, err = readMark(address, unfinishedName)
		}
		return m, err
	}
	d, name, err := openDatabaseOf(address)
	if err != nil {
		return m, err
	}
	defer d.Close()
	return d.Marks(ctx, name)
}

// SetMarks sets the marks of a store that this process has open for writing. It
// fails where the store does not have this head, and then changes nothing.
func SetMarks(ctx context.Context, address string, s events.Store, head tlog.Tree, m Marks) error {
	if log, ok := withoutPauses(s).(*closing); ok {
		return log.Mark(ctx, head, m)
	}
	// Who holds a folder is the only one who appends.
	if now, err := s.Head(ctx); err != nil || now != head {
		return errors.Join(errors.New("store: mark: something was appended meanwhile"), err)
	}
	if err := writeMark(address, movedName, m.Moved); err != nil {
		return err
	}
	return writeMark(address, unfinishedName, m.Unfinished)
}

// refuseFolder refuses a folder whose store is only to be read.
func refuseFolder(folder string) error {
	m, err := MarksOf(context.Background(), folder)
	if err != nil {
		return err
	}
	switch {
	case m.Moved != "":
		return &events.MovedError{To: m.Moved}
	case m.Unfinished != "":
		return &events.UnfinishedError{Of: m.Unfinished}
	}
	return nil
}

// readMark returns the text of a mark, empty where the mark is missing or unfinished.
func readMark(folder, name string) (string, error) {
	text, err := os.ReadFile(filepath.Join(folder, name))
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return "", nil
	}
	return strings.TrimSpace(string(text)), err
}

// writeMark makes a mark, whole and durable, or removes it.
func writeMark(folder, name, text string) error {
	path := filepath.Join(folder, name)
	var err error
	if text == "" {
		if err = os.Remove(path); errors.Is(err, fs.ErrNotExist) {
			return nil
		}
	} else {
		err = writeWhole(path, text+"\n")
	}
	if err != nil {
		return err
	}
	dir, err := os.Open(folder)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

func writeWhole(path, text string) error {
	f, err := os.OpenFile(path+".new", os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}
