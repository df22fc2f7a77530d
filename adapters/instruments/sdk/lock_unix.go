//go:build unix

package sdk

import (
	"errors"
	"os"
	"syscall"
)

const (
	terminate  = syscall.SIGTERM
	brokenPipe = syscall.SIGPIPE
)

// tryLock takes the lock on an open file, alone or shared, or reports that
// another opening of it, in this process or any other, is in the way. The lock
// ends with Close or with the process.
func tryLock(f *os.File, shared bool) (bool, error) {
	how := syscall.LOCK_EX
	if shared {
		how = syscall.LOCK_SH
	}
	for {
		err := syscall.Flock(int(f.Fd()), how|syscall.LOCK_NB)
		switch {
		case err == nil:
			return true, nil
		case errors.Is(err, syscall.EWOULDBLOCK):
			return false, nil
		case !errors.Is(err, syscall.EINTR):
			return false, &os.PathError{Op: "flock", Path: f.Name(), Err: err}
		}
	}
}

// syncDir makes the names in a directory durable.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}
