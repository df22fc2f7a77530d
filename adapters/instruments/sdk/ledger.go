package sdk

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/campaignd/campaignd/adapters/instruments"
)

// ledger records the performed commands on disk: a directory with one file for each command.
//
// The file is created when the command is accepted, and holds one line of JSON, the command, and
// later another, the outcome. Between them may be the device's own names of the run, the last of
// which counts. The process that performs it holds the lock on its file from before the first line
// until after the outcome, so that a file tells everything: absent or empty, never started; locked,
// being performed; with an outcome, finished; without one and no lock, begun by a process that died.
// A line without its end was cut off by a crash and does not count.
type ledger struct {
	dir    string
	intake *os.File
	fresh  bool // this process has made the directory: what was before is not known
}

// poll is how often a lock that another process holds is tried.
const poll = 20 * time.Millisecond

// openLedger makes the directory, and makes its name durable before any command
// relies on it.
func openLedger(dir string) (*ledger, error) {
	if dir == "" {
		return nil, errors.New("no directory was named")
	}
	_, err := os.Stat(dir)
	fresh := errors.Is(err, fs.ErrNotExist)
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, err
	}
	if err := syncDir(filepath.Dir(filepath.Clean(dir))); err != nil {
		return nil, err
	}
	intake, err := os.OpenFile(filepath.Join(dir, "intake.lock"), os.O_CREATE|os.O_RDWR, 0o666)
	if err != nil {
		return nil, err
	}
	return &ledger{dir: dir, intake: intake, fresh: fresh}, nil
}

// takeOver waits until no earlier instance of the program reads commands any more. From then on a
// command that is not in the ledger was never accepted.
func (l *ledger) takeOver(ctx context.Context) error { return lock(ctx, l.intake) }

// handOver lets the next instance read commands.
func (l *ledger) handOver() { l.intake.Close() }

// lock polls, since a lock that blocks could not be given up when ctx ends.
func lock(ctx context.Context, f *os.File) error {
	for {
		ok, err := tryLock(f, false)
		if ok || err != nil {
			return err
		}
		select {
		case <-time.After(poll):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// path is the file of a command; identifiers hold slashes.
func (l *ledger) path(id string) string {
	return filepath.Join(l.dir, url.PathEscape(id)+".jsonl")
}

// entry is a command in the ledger. The holder of file performs it.
type entry struct {
	file    *os.File
	command instruments.Command
	begun   bool // the command's line is complete
	outcome *instruments.Outcome

	mu   sync.Mutex // held while a line is added
	size int64      // of the complete lines
}

// handle is a line with the device's own name of the run.
type handle struct {
	Handle string `json:"handle"`
}

// claim writes a command into the ledger, durably, in one piece with its outcome where that is
// known, and returns its entry, which the caller performs. It returns nil if the command was there
// before. The error of a claim that left nothing behind, so that nothing will ever be done, wraps
// [instruments.ErrRefused].
func (l *ledger) claim(cmd instruments.Command, outcome ...instruments.Outcome) (*entry, error) {
	line, err := json.Marshal(cmd)
	for _, o := range outcome {
		second, fault := json.Marshal(o)
		line, err = append(append(line, '\n'), second...), errors.Join(err, fault)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", instruments.ErrRefused, err)
	}
	path := l.path(cmd.ID)
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o666)
	if err != nil {
		return nil, fmt.Errorf("%w: it cannot be written to the ledger: %w", instruments.ErrRefused, err)
	}
	e := &entry{file: f}
	// No process acts without the lock, and none acts on a command that another holder has begun.
	// This keeps a pump from moving twice.
	free, err := tryLock(f, false)
	if err == nil {
		err = e.load(cmd.ID)
	}
	if err == nil && !free && !e.begun {
		err = errors.New("its file in the ledger is held by another, who may still begin it")
	}
	if err != nil || e.begun {
		f.Close()
		return nil, err
	}
	e.command = cmd
	if err = e.append(line); err == nil {
		err = syncDir(l.dir)
	}
	if err == nil {
		e.begun = true
		return e, nil
	}
	err = fmt.Errorf("it cannot be written to the ledger: %w", err)
	if gone := errors.Join(os.Remove(path), syncDir(l.dir)); gone == nil {
		err = fmt.Errorf("%w: %w", instruments.ErrRefused, err)
	}
	f.Close()
	return nil, err
}

// void writes a command that was called off before it was started into the
// ledger, durably, as one that has ended without beginning. Both lines are one
// write: a kill between them would leave it as begun, and for a person to settle.
func (l *ledger) void(cmd instruments.Command) error {
	e, err := l.claim(cmd, instruments.Outcome{
		Status: instruments.Cancelled,
		Cause:  "it was called off before it was started",
	})
	switch {
	case err != nil:
		return err
	case e == nil:
		return errors.New("it has been started meanwhile")
	}
	return e.file.Close()
}

// read returns the entry of a command, which the caller closes, or nil for an unknown one.
func (l *ledger) read(id string) (*entry, error) {
	f, err := os.OpenFile(l.path(id), os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	e := &entry{file: f}
	if err := e.load(id); err != nil {
		f.Close()
		return nil, err
	}
	return e, nil
}

// load reads the file anew. A first line of another command, or a later one that is neither a name
// nor an outcome, is damage and not taken for “never started”: the pump might move twice.
func (e *entry) load(id string) error {
	data, err := os.ReadFile(e.file.Name())
	if err != nil {
		return err
	}
	e.begun = false
	e.outcome = nil
	e.size = 0
	first, rest, ok := bytes.Cut(data, []byte("\n"))
	if !ok {
		return nil
	}
	if err := json.Unmarshal(first, &e.command); err != nil || e.command.ID != id {
		return fmt.Errorf("%s is damaged: its first line is not command %s", e.file.Name(), id)
	}
	e.begun, e.size = true, int64(len(first)+1)
	for {
		line, more, ok := bytes.Cut(rest, []byte("\n"))
		if !ok {
			return nil
		}
		rest = more
		e.size += int64(len(line) + 1)
		var h handle
		if json.Unmarshal(line, &h) == nil && h.Handle != "" {
			e.command.Handle = h.Handle
			continue
		}
		e.outcome = new(instruments.Outcome)
		if err := json.Unmarshal(line, e.outcome); err != nil || e.outcome.Status == "" {
			return fmt.Errorf("%s is damaged: a line of it is neither a handle nor an outcome", e.file.Name())
		}
		return nil
	}
}

// name keeps the device's own name of the run before anybody hears of it: a kill between the two
// would lose it, and the run with it.
func (e *entry) name(of string) error {
	line, err := json.Marshal(handle{of})
	if err != nil {
		return err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.outcome != nil || e.command.Handle == of {
		return nil
	}
	e.command.Handle = of
	return e.append(line)
}

// end keeps the outcome.
func (e *entry) end(o *instruments.Outcome, line []byte) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.outcome = o
	return e.append(line)
}

// append writes a line after the complete ones, durably. What a crash left of an
// incomplete line is cut off first.
func (e *entry) append(line []byte) error {
	if err := e.file.Truncate(e.size); err != nil {
		return err
	}
	if _, err := e.file.WriteAt(append(line, '\n'), e.size); err != nil {
		return err
	}
	if err := e.file.Sync(); err != nil {
		return err
	}
	e.size += int64(len(line) + 1)
	return nil
}
