//go:build !unix && !windows

package lock

import (
	"errors"
	"os"
	"path/filepath"
)

// systemDirs names a folder in which nothing is locked: tryLock takes no lock here.
var systemDirs = func() []string { return []string{filepath.Join(os.TempDir(), "campaignd-locks")} }

func tryLock(path string) (*os.File, error) {
	return nil, &os.PathError{Op: "lock", Path: path, Err: errors.ErrUnsupported}
}

// Supported returns nil if the system has such locks.
func Supported() error { return errors.ErrUnsupported }
