package lock_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/campaignd/campaignd/internal/ground/lock"
	"github.com/campaignd/campaignd/internal/tests/must"
)

// one is a holder of the device robot, for so many at a time.
func one(campaign string, capacity int) lock.Holder {
	h := holder("robot")
	h.Campaign, h.Capacity = campaign, capacity
	return h
}

func enter(t *testing.T, dir, campaign string, capacity int) *lock.Lease {
	t.Helper()
	return must.Get(lock.Enter(dir, one(campaign, capacity)))(t)
}

// has reports whether the device is the lease's.
func has(t *testing.T, l *lock.Lease) bool {
	t.Helper()
	err := l.Try()
	if err != nil && !errors.As(err, new(*lock.HeldError)) {
		t.Fatal(err)
	}
	return err == nil
}

// Law: those who wait get the device in the order in which they came, whoever asks how
// often, and who gives up is not waited for. Who has it keeps it while others ask.
func TestFirstComeFirstServed(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "locks")
	random := rand.New(rand.NewPCG(1, 2))
	var waiting []*lock.Lease
	for i := range 6 {
		waiting = append(waiting, enter(t, dir, fmt.Sprint("c", i), 1))
	}
	waiting[3].Release()
	waiting = slices.Delete(waiting, 3, 4)
	for len(waiting) > 0 {
		if !has(t, waiting[0]) {
			t.Fatalf("the first of %d does not get it: %v", len(waiting), waiting[0].Try())
		}
		for range 20 {
			if i := random.IntN(len(waiting)); has(t, waiting[i]) != (i == 0) {
				t.Fatalf("number %d of %d: %v", i, len(waiting), waiting[i].Try())
			}
		}
		waiting[0].Release()
		waiting = waiting[1:]
		if len(waiting) > 1 && has(t, waiting[1]) { // free, but another one came before
			t.Fatal("the second got it before the first")
		}
		if _, err := lock.Take(dir, one("hasty", 1)); len(waiting) > 0 && (err == nil || !strings.Contains(err.Error(), "waited")) {
			t.Fatalf("one that does not wait: %v", err)
		}
	}
}

// Law: so many have a device at a time as the smallest capacity allows of those who have
// it and of the one that comes, and a large one behind a small one waits for it.
func TestSmallestCapacity(t *testing.T) {
	for _, c := range []struct {
		capacities []int
		have       string // which of them, in the order of coming, have it then
	}{
		{[]int{1, 1}, "y n"},
		{[]int{2, 2, 2}, "y y n"},
		{[]int{3, 2, 3}, "y y n"},
		{[]int{2, 1, 2}, "y n n"},
		{[]int{1, 2, 2}, "y n n"},
		{[]int{3, 3, 3}, "y y y"},
		{[]int{2, 0}, "y n"},
	} {
		dir := filepath.Join(t.TempDir(), "locks")
		var have []string
		for i, capacity := range c.capacities {
			word := "n"
			if has(t, enter(t, dir, fmt.Sprint("c", i), capacity)) {
				word = "y"
			}
			have = append(have, word)
		}
		if got := strings.Join(have, " "); got != c.have {
			t.Errorf("%v: %s, want %s", c.capacities, got, c.have)
		}
	}
}

// Law: who has the device learns that nobody sees it any more, whatever took the file away;
// somebody else can have the device then.
func TestLost(t *testing.T) {
	for name, spoil := range map[string]func(dir, file string) error{
		"file":   func(_, file string) error { return os.Remove(file) },
		"folder": func(dir, _ string) error { return os.RemoveAll(dir) },
		"copied": func(_, file string) error {
			text, err := os.ReadFile(file)
			return errors.Join(err, os.Remove(file), os.WriteFile(file, text, 0o666))
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "locks")
			l := must.Get(lock.Take(dir, one("lfp", 1)))(t)
			must.Do(t, l.Check())
			files, err := filepath.Glob(filepath.Join(dir, "*.lock"))
			if err != nil || len(files) != 1 {
				t.Fatal(files, err)
			}
			if err := spoil(dir, files[0]); err != nil {
				t.Skip(err) // a system that keeps open files
			}
			var lost *lock.LostError
			for _, err := range []error{l.Check(), l.Try(), l.Begin("lfp/x/e1")} {
				if !errors.As(err, &lost) || !strings.Contains(err.Error(), files[0]) {
					t.Errorf("it says %v", err)
				}
			}
			again := must.Get(lock.Take(dir, one("other", 1)))(t)
			l.Release() // does not disturb who has it now
			if err := again.Check(); err != nil {
				t.Error(err)
			}
		})
	}
}

// Law: a command that a device was sent keeps its turn when its process ends, until that
// campaign takes it up again or says that it is over. A turn without a command does not.
func TestTurnOutlivesItsProcess(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "locks")
	turn := func(campaign string) *lock.Lease {
		return must.Get(lock.EnterTurn(dir, one(campaign, 1)))(t)
	}
	idle := turn("a")
	if !has(t, idle) {
		t.Fatal("the first has no turn")
	}
	idle.Leave()
	a, b := turn("a"), turn("b")
	if !has(t, a) || has(t, b) {
		t.Fatal("the turn of a process that has ended is kept without a command")
	}
	must.Do(t, a.Begin("a/x/e1"))
	a.Leave()
	var held *lock.HeldError
	if err := b.Try(); !errors.As(err, &held) || held.Left == "" || held.Holder.Command != "a/x/e1" || !strings.Contains(err.Error(), held.Left) {
		t.Fatalf("behind a command that nobody awaits: %v", err)
	}
	// Somebody else's commands are not b's to forget.
	if _, err := lock.Adopt(dir, one("b", 1), nil); err != nil || has(t, b) {
		t.Fatalf("b forgot it: %v", err)
	}
	turns, err := lock.Adopt(dir, one("a", 1), []string{"a/x/e1", "a/x/e2"})
	if err != nil || len(turns) != 2 {
		t.Fatal(turns, err)
	}
	if err := b.Try(); !errors.As(err, &held) || held.Left != "" || held.More != 1 {
		t.Fatalf("behind what is awaited again: %v", err)
	}
	turns["a/x/e1"].Release()
	turns["a/x/e2"].Leave()
	if has(t, b) {
		t.Fatal("the second command is forgotten")
	}
	if turns, err = lock.Adopt(dir, one("a", 1), nil); err != nil || len(turns) != 0 || !has(t, b) {
		t.Fatalf("once it is over, b waits: %v, %v, %v", turns, err, b.Try())
	}
}
