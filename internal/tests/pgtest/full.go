//go:build unix

package pgtest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Small is a database of a server of its own whose files are on a disk that a test can
// fill: a file system of 48 MB in memory, which the server alone sees and which ends
// with it. The rest of the server, such as its write-ahead log, is elsewhere: a server
// without room for that one ends itself, as one that crashes.
type Small struct {
	URL    string
	server *Server
	disk   string
}

// NewSmall starts the server. It skips the test where nothing may be mounted.
func NewSmall(t testing.TB) *Small {
	t.Helper()
	dir, err := newFolder(binaries(t))
	must(t, err)
	t.Cleanup(func() { must(t, dir.close()) })
	s := dir.server("small")
	must(t, s.create())
	disk := filepath.Join(dir.path, "disk")
	must(t, os.Mkdir(disk, 0o755))
	credential, err := unprivileged()
	must(t, err)
	if credential == nil {
		t.Skip("a full disk is made by root alone: nothing may be mounted here")
	}
	user := fmt.Sprintf("uid=%d,gid=%d", credential.Uid, credential.Gid)
	script := fmt.Sprintf(`mount -t tmpfs -o size=48m,%[1]s tmpfs %[2]q && mkdir %[2]q/space && chown %[3]d:%[4]d %[2]q/space &&
		exec setpriv --reuid %[3]d --regid %[4]d --clear-groups "$@"`, user, disk, credential.Uid, credential.Gid)
	if out, err := exec.Command("unshare", "--mount", "sh", "-c", script, "sh", "true").CombinedOutput(); err != nil {
		t.Skipf("nothing may be mounted here: %v: %s", err, out)
	}
	s.dir.within = []string{"unshare", "--mount", "sh", "-c", script, "sh"}
	must(t, s.start())
	s.dir.within = nil
	s.SQL(t, fmt.Sprintf(`create tablespace small location '%s/space'`, disk), `create database small tablespace small`)
	return &Small{
		URL:    fmt.Sprintf("postgres://campaignd@127.0.0.1:%d/small?sslmode=disable&single=yes", s.Port),
		server: s, disk: disk,
	}
}

// Fill fills the disk to the last page.
func (s *Small) Fill(t testing.TB) {
	t.Helper()
	_, err := query(s.server.Address(""), fmt.Sprintf(
		`copy (select repeat('x', 1000) from generate_series(1, 1000000)) to '%s/ballast'`, s.disk))
	if err == nil || !strings.Contains(err.Error(), "No space left") {
		t.Fatalf("the disk is not full: %v", err)
	}
}

// Free makes room again.
func (s *Small) Free(t testing.TB) {
	t.Helper()
	s.server.SQL(t, fmt.Sprintf(`copy (select 'x') to '%s/ballast'`, s.disk))
}
