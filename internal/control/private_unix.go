//go:build unix

package control

import (
	"fmt"
	"net"
	"os"
	"syscall"
)

// listenPrivately opens a socket that only its owner can connect to, from its
// first moment.
func listenPrivately(path string) (net.Listener, error) {
	old := syscall.Umask(0o177)
	defer syscall.Umask(old)
	return net.Listen("unix", path)
}

// ownedByUs reports an error where the file is not there or another user made
// it: a path in a temporary folder may have been taken by a stranger since. Root
// may speak to everybody's stores.
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
