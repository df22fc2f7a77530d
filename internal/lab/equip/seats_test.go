//go:build unix

package equip

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/campaignd/campaignd/adapters/instruments"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/ground/lock"
	"github.com/campaignd/campaignd/internal/ground/problem"
	"github.com/campaignd/campaignd/internal/lab/devices"
	"github.com/campaignd/campaignd/internal/lab/lablog"
	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/internal/tests/pgtest"
)

// takeVariable has this program try to take a device in the queue at an address, none for
// empty, say how that went, and end.
const takeVariable = "CAMPAIGND_TEST_TAKE"

func TestMain(m *testing.M) {
	if at, asked := os.LookupEnv(takeVariable); asked {
		os.Stdout.WriteString(takeThere(at))
		return
	}
	os.Exit(m.Run())
}

var line = instruments.Description{Name: "line", Identity: "serial 7", Capacity: 1}

// takeThere takes the device as a campaign of a lab, or as a check.
func takeThere(at string) string {
	e := &Equipment{}
	err := error(nil)
	if at == "" {
		_, err = TakeDevice(line, "check.yaml", func(string, ...any) {})
	} else {
		queue, closeIt, failed := queueAt(at)
		if failed != nil {
			return failed.Error()
		}
		defer closeIt()
		e.Devices = queue.Store("a").Campaign("a")
		_, err = e.Lease("", line, "a", "")
		defer e.Close()
	}
	var refused *problem.Error
	if errors.As(err, &refused) {
		return refused.Error() + " → " + refused.Remedies[0].Text
	}
	if err != nil {
		return err.Error()
	}
	return "taken"
}

func queueAt(address string) (*devices.Queue, func(), error) {
	log, err := lablog.Open(address, lablog.Options{})
	if err != nil {
		return nil, nil, err
	}
	queue := devices.New(log, devices.Options{})
	return queue, func() { queue.Close(); _ = log.Close() }, nil
}

// Law: a program that sees another folder of locks than the machine's drives nothing real, and says
// how that is put right; but in a lab whose queue is that of several machines.
func TestHiddenFolder(t *testing.T) {
	self := must.Get(os.Executable())(t)
	private := fmt.Sprintf("/tmp/systemd-private-test-%d", os.Getpid())
	must.Do(t, os.MkdirAll(filepath.Join(private, "tmp"), 0o700))
	t.Cleanup(func() { _ = os.RemoveAll(private) })
	in := func(at, locks string) string {
		script := "exec 9<" + self + " && mount --bind " + private + "/tmp /tmp && exec /proc/self/fd/9"
		cmd := exec.Command("unshare", "--mount", "sh", "-c", script)
		cmd.Env = append(os.Environ(), takeVariable+"="+at, lock.Variable+"="+locks)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Skipf("a mount namespace is not permitted here: %v: %s", err, out)
		}
		return string(out)
	}
	const hidden = "/tmp/campaignd-locks"
	if said := in("", hidden); !strings.Contains(said, "serial 7 is not driven") || !strings.Contains(said, "PrivateTmp") ||
		!strings.Contains(said, lock.Variable) {
		t.Errorf("without a lab: %s", said)
	}
	folder := filepath.Join("/run", filepath.Base(private)) // outside of what is private
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	if said := in(lablog.Dir(folder), hidden); !strings.Contains(said, "serial 7 is not driven") {
		t.Errorf("in the lab of a folder: %s", said)
	}
	if said := in(lablog.Address(pgtest.URL(t)), hidden); said != "taken" {
		t.Errorf("in the lab of a database: %s", said)
	}
	// In a folder that both see they meet.
	t.Setenv(lock.Variable, folder)
	release := must.Get(TakeDevice(line, "outside.yaml", t.Logf))(t)
	if said := in("", folder); !strings.Contains(said, "is driven by an instrument check (process") {
		t.Errorf("while another program has it: %s", said)
	}
	release()
	if said := in("", folder); said != "taken" {
		t.Errorf("when it is given back: %s", said)
	}
}

// Law: a device is had by one campaign of a lab, on whichever machine, and each says who has it;
// when it is given back it is the next one's.
func TestTwoMachines(t *testing.T) {
	database := pgtest.URL(t)
	machine := func(name string) (*Equipment, string) {
		queue, closeIt := must.Get2(queueAt(lablog.Address(database + "&application_name=" + name)))(t)
		t.Cleanup(closeIt)
		return &Equipment{Devices: queue.Store(name).Campaign(name), Place: new(Place)}, t.TempDir()
	}
	first, locks := machine("first")
	t.Setenv(lock.Variable, locks)
	lease := must.Get(first.Lease("", line, "first", ""))(t)
	second, locks := machine("second")
	t.Setenv(lock.Variable, locks) // another machine
	place := second.Place
	var held *lock.HeldError
	if _, err := second.Lease("", line, "second", ""); !errors.As(err, &held) || !strings.Contains(err.Error(), "the campaign first (process") {
		t.Fatalf("both have it: %v", err)
	}
	// What it is at work on keeps it, when the lease is given back.
	ticket := must.Get(lease.Tickets().Wait(t.Context(), "first/e1", func(string) {}))(t)
	must.Do(t, ticket.Begin("first/e1"))
	lease.Release()
	waiting, cancel := context.WithCancelCause(t.Context())
	still := errors.New("it still waits")
	if err := place.Wait(waiting, func(err error) {
		if errors.As(err, &held) && held.Holder.Command == "first/e1" {
			cancel(still)
		}
	}); !errors.Is(err, still) {
		t.Fatalf("it is at work on first/e1: %v", err)
	}
	ticket.End()
	must.Do(t, place.Wait(t.Context(), func(error) {}))
	if _, err := second.Lease("", line, "second", ""); err != nil {
		t.Error(err)
	}
	if err := errors.Join(first.Close(), second.Close()); err != nil {
		t.Error(err)
	}
}

// Law: a turn of a lab on several machines leaves no command in a file of this one when its
// process ends: the campaign may go on elsewhere, and no process would ever take that up. The
// lab's ticket stays. A lab of this machine alone leaves both.
func TestTurnsPass(t *testing.T) {
	for place, left := range map[string]bool{lablog.Dir(t.TempDir()): true, lablog.Address(pgtest.URL(t)): false} {
		locks := t.TempDir()
		t.Setenv(lock.Variable, locks)
		queue, closeIt := must.Get2(queueAt(place))(t)
		t.Cleanup(closeIt)
		holder := lock.Holder{Device: "serial 7", Campaign: "a", Store: "a", Capacity: 2}
		campaign := queue.Store("a").Campaign("a")
		taken := must.Get(new(Place).take(holder, campaign))(t)
		d := &device{lease: taken, holder: holder, queue: campaign, works: 1}
		ticket, err := d.Wait(t.Context(), "a/e1", func(string) {})
		if err == nil {
			err = ticket.Begin("a/e1")
		}
		if err != nil {
			t.Fatal(err)
		}
		d.close()
		turn, err := lock.EnterTurn(locks, lock.Holder{Device: "serial 7", Campaign: "of another lab", Capacity: 1})
		if err != nil {
			t.Fatal(err)
		}
		if err := turn.Try(); isHeld(err) != left {
			t.Errorf("%s: %v", place, err)
		}
		turn.Release()
		next := queue.Store("b").Campaign("b").Enter("serial 7", 1, "b/e1")
		if err := next.Try(); !isHeld(err) {
			t.Errorf("%s: the lab's ticket is gone: %v", place, err)
		}
		next.Release()
	}
}

// Law: a lab's log that does not answer for now is waited for, and is not a reason to lose a device.
func TestAwayIsWaitedFor(t *testing.T) {
	s := &away{left: 3}
	said := 0
	if err := await(t.Context(), s, nil, func(error) { said++ }); err != nil || said != 1 {
		t.Errorf("%v, told of %d times", err, said)
	}
	s = &away{left: 1, err: errors.New("the folder is gone")}
	if err := await(t.Context(), s, nil, func(error) {}); !errors.Is(err, s.err) {
		t.Errorf("what does not pass: %v", err)
	}
}

// away is a seat whose queue does not answer for so many times.
type away struct {
	seats
	left int
	err  error
}

func (a *away) Try() error {
	if a.left--; a.left < 0 {
		return nil
	}
	if a.err != nil {
		return a.err
	}
	return problem.New(problem.Unavailable, "the database of the lab's log does not answer: %w", events.ErrStopped)
}
