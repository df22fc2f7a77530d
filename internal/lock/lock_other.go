//go:build !unix && !windows

package lock

import (
	"errors"
	"os"
	"path/filepath"
)

func systemDir() string { return filepath.Join(os.TempDir(), "campaignd-locks") }

func tryLock(path string) (*os.File, error) {
	return nil, &os.PathError{Op: "lock", Path: path, Err: errors.ErrUnsupported}
}
