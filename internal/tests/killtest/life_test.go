//go:build unix

package killtest

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/engine/control"
	"github.com/campaignd/campaignd/internal/ground/lock"
	"github.com/campaignd/campaignd/internal/tests/must"
)

// command is campaignd with the given arguments.
func (c *campaignRun) command(args ...string) *exec.Cmd {
	cmd := exec.Command(c.binary, args...)
	cmd.Dir = c.dir
	cmd.Env = append(os.Environ(), "TMPDIR="+filepath.Join(c.dir, "tmp"), lock.Variable+"="+filepath.Join(c.dir, "locks"),
		"XDG_STATE_HOME="+filepath.Join(c.dir, "state"))
	return cmd
}

// life is one process of `campaignd run`, from its start to its end, with
// somebody who watches it from outside.
type life struct {
	cmd            *exec.Cmd
	stdout, stderr *os.File
	exited         chan struct{} // closed when the process has ended

	stop     context.CancelFunc
	watching sync.WaitGroup

	// unseated: the instrument was killed before it had said what it is.
	unseated bool

	mu     sync.Mutex
	seen   []events.Event // by the follower, in the order in which they arrived
	alarms map[int]chan time.Time
}

func (c *campaignRun) start(t *testing.T) *life {
	t.Helper()
	l := &life{cmd: c.command("run", c.file, "--store", c.store, "--json"), exited: make(chan struct{}), alarms: make(map[int]chan time.Time)}
	// Files, not pipes: nothing is lost with the reader, and nobody who has
	// inherited them is waited for.
	for _, f := range []**os.File{&l.stdout, &l.stderr} {
		var err error
		if *f, err = os.CreateTemp(c.dir, "output"); err != nil {
			t.Fatal(err)
		}
	}
	l.cmd.Stdout, l.cmd.Stderr = l.stdout, l.stderr
	must.Do(t, l.cmd.Start())
	go func() {
		_ = l.cmd.Wait()
		close(l.exited)
	}()
	ctx, stop := context.WithCancel(t.Context())
	l.stop = stop
	l.watching.Go(func() { l.follow(ctx, c.store) })
	return l
}

// follow reads the log through the program's socket, as a dashboard would.
// What it sees was acknowledged.
func (l *life) follow(ctx context.Context, store string) {
	for ; ctx.Err() == nil; time.Sleep(2 * time.Millisecond) {
		select {
		case <-l.exited:
			return
		default:
		}
		client, err := control.Dial(ctx, store)
		if err != nil {
			continue // not up yet
		}
		for e, err := range client.Follow(ctx, 0) {
			if err != nil {
				break
			}
			l.mu.Lock()
			l.seen = append(l.seen, e)
			l.ring()
			l.mu.Unlock()
		}
		_ = client.Close()
		return
	}
}

// at returns a channel that has something at the moment, or never.
func (l *life) at(m moment) <-chan time.Time {
	if m.event == 0 {
		return time.After(m.after)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.alarms[m.event] = make(chan time.Time, 1)
	alarm := l.alarms[m.event]
	l.ring()
	return alarm
}

// ring sets off the alarms that are due. The caller holds l.mu.
func (l *life) ring() {
	for n, alarm := range l.alarms {
		if len(l.seen) >= n {
			alarm <- time.Now()
			delete(l.alarms, n)
		}
	}
}

// kill ends the process with SIGKILL. It returns false if it had ended by
// itself.
func (l *life) kill() bool {
	_ = l.cmd.Process.Kill()
	<-l.exited
	status, ok := l.cmd.ProcessState.Sys().(syscall.WaitStatus)
	return ok && status.Signaled() && status.Signal() == syscall.SIGKILL
}

// end leaves nothing of a life behind.
func (l *life) end() {
	l.kill()
	l.stop()
	l.watching.Wait()
	l.stdout.Close()
	l.stderr.Close()
}

// witnessed returns what the follower saw in a life that has ended.
func (l *life) witnessed() []events.Event {
	l.stop()
	l.watching.Wait()
	return l.seen
}

// phase is the newest event that the follower knows of.
func (l *life) phase() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.seen) == 0 {
		return startUp
	}
	return string(l.seen[len(l.seen)-1].Kind)
}

func (l *life) unresolved() []openQuestion {
	l.mu.Lock()
	defer l.mu.Unlock()
	return unresolved(l.seen)
}

// words is what the program said to people, answer what it said to programs.
func (l *life) words() string  { return content(l.stderr) }
func (l *life) answer() string { return content(l.stdout) }

func content(f *os.File) string {
	text, err := os.ReadFile(f.Name())
	if err != nil {
		return err.Error()
	}
	return strings.TrimSpace(string(text))
}
