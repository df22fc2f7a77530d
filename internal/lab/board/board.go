// Package board shows the computations of one server to all servers of a lab in a database: audits,
// and what-if questions. It holds the newest of them, as values of the lab's log: the contents of a
// board follow from the logs of campaigns, and can be computed again.
package board

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/ground/problem"
	"github.com/campaignd/campaignd/internal/lab/lablog"
)

// Board holds notes. Its methods may be called by several goroutines.
type Board struct {
	// Prefix begins the keys of its values, and Letter the identifiers of its notes.
	Prefix, Letter string
	// Most is the number of notes kept: beyond it, the oldest finished ones go.
	Most int
	// Log returns the lab's log.
	Log func() (events.Store, error)
	// Self is this process, and Lives reports whether another one is alive.
	Self  string
	Lives func(process string) bool
}

// Note is a board's entry about a run.
type Note struct {
	ID string `json:"id"`
	// Request is the key of the request that began it, or empty.
	Request string `json:"request,omitempty"`
	// Process is the process that computes it.
	Process string `json:"process"`
	// Over means that it is finished, and Cancelled that it should end.
	Over      bool `json:"over,omitempty"`
	Cancelled bool `json:"cancelled,omitempty"`
	// Text is the process's own content.
	Text json.RawMessage `json:"text"`

	number int
}

// Lost reports whether the process that computes it has ended.
func (b *Board) Lost(n *Note) bool { return !n.Over && n.Process != b.Self && !b.Lives(n.Process) }

// within is the database's time limit.
const within = 5 * time.Second

// mostAnew bounds the attempts to change a note that others change as well.
const mostAnew = 50

// Begin pins a note of a run of this process. text makes its text from its identifier. A nonempty
// request belongs to one run, whichever servers it is sent to: again is true if that run exists,
// which is then returned.
func (b *Board) Begin(ctx context.Context, request string, text func(id string) any) (n *Note, again bool, err error) {
	for range mostAnew {
		all, err := b.All(ctx)
		if err != nil {
			return nil, false, err
		}
		n = &Note{Request: request, Process: b.Self, number: 1}
		for _, other := range all {
			if request != "" && other.Request == request {
				return other, true, nil
			}
			n.number = other.number + 1
		}
		n.ID = b.Letter + strconv.Itoa(n.number)
		if n.Text, err = json.Marshal(text(n.ID)); err != nil {
			return nil, false, err
		}
		// Another server was quicker and has the number, and perhaps the same request.
		pinned, err := b.swap(ctx, n.number, nil, n)
		if err != nil {
			return nil, false, err
		}
		if pinned {
			b.clear(ctx, all)
			return n, false, nil
		}
	}
	return nil, false, errBusy
}

// errBusy means that others keep changing the same value.
var errBusy = problem.New(problem.Unavailable, "the lab's log is changed elsewhere all the time").
	With(problem.Remedy{Text: "try again in a moment"})

// clear removes the oldest notes beyond the bound, counting one to come.
func (b *Board) clear(ctx context.Context, all []*Note) {
	for extra := len(all) + 1 - b.Most; extra > 0 && len(all) > 0; all = all[1:] {
		if n := all[0]; n.Over || b.Lost(n) {
			if log, err := b.Log(); err == nil {
				_ = log.SetValuesLazily(ctx, events.KeyValue{Key: b.key(n.number)}) // else the next one does
			}
			extra--
		}
	}
}

// Put changes a note of this process.
func (b *Board) Put(ctx context.Context, id string, text any, over bool) error {
	t, err := json.Marshal(text)
	if err != nil {
		return err
	}
	return b.change(ctx, id, func(n *Note) { n.Text, n.Over = t, over })
}

// Cancel marks the run to be ended.
func (b *Board) Cancel(ctx context.Context, id string) error {
	return b.change(ctx, id, func(n *Note) { n.Cancelled = true })
}

func (b *Board) change(ctx context.Context, id string, change func(*Note)) error {
	for range mostAnew {
		before, n, err := b.get(ctx, id)
		if err != nil || n == nil {
			return err
		}
		change(n)
		if swapped, err := b.swap(ctx, n.number, before, n); swapped || err != nil {
			return err
		}
	}
	return errBusy
}

// Get returns a note, or nil.
func (b *Board) Get(ctx context.Context, id string) (*Note, error) {
	_, n, err := b.get(ctx, id)
	return n, err
}

func (b *Board) get(ctx context.Context, id string) (value []byte, n *Note, err error) {
	digits, ok := strings.CutPrefix(id, b.Letter)
	number, err := strconv.Atoi(digits)
	if !ok || err != nil || number < 1 || b.Letter+strconv.Itoa(number) != id {
		return nil, nil, nil
	}
	log, err := b.Log()
	if err != nil {
		return nil, nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	if value, err = log.Value(ctx, b.key(number)); err != nil || value == nil {
		return nil, nil, lablog.Fault(err)
	}
	n, err = read(value, number)
	return value, n, err
}

// All returns the notes, the newest last.
func (b *Board) All(ctx context.Context) (all []*Note, err error) {
	log, err := b.Log()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	for kv, err := range log.Values(ctx, b.Prefix) {
		if err != nil {
			return nil, lablog.Fault(err)
		}
		number, err := strconv.Atoi(strings.TrimPrefix(kv.Key, b.Prefix))
		if err != nil {
			continue // of another version
		}
		n, err := read(kv.Value, number)
		if err != nil {
			return nil, err
		}
		all = append(all, n)
	}
	slices.SortFunc(all, func(x, y *Note) int { return x.number - y.number })
	return all, nil
}

// key returns the key of a note.
func (b *Board) key(number int) string { return b.Prefix + strconv.Itoa(number) }

// swap replaces a note, provided that it is unchanged.
func (b *Board) swap(ctx context.Context, number int, before []byte, n *Note) (bool, error) {
	text, err := json.Marshal(n)
	if err != nil {
		return false, err
	}
	var after bytes.Buffer
	w := gzip.NewWriter(&after) // to memory
	_, _ = w.Write(text)
	_ = w.Close()
	log, err := b.Log()
	if err != nil {
		return false, err
	}
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	swapped, err := log.SwapValue(ctx, b.key(number), before, after.Bytes())
	if errors.Is(err, events.ErrInvalidValue) {
		return false, problem.New(problem.NotPossible, "what was worked out is too large to be kept for all servers: %w", err)
	}
	return swapped, lablog.Fault(err)
}

// read reads a value.
func read(value []byte, number int) (*Note, error) {
	n := &Note{number: number}
	r, err := gzip.NewReader(bytes.NewReader(value))
	if err == nil {
		var text []byte
		if text, err = io.ReadAll(r); err == nil {
			err = json.Unmarshal(text, n)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("a note of a run in the lab's log cannot be read: %w", err)
	}
	return n, nil
}
