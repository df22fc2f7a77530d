//go:build unix

package pgtest

import (
	"context"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// Server is a PostgreSQL server of a test's.
type Server struct {
	Name string
	Port int
	dir  *folder
	data string
}

// shared is the server that the tests of a process share. The folder ends with
// the process.
var shared struct {
	once   sync.Once
	server *Server
	err    error
}

// Shared returns the server that the tests of this process share, which has no
// standby.
func Shared(t testing.TB) *Server {
	t.Helper()
	bin := binaries(t)
	shared.once.Do(func() {
		var dir *folder
		if dir, shared.err = newFolder(bin); shared.err != nil {
			return
		}
		shared.server = dir.server("shared")
		if shared.err = shared.server.create(); shared.err == nil {
			shared.err = shared.server.start()
		}
	})
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	return shared.server
}

var databases atomic.Int64

// URL returns the address of an empty database on the server that the tests
// share. It has no standby, which the address allows (single=yes).
func URL(t testing.TB) string {
	t.Helper()
	s := Shared(t)
	return fmt.Sprintf("postgres://campaignd@127.0.0.1:%d/%s?sslmode=disable&single=yes", s.Port, s.fresh(t))
}

// Database is like URL, of this server, in libpq's other form and with
// parameters of the test's choice.
func (s *Server) Database(t testing.TB, parameters string) string {
	t.Helper()
	return strings.Replace(s.Address(parameters), "dbname=postgres", "dbname="+s.fresh(t), 1)
}

func (s *Server) fresh(t testing.TB) string {
	t.Helper()
	name := fmt.Sprintf("d%d", databases.Add(1))
	SQL(t, s.Address(""), `create database `+name)
	return name
}

// Address is the address of the server's first database.
func (s *Server) Address(parameters string) string { return address([]int{s.Port}, parameters) }

// address is that of the first database of a cluster.
func address(ports []int, parameters string) string {
	hosts, numbers := make([]string, len(ports)), make([]string, len(ports))
	for i, port := range ports {
		hosts[i], numbers[i] = "127.0.0.1", strconv.Itoa(port)
	}
	return fmt.Sprintf("host=%s port=%s user=campaignd dbname=postgres sslmode=disable %s",
		strings.Join(hosts, ","), strings.Join(numbers, ","), parameters)
}

// SQL executes statements on a connection of their own, and returns the first
// column of the last one's rows.
func SQL(t testing.TB, address string, statements ...string) []string {
	t.Helper()
	rows, err := query(address, statements...)
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

// Hold executes a statement in a transaction that stays open until release is called: others wait
// for its locks.
func Hold(t testing.TB, address, statement string) (release func()) {
	t.Helper()
	config, err := configure(address)
	if err != nil {
		t.Fatal(err)
	}
	c, err := pgx.ConnectConfig(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	release = sync.OnceFunc(func() { _ = c.Close(context.Background()) })
	t.Cleanup(release)
	if _, err := c.Exec(t.Context(), `begin; `+statement); err != nil {
		t.Fatal(err)
	}
	return release
}

// configure reads an address without the parameters that are events/pglog's own.
func configure(address string) (*pgx.ConnConfig, error) {
	config, err := pgx.ParseConfig(address)
	if err != nil {
		return nil, err
	}
	for _, parameter := range []string{"single", "connections"} {
		delete(config.RuntimeParams, parameter)
	}
	return config, nil
}

func query(address string, statements ...string) (rows []string, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	config, err := configure(address)
	if err != nil {
		return nil, err
	}
	c, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return nil, err
	}
	defer func() { _ = c.Close(ctx) }()
	for _, statement := range statements {
		results, err := c.PgConn().Exec(ctx, statement).ReadAll()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", statement, err)
		}
		rows = nil
		for _, row := range results[len(results)-1].Rows {
			rows = append(rows, string(row[0]))
		}
	}
	return rows, nil
}

// SQL executes statements on the server.
func (s *Server) SQL(t testing.TB, statements ...string) []string {
	t.Helper()
	return SQL(t, s.Address(""), statements...)
}

// Set changes settings of the server that need no restart.
func (s *Server) Set(t testing.TB, name, value string) {
	t.Helper()
	s.SQL(t, fmt.Sprintf(`alter system set %s = '%s'`, name, value), `select pg_reload_conf()`)
}

// Encrypt has the server use TLS, and makes a role without rights that is let in with its password
// and by TLS only. It returns the file of the authority of the server's certificate, which is for
// 127.0.0.1 and not for localhost.
func (s *Server) Encrypt(t testing.TB, role, password string) (authority string) {
	t.Helper()
	web := httptest.NewTLSServer(nil)
	defer web.Close()
	key, err := x509.MarshalPKCS8PrivateKey(web.TLS.Certificates[0].PrivateKey)
	must(t, err)
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: web.Certificate().Raw})
	must(t, s.dir.write(filepath.Join(s.data, "server.crt"), certificate))
	must(t, s.dir.write(filepath.Join(s.data, "server.key"), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key})))
	s.SQL(t, fmt.Sprintf(`create role %s login password '%s'`, role, password))
	access := filepath.Join(s.data, "pg_hba.conf")
	before, err := os.ReadFile(access)
	must(t, err)
	rules := fmt.Sprintf("hostssl all %[1]s all scram-sha-256\nhost all %[1]s all reject\n", role)
	must(t, s.dir.write(access, append([]byte(rules), before...)))
	s.Set(t, "ssl", "on")
	authority = filepath.Join(t.TempDir(), "authority.pem")
	must(t, os.WriteFile(authority, certificate, 0o600))
	return authority
}

// Count returns the number that a query returns.
func (s *Server) Count(t testing.TB, query string) (n int) {
	t.Helper()
	if _, err := fmt.Sscan(strings.Join(s.SQL(t, query), " "), &n); err != nil {
		t.Fatal(err)
	}
	return n
}

// Eventually waits until a query returns a value.
func (s *Server) Eventually(t testing.TB, what, query, want string) {
	t.Helper()
	var got []string
	for range 600 {
		if got = s.SQL(t, query); len(got) == 1 && got[0] == want {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Fatalf("%s: waited in vain; it is %q, want %s", what, got, want)
}

// create makes the server's files, independent of other servers, and does not start it.
func (s *Server) create(settings ...string) error {
	if err := s.dir.copyTemplate(s.data); err != nil {
		return err
	}
	return s.place(settings...)
}

// place gives the server a port of its own.
func (s *Server) place(settings ...string) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	s.Port = l.Addr().(*net.TCPAddr).Port
	if err := l.Close(); err != nil {
		return err
	}
	return s.configure(append([]string{
		fmt.Sprintf("port = %d", s.Port),
		"listen_addresses = '127.0.0.1'",
		"unix_socket_directories = ''",
		"shared_buffers = 32MB",
		"max_connections = 200",
		"wal_keep_size = 256MB",
	}, settings...)...)
}

// Configure appends settings to those of the server, which it reads when it
// starts.
func (s *Server) Configure(t testing.TB, lines ...string) {
	t.Helper()
	must(t, s.configure(lines...))
}

func (s *Server) configure(lines ...string) error {
	return appendTo(filepath.Join(s.data, "postgresql.auto.conf"), strings.Join(lines, "\n")+"\n")
}

// Start starts the server, after it was stopped or has crashed too.
func (s *Server) Start(t testing.TB) {
	t.Helper()
	must(t, s.start())
}

func (s *Server) start() error {
	return s.dir.run("pg_ctl", "-D", s.data, "-w", "-t", "120", "-l", s.data+".log", "start")
}

// Stop stops the server: "fast" waits until its standbys have all, "immediate"
// waits for nothing.
func (s *Server) Stop(t testing.TB, mode string) {
	t.Helper()
	must(t, s.dir.run("pg_ctl", "-D", s.data, "-w", "-t", "120", "-m", mode, "stop"))
}

// Promote makes a standby a primary.
func (s *Server) Promote(t testing.TB) {
	t.Helper()
	must(t, s.dir.run("pg_ctl", "-D", s.data, "-w", "-t", "120", "promote"))
}

// pidFile names the process of a server that runs, or was killed.
func (s *Server) pidFile() string { return filepath.Join(s.data, "postmaster.pid") }

// Running reports whether the server was started, and not stopped since.
func (s *Server) Running() bool {
	_, err := os.Stat(s.pidFile())
	return err == nil
}

// processes returns the server's processes, the first one last.
func (s *Server) processes() ([]int, error) {
	content, err := os.ReadFile(s.pidFile())
	if err != nil {
		return nil, err
	}
	pid, err := strconv.Atoi(strings.SplitN(string(content), "\n", 2)[0])
	if err != nil {
		return nil, err
	}
	return append(children(pid), pid), nil
}

// Signal sends a signal to all processes of the server.
func (s *Server) Signal(t testing.TB, signal syscall.Signal) {
	t.Helper()
	pids, err := s.processes()
	must(t, err)
	for _, pid := range pids {
		_ = syscall.Kill(pid, signal)
	}
}

// Crash kills all processes of the server.
func (s *Server) Crash(t testing.TB) {
	t.Helper()
	pids, err := s.processes()
	must(t, err)
	first := pids[len(pids)-1]
	_ = syscall.Kill(first, syscall.SIGSTOP) // so that it starts none meanwhile
	for _, pid := range append(children(first), first) {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
	for range 1000 {
		if s.dir.run("pg_ctl", "-D", s.data, "status") != nil {
			must(t, os.Remove(s.pidFile())) // its number may become another's
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Fatal("the server does not end")
}

// children returns the processes that a process has started.
func children(pid int) (found []int) {
	lists, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, list := range lists {
		content, _ := os.ReadFile(list)
		for word := range strings.FieldsSeq(string(content)) {
			if child, err := strconv.Atoi(word); err == nil {
				found = append(found, child)
			}
		}
	}
	return found
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
