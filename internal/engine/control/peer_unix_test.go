//go:build linux || darwin || freebsd

package control

import (
	"net"
	"os"
	"path/filepath"
	"testing"
)

// Law: who is at the other end is the system's word; where it has none, as of a
// connection that is closed, nobody is known, and least of all root.
func TestPeerOfAClosedConnection(t *testing.T) {
	l, err := net.Listen("unix", filepath.Join(t.TempDir(), "s"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	near, err := net.Dial("unix", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer near.Close()
	far, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	if uid, ok := peer(far); !ok || int(uid) != os.Getuid() {
		t.Errorf("at the other end is %d, %v", uid, ok)
	}
	if err := far.Close(); err != nil {
		t.Fatal(err)
	}
	if uid, ok := peer(far); ok {
		t.Errorf("of a closed connection the user %d is said to be at the other end", uid)
	}
}
