package control

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
)

const (
	socketName = "control.sock"
	// pathName is the file that says where the socket is, if not in the store.
	pathName = "control.path"
	// maxSocketPath is the longest path that every system accepts: macOS has 104 bytes for it, with
	// the zero at the end.
	maxSocketPath = 103
)

// listen opens the store's socket. The caller holds the store's lock, so an existing socket was
// left by a dead process. If the path is too long, or the store's file system has no sockets, like
// network shares and shared folders of virtual machines, the socket is in the folder of temporary
// files. The record of it is written last, so that a client that finds the record finds the socket.
func listen(store string) (listener net.Listener, remove func(), err error) {
	store, err = filepath.Abs(store)
	if err != nil {
		return nil, nil, err
	}
	inside, record := filepath.Join(store, socketName), filepath.Join(store, pathName)
	if err := errors.Join(removeOld(inside), removeElsewhere(record)); err != nil {
		return nil, nil, err
	}
	var refused error
	if len(inside) <= maxSocketPath { // and so is its birthplace
		if listener, refused = makeSocket(inside); refused == nil {
			return listener, func() { _ = os.Remove(inside) }, nil
		}
	}
	if listener, remove, err = elsewhere(store, record); err != nil {
		return nil, nil, errors.Join(refused, err)
	}
	return listener, remove, nil
}

// makeSocket is listenPrivately. Tests replace it.
var makeSocket = listenPrivately

// elsewhere opens the socket of a store in the folder of temporary files.
func elsewhere(store, record string) (listener net.Listener, remove func(), err error) {
	dir, err := os.MkdirTemp("", "campaignd-")
	if err != nil {
		return nil, nil, err
	}
	socket := filepath.Join(dir, socketName)
	remove = func() { _ = os.Remove(record); _ = os.RemoveAll(dir) }
	if len(socket) > maxSocketPath {
		remove()
		return nil, nil, fmt.Errorf("both %s and %s are too deep for a socket; set TMPDIR to a short path",
			store, os.TempDir())
	}
	if listener, err = makeSocket(socket); err == nil {
		err = os.WriteFile(record, []byte(socket+"\n"), 0o600)
	}
	if err != nil {
		remove()
		return nil, nil, err
	}
	return listener, remove, nil
}

// removeElsewhere removes a dead process's socket outside the store.
func removeElsewhere(record string) error {
	if socket, err := readRecord(record); err == nil && ownedByUs(socket) == nil {
		_ = os.Remove(socket)
		_ = os.Remove(filepath.Dir(socket)) // only if nothing else is in it
	}
	return removeOld(record)
}

// removeOld removes a file, if it exists.
func removeOld(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// readRecord reads the path of a socket. Only a path that ends as ours do is believed, since the
// file lies in a folder that is copied and restored.
func readRecord(record string) (socket string, err error) {
	text, err := os.ReadFile(record)
	if err != nil {
		return "", err
	}
	socket = strings.TrimSpace(string(text))
	if !filepath.IsAbs(socket) || filepath.Base(socket) != socketName {
		return "", fmt.Errorf("%s does not name a socket", record)
	}
	return socket, nil
}

// address returns the path of the store's socket, if it exists.
func address(store string) (string, error) {
	store, err := filepath.Abs(store)
	if err != nil {
		return "", err
	}
	socket, err := readRecord(filepath.Join(store, pathName))
	if errors.Is(err, fs.ErrNotExist) {
		socket, err = filepath.Join(store, socketName), nil
	}
	if err != nil {
		return "", err
	}
	if err := ownedByUs(socket); err != nil {
		return "", err
	}
	return socket, nil
}
