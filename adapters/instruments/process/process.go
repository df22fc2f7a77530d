// Package process makes an instrument of any program that speaks JSON Lines on
// its standard input and output. The protocol is described in
// docs/process-instrument.md; adapters/instruments/sdk serves it in Go and
// examples/instrument.py and examples/durable_instrument.py in Python.
//
// # What the adapter guarantees
//
//   - A command is sent to a program at most once, unless the program itself
//     said afterwards that it never started it.
//   - A program that dies is started again when it is next needed, with growing
//     pauses. It is then asked, by ID, about each command that was under way; if
//     it cannot answer, the fate of that command is unknown.
//   - The first outcome of a command stands for the life of the adapter. Every
//     further one is dropped and reported.
//   - What a program writes and the adapter does not understand is logged and
//     otherwise ignored. It never becomes a number.
//   - A program runs in a process group of its own: Ctrl-C in campaignd's
//     terminal does not reach it. However campaignd ends, the program's input
//     ends with it.
package process

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/campaignd/campaignd/adapters/instruments"
	"github.com/campaignd/campaignd/adapters/instruments/internal/wire"
	"github.com/campaignd/campaignd/adapters/internal/program"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/events/filestore"
)

// DefaultReplyWithin is how long a program may take to answer anything but
// await, where the campaign does not say.
const DefaultReplyWithin = 10 * time.Second

// ErrClosed is returned by the methods of an instrument that was closed.
var ErrClosed = errors.New("the instrument is closed")

// Instrument is a program behind the contract of package instruments. It also implements
// [instruments.Recoverer], [instruments.Voider], [instruments.Keeper], [instruments.Confirmer],
// [instruments.Safer], [instruments.Ender], [instruments.Killer], [instruments.Holder], [instruments.Redeliverer],
// [instruments.Watched] and io.Closer.
//
// Its mutex and that of a peer are never held together.
type Instrument struct {
	host      program.Host
	greeting  wire.Request
	together  string          // the stage that is done for several experiments, or ""
	record    record          // of KeepRecord, or nil
	files     filestore.Files // of KeepFiles, or nil
	recording sync.Mutex      // of the record
	reported  sync.Once       // about earlier instances

	// life bounds work for a command rather than for a caller.
	life   context.Context // ends with Close
	end    context.CancelFunc
	closed chan struct{} // closed when Close has done its work
	wg     sync.WaitGroup

	mu        sync.Mutex
	closing   bool
	commands  map[string]*command
	late      chan instruments.Command // confirmed when no one waited any more
	peer      *peer                    // in working order, or nil
	launch    *launch                  // under way, or nil
	shortRuns int                      // runs in a row that ended early
	lastExit  time.Time
	described *instruments.Description // by the program's first run
	shown     *instruments.Description // to the latest caller; nil before
	voids     bool                     // of the latest run
	keeps     bool                     // of the latest run
	signs     bool                     // of the latest run
	batches   bool                     // of the latest run
	secures   bool                     // of the latest run
	watch     instruments.Watch        // but Left
	left      *peer                    // by Close, still at work; or nil
}

// New returns the instrument that cfg describes, for the campaign def. A relative program path with
// a slash and a relative cfg.Dir are taken from baseDir, the folder of the campaign file. The
// program is looked up now and started when it is first needed.
//
// Troubles that are not the error of a call, and the program's standard error, go to logf, line by
// line. logf may be called from several goroutines and must not block. A nil logf drops them.
func New(
	cfg Settings, def definition.Campaign, baseDir string, logf func(format string, args ...any),
) (*Instrument, error) {
	host, err := program.NewHost(definition.Program(cfg), baseDir, DefaultReplyWithin, logf)
	if err != nil {
		return nil, fmt.Errorf("process instrument: %w", err)
	}
	life, end := context.WithCancel(context.Background())
	sought := def.Sought()
	together := ""
	if stage := def.Together(); stage != nil {
		together = stage.Name
	}
	return &Instrument{
		together: together,
		host:     host,
		greeting: wire.Request{
			Op: wire.OpHandshake, Protocol: wire.Version, Campaign: def.Name,
			Parameters: def.Parameters, Objective: &sought, Quantities: def.Quantities, Settings: cfg.Settings,
		},
		life:     life,
		end:      end,
		closed:   make(chan struct{}),
		commands: make(map[string]*command),
		late:     make(chan instruments.Command, maxLate),
	}, nil
}

// Close ends the program's input and waits for the program to end. If it does not, it gets SIGTERM
// and then SIGKILL, with its whole process group. The exception is a program that declared that it
// finishes its work by itself, while experiments are under way: it is left to do so, and the next
// run of campaignd asks for the results. Close may be called more than once. Its order: nothing new
// is begun, the program is ended, and only then does Close wait for the instrument's goroutines,
// since some of them wait for the program's answer.
func (i *Instrument) Close() error {
	i.mu.Lock()
	first := !i.closing
	i.closing = true
	p := i.peer
	var open []string
	for _, id := range slices.Sorted(maps.Keys(i.commands)) {
		if i.commands[id].underWay() {
			open = append(open, id)
		}
	}
	i.mu.Unlock()
	if !first {
		<-i.closed
		return nil
	}
	i.end()
	defer close(i.closed)
	if p != nil {
		p.shutdown(open)
	}
	i.wg.Wait()
	if i.files != nil {
		return i.files.Close()
	}
	return nil
}

var (
	_ instruments.Instrument  = (*Instrument)(nil)
	_ instruments.Recoverer   = (*Instrument)(nil)
	_ instruments.Confirmer   = (*Instrument)(nil)
	_ instruments.Ender       = (*Instrument)(nil)
	_ instruments.Voider      = (*Instrument)(nil)
	_ instruments.Keeper      = (*Instrument)(nil)
	_ instruments.Batcher     = (*Instrument)(nil)
	_ instruments.Safer       = (*Instrument)(nil)
	_ instruments.Killer      = (*Instrument)(nil)
	_ instruments.Holder      = (*Instrument)(nil)
	_ instruments.Redeliverer = (*Instrument)(nil)
	_ instruments.Watched     = (*Instrument)(nil)
)
