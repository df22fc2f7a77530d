//go:build unix

package pgtest

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"testing"
)

// binaries returns the folder of PostgreSQL's programs, of the newest version.
func binaries(t testing.TB) string {
	t.Helper()
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if path, err := exec.LookPath("initdb"); err == nil {
		found = append(found, path)
	}
	if len(found) == 0 {
		t.Skip("PostgreSQL is not installed")
	}
	number := func(path string) int {
		n, _ := strconv.Atoi(filepath.Base(filepath.Dir(filepath.Dir(path))))
		return n
	}
	newest := slices.MaxFunc(found, func(x, y string) int { return number(x) - number(y) })
	return filepath.Dir(newest)
}

// folder holds servers. They end with it, and it ends with this process.
type folder struct {
	path, bin string
	within    []string // runs a program as root, which drops the rights itself; empty for none
	guard     *exec.Cmd
	life      io.Closer // the guard's input: it ends when this process does, or close
}

// guard waits until its input ends, which it does when the process that holds
// it ends, in whatever way; then it stops the servers and removes the folder.
const guard = `trap '' HUP INT TERM
read -r end
for file in "$1"/*/postmaster.pid; do
	[ -e "$file" ] || continue
	kill -CONT "$(head -n 1 "$file")" 2>/dev/null
	"$2/pg_ctl" -D "${file%/*}" -m immediate -w -t 60 stop
done
rm -rf "$1"`

// newFolder makes a folder for servers.
func newFolder(bin string) (*folder, error) {
	path, err := os.MkdirTemp("", "pgtest")
	if err != nil {
		return nil, err
	}
	f := &folder{path: path, bin: bin}
	credential, err := unprivileged()
	if err == nil && credential != nil {
		err = os.Chown(path, int(credential.Uid), int(credential.Gid))
	}
	if err == nil {
		f.guard = exec.Command("sh", "-c", guard, "guard", path, bin)
		f.guard.Dir = "/"
		f.guard.SysProcAttr = &syscall.SysProcAttr{Credential: credential, Setsid: true}
		f.life, err = f.guard.StdinPipe()
	}
	if err == nil {
		err = f.guard.Start()
	}
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(path))
	}
	return f, nil
}

// close stops the servers and removes the folder.
func (f *folder) close() error {
	return errors.Join(f.life.Close(), f.guard.Wait())
}

// server names a server in the folder.
func (f *folder) server(name string) *Server {
	return &Server{Name: name, dir: f, data: filepath.Join(f.path, name)}
}

// unprivileged returns the user to run PostgreSQL as, which refuses to run as root; nil for the
// present user.
func unprivileged() (*syscall.Credential, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	for _, name := range []string{"postgres", "daemon"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, _ := strconv.Atoi(u.Uid)
		gid, _ := strconv.Atoi(u.Gid)
		return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
	}
	return nil, errors.New("neither user postgres nor user daemon exists to run a server as")
}

// run runs one of PostgreSQL's programs.
func (f *folder) run(program string, args ...string) error {
	return f.execute(filepath.Join(f.bin, program), args...)
}

func (f *folder) execute(program string, args ...string) error {
	credential, err := unprivileged()
	if err != nil {
		return err
	}
	command := append(append(slices.Clone(f.within), program), args...)
	c := exec.Command(command[0], command[1:]...)
	if c.Dir = f.path; len(f.within) == 0 {
		c.SysProcAttr = &syscall.SysProcAttr{Credential: credential}
	}
	// A file: a server outlives its starter, and would hold a pipe open.
	out, err := os.CreateTemp("", "pgtest")
	if err != nil {
		return err
	}
	defer func() { _ = out.Close(); _ = os.Remove(out.Name()) }()
	c.Stdout, c.Stderr = out, out
	if err := c.Run(); err != nil {
		content, _ := os.ReadFile(out.Name())
		return fmt.Errorf("%s: %w\n%s", filepath.Base(program), err, content)
	}
	return nil
}

// template is a server's files as they are before its first start. Servers are
// copies of it: a primary and standbys too, which have to begin alike.
var template struct {
	once sync.Once
	dir  *folder
	data string
	err  error
}

// copyTemplate makes the files of a server.
func (f *folder) copyTemplate(data string) error {
	template.once.Do(func() {
		if template.dir, template.err = newFolder(f.bin); template.err == nil {
			template.data = filepath.Join(template.dir.path, "template")
			template.err = template.dir.run("initdb", "-D", template.data, "-A", "trust", "-U", "campaignd",
				"-E", "UTF8", "--locale=C", "--no-sync", "--wal-segsize=4")
		}
	})
	if template.err != nil {
		return template.err
	}
	return f.execute("cp", "-R", "-p", template.data, data)
}

// write writes a file that the servers alone may read.
func (f *folder) write(path string, content []byte) error {
	credential, err := unprivileged()
	if err != nil {
		return err
	}
	if err := os.WriteFile(path, content, 0o600); err != nil || credential == nil {
		return err
	}
	return os.Chown(path, int(credential.Uid), int(credential.Gid))
}

// appendTo appends to a file that is there.
func appendTo(path, text string) error {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}
