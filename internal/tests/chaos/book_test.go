package chaos

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/memlog"
)

// book is the log, read by others than the engine: as JSON, field by field.
type book struct {
	*memlog.Log
	campaign string

	mu   sync.Mutex
	read events.Position
	// What the entries say of commands: what happened to each, when it was handed
	// out and when its fate became unknown, and which command an experiment has.
	state                 map[string]string
	dispatched, forgotten map[string]events.Position
	commands              map[string]string
	pages                 bytes.Buffer // every payload, for a search
}

func newBook(campaign string) *book {
	return &book{Log: memlog.New(), campaign: campaign, state: make(map[string]string), commands: make(map[string]string),
		dispatched: make(map[string]events.Position), forgotten: make(map[string]events.Position)}
}

// catchUp reads what was written since.
func (b *book) catchUp() {
	for e, err := range b.Read(context.Background(), b.read) {
		if err != nil {
			panic(err) // memory does not fail
		}
		b.read = e.Position
		b.pages.Write(e.Data)
		b.pages.WriteByte('\n')
		var entry struct{ Experiment, Command string }
		if json.Unmarshal(e.Data, &entry) != nil || entry.Experiment == "" {
			continue
		}
		if e.Kind == events.KindExperimentDispatched {
			b.commands[entry.Experiment] = entry.Command
		}
		if command := b.commands[entry.Experiment]; command != "" {
			switch e.Kind {
			case events.KindExperimentDispatched:
				b.dispatched[command] = e.Position
			case events.KindExperimentUnresolved:
				b.forgotten[command] = e.Position
			}
			switch e.Kind {
			case events.KindExperimentDispatched, events.KindExperimentStarted, events.KindExperimentMeasured,
				events.KindExperimentFailed, events.KindExperimentInfeasible, events.KindExperimentDeferred,
				events.KindExperimentCancelled, events.KindExperimentUnresolved, events.KindExperimentResolved:
				b.state[command] += " " + string(e.Kind)
			}
		}
	}
}

// about says what the log knows of a command, and whose fate nobody knew when it
// was handed out, nor does now.
func (b *book) about(command string) (dispatched, started bool, unresolved []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.catchUp()
	history := b.state[command]
	dispatched = strings.Contains(history, string(events.KindExperimentDispatched))
	started = strings.Contains(history, string(events.KindExperimentStarted))
	for other, history := range b.state {
		if strings.HasSuffix(history, string(events.KindExperimentUnresolved)) && b.forgotten[other] < b.dispatched[command] {
			unresolved = append(unresolved, other)
		}
	}
	return dispatched, started, unresolved
}

// holds reports whether a word is anywhere in the log's payloads.
func (b *book) holds(word string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.catchUp()
	return bytes.Contains(b.pages.Bytes(), []byte(word))
}

// errKilled is what a program hears of the log once it has been killed: it is
// never read.
var errKilled = errors.New("killed")

// fuse is the log as one life of the program sees it: after some appends the
// program is killed, before or after the last of them is on disk.
type fuse struct {
	*book
	mu     sync.Mutex
	left   int // appends until then; negative: never
	before bool
	killed bool
}

// Append implements [events.Log].
func (f *fuse) Append(
	ctx context.Context, campaign string, expected events.Sequence, batch ...events.Event,
) ([]events.Event, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.killed {
		return nil, errKilled
	}
	f.left--
	if f.left != 0 {
		return f.book.Append(ctx, campaign, expected, batch...)
	}
	f.killed = true
	if !f.before {
		f.book.Append(ctx, campaign, expected, batch...)
	}
	return nil, errKilled
}
