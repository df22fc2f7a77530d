package program

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"time"

	"github.com/campaignd/campaignd/internal/ground/plaintext"
)

// Run is one run of a program. After its end it stays as it is: the next run is
// another one.
type Run struct {
	Cmd       *exec.Cmd
	StartedAt time.Time
	Exited    chan struct{} // closed when the program has ended and its output was read
	ExitErr   error         // why; set before Exited is closed
	Ended     chan struct{} // closed when the program has ended, also if it was detached
	Detached  chan struct{} // closed, by a caller, when it is left to finish on its own

	host    *Host
	stdin   *os.File
	stdout  *os.File
	stderr  *os.File
	writing chan struct{} // holds a token: one line is written at a time

	mu       sync.Mutex
	stopping bool // its end is expected: no failure
	killed   bool // by a conformance suite

	stderrTail string // last line of standard error; of the goroutine that reads it
}

var (
	// ErrExited is wrapped by the error of a request whose program ended before
	// the answer.
	ErrExited = errors.New("the program ended")
	// ErrNotAsked is wrapped by the error of a request that was never written.
	ErrNotAsked = errors.New("nothing was sent")
)

// Listener hears a run's output, from one goroutine, in order. It must not block: the whole output
// comes through it.
type Listener interface {
	// Line is a line of standard output, whose bytes are valid during the call;
	// Long one that is longer than [MaxLine].
	Line([]byte)
	Long(Oversized)
	// Ending is called when the program has ended and its output was read, before
	// Exited is closed, and Over after it.
	Ending()
	Over()
}

// Start starts the program, with pipes of our own: unlike those of exec.Cmd
// they allow deadlines, and Wait does not close them before all is read. The
// child's ends are closed here once it has them: a pipe ends only when no one
// holds its other end any more. [Run.Supervise] has to follow.
func (h *Host) Start() (*Run, error) {
	cmd := exec.Command(h.Argv[0], h.Argv[1:]...)
	cmd.Dir = h.Dir
	cmd.Env = h.Env
	ownGroup(cmd)
	var files []*os.File // ours, then the child's
	defer func() {
		for _, f := range files {
			f.Close()
		}
	}()
	pipe := func() (r, w *os.File, err error) {
		if r, w, err = os.Pipe(); err == nil {
			files = append(files, r, w)
		}
		return r, w, err
	}
	inR, inW, err := pipe()
	if err != nil {
		return nil, err
	}
	outR, outW, err := pipe()
	if err != nil {
		return nil, err
	}
	errR, errW, err := pipe()
	if err != nil {
		return nil, err
	}
	cmd.Stdin = inR
	cmd.Stdout = outW
	cmd.Stderr = errW
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("cannot start %s: %w", h.Argv[0], err)
	}
	files = []*os.File{inR, outW, errW}
	r := &Run{
		Cmd: cmd, StartedAt: time.Now(),
		Exited: make(chan struct{}), Ended: make(chan struct{}), Detached: make(chan struct{}),
		host: h, stdin: inW, stdout: outR, stderr: errR, writing: make(chan struct{}, 1),
	}
	// A channel as a lock, so that waiting for it can end with a context or
	// with the program.
	r.writing <- struct{}{}
	return r, nil
}

// Supervise reads the program's output until it has ended. It owns all goroutines of the run but
// the one that reaps a detached program.
//
// Its order at the end: the program has ended, its helpers are killed, its output is read to the
// end or for as long as Drain, and only then the listener hears of the end. A result that was
// written just before it is not lost. Closing the pipes ends the two readers where a helper still
// holds the other end.
func (r *Run) Supervise(l Listener) {
	var reading sync.WaitGroup
	reading.Go(func() { EachLine(r.stdout, l.Line, l.Long) })
	reading.Go(func() {
		EachLine(r.stderr, r.logStderr, func(o Oversized) {
			r.host.Logf("%s: a line of %d bytes on standard error begins: %s",
				r.host.Name(), o.Length, Clip(o.Head))
		})
	})
	ended := make(chan error, 1)
	go func() { // reaps the program even if it is detached
		ended <- r.Cmd.Wait()
		close(r.Ended)
	}()

	var err error
	select {
	case err = <-ended:
		// Its helpers must not hold its devices or its output any longer.
		kill(r.Cmd)
	case <-r.Detached:
	}
	// What it wrote before its end counts, but a surviving helper process must
	// not keep us waiting for more.
	drained := make(chan struct{})
	go func() { reading.Wait(); close(drained) }()
	select {
	case <-drained:
	case <-r.Detached:
	case <-time.After(r.host.Drain):
	}
	r.stdout.Close()
	r.stderr.Close()
	<-drained
	r.stdin.Close()
	if err == nil {
		err = errors.New("exit status 0")
	}
	r.ExitErr = fmt.Errorf("%w (%w)", ErrExited, err)
	if r.stderrTail != "" {
		r.ExitErr = fmt.Errorf("%w; the last line on standard error: %s", r.ExitErr, r.stderrTail)
	}
	l.Ending()
	close(r.Exited)
	l.Over()
}

// logStderr logs a line that the program wrote to its standard error. The last
// line is kept, for it is mostly why a program ended.
func (r *Run) logStderr(line []byte) {
	line = bytes.TrimRight(line, "\r")
	if len(bytes.TrimSpace(line)) > 0 {
		r.stderrTail = Clip(line)
	}
	r.host.Logf("%s: %s", r.host.Name(), plaintext.Recorded(string(line), 10_000))
}

// Write writes the line that encode returns, one line at a time, or an error
// that wraps [ErrNotAsked]: then nothing was written. op names it in messages.
//
// A program that does not read fills the pipe. After part of a line nothing
// more can be sent, so the program is killed: its end says so to who waits.
func (r *Run) Write(ctx context.Context, op string, encode func() ([]byte, error)) error {
	select {
	case <-r.writing:
		defer func() { r.writing <- struct{}{} }()
	case <-r.Exited:
		return fmt.Errorf("%w: %w", ErrNotAsked, r.ExitErr)
	case <-ctx.Done():
		return fmt.Errorf("%w: %w", ErrNotAsked, ctx.Err())
	}
	line, err := encode()
	if err != nil {
		return fmt.Errorf("%w: %w", ErrNotAsked, err)
	}
	_ = r.stdin.SetWriteDeadline(time.Now().Add(r.host.ReplyWithin))
	if _, err := r.stdin.Write(append(line, '\n')); err != nil {
		r.host.Logf("%s: cannot write the request %q (%v): the program is ended", r.host.Name(), op, err)
		kill(r.Cmd)
	}
	return nil
}

// Kill ends the program and its helpers at once.
func (r *Run) Kill() { kill(r.Cmd) }

// KillFor is Kill by a conformance suite, whose end does not count as a failure of the program.
// severed cuts the pipes first, so that its last output is lost, as with a machine that loses its
// power.
func (r *Run) KillFor(severed bool) {
	r.mu.Lock()
	r.killed = true
	r.mu.Unlock()
	if severed {
		r.stdin.Close()
		r.stdout.Close()
	}
	kill(r.Cmd)
}

// Hold stops the program and its helpers where they stand, for a conformance
// suite; release lets them go on.
func (r *Run) Hold() (release func(), err error) { return hold(r.Cmd) }

// Expect says that the program is about to end as it should.
func (r *Run) Expect() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stopping = true
}

// Expected reports whether its end was expected, and whether it was killed by a
// suite.
func (r *Run) Expected() (expected, killed bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.stopping, r.killed
}

// EndInput ends the program's input, and reports whether it ended with it within
// a time. The end of input comes first because a program may have a
// device to park.
func (r *Run) EndInput(within time.Duration) bool {
	r.Expect()
	r.stdin.Close()
	return r.exitedWithin(within)
}

// Terminate ends the program by SIGTERM, and by SIGKILL after the grace period.
func (r *Run) Terminate() {
	terminate(r.Cmd)
	if !r.exitedWithin(r.host.Grace) {
		kill(r.Cmd)
		<-r.Exited
	}
}

// exitedWithin reports whether the program ends within a time.
func (r *Run) exitedWithin(d time.Duration) bool {
	limit := time.NewTimer(d)
	defer limit.Stop()
	select {
	case <-r.Exited:
		return true
	case <-limit.C:
		return false
	}
}
