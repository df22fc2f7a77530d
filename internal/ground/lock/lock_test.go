package lock_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode"

	"github.com/campaignd/campaignd/internal/ground/lock"
	"github.com/campaignd/campaignd/internal/tests/must"
)

func holder(device string) lock.Holder {
	return lock.Holder{
		Device:   device,
		Campaign: "lfp",
		Store:    "/lab/lfp.campaign",
		PID:      4711,
		User:     "ada",
		Since:    time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC),
	}
}

// Law: a device has one holder at a time. Whoever comes second learns who that is;
// another device is free, and so is this one once it was given back.
func TestOneHolder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "locks")
	lease := must.Get(lock.Take(dir, holder("M2, serial 0042")))(t)
	var held *lock.HeldError
	if _, err := lock.Take(dir, holder("M2, serial 0042")); !errors.As(err, &held) ||
		held.Holder != holder("M2, serial 0042") {
		t.Fatalf("the second one gets %v", err)
	}
	for _, want := range []string{"M2, serial 0042", "lfp", "4711", "ada", "/lab/lfp.campaign",
		"2026-05-01", "`identity`"} {
		if !strings.Contains(held.Error(), want) {
			t.Errorf("%q does not say %q", held, want)
		}
	}
	other, err := lock.Take(dir, holder("M2, serial 0043"))
	if err != nil {
		t.Errorf("another device: %v", err)
	} else {
		other.Release()
	}
	lease.Release()
	lease = must.Get(lock.Take(dir, holder("M2, serial 0042")))(t)
	lease.Release()
}

// Law: what stands in the file of a lock, which everybody may write, is words and
// nothing else; that it says nothing does not set the device free.
func TestForgedHolder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "locks")
	lease := must.Get(lock.Take(dir, holder("robot")))(t)
	defer lease.Release()
	files, err := filepath.Glob(filepath.Join(dir, "*.lock"))
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	for _, text := range []string{`{"pid":1,"user":"\u001b[2Jroot","campaign":"a\u202eb","store":"x\ny"}`,
		"", "{", strings.Repeat("x", 1<<20)} {
		must.Do(t, os.WriteFile(files[0], []byte(text), 0o600))
		var held *lock.HeldError
		unprintable := func(r rune) bool { return !unicode.IsPrint(r) }
		if _, err := lock.Take(dir, holder("robot")); !errors.As(err, &held) ||
			strings.ContainsFunc(err.Error(), unprintable) {
			t.Errorf("%.60q: %q", text, err)
		}
		if (held.Holder.PID == 0) != strings.Contains(held.Error(), "another process") {
			t.Errorf("%.60q: %q", text, held)
		}
	}
}

// Law: of many who come at once, one gets the device.
func TestRace(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "locks")
	won := make(chan *lock.Lease, 20)
	var wg sync.WaitGroup
	for range cap(won) {
		wg.Go(func() {
			if lease, err := lock.Take(dir, holder("robot")); err == nil {
				won <- lease // kept: one that is dropped ends with its file, when memory is collected
			} else if held := new(lock.HeldError); !errors.As(err, &held) {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if len(won) != 1 {
		t.Errorf("%d hold it", len(won))
	}
}

// Law: a folder that cannot be used is an error with a remedy, never a lock that
// nobody sees; a planted link is not followed.
func TestUnusable(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	must.Do(t, os.WriteFile(file, nil, 0o600))
	for _, dir := range []string{file, filepath.Join(t.TempDir(), "not", "there")} {
		if _, err := lock.Take(dir, holder("robot")); err == nil || !strings.Contains(err.Error(), lock.Variable) {
			t.Errorf("%s: %v", dir, err)
		}
	}
	dir := filepath.Join(t.TempDir(), "locks")
	lease := must.Get(lock.Take(dir, holder("robot")))(t)
	lease.Release()
	files, err := filepath.Glob(filepath.Join(dir, "*.lock"))
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	if err := errors.Join(os.Remove(files[0]), os.Symlink(file, files[0])); err != nil {
		t.Skip(err)
	}
	if _, err := lock.Take(dir, holder("robot")); err == nil {
		t.Error("a link was followed")
	}
}
