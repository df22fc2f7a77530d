//go:build linux || darwin || freebsd

package control

import (
	"net"
	"os"
	"path/filepath"
	"testing"

	"github.com/campaignd/campaignd/internal/tests/must"
)

// Law: who is at the other end is the system's word; where it has none, as of a
// connection that is closed, nobody is known, and least of all root.
func TestPeerOfAClosedConnection(t *testing.T) {
	l := must.Get(net.Listen("unix", filepath.Join(t.TempDir(), "s")))(t)
	defer l.Close()
	near := must.Get(net.Dial("unix", l.Addr().String()))(t)
	defer near.Close()
	far := must.Get(l.Accept())(t)
	if uid, ok := peer(far); !ok || int(uid) != os.Getuid() {
		t.Errorf("at the other end is %d, %v", uid, ok)
	}
	must.Do(t, far.Close())
	if uid, ok := peer(far); ok {
		t.Errorf("of a closed connection the user %d is said to be at the other end", uid)
	}
}
