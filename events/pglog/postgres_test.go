package pglog

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/campaignd/campaignd/events"
)

// TestMain stops the server that the tests share.
func TestMain(m *testing.M) {
	code := m.Run()
	if shared.server != nil {
		shared.server.stop("immediate")
	}
	if shared.dir != "" {
		_ = os.RemoveAll(shared.dir)
	}
	os.Exit(code)
}

// shared is a server without a standby, for the tests that need none.
var shared struct {
	once   sync.Once
	dir    string
	server *postgres
	err    error
}

// binaries is the folder of PostgreSQL's programs of the newest version there is.
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

// postgres is a server that a test started.
type postgres struct {
	t    testing.TB
	bin  string
	data string
	port int
}

// unprivileged has a command run as a user who may run PostgreSQL: it refuses to as root.
func unprivileged(c *exec.Cmd) (*syscall.Credential, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, _ := strconv.Atoi(u.Uid)
		gid, _ := strconv.Atoi(u.Gid)
		credential := &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
		if c != nil {
			c.SysProcAttr = &syscall.SysProcAttr{Credential: credential}
		}
		return credential, nil
	}
	return nil, errors.New("there is no user postgres or nobody to run a server as")
}

// run runs one of PostgreSQL's programs.
func (p *postgres) run(program string, args ...string) error {
	c := exec.Command(filepath.Join(p.bin, program), args...)
	c.Dir = filepath.Dir(p.data)
	if _, err := unprivileged(c); err != nil {
		return err
	}
	var out bytes.Buffer
	log, err := os.CreateTemp("", "pglog")
	if err != nil {
		return err
	}
	defer func() { _ = log.Close(); _ = os.Remove(log.Name()) }()
	c.Stdout, c.Stderr = log, log // a file: the server outlives its starter, and holds a pipe open
	err = c.Run()
	if content, readErr := os.ReadFile(log.Name()); readErr == nil {
		out.Write(content)
	}
	if err != nil {
		return fmt.Errorf("%s: %w\n%s", program, err, out.String())
	}
	return nil
}

// ownedDir makes a folder for servers.
func ownedDir() (string, error) {
	dir, err := os.MkdirTemp("", "pglog")
	if err != nil {
		return "", err
	}
	credential, err := unprivileged(nil)
	if err == nil && credential != nil {
		err = os.Chown(dir, int(credential.Uid), int(credential.Gid))
	}
	return dir, err
}

// freePort returns a port that nothing listens on.
func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	return l.Addr().(*net.TCPAddr).Port, l.Close()
}

// configure appends settings to the server's.
func (p *postgres) configure(lines ...string) error {
	f, err := os.OpenFile(filepath.Join(p.data, "postgresql.auto.conf"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(strings.Join(lines, "\n") + "\n")
	return errors.Join(err, f.Close())
}

// newPostgres makes a server in a folder, and does not start it.
func newPostgres(t testing.TB, bin, dir, name string, settings ...string) (*postgres, error) {
	p := &postgres{t: t, bin: bin, data: filepath.Join(dir, name)}
	err := p.run("initdb", "-D", p.data, "-A", "trust", "-U", "campaignd", "-E", "UTF8", "--locale=C", "--no-sync")
	if err != nil {
		return nil, err
	}
	return p, p.place(settings...)
}

// place gives the server a port of its own.
func (p *postgres) place(settings ...string) (err error) {
	if p.port, err = freePort(); err != nil {
		return err
	}
	return p.configure(append([]string{
		fmt.Sprintf("port = %d", p.port),
		"listen_addresses = '127.0.0.1'",
		"unix_socket_directories = ''",
		"shared_buffers = 32MB",
		"max_connections = 200",
		"wal_keep_size = 256MB",
	}, settings...)...)
}

func (p *postgres) start() error {
	return p.run("pg_ctl", "-D", p.data, "-w", "-t", "60", "-l", p.data+".log", "start")
}

func (p *postgres) stop(mode string) {
	_ = p.run("pg_ctl", "-D", p.data, "-w", "-m", mode, "stop")
}

// address is the address of a database on the server.
func (p *postgres) address(more string) string {
	return fmt.Sprintf("host=127.0.0.1 port=%d user=campaignd dbname=postgres sslmode=disable %s", p.port, more)
}

// signal sends a signal to all processes of the server.
func (p *postgres) signal(s syscall.Signal) {
	p.t.Helper()
	content, err := os.ReadFile(filepath.Join(p.data, "postmaster.pid"))
	if err != nil {
		p.t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.SplitN(string(content), "\n", 2)[0])
	if err != nil {
		p.t.Fatal(err)
	}
	for _, child := range append(children(pid), pid) {
		_ = syscall.Kill(child, s)
	}
}

// children returns the processes that a process has started.
func children(pid int) (found []int) {
	lists, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, list := range lists {
		content, _ := os.ReadFile(list)
		for _, word := range strings.Fields(string(content)) {
			if child, err := strconv.Atoi(word); err == nil {
				found = append(found, child)
			}
		}
	}
	return found
}

// sharedServer is the address of the server that the tests share.
func sharedServer(t testing.TB) *postgres {
	t.Helper()
	bin := binaries(t)
	shared.once.Do(func() {
		if shared.dir, shared.err = ownedDir(); shared.err != nil {
			return
		}
		var p *postgres
		if p, shared.err = newPostgres(t, bin, shared.dir, "shared"); shared.err != nil {
			return
		}
		if shared.err = p.start(); shared.err == nil {
			shared.server = p
		}
	})
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	return shared.server
}

var databases atomic.Int64

// freshDatabase makes an empty database on a server and returns its address.
func freshDatabase(t testing.TB, p *postgres, more string) string {
	t.Helper()
	name := fmt.Sprintf("d%d", databases.Add(1))
	sql(t, p.address(""), `create database `+name)
	return strings.Replace(p.address(more), "dbname=postgres", "dbname="+name, 1)
}

// sql executes statements on a connection of the test's own, and returns the
// first column of the last one's rows.
func sql(t testing.TB, address string, statements ...string) (rows []string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	for _, own := range []string{"single=yes", "connections=4"} {
		address = strings.Replace(address, own, "", 1)
	}
	c, err := pgx.Connect(ctx, address)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close(ctx) }()
	for _, statement := range statements {
		results, err := c.PgConn().Exec(ctx, statement).ReadAll()
		if err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
		rows = nil
		for _, row := range results[len(results)-1].Rows {
			rows = append(rows, string(row[0]))
		}
	}
	return rows
}

// mustConnect connects to a database, with less patience than a lab's.
func mustConnect(t testing.TB, address string) *Database {
	t.Helper()
	d, err := connectTo(t.Context(), address, 5*time.Second, defaultPollTime)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	return d
}

// mustOpen opens a store that has to open.
func mustOpen(t testing.TB, d *Database, name string, o Options) *Log {
	t.Helper()
	l, err := d.Open(t.Context(), name, o)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// testEvents returns n small events whose IDs begin alike.
func testEvents(n int, format string, args ...any) []events.Event {
	batch := make([]events.Event, n)
	for i := range batch {
		batch[i] = events.Event{
			ID: fmt.Sprintf(format+"-%d", append(args, i)...), Kind: "test.kind", Version: 1, Data: []byte(`{}`),
		}
	}
	return batch
}

// sound fails where the log does not hold the events of these IDs, in this
// order, or does not verify.
func sound(t testing.TB, l *Log, want ...string) {
	t.Helper()
	var got []string
	for e, err := range l.Read(context.Background(), 0) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, e.ID)
	}
	if !slices.Equal(got, want) {
		t.Fatalf("the log holds %q, want %q", got, want)
	}
	verified(t, l)
}

// verified fails where the log does not verify.
func verified(t testing.TB, l *Log) {
	t.Helper()
	report, err := l.Verify(context.Background())
	if err != nil || !report.Sound() {
		t.Fatalf("verified: %+v, %v", report, err)
	}
}
