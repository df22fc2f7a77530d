//go:build unix

package lock

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/campaignd/campaignd/internal/tests/must"
)

func robot(campaign string, capacity int) Holder {
	return Holder{Device: "robot", Campaign: campaign, Store: "/lab/" + campaign, PID: 4711, User: "ada", Capacity: capacity}
}

// entered is a seat in the queue of the robot, or of its commands.
func entered(t *testing.T, enter func(string, Holder) (*Lease, error), dir string, h Holder) *Lease {
	t.Helper()
	l := must.Get(enter(dir, h))(t)
	t.Cleanup(l.Leave)
	return l
}

// Law: what is not a seat's file, whatever it is, names no holder; it is neither followed nor waited for.
func TestReadOfWhatIsNoSeat(t *testing.T) {
	dir := t.TempDir()
	text := must.Get(json.Marshal(robot("lfp", 1)))(t)
	write := func(text string) func(path string) error {
		return func(path string) error { return os.WriteFile(path, []byte(text), 0o600) }
	}
	sound := filepath.Join(dir, "sound")
	must.Do(t, write(string(text))(sound))
	for name, put := range map[string]func(path string) error{
		"missing":   func(string) error { return nil },
		"a folder":  func(path string) error { return os.Mkdir(path, 0o700) },
		"a link":    func(path string) error { return os.Symlink(sound, path) },
		"a pipe":    func(path string) error { return syscall.Mkfifo(path, 0o600) },
		"too large": write(string(text) + strings.Repeat(" ", mostText)),
		"empty":     write(""),
		"cut off":   write(string(text[:len(text)-1])),
		"no object": write(`"lfp"`),
	} {
		path := filepath.Join(dir, name)
		must.Do(t, put(path))
		if s := read(path, nil); s.Holder != (Holder{}) || s.path != path || s.Ticket != 0 || s.Waiting {
			t.Errorf("%s: %+v", name, s)
		}
	}
	if s := read(sound, nil); s.Holder != robot("lfp", 1) || s.path != sound {
		t.Errorf("a sound one: %+v", s)
	}
}

// Law: a queue that cannot be looked at is an error with a remedy for each who comes, waits or takes
// turns up, and nobody has the device by it; what its owners left stays.
func TestUnusableQueue(t *testing.T) {
	for name, file := range map[string]string{"the gate": ".gate", "a seat": ".7.lock"} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "locks")
			left := entered(t, EnterTurn, dir, robot("left", 1))
			must.Do(t, errors.Join(left.Try(), left.Begin("left/x/e1")))
			left.Leave()
			waiting := entered(t, Enter, dir, robot("a", 1))
			for _, key := range []string{"robot", turnOf("robot")} {
				path := filepath.Join(dir, queueOf(dir, key, robot("a", 1)).base+file)
				if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
					t.Fatal(err)
				}
				must.Do(t, os.Mkdir(path, 0o700))
			}
			_, entering := Enter(dir, robot("b", 1))
			_, turning := EnterTurn(dir, robot("b", 1))
			_, adopting := Adopt(dir, robot("b", 1), []string{"b/x/e1"})
			for _, err := range []error{waiting.Try(), entering, turning, adopting} {
				if err == nil || errors.As(err, new(*HeldError)) || !strings.Contains(err.Error(), Variable) {
					t.Errorf("it says %v", err)
				}
			}
			if !waiting.text.Waiting {
				t.Error("it has the device")
			}
			if name == "the gate" {
				Forget(dir, "left", "/lab/left", func(string) bool { return false })
				if s := read(left.path, nil); s.Command != "left/x/e1" {
					t.Errorf("what was left is %+v", s)
				}
			}
		})
	}
}

// Law: a seat that cannot be written is an error: neither has its lease the device, nor was a command
// noted. What is written is all that stands in the file, whatever stood there before.
func TestSeatIsWritten(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "locks")
	l := entered(t, Enter, dir, robot("lfp", 1))
	holds := func(command string, waiting bool) {
		t.Helper()
		text, err := os.ReadFile(l.path)
		var s seat
		if err = errors.Join(err, json.Unmarshal(text, &s)); err != nil || s.Command != command || s.Waiting != waiting {
			t.Errorf("%q, %v; want the command %q, waiting %t", text, err, command, waiting)
		}
	}
	holds("", true)
	readOnly := must.Get(os.Open(l.path))(t)
	own := l.file
	l.file = readOnly
	if err := l.Try(); err == nil {
		t.Error("a seat that was not written has the device")
	}
	if err := l.Begin("lfp/x/e1"); err == nil {
		t.Error("a command that was not written was noted")
	}
	l.written = time.Now().Add(-2 * touchAfter)
	if err := l.Check(); err == nil {
		t.Error("a seat that was to be written and was not is kept")
	}
	holds("", true)
	l.file = own
	must.Get(l.file.WriteAt([]byte(strings.Repeat("x", 2000)), 0))(t)
	if err := l.Try(); err != nil {
		t.Error(err)
	}
	holds("", false)
	if err := l.Begin("lfp/x/e1"); err != nil {
		t.Error(err)
	}
	holds("lfp/x/e1", false)
}

// Law: a seat is written again while it is kept, so that what removes old files finds none, and not
// each time that it is looked at.
func TestSeatStaysYoung(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "locks")
	l := entered(t, Enter, dir, robot("lfp", 1))
	for _, c := range []struct {
		ago     time.Duration
		written bool
	}{{touchAfter / 2, false}, {touchAfter + time.Minute, true}} {
		old := time.Now().Add(-10 * touchAfter)
		must.Do(t, os.Chtimes(l.path, old, old))
		l.written = time.Now().Add(-c.ago)
		must.Do(t, l.Check())
		info, err := os.Stat(l.path)
		if err != nil || (time.Since(info.ModTime()) < touchAfter) != c.written {
			t.Errorf("written %s ago: %v, %v", c.ago, info.ModTime(), err)
		}
	}
}

// Law: where a device is free, whoever has waited for it before is named, and not those who have it.
func TestWhoComesFirst(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "locks")
	must.Do(t, entered(t, Enter, dir, robot("a", 2)).Try())
	entered(t, Enter, dir, robot("b", 2))
	var held *HeldError
	err := entered(t, Enter, dir, robot("c", 2)).Try()
	if !errors.As(err, &held) || !held.Next || held.Holder.Campaign != "b" || held.More != 0 || held.Left != "" {
		t.Errorf("%+v", err)
	}
	err = entered(t, Enter, dir, robot("d", 1)).Try() // for which a has it
	if !errors.As(err, &held) || held.Next || held.Holder.Campaign != "a" || held.More != 2 {
		t.Errorf("%+v", err)
	}
}

// Law: a command that is over has no turn any more, as soon as that is said.
func TestReleasedTurn(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "locks")
	a, b := entered(t, EnterTurn, dir, robot("a", 1)), entered(t, EnterTurn, dir, robot("b", 1))
	must.Do(t, errors.Join(a.Try(), a.Begin("a/x/e1")))
	if err := b.Try(); !errors.As(err, new(*HeldError)) {
		t.Errorf("behind a command: %v", err)
	}
	a.Release()
	a.Release()
	if err := b.Try(); err != nil {
		t.Errorf("once it is over: %v", err)
	}
}

// Law: of the commands that are under way each has a turn of its own, in their order, also where
// none was left in the queue.
func TestAdoptGivesTurns(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "locks")
	waiting := entered(t, EnterTurn, dir, robot("b", 1))
	var commands []string
	for i := range 4 {
		commands = append(commands, fmt.Sprint("a/x/e", i))
	}
	turns, err := Adopt(dir, robot("a", 1), commands)
	if err != nil || len(turns) != len(commands) {
		t.Fatal(turns, err)
	}
	last := waiting.text.Ticket
	for _, command := range commands {
		l := turns[command]
		t.Cleanup(l.Release)
		if s := read(l.path, nil); s.Command != command || s.Waiting || s.Ticket != last+1 {
			t.Errorf("%s: %+v, after the ticket %d", command, s, last)
		}
		last++
	}
	var held *HeldError
	if err := waiting.Try(); !errors.As(err, &held) || held.More != len(commands)-1 || held.Holder.Command != commands[0] {
		t.Errorf("behind them: %v", err)
	}
}

// Law: a command that is under way keeps the turn that it has, whatever its campaign and its store are
// called by now.
func TestAdoptAfterAMove(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "locks")
	before := entered(t, EnterTurn, dir, robot("a", 1))
	must.Do(t, errors.Join(before.Try(), before.Begin("a/x/e1")))
	ticket := before.text.Ticket
	before.Leave()
	moved := robot("a", 1)
	moved.Store = "/elsewhere/a"
	turns, err := Adopt(dir, moved, []string{"a/x/e1"})
	if err != nil || len(turns) != 1 {
		t.Fatal(turns, err)
	}
	l := turns["a/x/e1"]
	t.Cleanup(l.Release)
	s := read(l.path, nil)
	if l.path != before.path || s.Ticket != ticket || s.Store != moved.Store || s.Command != "a/x/e1" {
		t.Errorf("it has %+v, and had the ticket %d in %s", s, ticket, before.path)
	}
}

// Law: the folder of locks is made for all users of the machine, whatever the umask, none of whom may
// remove another's files; one that is there is left as it is.
func TestFolderIsShared(t *testing.T) {
	defer syscall.Umask(syscall.Umask(0o077))
	dir := filepath.Join(t.TempDir(), "locks")
	for _, mode := range []fs.FileMode{0o777 | os.ModeSticky, 0o750} {
		entered(t, Enter, dir, robot("a", 1))
		info, err := os.Stat(dir)
		if err != nil || info.Mode()&(fs.ModePerm|os.ModeSticky) != mode {
			t.Errorf("its mode is %v, %v; want %v", info.Mode(), err, mode)
		}
		must.Do(t, os.Chmod(dir, 0o750))
	}
}

// Law: a campaign forgets the turns that its processes left for commands that it does not keep, and
// none of another campaign's, of another store's or of a process that is alive.
func TestForget(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "locks")
	seats := make(map[string]*Lease)
	for _, c := range []struct{ command, campaign, store string }{
		{"kept", "a", "/lab/a"}, {"over", "a", "/lab/a"}, {"alive", "a", "/lab/a"},
		{"of another campaign", "b", "/lab/a"}, {"of another store", "a", "/lab/b"},
	} {
		h := robot(c.campaign, 9)
		h.Store = c.store
		l := entered(t, EnterTurn, dir, h)
		must.Do(t, errors.Join(l.Try(), l.Begin(c.command)))
		seats[c.command] = l
	}
	for command, l := range seats {
		if command != "alive" {
			l.Leave()
		}
	}
	Forget(dir, "a", "/lab/a", func(command string) bool { return command == "kept" })
	for command, l := range seats {
		want := command
		if command == "over" {
			want = ""
		}
		if s := read(l.path, nil); s.Command != want {
			t.Errorf("%s: %+v", command, s)
		}
	}
	Forget(filepath.Join(dir, "nowhere"), "a", "/lab/a", func(string) bool { return false })
}
