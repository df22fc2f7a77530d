package faults

import (
	"bytes"
	"encoding/json"
	"os"
	"sync"
	"time"
)

// entry is a line of a host's journal.
type entry struct {
	At    time.Time
	What  what
	Store string `json:",omitempty"`

	// Of an append, and of what became of it.
	Writer   int    `json:",omitempty"`
	Campaign string `json:",omitempty"`
	Batch    string `json:",omitempty"` // its events are Batch-0, Batch-1, …
	Size     int    `json:",omitempty"`
	Expected int64  `json:",omitempty"`

	// Of what was acknowledged, the first event's; and of what was seen.
	Position int64  `json:",omitempty"`
	Sequence int64  `json:",omitempty"`
	ID       string `json:",omitempty"` // of what was seen

	Settled, Resent int64  `json:",omitempty"` // in all, when the host ends
	Err             string `json:",omitempty"`
}

// what is what an entry says.
type what string

const (
	tried        what = "tried"        // is about to be sent
	acknowledged what = "acknowledged" // is stored
	refused      what = "refused"      // is not stored, and never will be
	uncertain    what = "uncertain"    // may be stored
	seen         what = "seen"         // was shown to a reader
	fenced       what = "fenced"       // refused, and the writer with it: another has taken hold
	failed       what = "failed"       // the log ended, or a reader: there is no such end in a trial
	ended        what = "ended"        // the host has
)

// journal is where a host writes. Each entry is in the file before anything is
// done that follows from it.
type journal struct {
	mu   sync.Mutex
	file *os.File
}

func (j *journal) write(e entry) {
	e.At = time.Now()
	line, err := json.Marshal(e)
	if err != nil {
		panic(err)
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if _, err := j.file.Write(append(line, '\n')); err != nil {
		panic(err)
	}
}

// reading is a journal as it is read while its host writes.
type reading struct {
	path    string
	offset  int64
	entries []entry
}

// more reads what was written since.
func (r *reading) more() error {
	f, err := os.Open(r.path)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	content := new(bytes.Buffer)
	if _, err := f.Seek(r.offset, 0); err != nil {
		return err
	}
	if _, err := content.ReadFrom(f); err != nil {
		return err
	}
	for {
		line, err := content.ReadBytes('\n')
		if err != nil {
			return nil // the last line is not whole yet
		}
		var e entry
		if err := json.Unmarshal(line, &e); err != nil {
			return err
		}
		r.offset += int64(len(line))
		r.entries = append(r.entries, e)
	}
}
