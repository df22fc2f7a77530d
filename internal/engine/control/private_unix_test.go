//go:build unix

package control

import (
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	"github.com/campaignd/campaignd/internal/tests/must"
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
		listener, remove := must.Get2(listen(store))(t)
		if info, err := os.Stat(filepath.Join(store, socketName)); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("the socket: %v, %v", info, err)
		}
		listener.Close()
		remove()
	}
	close(done)
	must.Do(t, <-made)
	entries := must.Get(os.ReadDir(beside))(t)
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
	must.Do(t, os.Mkdir(filepath.Join(store, birthplace), 0o700))
	must.Do(t, os.WriteFile(filepath.Join(store, birthplace, "s"), nil, 0o600))
	listener, remove := must.Get2(listen(store))(t)
	listener.Close()
	remove()
}
