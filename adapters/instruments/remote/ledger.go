package remote

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"syscall"

	"github.com/campaignd/campaignd/adapters/instruments"
)

// ledger remembers the commands that were handed over, in a folder with a file for each. The file
// is made before anything is sent, by one process alone, and grows by a line of JSON at a time. A
// line that a crash has cut off says nothing.
type ledger struct {
	dir   string
	fresh bool // this process has made the folder: what was before is not known
}

// entry is a command in the ledger.
type entry struct {
	command   instruments.Command  // with its handle, where the device has given one
	confirmed bool                 // the device has it
	stopped   bool                 // the device has answered that it stops it
	outcome   *instruments.Outcome // nil: open
}

// line is one line of a file. The first holds the command.
type line struct {
	Command   *instruments.Command `json:"command,omitempty"`
	Confirmed bool                 `json:"confirmed,omitempty"`
	Handle    string               `json:"handle,omitempty"`
	Stopped   bool                 `json:"stopped,omitempty"`
	Outcome   *instruments.Outcome `json:"outcome,omitempty"`
}

// open makes the folder at first use: a campaign that is only looked at leaves nothing behind.
func (l *ledger) open() error {
	_, err := os.Stat(l.dir)
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	l.fresh = true
	return errors.Join(os.MkdirAll(l.dir, 0o777), SyncFolder(filepath.Dir(filepath.Clean(l.dir))))
}

func (l *ledger) path(id string) string { return filepath.Join(l.dir, FileName(id)+".jsonl") }

// claim makes a command this process's to hand over; false where it is in the ledger already. After
// an error that wraps ErrRefused nothing of it is there.
func (l *ledger) claim(cmd instruments.Command, more ...line) (bool, error) {
	f, err := os.OpenFile(l.path(cmd.ID), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o666)
	if errors.Is(err, fs.ErrExist) {
		return false, nil
	}
	if err == nil {
		err = errors.Join(write(f, append([]line{{Command: &cmd}}, more...)...), SyncFolder(l.dir))
		if err == nil {
			return true, nil
		}
		if gone := os.Remove(f.Name()); gone != nil {
			return false, fmt.Errorf("it cannot be written to the ledger: %w", err)
		}
	}
	return false, fmt.Errorf("%w: it cannot be written to the ledger: %w", instruments.ErrRefused, err)
}

// add appends a line to a command's file.
func (l *ledger) add(id string, more line) error {
	f, err := os.OpenFile(l.path(id), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	return write(f, more)
}

// write appends lines in one piece, durably, and closes the file. The line end before them ends what
// a crash has left of an earlier one.
func write(f *os.File, lines ...line) error {
	var text []byte
	var faults []error
	for _, l := range lines {
		data, err := json.Marshal(l)
		text, faults = append(append(append(text, '\n'), data...), '\n'), append(faults, err)
	}
	err := errors.Join(faults...)
	if err == nil {
		_, err = f.Write(text)
	}
	return errors.Join(err, f.Sync(), f.Close())
}

// read returns the entry of a command, nil for an unknown one. The first word on a matter stands. A
// file without its first line is of a command that was about to be handed over.
func (l *ledger) read(id string) (*entry, error) {
	data, err := os.ReadFile(l.path(id))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	e := new(entry)
	for text := range bytes.Lines(data) {
		var l line
		if json.Unmarshal(text, &l) != nil {
			continue
		}
		if l.Command != nil && e.command.ID == "" {
			e.command = *l.Command
		}
		if l.Handle != "" && e.command.Handle == "" {
			e.command.Handle = l.Handle
		}
		if e.outcome == nil {
			e.outcome = l.Outcome
		}
		e.confirmed = e.confirmed || l.Confirmed
		e.stopped = e.stopped || l.Stopped
	}
	if e.command.ID != id {
		return nil, fmt.Errorf("%s does not hold command %s: a crash has cut it off, or it is damaged", l.path(id), id)
	}
	return e, nil
}

// SyncFolder makes the names in a folder durable, where the file system can: Windows and some network
// folders cannot.
func SyncFolder(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	if err := d.Sync(); runtime.GOOS != "windows" && !errors.Is(err, syscall.EINVAL) && !errors.Is(err, errors.ErrUnsupported) {
		return err
	}
	return nil
}
