package events

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/mod/sumdb/tlog"
)

// Store is a log that outlives its process and can be held to account: the packages above this one
// know nothing else of where events are kept. Package events/store opens one, events/logtest has
// the suite that each must pass.
//
// Its events are the leaves of a Merkle tree (RFC 6962, section 2.1), in the order of their
// positions: the leaf of an event is its record ([AppendRecord]). So the head of the tree, which
// fits on a line, stands for all of them, and a head that was shown to someone once can be held
// against the store for ever.
//
// Its methods may be called from many goroutines. After Close they answer [ErrClosed], but for Err
// and Failed.
type Store interface {
	Log
	CampaignReader
	OffsetStore
	ValueStore

	// Campaigns returns the names of the campaigns that have an event, in the
	// order of their first ones.
	Campaigns(ctx context.Context) ([]string, error)

	// Head returns the number of durable events and the root hash over them: at
	// least those up to [Log.Last].
	Head(ctx context.Context) (tlog.Tree, error)

	// Verify reads all of the log, up to the newest event at the time of the call, and checks that
	// each event is there, as it was written and in its place, and that the store's own data agree
	// with the events. The error is about the check itself (a done context, a disk that does not
	// answer); faults of the log are in the Report.
	Verify(ctx context.Context) (Report, error)

	// Check is the part of Verify that an opening can wait for: it fails, with
	// [ErrDamaged], unless each event is whole, in its place, and named by its
	// campaign and sequence; where a campaign is given, the names of its events
	// alone are looked at. Hashes are not compared.
	Check(ctx context.Context, campaign string) error

	// VerifyExtends checks that the log still begins with the events of an
	// earlier head of it, in a time that hardly depends on how many there are:
	// it believes the hashes that the store keeps, which Verify compares with
	// the events. The error wraps [ErrNotExtended] where the log is another
	// one.
	VerifyExtends(ctx context.Context, old tlog.Tree) error

	// ProveEvent returns the proof that the event at a position is in the tree
	// of the first size events, for [tlog.CheckRecord], whose record number is
	// the position minus one.
	ProveEvent(ctx context.Context, p Position, size int64) (tlog.RecordProof, error)

	// ProveExtends returns the proof that the tree of the first size events
	// begins with that of the first old, for [tlog.CheckTree].
	ProveExtends(ctx context.Context, old, size int64) (tlog.TreeProof, error)

	// Failed returns a channel that is closed once a write has failed: the
	// store takes no more events, readers go on. It can be opened again once
	// Probe finds that writes succeed.
	Failed() <-chan struct{}

	// Err returns an error that wraps [ErrStopped] once a write has failed, nil
	// before.
	Err() error

	// Probe reports whether the store's disk, or whatever it is kept on, takes
	// writes.
	Probe() error
}

var (
	// ErrReadOnly is returned by what would change a store that was opened for
	// reading.
	ErrReadOnly = errors.New("the store was opened for reading only")
	// ErrStopped means that a write failed earlier, for the reason that the
	// error also wraps, and that the log takes no more events. What was
	// acknowledged is stored; open the store again once what failed works and has
	// room.
	ErrStopped = errors.New("the log stopped after a write failed")
	// ErrNotExtended means that a log does not extend an earlier head of it:
	// events before that head were changed or removed.
	ErrNotExtended = errors.New("the log does not extend the earlier checkpoint")
)

// Report is the result of [Store.Verify].
type Report struct {
	// Events is the number of events that the log has acknowledged.
	Events Position
	// Read is the number of those that are there and sound.
	Read Position
	// Root is the root hash of the Merkle tree over the events, computed anew
	// from their records. It is zero where an event is not readable.
	Root tlog.Hash
	// Faults are the faults found, in the order of their positions, those that
	// concern no event of their own last. At most [MaxFaults] are listed.
	Faults []Fault
	// More is the number of faults that are not listed.
	More int
	// Notes are observations that are not faults of the events, for example that one of two copies
	// of the head was not readable.
	Notes []string
}

// MaxFaults is the number of faults that a Report lists.
const MaxFaults = 100

// Sound reports whether there are no faults.
func (r Report) Sound() bool { return len(r.Faults) == 0 }

// Fault is one thing in a store that is not as it was written.
type Fault struct {
	// From and To are the first and last position concerned, both 0 where the
	// fault concerns no event of its own.
	From, To Position
	// What describes the fault.
	What string
	// Lost says what cannot be had any more; empty where nothing is lost.
	Lost string
}

func (f Fault) String() string {
	s := f.What
	switch {
	case f.From != 0 && f.From == f.To:
		s = fmt.Sprintf("position %d: %s", f.From, s)
	case f.From != 0:
		s = fmt.Sprintf("positions %d to %d: %s", f.From, f.To, s)
	}
	if f.Lost != "" {
		s += "; lost: " + f.Lost
	}
	return s
}
