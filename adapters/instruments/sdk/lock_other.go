//go:build !unix

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

// Without locks two instances of the program could act on one command: Serve
// refuses to run.
func tryLock(f *os.File, _ bool) (bool, error) {
	return false, &os.PathError{Op: "flock", Path: f.Name(), Err: errors.ErrUnsupported}
}

// syncDir does nothing: Serve does not get that far here.
func syncDir(string) error { return nil }
