package lablog_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/store"
	"github.com/campaignd/campaignd/internal/ground/problem"
	"github.com/campaignd/campaignd/internal/lab/lablog"
	"github.com/campaignd/campaignd/internal/tests/must"
)

// kindsOf returns the kinds of the events of a log.
func kindsOf(t *testing.T, log events.Log) (kinds []events.Kind) {
	t.Helper()
	for e := range must.Each(t, log.Read(t.Context(), 0)) {
		kinds = append(kinds, e.Kind)
	}
	return kinds
}

func storeOf(t *testing.T, l *lablog.Log) events.Store {
	t.Helper()
	return must.Get(l.Store())(t)
}

// Law: a lab's log begins once, is held by one process, and a second one is told so.
func TestOpen(t *testing.T) {
	dir := lablog.Dir(t.TempDir())
	if lablog.Exists(dir) {
		t.Error("there is a log where there is nothing")
	}
	for range 2 {
		l := must.Get(lablog.Open(dir, lablog.Options{}))(t)
		if got := kindsOf(t, storeOf(t, l)); len(got) != 1 || got[0] != events.KindLabBegun {
			t.Errorf("the log holds %v", got)
		}
		if _, err := lablog.Open(dir, lablog.Options{}); !errors.Is(err, lablog.ErrInUse) {
			t.Errorf("a second process: %v", err)
		}
		must.Do(t, l.Close())
		if _, err := l.Store(); problem.CodeOf(err) != problem.Unavailable {
			t.Errorf("it is closed: %v", err)
		}
	}
	if !lablog.Exists(dir) {
		t.Error("there is no log where one was made")
	}
}

// Law: a log that cannot be opened has a face: where there is no room for it, and where it
// is damaged, which leaves it as it was.
func TestCannotBeOpened(t *testing.T) {
	folder := t.TempDir()
	must.Do(t, os.WriteFile(filepath.Join(folder, ".campaignd"), nil, 0o600))
	if _, err := lablog.Open(lablog.Dir(folder), lablog.Options{}); problem.CodeOf(err) != problem.Unavailable {
		t.Errorf("its folder cannot be made: %v", err)
	}
	dir := lablog.Dir(t.TempDir())
	l := must.Get(lablog.Open(dir, lablog.Options{}))(t)
	must.Do(t, l.Close())
	head := filepath.Join(dir, "HEAD")
	must.Do(t, os.WriteFile(head, []byte("nonsense"), 0o600))
	if _, err := lablog.Open(dir, lablog.Options{}); problem.CodeOf(err) != problem.Damaged {
		t.Errorf("it is damaged: %v", err)
	}
}

// filling is a store on a disk that is full from a moment on, and then not any more.
type filling struct {
	events.Store
	full   *atomic.Bool
	failed atomic.Bool
}

func (f *filling) SetValues(ctx context.Context, changes ...events.KeyValue) error {
	if f.full.Load() {
		f.failed.Store(true)
		return syscall.ENOSPC
	}
	return f.Store.SetValues(ctx, changes...)
}

func (f *filling) Err() error {
	if f.failed.Load() {
		return events.ErrStopped
	}
	return nil
}

func (f *filling) Probe() error {
	if f.full.Load() {
		return syscall.ENOSPC
	}
	return nil
}

// Law: once the disk of a lab's log has failed, its readers go on with it; once the disk
// takes writes again, who asks next gets it opened anew, with all that was acknowledged,
// and everyone else the same one.
func TestDiskFails(t *testing.T) {
	var full atomic.Bool
	l, err := lablog.Open(lablog.Dir(t.TempDir()), lablog.Options{Open: func(folder string) (events.Store, error) {
		log, err := store.Open(folder, store.Options{})
		return &filling{Store: log, full: &full}, err
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	before := storeOf(t, l)
	full.Store(true)
	if err := before.SetValues(t.Context(), events.KeyValue{Key: "k", Value: []byte("v")}); err == nil {
		t.Fatal("a full disk takes writes")
	}
	if storeOf(t, l) != before || len(kindsOf(t, before)) != 1 {
		t.Error("what is there cannot be read while the disk is full")
	}
	full.Store(false)
	after := storeOf(t, l)
	if after == before || after.Err() != nil {
		t.Errorf("it is not opened again: %v", after.Err())
	}
	if storeOf(t, l) != after || len(kindsOf(t, after)) != 1 {
		t.Error("it is opened again and again, or has lost something")
	}
}

// Law: a fault says what has failed, and blames no disk for a database.
func TestFaultSaysWhatItIs(t *testing.T) {
	cause := errors.New("the database does not answer")
	for of, code := range map[error]problem.Code{
		events.ErrUncertain: problem.Uncertain, events.ErrStopped: problem.Unavailable, events.ErrDamaged: problem.Damaged,
	} {
		err := lablog.Fault(fmt.Errorf("%w: %w", of, cause))
		if text := err.Error(); !strings.Contains(text, cause.Error()) || strings.Contains(text, "disk") || strings.Contains(text, "folder") {
			t.Errorf("%s: %s", code, text)
		}
		if !errors.Is(err, code) {
			t.Errorf("%v is no %s", err, code)
		}
	}
	late := lablog.Fault(fmt.Errorf("store: read: %w", context.DeadlineExceeded))
	if text := late.Error(); !strings.Contains(text, "does not answer") || strings.Contains(text, "deadline") {
		t.Error(text)
	}
}
