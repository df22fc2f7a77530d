//go:build unix

package lock

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// tryLock opens the file, which another user may have created, and locks it. It creates the file
// only if it does not exist: in such folders, systems refuse O_CREATE for the files of other users.
//
// A link in place of the file is not followed: another user could make it point at a file of this
// one. The lock is flock's and not fcntl's, which would end when any file of that name is closed in
// this process. After locking, the name is looked at again, since the file may have been removed
// between opening and locking.
func tryLock(path string) (*os.File, error) {
	const how = os.O_RDWR | syscall.O_NOFOLLOW
	f, err := os.OpenFile(path, how, 0)
	if errors.Is(err, fs.ErrNotExist) {
		f, err = os.OpenFile(path, how|os.O_CREATE|os.O_EXCL, 0o666)
		switch {
		case err == nil:
			err = f.Chmod(0o666) // whatever the umask
		case errors.Is(err, fs.ErrExist): // another process was quicker
			f, err = os.OpenFile(path, how, 0)
		}
	}
	if err != nil {
		if f != nil {
			f.Close()
		}
		return nil, err
	}
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		switch {
		case err == nil:
			if now, err := os.Lstat(path); err == nil {
				if own, err := f.Stat(); err == nil && os.SameFile(own, now) {
					return f, nil
				}
			}
			f.Close() // removed meanwhile: no other process sees it
			return tryLock(path)
		case errors.Is(err, syscall.EINTR):
			continue
		}
		f.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, errHeld
		}
		return nil, &os.PathError{Op: "flock", Path: path, Err: err}
	}
}

// Supported returns nil if the system has such locks.
func Supported() error { return nil }
