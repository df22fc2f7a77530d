// Package guardfs keeps a Pebble database from ending the process, or from
// going on, after a write that failed.
package guardfs

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// Guard remembers the first write failure, and from then on keeps everything off the disk. The disk
// then holds exactly what a crash at that moment would have left, which opening is proved to
// handle; a database that goes on after a failed write is not.
type Guard struct {
	once   sync.Once
	err    error
	failed chan struct{} // closed once err is set
	// after holds the files that Pebble creates after the failure.
	after *vfs.MemFS
}

// New returns a guard that has seen no failure.
func New() *Guard { return &Guard{failed: make(chan struct{}), after: vfs.NewMem()} }

// Failed is closed after the first failure.
func (g *Guard) Failed() <-chan struct{} { return g.failed }

// Fail notes a failure; only the first one counts.
func (g *Guard) Fail(err error) {
	g.once.Do(func() {
		g.err = err
		close(g.failed)
	})
}

// Err returns the first failure, nil if there was none.
func (g *Guard) Err() error {
	select {
	case <-g.failed:
		return g.err
	default:
		return nil
	}
}

// FS is the file system through which a database and its companions are written.
//
// Pebble does not see most failures. It answers a failed write of the write-ahead log with a panic,
// in places without holding a lock that it then unlocks, which ends the process; it retries a
// failed write of a table, without a pause and without end, and does not open or close until that
// succeeds. So the files it creates after a failure are kept in memory, and dropped. Writers ask
// the guard before acknowledging anything.
type FS struct {
	vfs.FS
	Guard *Guard
}

// do runs a change of the file system, unless a failure came before.
func (f FS) do(change func() error) error {
	if f.Guard.Err() != nil {
		return nil
	}
	err := change()
	if err != nil && !os.IsNotExist(err) {
		f.Guard.Fail(err)
		return nil
	}
	return err
}

// create is do for a change that creates a file.
func (f FS) create(name string, change func() (vfs.File, error)) (vfs.File, error) {
	if f.Guard.Err() == nil {
		file, err := change()
		if err == nil {
			// These are not read again while the database is open. A table is written again if that
			// failed.
			hide := strings.HasSuffix(name, ".log") || strings.HasPrefix(f.PathBase(name), "MANIFEST-")
			return &guardFile{File: file, guard: f.Guard, hide: hide}, nil
		}
		f.Guard.Fail(err)
	}
	if err := f.Guard.after.MkdirAll(f.PathDir(name), 0o755); err != nil {
		return nil, err
	}
	return f.Guard.after.Create(name, vfs.WriteCategoryUnspecified)
}

// Create syncs the target of a marker before the marker is made: Pebble only syncs the directory
// after creating both, so that a crash can leave a marker of a missing manifest, and a database
// that cannot be opened.
func (f FS) Create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	return f.create(name, func() (vfs.File, error) {
		if strings.HasPrefix(f.PathBase(name), "marker.") {
			if err := syncFolder(f.FS, f.PathDir(name)); err != nil {
				return nil, err
			}
		}
		return f.FS.Create(name, category)
	})
}

func (f FS) ReuseForWrite(old, name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	return f.create(name, func() (vfs.File, error) { return f.FS.ReuseForWrite(old, name, category) })
}

// OpenReadWrite opens a file that is written in place, such as HEAD.
func (f FS) OpenReadWrite(
	name string, category vfs.DiskWriteCategory, opts ...vfs.OpenOption,
) (vfs.File, error) {
	file, err := f.FS.OpenReadWrite(name, category, opts...)
	if err != nil {
		return nil, err
	}
	return &guardFile{File: file, guard: f.Guard}, nil
}

// OpenDir returns a directory whose Sync is guarded: a new write-ahead log
// depends on it.
func (f FS) OpenDir(name string) (vfs.File, error) {
	dir, err := f.FS.OpenDir(name)
	if err != nil {
		return nil, err
	}
	return &guardFile{File: dir, guard: f.Guard, hide: true}, nil
}

func (f FS) Open(name string, opts ...vfs.OpenOption) (vfs.File, error) {
	if f.inMemory(name) {
		return f.Guard.after.Open(name)
	}
	return f.FS.Open(name, opts...)
}

func (f FS) Stat(name string) (vfs.FileInfo, error) {
	if f.inMemory(name) {
		return f.Guard.after.Stat(name)
	}
	return f.FS.Stat(name)
}

// inMemory reports whether a file was created after a failure.
func (f FS) inMemory(name string) bool {
	if f.Guard.Err() == nil {
		return false
	}
	_, err := f.Guard.after.Stat(name)
	return err == nil
}

func (f FS) Rename(old, name string) error {
	if f.inMemory(old) {
		return f.Guard.after.Rename(old, name)
	}
	return f.do(func() error { return f.FS.Rename(old, name) })
}

func (f FS) Link(old, name string) error {
	return f.do(func() error { return f.FS.Link(old, name) })
}

func (f FS) MkdirAll(dir string, perm os.FileMode) error {
	return f.do(func() error { return f.FS.MkdirAll(dir, perm) })
}

// Remove only removes obsolete files, so that it may fail.
func (f FS) Remove(name string) error {
	if f.inMemory(name) {
		return f.Guard.after.Remove(name)
	}
	if f.Guard.Err() != nil {
		return nil
	}
	return f.FS.Remove(name)
}

func (f FS) RemoveAll(name string) error {
	if f.Guard.Err() != nil {
		return nil
	}
	return f.FS.RemoveAll(name)
}

// Unwrap implements vfs.FS. It returns nil, so that nothing writes past the
// guard.
func (f FS) Unwrap() vfs.FS { return nil }

// probeName is a file that [Probe] writes and removes, probeSize its length in
// bytes: a database that is opened writes more than a few.
const (
	probeName = "PROBE"
	probeSize = 1 << 20
)

// Probe reports whether a directory accepts writes again: the holder of a failed database asks
// before giving up the data that can still be read.
func Probe(fsys vfs.FS, dir string) (err error) {
	name := fsys.PathJoin(dir, probeName)
	f, err := fsys.Create(name, vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	_, err = f.Write(make([]byte, probeSize))
	return errors.Join(err, f.Sync(), f.Close(), fsys.Remove(name))
}

// guardFile is an open file of a FS.
type guardFile struct {
	vfs.File
	guard *Guard
	hide  bool // errors only reach the guard

	// One goroutine at a time writes a file from its beginning to its end.
	reserves bool  // Pebble wants space reserved ahead of the written part
	written  int64 // by Write
	reserved int64
}

// The space reserved at a time: the amount written so far, within these bounds.
const (
	leastReserved = 64 << 10
	mostReserved  = 16 << 20
)

func (f *guardFile) do(change func() error) error {
	err := f.guard.Err()
	if err == nil {
		if err = change(); err != nil {
			f.guard.Fail(err)
		}
	}
	if f.hide {
		return nil
	}
	return err
}

func (f *guardFile) Write(p []byte) (int, error) {
	f.written += int64(len(p))
	f.reserve()
	// A Write may change its argument, and the caller expects it all written, so only the error is
	// passed on.
	if err := f.do(func() error { _, err := f.File.Write(p); return err }); err != nil {
		return 0, err
	}
	return len(p), nil
}

func (f *guardFile) WriteAt(p []byte, offset int64) (int, error) {
	if err := f.do(func() error { _, err := f.File.WriteAt(p, offset); return err }); err != nil {
		return 0, err
	}
	return len(p), nil
}

func (f *guardFile) Sync() error     { return f.do(f.File.Sync) }
func (f *guardFile) SyncData() error { return f.do(f.File.SyncData) }

func (f *guardFile) SyncTo(length int64) (full bool, err error) {
	err = f.do(func() (err error) { full, err = f.File.SyncTo(length); return err })
	return full, err
}

// Preallocate turns on the reservation of space, in steps as the file grows. Pebble asks for the
// whole of a write-ahead log at once, a tenth more than a memtable (18 MB): most databases here
// hold a hundredth of that, there are hundreds of them, and the space stays taken until the file is
// removed.
func (f *guardFile) Preallocate(int64, int64) error {
	f.reserves = true
	return nil
}

// reserve reserves space for the next write, and some more. It is an optimization, so errors are
// ignored.
func (f *guardFile) reserve() {
	if !f.reserves || f.written <= f.reserved || f.guard.Err() != nil {
		return
	}
	length := f.written - f.reserved + min(max(f.written, leastReserved), mostReserved)
	_ = f.File.Preallocate(f.reserved, length)
	f.reserved += length
}

func (f *guardFile) Close() error {
	err := f.File.Close()
	if err != nil {
		f.guard.Fail(err)
	}
	if f.hide {
		return nil
	}
	return err
}

// Logger returns a silent logger for Pebble. Events for which Pebble would end the process count as
// failures.
func (g *Guard) Logger() pebble.Logger { return quiet{g} }

type quiet struct{ guard *Guard }

func (quiet) Infof(string, ...any)                {}
func (quiet) Errorf(string, ...any)               {}
func (q quiet) Fatalf(format string, args ...any) { q.guard.Fail(fmt.Errorf(format, args...)) }

func syncFolder(fsys vfs.FS, dir string) error {
	d, err := fsys.OpenDir(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
