package accounts

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/pebblelog"
)

// on opens the lab's log on a file system.
func on(fsys vfs.FS) func(folder string) (events.Store, error) {
	return func(folder string) (events.Store, error) {
		log, err := pebblelog.Open(folder, pebblelog.Options{FS: fsys})
		if err != nil {
			return nil, err
		}
		return log, nil
	}
}

// unsyncedDisk opens the lab's log on a disk that it does not wait for.
var unsyncedDisk = on(unsynced{vfs.Default})

// fillingDisk opens it on one that is full from a moment on.
func fillingDisk(full *atomic.Bool) func(folder string) (events.Store, error) {
	return on(failing{unsynced{vfs.Default}, full})
}

// unsynced is a file system that does not wait for the disk. What a process has written outlives
// the process anyway.
type unsynced struct{ vfs.FS }

func (u unsynced) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	f, err := u.FS.Create(name, c)
	return unsyncedFile{f}, err
}

func (u unsynced) ReuseForWrite(old, name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	f, err := u.FS.ReuseForWrite(old, name, c)
	return unsyncedFile{f}, err
}

func (u unsynced) OpenReadWrite(name string, c vfs.DiskWriteCategory, o ...vfs.OpenOption) (vfs.File, error) {
	f, err := u.FS.OpenReadWrite(name, c, o...)
	return unsyncedFile{f}, err
}

func (u unsynced) OpenDir(name string) (vfs.File, error) {
	f, err := u.FS.OpenDir(name)
	return unsyncedFile{f}, err
}

type unsyncedFile struct{ vfs.File }

func (unsyncedFile) Sync() error                { return nil }
func (unsyncedFile) SyncData() error            { return nil }
func (unsyncedFile) SyncTo(int64) (bool, error) { return true, nil }

// failing is a file system whose disk is full from a moment on.
type failing struct {
	unsynced
	full *atomic.Bool
}

func (f failing) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	if f.full.Load() {
		return nil, syscall.ENOSPC
	}
	file, err := f.unsynced.Create(name, c)
	return failingFile{file, f.full}, err
}

func (f failing) OpenReadWrite(name string, c vfs.DiskWriteCategory, o ...vfs.OpenOption) (vfs.File, error) {
	file, err := f.unsynced.OpenReadWrite(name, c, o...)
	return failingFile{file, f.full}, err
}

type failingFile struct {
	vfs.File
	full *atomic.Bool
}

func (f failingFile) Write(p []byte) (int, error) {
	if f.full.Load() {
		return 0, syscall.ENOSPC
	}
	return f.File.Write(p)
}

func (f failingFile) WriteAt(p []byte, at int64) (int, error) {
	if f.full.Load() {
		return 0, syscall.ENOSPC
	}
	return f.File.WriteAt(p, at)
}

// crashDisk is a disk that can be copied as a crash would leave it.
type crashDisk struct{ *vfs.MemFS }

// ReuseForWrite does what MemFS does, which takes a lock twice and so stops for ever if a
// copy is made meanwhile.
func (d crashDisk) ReuseForWrite(old, name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	if err := d.Rename(old, name); err != nil {
		return nil, err
	}
	return d.OpenReadWrite(name, category)
}

// newCrashDisk returns a disk, how the lab's log is opened on it, and a function that says
// how it is opened on what a crash now would leave, with a share of what was not synced.
// before is called before each change of the disk.
func newCrashDisk(before func()) (open func(string) (events.Store, error), crash func(percent int) func(string) (events.Store, error)) {
	disk := crashDisk{vfs.NewCrashableMem()}
	rng := rand.New(rand.NewPCG(5, 6))
	var mu sync.Mutex
	watched := errorfs.Wrap(disk, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if op.Kind.ReadOrWrite() == errorfs.OpIsWrite {
			mu.Lock()
			defer mu.Unlock()
			before()
		}
		return nil
	}))
	return inMemory(watched), func(percent int) func(string) (events.Store, error) {
		return inMemory(crashDisk{disk.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: percent, RNG: rng})})
	}
}

// inMemory opens the lab's log in one folder of a file system, whatever the folder is called.
func inMemory(fsys vfs.FS) func(string) (events.Store, error) {
	return func(string) (events.Store, error) { return on(fsys)("lab") }
}
