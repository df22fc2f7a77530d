//go:build unix

package control

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"syscall"
)

// birthplace is the folder in which a socket is created, next to its final
// place. Its name is short because a socket's path must be.
const birthplace = ".c"

// listenPrivately opens a socket that only its owner can connect to, from its first moment: it is
// created in a folder that no other user may enter, gets its mode there, and is then moved to its
// place. The process's umask is left alone, since other goroutines create files meanwhile.
//
// The caller must be the only one who opens sockets in the folder of path.
func listenPrivately(path string) (net.Listener, error) {
	dir := filepath.Join(filepath.Dir(path), birthplace)
	if err := os.RemoveAll(dir); err != nil { // a process was killed here
		return nil, err
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		return nil, err
	}
	listener, err := listenIn(dir, path)
	if err := errors.Join(err, os.RemoveAll(dir)); err != nil {
		if listener != nil {
			_ = listener.Close()
		}
		return nil, err
	}
	return listener, nil
}

// listenIn opens a socket in a folder and moves it to path.
func listenIn(dir, path string) (net.Listener, error) {
	born := filepath.Join(dir, "s")
	listener, err := net.Listen("unix", born)
	if err != nil {
		return nil, err
	}
	listener.(*net.UnixListener).SetUnlinkOnClose(false) // it will not be there
	err = os.Chmod(born, 0o600)
	if err == nil {
		err = os.Rename(born, path)
	}
	if err != nil {
		_ = listener.Close()
		return nil, err
	}
	return listener, nil
}

// ownedByUs returns an error if the file does not exist or belongs to another
// user: a path in a temporary folder may have been taken by a stranger. Root
// may connect to every store.
func ownedByUs(path string) error {
	info, err := os.Lstat(path)
	if err != nil {
		return err
	}
	if stat, ok := info.Sys().(*syscall.Stat_t); ok && int(stat.Uid) != os.Geteuid() && os.Geteuid() != 0 {
		return fmt.Errorf("%s belongs to another user: %w", path, os.ErrPermission)
	}
	return nil
}
