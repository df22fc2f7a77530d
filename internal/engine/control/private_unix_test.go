//go:build unix

package control

import (
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
)

// Law: a socket is private whatever the umask is, and making it changes nothing for
// files that other goroutines make meanwhile.
func TestSocketIsMadePrivately(t *testing.T) {
	defer syscall.Umask(syscall.Umask(0))
	store, beside := t.TempDir(), t.TempDir()
	done, made := make(chan struct{}), make(chan error)
	go func() {
		for i := 0; ; i++ {
			path := filepath.Join(beside, strconv.Itoa(i))
			if err := os.Mkdir(path, 0o777); err != nil {
				made <- err
				return
			}
			select {
			case <-done:
				made <- nil
				return
			default:
			}
		}
	}()
	for range 30 {
		listener, remove, err := listen(store)
		if err != nil {
			t.Fatal(err)
		}
		if info, err := os.Stat(filepath.Join(store, socketName)); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("the socket: %v, %v", info, err)
		}
		listener.Close()
		remove()
	}
	close(done)
	if err := <-made; err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(beside)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		if info, err := entry.Info(); err != nil || info.Mode().Perm() != 0o777 {
			t.Fatalf("a folder made meanwhile: %v, %v", info.Mode(), err)
		}
	}
	if left, err := os.ReadDir(store); err != nil || len(left) > 0 {
		t.Errorf("left in the store: %v, %v", left, err)
	}
}

// Law: what a process leaves that is killed while it opens its socket does not keep the
// next one from doing so.
func TestKilledWhileListening(t *testing.T) {
	store := t.TempDir()
	if err := os.Mkdir(filepath.Join(store, birthplace), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(store, birthplace, "s"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	listener, remove, err := listen(store)
	if err != nil {
		t.Fatal(err)
	}
	listener.Close()
	remove()
}
