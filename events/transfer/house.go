package transfer

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"path/filepath"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/store"
)

// Moved says what [Move] or [Backup] has done.
type Moved struct {
	Report
	Files FileReport
	// Again means that the store had been moved there before, and nothing was left
	// to be done.
	Again bool
}

// steps, where set, is called between the steps: tests end the process there.
var steps = func(string) {}

// Move moves a store to another address, which is empty or holds the remains of an interrupted move
// or an earlier copy of this store: its events, values and attached files.
//
// It holds the store meanwhile, so that nothing is appended. At the end the two have the same root
// hash, the copy was read and verified whole, and the old store is marked as moved ([store.Marks]):
// it can be read, and says where it went. Until the copy is all there, and the old store is marked,
// the copy is marked as unfinished and refused to all others: at no moment can both be appended to.
// Interrupted anywhere, it goes on when it is called again.
func Move(ctx context.Context, from, to string) (m Moved, err error) {
	if from, to, err = twoAddresses(from, to); err != nil {
		return m, err
	}
	marks, err := store.MarksOf(ctx, from)
	if err != nil {
		return m, err
	}
	left, err := store.MarksOf(ctx, to)
	if err != nil {
		return m, err
	}
	if left.Moved != "" && left.Moved != from { // from there it may move back
		return m, &events.MovedError{To: left.Moved}
	}
	there := marks.Moved == to // by a call that was interrupted, or came to its end
	source, err := store.Open(from, store.Options{MustExist: true, ReadOnly: there})
	if err != nil {
		return m, err
	}
	defer func() { err = errors.Join(err, source.Close()) }()
	if there && left.Unfinished == "" {
		return alreadyMoved(ctx, source, to)
	}
	return copyHouse(ctx, source, from, to, func(head tlog.Tree) error {
		if there {
			return nil
		}
		return store.SetMarks(ctx, from, source, head, store.Marks{Moved: to})
	})
}

// twoAddresses refuses to copy a store to itself. A folder's address is made the
// same from every working directory, since the marks hold it.
func twoAddresses(from, to string) (string, string, error) {
	for _, address := range []*string{&from, &to} {
		if store.InDatabase(*address) {
			continue
		}
		absolute, err := filepath.Abs(*address)
		if err != nil {
			return "", "", err
		}
		*address = absolute
	}
	if from == to {
		return "", "", fmt.Errorf("transfer: %s is the store itself", to)
	}
	return from, to, nil
}

// alreadyMoved compares a store that has been moved with its successor.
func alreadyMoved(ctx context.Context, source events.Store, to string) (m Moved, err error) {
	now, err := store.Open(to, store.Options{ReadOnly: true})
	if err != nil {
		return m, err
	}
	defer func() { err = errors.Join(err, now.Close()) }()
	m.Again = true
	if m.Head, err = source.Head(ctx); err == nil {
		err = now.VerifyExtends(ctx, m.Head)
	}
	if errors.Is(err, events.ErrNotExtended) {
		err = fmt.Errorf("%w: the store was moved there, and the events there do not go on from it: %w",
			ErrDiffers, err)
	}
	return m, err
}

// Backup copies a store as it is at one moment, also while it is in use, to an empty address or to
// an earlier copy, which it continues. The copy was read and verified whole at the end. The store
// itself is not marked, and not changed.
//
// It fails with [ErrDiffers], and changes nothing, where the store does not extend the copy: one of
// them has been altered.
func Backup(ctx context.Context, from, to string) (m Moved, err error) {
	if from, to, err = twoAddresses(from, to); err != nil {
		return m, err
	}
	left, err := store.MarksOf(ctx, to)
	if err != nil {
		return m, err
	}
	if left.Moved != "" {
		return m, &events.MovedError{To: left.Moved}
	}
	source, err := store.Open(from, store.Options{ReadOnly: true})
	if err != nil {
		return m, err
	}
	defer func() { err = errors.Join(err, source.Close()) }()
	now, err := takeMoment(ctx, source)
	if err != nil {
		return m, err
	}
	return copyHouse(ctx, now, from, to, func(tlog.Tree) error { return nil })
}

// copyHouse copies all of a store. Leave is called with the head once the copy
// is as it must be, before that is anything but an unfinished copy.
func copyHouse(
	ctx context.Context, source events.Store, from, to string, leave func(tlog.Tree) error,
) (m Moved, err error) {
	steps("opened")
	// A damaged source is not copied, and a destination that is not a beginning of the source is
	// neither written to nor marked.
	if err := sound(ctx, source); err != nil {
		return m, fmt.Errorf("transfer: %w", err)
	}
	copied, err := store.Open(to, store.Options{Marked: true})
	if err != nil {
		return m, err
	}
	defer func() { err = errors.Join(err, copied.Close()) }()
	steps("created")
	had, err := begins(ctx, source, copied)
	if err != nil {
		return m, err
	}
	if err := store.SetMarks(ctx, to, copied, had, store.Marks{Unfinished: from}); err != nil {
		return m, err
	}
	steps("marked")
	if m.Files, err = copyAllFiles(ctx, source, from, to); err != nil {
		return m, err
	}
	steps("files copied")
	if m.Report, err = copySound(ctx, source, copied); err != nil {
		return m, fmt.Errorf("transfer: %w", err)
	}
	if err := sound(ctx, copied); err != nil {
		return m, fmt.Errorf("transfer: the copy: %w", err)
	}
	steps("copied")
	if err := leave(m.Head); err != nil {
		return m, err
	}
	steps("left")
	err = store.SetMarks(ctx, to, copied, m.Head, store.Marks{})
	steps("finished")
	return m, err
}

// begins refuses a destination that is not the beginning of the source, and
// returns its head.
func begins(ctx context.Context, source, copied events.Store) (tlog.Tree, error) {
	had, err := copied.Head(ctx)
	if err == nil {
		err = source.VerifyExtends(ctx, had)
	}
	if errors.Is(err, events.ErrNotExtended) {
		err = fmt.Errorf("transfer: %w: the destination has %d events, with the root hash %v, and they are not the first "+
			"of the source", ErrDiffers, had.N, had.Hash)
	}
	return had, err
}

func copyAllFiles(ctx context.Context, source events.Store, from, to string) (r FileReport, err error) {
	old, err := store.OpenFiles(from)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, old.Close()) }()
	copied, err := store.OpenFiles(to)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, copied.Close()) }()
	return CopyFiles(ctx, source, old, copied)
}

// moment is a store as it was at a moment, while it goes on.
type moment struct {
	events.Store
	head   tlog.Tree
	values []events.KeyValue
}

// takeMoment reads the values first: one may tell of events, and those must be
// in the copy.
func takeMoment(ctx context.Context, s events.Store) (m *moment, err error) {
	m = &moment{Store: s}
	for kv, err := range s.Values(ctx, "") {
		if err != nil {
			return nil, err
		}
		m.values = append(m.values, kv)
	}
	m.head, err = s.Head(ctx)
	return m, err
}

// Head implements [events.Store].
func (m *moment) Head(context.Context) (tlog.Tree, error) { return m.head, nil }

// VerifyExtends implements [events.Store].
func (m *moment) VerifyExtends(ctx context.Context, old tlog.Tree) error {
	if old.N > m.head.N {
		return fmt.Errorf("%w: it had %d events, the log has %d", events.ErrNotExtended, old.N, m.head.N)
	}
	return m.Store.VerifyExtends(ctx, old)
}

// Read implements [events.Log].
func (m *moment) Read(ctx context.Context, after events.Position) iter.Seq2[events.Event, error] {
	return func(yield func(events.Event, error) bool) {
		for e, err := range m.Store.Read(ctx, after) {
			if err == nil && int64(e.Position) > m.head.N || !yield(e, err) {
				return
			}
		}
	}
}

// Values implements [events.ValueStore].
func (m *moment) Values(context.Context, string) iter.Seq2[events.KeyValue, error] {
	return func(yield func(events.KeyValue, error) bool) {
		for _, kv := range m.values {
			if !yield(kv, nil) {
				return
			}
		}
	}
}
