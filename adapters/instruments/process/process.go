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
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/campaignd/campaignd/adapters/instruments"
	"github.com/campaignd/campaignd/adapters/instruments/internal/wire"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/events/filestore"
)

// DefaultReplyWithin is how long a program may take to answer anything but
// await, where the campaign does not say.
const DefaultReplyWithin = 10 * time.Second

// ErrClosed is returned by the methods of an instrument that was closed.
var ErrClosed = errors.New("the instrument is closed")

// Instrument is a program behind the contract of package instruments. It also
// implements [instruments.Recoverer], [instruments.Killer],
// [instruments.Redeliverer], [instruments.Watched] and io.Closer.
//
// Its mutex and that of a peer are never held together.
type Instrument struct {
	argv        []string // argv[0] is absolute, or was found in PATH
	dir         string
	env         []string
	replyWithin time.Duration
	greeting    wire.Request
	logf        func(format string, args ...any)
	pauses      pauses
	record      string           // the file of KeepRecord, or empty
	files       *filestore.Store // of KeepFiles, or nil
	recording   sync.Mutex       // of the file
	reported    sync.Once        // about earlier instances

	// life bounds what is done for a command rather than for a caller.
	life   context.Context // ends with Close
	end    context.CancelFunc
	closed chan struct{} // closed when Close has done its work
	wg     sync.WaitGroup

	mu        sync.Mutex
	closing   bool
	commands  map[string]*command
	peer      *peer   // in working order, or nil
	launch    *launch // under way, or nil
	shortRuns int     // runs in a row that ended early
	lastExit  time.Time
	described *instruments.Description // by the program's first run
	shown     *instruments.Description // to the latest caller; nil before
	watch     instruments.Watch        // but Left
	left      *peer                    // by Close, still at work; or nil
}

// pauses are the adapter's own times. Tests shorten them. Other than
// reply_within they are no setting: they say how patient the adapter is with a
// broken program, which no campaign depends on.
type pauses struct {
	first, longest time.Duration // between an exit and the next start
	healthy        time.Duration // a run longer than this was no failure to start
	drain          time.Duration // for the rest of an ended program's output
	gracePeriod    time.Duration // between the end of input, SIGTERM and SIGKILL
}

var defaultPauses = pauses{
	first:       200 * time.Millisecond,
	longest:     30 * time.Second,
	healthy:     time.Minute,
	drain:       2 * time.Second,
	gracePeriod: 5 * time.Second,
}

// New returns the instrument that cfg describes, for the campaign def. A
// relative program path with a slash and a relative cfg.Dir are taken from
// baseDir, the folder of the campaign file. The program is looked up now and
// started when it is first needed.
//
// Troubles that are no call's error, and what the program writes to its
// standard error, go to logf, line by line. logf may be called from several
// goroutines and must not block. A nil logf drops them.
func New(
	cfg Settings, def definition.Campaign, baseDir string, logf func(format string, args ...any),
) (*Instrument, error) {
	if len(cfg.Command) == 0 || cfg.Command[0] == "" {
		return nil, errors.New("process instrument: command is empty: name the program and its arguments")
	}
	baseDir, err := filepath.Abs(baseDir)
	if err != nil {
		return nil, fmt.Errorf("process instrument: %w", err)
	}
	dir := baseDir
	if cfg.Dir != "" {
		dir = within(baseDir, cfg.Dir)
	}
	if info, err := os.Stat(dir); err != nil {
		return nil, fmt.Errorf("process instrument: working directory: %w", err)
	} else if !info.IsDir() {
		return nil, fmt.Errorf("process instrument: working directory %s is not a directory", dir)
	}
	program := cfg.Command[0]
	if strings.ContainsRune(program, '/') || strings.ContainsRune(program, filepath.Separator) {
		program = within(baseDir, program)
	}
	if program, err = exec.LookPath(program); err != nil {
		return nil, fmt.Errorf("process instrument: "+
			"program %q cannot be run (a path is taken from %s, a bare name from PATH): %w",
			cfg.Command[0], baseDir, err)
	}
	env, missing := environment(os.Environ(), cfg)
	replyWithin := time.Duration(cfg.ReplyWithin)
	if replyWithin <= 0 {
		replyWithin = DefaultReplyWithin
	}
	if logf == nil {
		logf = func(string, ...any) {}
	}
	for _, name := range missing {
		logf("%s gets no %s, which the campaign file names under environment: it is not set here",
			filepath.Base(program), name)
	}
	life, end := context.WithCancel(context.Background())
	sought := def.Sought()
	return &Instrument{
		argv:        append([]string{program}, cfg.Command[1:]...),
		dir:         dir,
		env:         env,
		replyWithin: replyWithin,
		greeting: wire.Request{
			Op: wire.OpHandshake, Protocol: wire.Version, Campaign: def.Name,
			Parameters: def.Parameters, Objective: &sought, Quantities: def.Quantities, Settings: cfg.Settings,
		},
		logf:     logf,
		pauses:   defaultPauses,
		life:     life,
		end:      end,
		closed:   make(chan struct{}),
		commands: make(map[string]*command),
	}, nil
}

// within is a path that is relative to a folder.
func within(base, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(base, path)
}

// program names the program in messages.
func (i *Instrument) program() string { return filepath.Base(i.argv[0]) }

// Close ends the program's input and waits for the program to end. If it does
// not, it gets SIGTERM and then SIGKILL, with its whole process group. The
// exception is a program that declared that it finishes its work by itself,
// while experiments are under way: it is left to do so, and the next run of
// campaignd asks for the results. Close may be called more than once. Its
// order: nothing new is begun, the program is ended, and only then are the
// instrument's goroutines waited for, some of which wait for the program's
// answer.
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
	return nil
}

var (
	_ instruments.Instrument  = (*Instrument)(nil)
	_ instruments.Recoverer   = (*Instrument)(nil)
	_ instruments.Killer      = (*Instrument)(nil)
	_ instruments.Redeliverer = (*Instrument)(nil)
	_ instruments.Watched     = (*Instrument)(nil)
)
