package lock

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
)

// systemDirs is the same for every user of the machine.
var systemDirs = func() []string {
	if dir := os.Getenv("ProgramData"); dir != "" {
		return []string{filepath.Join(dir, "campaignd-locks")}
	}
	return []string{filepath.Join(os.TempDir(), "campaignd-locks")}
}

// errSharing is ERROR_SHARING_VIOLATION.
const errSharing = syscall.Errno(32)

// tryLock opens the file such that no one else can open it to write.
//
// Others may read it meanwhile, to see the owner of the seat. While it is open here the system lets
// no one remove it.
func tryLock(path string) (*os.File, error) {
	name, err := syscall.UTF16PtrFromString(path)
	if err != nil {
		return nil, err
	}
	handle, err := syscall.CreateFile(name, syscall.GENERIC_READ|syscall.GENERIC_WRITE,
		syscall.FILE_SHARE_READ, nil,
		syscall.OPEN_ALWAYS, syscall.FILE_ATTRIBUTE_NORMAL, 0)
	if errors.Is(err, errSharing) {
		return nil, errHeld
	}
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	return os.NewFile(uintptr(handle), path), nil
}

// Supported returns nil if the system has such locks.
func Supported() error { return nil }
