package pebblelog

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"runtime"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// modeFS gives the files of a store the permissions of its directory: a new store is private, and
// those who may read a shared directory can read its files. The umask, which belongs to the whole
// process, has no say in it. Windows has no such permissions, and is left as it is.
type modeFS struct {
	vfs.FS
	store string
}

// chmod gives a file that was just created the permissions. Execution is never
// among them: a store has no programs.
func (f modeFS) chmod(name string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	info, err := os.Stat(f.store)
	if err != nil {
		return err
	}
	return os.Chmod(name, info.Mode().Perm()&0o666)
}

// Create implements vfs.FS. A file that cannot be given its permissions is
// refused, since it would be open to more people than the store is.
func (f modeFS) Create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	file, err := f.FS.Create(name, category)
	if err != nil {
		return nil, err
	}
	if err := f.chmod(name); err != nil {
		_ = file.Close()
		return nil, err
	}
	return file, nil
}

// Lock implements vfs.FS. A lock that another user has made stays as it is.
func (f modeFS) Lock(name string) (io.Closer, error) {
	lock, err := f.FS.Lock(name)
	if err == nil {
		_ = f.chmod(name)
	}
	return lock, err
}

// MkdirAll implements vfs.FS. A directory inside the store gets the store's permissions. An
// existing one stays as it is. While the store itself is being made, it has none to take over, and
// perm counts as given.
func (f modeFS) MkdirAll(dir string, perm os.FileMode) error {
	if info, err := os.Stat(f.store); err == nil {
		perm = info.Mode().Perm()
	}
	_, err := os.Stat(dir)
	isNew := errors.Is(err, fs.ErrNotExist)
	if err := f.FS.MkdirAll(dir, perm); err != nil || !isNew || runtime.GOOS == "windows" {
		return err
	}
	return os.Chmod(dir, perm)
}

// Unwrap implements vfs.FS.
func (f modeFS) Unwrap() vfs.FS { return f.FS }
