package faults

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/pglog"
	"github.com/campaignd/campaignd/internal/tests/built"
	"github.com/campaignd/campaignd/internal/tests/draws"
	"github.com/campaignd/campaignd/internal/tests/testinstrument"
)

// hostVariable has this program be a host instead of a test.
const hostVariable = "CAMPAIGND_FAULTS_HOST"

func TestMain(m *testing.M) {
	noteLife()
	testinstrument.RunIfAsked()
	if text := os.Getenv(hostVariable); text != "" {
		var h host
		if err := json.Unmarshal([]byte(text), &h); err != nil {
			panic(err)
		}
		h.run()
		return
	}
	draws.Waiting(3, 1)
	code := m.Run()
	built.Remove()
	os.Exit(code)
}

// host says what a process that writes and reads does.
type host struct {
	Name    string
	Address string
	Journal string // a file
	Own     string // and the one that it takes hold of
	Follow  string // the store that it reads
	Seed    uint64

	journal *journal
	db      *pglog.Database
}

// sharedStore is the store that all hosts write.
const sharedStore = "shared"

// contested are the campaigns of the shared store, of each of which every host has a
// writer.
var contested = []string{"c0", "c1", "c2"}

// writers is how many a host has: one more, of its own store.
const writers = 4

// lastPatience is how long a host that is to end waits for what is under way.
const lastPatience = 20 * time.Second

// run works until the standard input ends, which it also does when the test
// does.
func (h *host) run() {
	file, err := os.OpenFile(h.Journal, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		panic(err)
	}
	h.journal = &journal{file: file}
	working, stop := context.WithCancel(context.Background()) // until no more is begun
	life, end := context.WithCancel(context.Background())     // until what was begun is given up
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		stop()
		time.Sleep(lastPatience)
		end()
	}()
	h.db = persist(working, func() (*pglog.Database, error) { return pglog.Connect(working, h.Address) })
	if h.db == nil {
		return
	}
	shared, followed := h.open(working, sharedStore), h.open(working, h.Follow)
	if shared != nil && followed != nil {
		var all sync.WaitGroup
		for i, campaign := range contested {
			all.Go(func() { h.contend(working, life, shared, i, campaign) })
		}
		all.Go(func() { h.hold(working, life) })
		all.Go(func() { h.read(working, shared, sharedStore) })
		all.Go(func() { h.read(working, followed, h.Follow) })
		all.Wait()
	}
	_ = h.db.Close()
	s := h.db.Stats()
	h.journal.write(entry{What: ended, Settled: s.Settled, Resent: s.Resent})
}

// persist tries until it succeeds, or the context is done.
func persist[T any](ctx context.Context, f func() (T, error)) (none T) {
	for ctx.Err() == nil {
		value, err := f()
		if err == nil {
			return value
		}
		_, _ = fmt.Fprintln(os.Stderr, err)
		time.Sleep(100 * time.Millisecond)
	}
	return none
}

func (h *host) open(ctx context.Context, name string) *pglog.Log {
	return persist(ctx, func() (*pglog.Log, error) { return h.db.Open(ctx, name, pglog.Options{}) })
}

// writer makes appends, one after the other.
type writer struct {
	*host
	life   context.Context
	log    *pglog.Log
	store  string
	number int
	random *rand.Rand
	made   int
}

func (h *host) writer(life context.Context, log *pglog.Log, store string, number int) *writer {
	random := rand.New(rand.NewPCG(h.Seed, uint64(number)))
	return &writer{host: h, life: life, log: log, store: store, number: number, random: random}
}

// contend appends to a campaign that other hosts append to as well: it expects what it
// has seen, and often is too late.
func (h *host) contend(working, life context.Context, log *pglog.Log, number int, campaign string) {
	w := h.writer(life, log, sharedStore, number)
	expected := events.AnySequence // not known
	for working.Err() == nil {
		if expected == events.AnySequence {
			var err error
			if expected, err = log.LastSequence(working, campaign); err != nil {
				expected = events.AnySequence
				w.rest(50 * time.Millisecond)
				continue
			}
		}
		next, err := w.append(campaign, expected)
		var conflict *events.ConflictError
		switch {
		case err == nil:
			expected = next
		case errors.As(err, &conflict):
			expected = conflict.Actual
		case log.Err() != nil:
			h.journal.write(entry{What: failed, Store: sharedStore, Writer: number, Err: log.Err().Error()})
			return
		default:
			expected = events.AnySequence
		}
		w.rest(10 * time.Millisecond)
	}
}

// hold takes hold of the host's own store, and appends to it what need not look
// at what there is. Where it loses the store, it takes it again when it can.
func (h *host) hold(working, life context.Context) {
	worker := persist(working, func() (*pglog.Worker, error) {
		return h.db.Work(working, h.Name, func() []byte { return nil })
	})
	w := h.writer(life, nil, h.Own, len(contested))
	for working.Err() == nil {
		if w.log = h.open(working, h.Own); w.log == nil {
			return
		}
		if err := w.log.Hold(working, worker); err != nil {
			_ = w.log.Close()
			w.rest(200 * time.Millisecond)
			continue
		}
		for working.Err() == nil {
			if _, err := w.append("own", events.AnySequence); errors.Is(err, events.ErrInUse) {
				break
			}
			if err := w.log.Err(); err != nil && !errors.Is(err, events.ErrInUse) {
				h.journal.write(entry{What: failed, Store: h.Own, Writer: w.number, Err: err.Error()})
				return
			}
			w.rest(10 * time.Millisecond)
		}
		_ = w.log.Close()
	}
}

// rest waits for a random time below most.
func (w *writer) rest(most time.Duration) { time.Sleep(time.Duration(w.random.Int64N(int64(most)))) }

// append appends one to three events, and notes what became of them. It returns
// the sequence of the last one. Some callers do not wait for long.
func (w *writer) append(campaign string, expected events.Sequence) (events.Sequence, error) {
	ctx := w.life
	if w.random.IntN(10) == 0 {
		limit := 20*time.Millisecond + time.Duration(w.random.Int64N(int64(2*time.Second)))
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, limit)
		defer cancel()
	}
	e := entry{
		What: tried, Store: w.store, Writer: w.number, Campaign: campaign, Expected: int64(expected),
		Batch: fmt.Sprintf("%s/%d/%d", w.Name, w.number, w.made), Size: 1 + w.random.IntN(3),
	}
	w.made++
	batch := make([]events.Event, e.Size)
	for i := range batch {
		batch[i] = events.Event{ID: fmt.Sprintf("%s-%d", e.Batch, i), Kind: "test.kind", Version: 1, Data: []byte(`{}`)}
	}
	w.journal.write(e)
	stored, err := w.log.Append(ctx, campaign, expected, batch...)
	switch {
	case err == nil:
		e.What = acknowledged
		e.Position, e.Sequence = int64(stored[0].Position), int64(stored[0].Sequence)
		w.journal.write(e)
		return stored[len(stored)-1].Sequence, nil
	case errors.Is(err, events.ErrUncertain):
		e.What = uncertain
	case errors.Is(err, events.ErrInUse): // another one has the store, or may have it
		e.What = fenced
	default:
		e.What = refused
	}
	e.Err = err.Error()
	w.journal.write(e)
	return 0, err
}

// read follows a store and notes what it is shown. It never is to end before
// the host does.
func (h *host) read(working context.Context, log *pglog.Log, store string) {
	for e, err := range log.Follow(working, 0) {
		if err != nil {
			h.journal.write(entry{What: failed, Store: store, Err: err.Error()})
			return
		}
		h.journal.write(entry{What: seen, Store: store, Position: int64(e.Position), Sequence: int64(e.Sequence),
			Campaign: e.Campaign, ID: e.ID})
	}
}
