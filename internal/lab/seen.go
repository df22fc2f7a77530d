package lab

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/files/registry"
	"github.com/campaignd/campaignd/internal/ground/wholefile"
	"github.com/campaignd/campaignd/projections/campaign"
)

// An instrument may remember commands for longer than a store does: where an older copy of a
// store is restored, its next experiment has the number of one that was made already, of
// another composition, and the instrument would answer for that. So the newest head of each
// campaign's log that a run has written is also kept outside the store, before an instrument
// hears of its events. A log that does not extend it gets a new word, an epoch, in the
// identifiers of its commands.

// seen is this machine user's memory of a campaign's log: a file with a line for each head, the
// newest last. A last line that was cut off does not count.
type seen struct {
	path string
	file *os.File
}

// stateFolder is the folder for programs' memory of a user's work.
func stateFolder() (string, error) {
	if dir := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "campaignd"), nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(home, ".local", "state", "campaignd"), nil
}

// openSeen opens the record of a campaign. Of two campaigns none has the
// other's. The name of the file is a hash of the name, the instance and the
// beginning: a campaign that was begun anew under the same name is another one.
func openSeen(s *campaign.State) (*seen, error) {
	dir, err := stateFolder()
	if err != nil {
		return nil, err
	}
	dir = filepath.Join(dir, "seen")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	name := fmt.Sprintf("%s/%s/%d", s.Name, s.Instance, s.DefinedAt.UnixMicro())
	path := filepath.Join(dir, fmt.Sprintf("%x", sha256.Sum256([]byte(name)))[:32])
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	content, err := os.ReadFile(path)
	if err == nil && len(content) > 0 && content[len(content)-1] != '\n' {
		if _, err := f.WriteString("\n"); err != nil { // behind a line that was cut off
			return nil, errors.Join(err, f.Close())
		}
	}
	return &seen{path: path, file: f}, nil
}

// newest returns the newest head; ok is false without one.
func (s *seen) newest() (head tlog.Tree, ok bool, err error) {
	content, err := os.ReadFile(s.path)
	if err != nil {
		return head, false, err
	}
	lines := strings.Split(string(content), "\n")
	lines = lines[:len(lines)-1] // the last part is empty, or was cut off
	for _, line := range slices.Backward(lines) {
		var n int64
		var root string
		if _, err := fmt.Sscanf(line, "%d %s", &n, &root); err != nil {
			continue
		}
		if hash, err := tlog.ParseHash(root); err == nil && n > 0 {
			return tlog.Tree{N: n, Hash: hash}, true, nil
		}
	}
	return head, false, nil
}

// add records a head. The system has it when add returns, so that it outlives
// this process; the disk may have it a moment later.
func (s *seen) add(head tlog.Tree) error {
	_, err := fmt.Fprintf(s.file, "%d %v\n", head.N, head.Hash)
	return err
}

// addHead records the head of a log.
func (s *seen) addHead(ctx context.Context, log events.Store) error {
	head, err := log.Head(ctx)
	if err != nil {
		return err
	}
	return s.add(head)
}

// close keeps the newest head alone. The file stays short that way; while it is
// open it only grows, so that a crash cannot lose the newest head.
func (s *seen) close() error {
	head, ok, err := s.newest()
	err = errors.Join(err, s.file.Close())
	if err != nil || !ok {
		return err
	}
	return wholefile.Replace(s.path, fmt.Appendf(nil, "%d %v\n", head.N, head.Hash), 0o600)
}

// unlike describes how a log differs from the memory of it; empty if it extends it. Without a
// record of its own it believes a log that has given no command yet, and no other.
func (s *seen) unlike(
	ctx context.Context, log events.Store, state *campaign.State,
) (string, error) {
	head, ok, err := s.newest()
	if err != nil {
		return "", err
	}
	if !ok {
		given := func(x campaign.Experiment) bool { return x.Command.ID != "" }
		if !slices.ContainsFunc(state.Experiments, given) && len(state.Acts) == 0 {
			return "", nil
		}
		return "its commands were given from another machine or by another user, " +
			"or by an earlier version of campaignd", nil
	}
	if last := int64(log.Last()); last < head.N {
		return fmt.Sprintf("it is an older copy: this machine has seen %d events of it and %d "+
			"are there",
			head.N, last), nil
	}
	err = log.VerifyExtends(ctx, head)
	if errors.Is(err, events.ErrNotExtended) {
		return fmt.Sprintf(
			"it went on from an older copy: its first %d events are not those that "+
				"this machine has seen",
			head.N,
		), nil
	}
	return "", err
}

// remembers reports whether a campaign's instrument may remember commands
// beyond this process. An instrument that the definition determines, as a
// simulation or a table, does not.
func remembers(reg registry.Registry, def *definition.Campaign) bool {
	driver, _ := reg.DriverOf(def)
	return def.Measures() && driver.Identify == nil
}

// gives reports whether a command is given behind an event, or others are from
// then on.
func gives(e events.Event) bool {
	switch e.Kind {
	case events.KindExperimentDispatched, events.KindActDispatched, events.KindRecoveryDone:
		return true
	}
	return false
}

// witness notes the head of a log in a database at which another process gives a command: if
// this machine goes on with the campaign one day, it knows the log. A log that does not extend
// this machine's memory stays unknown to it. Where nothing can be noted, the campaign's
// commands carry a new word then.
func (w *watched) witness(ctx context.Context, state *campaign.State) {
	if !remembers(w.options.Registry, state.Definition) {
		return
	}
	s, err := openSeen(state)
	if err != nil {
		return
	}
	defer s.file.Close() // and not shortened: a process of this machine may have it open
	if head, ok, err := s.newest(); err != nil || ok && w.log.VerifyExtends(ctx, head) != nil {
		return
	}
	_ = s.addHead(ctx, w.log)
}

// watch compares the log with the user's memory of it, reports a difference to the person, and
// has the campaign remember from here on the events given to the instrument. If the user has no
// place for that, the campaign goes on without it.
func (c *Run) watch(ctx context.Context, state *campaign.State) {
	if !remembers(c.store.options.Registry, state.Definition) {
		return
	}
	const unnoticed = "An older copy of this store would not be noticed if it were restored: %v"
	s, err := openSeen(state)
	if err != nil {
		c.remark(unnoticed+". XDG_STATE_HOME names a folder for that.", err)
		return
	}
	log := c.store.log
	difference, err := s.unlike(ctx, log, state)
	if err != nil {
		c.remark("The store could not be compared with what was seen of it: %v", err)
		difference = "it could not be compared with what was seen of it"
	}
	if _, ok, err := s.newest(); err == nil && !ok && difference == "" {
		// Known before its first command; the first Append tells of a failure.
		_ = s.addHead(ctx, log)
	}
	if difference != "" {
		c.runner.Epoch = engine.NewInstance()
		c.remark("The store %s is not the one that this machine knows: %s. "+
			"What the instrument remembers of its later commands is not believed: "+
			"commands carry the word %s from here on.",
			c.store.address, difference, c.runner.Epoch)
	}
	c.seen = s
	c.runner.Log = &watchedLog{
		Store:  log,
		seen:   s,
		failed: func(err error) { c.remark(unnoticed, err) },
	}
}

// watchedLog records the head of the log with each command, before it is given,
// and with each epoch.
type watchedLog struct {
	events.Store
	seen   *seen
	failed func(error) // gets the first failure
	first  sync.Once
}

// Append implements [events.Log]. A failure to note it is reported once and stops
// nothing: the event is stored.
func (l *watchedLog) Append(
	ctx context.Context,
	name string,
	expected events.Sequence,
	batch ...events.Event,
) ([]events.Event, error) {
	stored, err := l.Store.Append(ctx, name, expected, batch...)
	if err != nil || !slices.ContainsFunc(stored, gives) {
		return stored, err
	}
	// Stored events are noted, even for a caller who no longer waits.
	if err := l.seen.addHead(context.WithoutCancel(ctx), l.Store); err != nil {
		l.first.Do(func() { l.failed(err) })
	}
	return stored, nil
}

// closeSeen closes the memory of the log.
func (c *Run) closeSeen() {
	if c.seen == nil {
		return
	}
	if err := c.seen.close(); err != nil && !errors.Is(err, fs.ErrNotExist) {
		c.remark("What was seen of the store could not be kept: %v", err)
	}
	c.seen = nil
}
