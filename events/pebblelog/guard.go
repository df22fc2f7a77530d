package pebblelog

import (
	"io"
	"os"
	"strings"
	"sync"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// guard remembers the first failure to write, and from then on keeps
// everything off the disk. What is there is then what a crash at that moment
// would have left, which opening is proved to handle; a database that goes on
// after a failed write is not.
type guard struct {
	once   sync.Once
	err    error
	failed chan struct{} // closed once err is set
}

func newGuard() *guard { return &guard{failed: make(chan struct{})} }

func (g *guard) fail(err error) {
	g.once.Do(func() {
		g.err = err
		close(g.failed)
	})
}

// failure returns the first failure, nil if there was none.
func (g *guard) failure() error {
	select {
	case <-g.failed:
		return g.err
	default:
		return nil
	}
}

// guardFS is the file system Pebble and HEAD are written through.
//
// Errors of the write-ahead log are not shown to Pebble. It answers one with a
// panic, in places while it holds no lock that it then unlocks, which ends the
// process. The log asks the guard instead before it acknowledges anything.
type guardFS struct {
	vfs.FS
	guard *guard
}

func isWAL(name string) bool { return strings.HasSuffix(name, ".log") }

// do runs a change of the file system, unless there was a failure before.
func (f guardFS) do(change func() error) error {
	if err := f.guard.failure(); err != nil {
		return err
	}
	err := change()
	if err != nil && !os.IsNotExist(err) {
		f.guard.fail(err)
	}
	return err
}

// open is do for a change that opens a file.
func (f guardFS) open(name string, change func() (vfs.File, error)) (vfs.File, error) {
	var file vfs.File
	err := f.guard.failure()
	if err == nil {
		if file, err = change(); err != nil {
			f.guard.fail(err)
		}
	}
	if err != nil && isWAL(name) {
		return &guardFile{File: vfs.NewMemFile(nil), guard: f.guard, hide: true}, nil
	}
	if err != nil {
		return nil, err
	}
	return &guardFile{File: file, guard: f.guard, hide: isWAL(name)}, nil
}

// Create makes sure that what a marker names is there before the marker:
// Pebble only syncs the directory after creating both, so that a crash can
// leave a marker of a manifest that is gone, and a database that cannot be
// opened.
func (f guardFS) Create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	return f.open(name, func() (vfs.File, error) {
		if strings.HasPrefix(f.PathBase(name), "marker.") {
			if err := syncDir(f.FS, f.PathDir(name)); err != nil {
				return nil, err
			}
		}
		return f.FS.Create(name, category)
	})
}

func (f guardFS) OpenReadWrite(name string, category vfs.DiskWriteCategory, opts ...vfs.OpenOption) (vfs.File, error) {
	return f.open(name, func() (vfs.File, error) { return f.FS.OpenReadWrite(name, category, opts...) })
}

func (f guardFS) ReuseForWrite(old, name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	return f.open(name, func() (vfs.File, error) { return f.FS.ReuseForWrite(old, name, category) })
}

// OpenDir returns a directory whose Sync is guarded: a new write-ahead log
// depends on it.
func (f guardFS) OpenDir(name string) (vfs.File, error) {
	dir, err := f.FS.OpenDir(name)
	if err != nil {
		return nil, err
	}
	return &guardFile{File: dir, guard: f.guard, hide: true}, nil
}

func (f guardFS) Link(old, name string) error {
	return f.do(func() error { return f.FS.Link(old, name) })
}

func (f guardFS) Rename(old, name string) error {
	return f.do(func() error { return f.FS.Rename(old, name) })
}

func (f guardFS) MkdirAll(dir string, perm os.FileMode) error {
	return f.do(func() error { return f.FS.MkdirAll(dir, perm) })
}

// Remove only ever removes what is no longer needed, so that it may fail.
func (f guardFS) Remove(name string) error {
	if err := f.guard.failure(); err != nil {
		return err
	}
	return f.FS.Remove(name)
}

func (f guardFS) RemoveAll(name string) error {
	if err := f.guard.failure(); err != nil {
		return err
	}
	return f.FS.RemoveAll(name)
}

func (f guardFS) Lock(name string) (io.Closer, error) { return f.FS.Lock(name) }

// Unwrap implements vfs.FS. It returns nil, so that nothing writes past the
// guard.
func (f guardFS) Unwrap() vfs.FS { return nil }

// guardFile is an open file of a guardFS.
type guardFile struct {
	vfs.File
	guard *guard
	hide  bool // errors are for the guard alone
}

func (f *guardFile) do(change func() error) error {
	err := f.guard.failure()
	if err == nil {
		if err = change(); err != nil {
			f.guard.fail(err)
		}
	}
	if f.hide {
		return nil
	}
	return err
}

func (f *guardFile) Write(p []byte) (int, error) {
	// A Write may change what it is given, and the caller expects it all
	// written, so only the error is passed on.
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

// Preallocate is an optimization, and Pebble ignores its errors.
func (f *guardFile) Preallocate(offset, length int64) error {
	if err := f.guard.failure(); err != nil {
		return err
	}
	return f.File.Preallocate(offset, length)
}

func (f *guardFile) Close() error {
	err := f.File.Close()
	if err != nil {
		f.guard.fail(err)
	}
	if f.hide {
		return nil
	}
	return err
}
