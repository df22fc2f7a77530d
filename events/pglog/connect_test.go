package pglog

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/internal/tests/pgtest"
)

// refused fails unless connecting to an address is refused in words that name
// these, and not the password.
func refused(t *testing.T, address string, words ...string) {
	t.Helper()
	d, err := Connect(t.Context(), address)
	if err == nil {
		_ = d.Close()
		t.Fatalf("%s: it is connected to, want %q", address, words)
	}
	for _, word := range words {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("the error is %q; want it to say %q", err, word)
		}
	}
	if strings.Contains(err.Error(), "sesame") {
		t.Errorf("the error holds a password: %v", err)
	}
}

// Law: what can be seen to be unsafe is refused, with what to do about it.
func TestUnsafeServers(t *testing.T) {
	safe := server{pid: "7", version: 150018, encoding: "UTF8", fsync: "on", pages: "on", standbys: "ANY 1 (a, b)",
		commit: "on", statementTimeoutMS: "0"}
	if err := safe.refuse(7, false); err != nil {
		t.Fatalf("a safe server: %v", err)
	}
	for name, c := range map[string]struct {
		change func(*server)
		remedy string
	}{
		"old":            {func(s *server) { s.version = 140012 }, "PostgreSQL 15"},
		"pooler":         {func(s *server) { s.pid = "8" }, "name the server itself"},
		"standby":        {func(s *server) { s.recovery = true }, "name the primary"},
		"encoding":       {func(s *server) { s.encoding = "SQL_ASCII" }, "UTF8"},
		"fsync":          {func(s *server) { s.fsync = "off" }, "set fsync = on"},
		"pages":          {func(s *server) { s.pages = "off" }, "set full_page_writes = on"},
		"no standby":     {func(s *server) { s.standbys = "" }, "single=yes"},
		"asynchronous":   {func(s *server) { s.commit = "off" }, "pooler"},
		"times are kept": {func(s *server) { s.statementTimeoutMS = "1000" }, "pooler"},
	} {
		s := safe
		c.change(&s)
		var refused *refusal
		if err := s.refuse(7, false); !errors.As(err, &refused) || !strings.Contains(refused.remedy, c.remedy) {
			t.Errorf("%s: %v, want the remedy %q", name, err, c.remedy)
		}
	}
}

// Law: the same of a real server, a real standby and a real pooler's answer.
func TestUnsafeServersAreSeen(t *testing.T) {
	p := pgtest.Shared(t)
	refused(t, p.Address("password=sesame"), "waits for no standby", "single=yes")
	for _, setting := range []string{"fsync", "full_page_writes"} {
		p.SQL(t, `alter system set `+setting+` = off`, `select pg_reload_conf()`)
		p.Eventually(t, "the setting is read", `show `+setting, "off")
		refused(t, p.Address("single=yes"), setting)
		p.SQL(t, `alter system reset `+setting, `select pg_reload_conf()`)
		p.Eventually(t, "the setting is read", `show `+setting, "on")
	}
	// A pooler gives its own numbers to the sessions (BackendKeyData).
	renumber := func(b []byte) bool {
		for i := 0; i+13 <= len(b); i++ {
			if b[i] == 'K' && binary.BigEndian.Uint32(b[i+1:]) == 12 {
				b[i+8] ^= 1
			}
		}
		return true
	}
	x := pgtest.NewLine(t, p, func() (toServer, toClient func([]byte) bool) {
		return func([]byte) bool { return true }, renumber
	})
	refused(t, strings.Replace(p.Address("single=yes"), fmt.Sprint(p.Port), fmt.Sprint(x.Port()), 1), "pooler")
	refused(t, p.Address("single=maybe"), "yes or no")
	refused(t, p.Address("connections=0"), "number")
	refused(t, fmt.Sprintf("postgres://campaignd:sesame@127.0.0.1:%d/nowhere", p.Port), "nowhere")
	refused(t, "postgres://campaignd:sesame@[::1:5x/db?sslmode=sesame", "PGPASSWORD")
	refused(t, "host=127.0.0.1 port=99999 password=sesame", "PGPASSWORD")
}

// Law: who cannot connect is told so of each server that was tried, in one line, and what
// can be done about it.
func TestNoConnection(t *testing.T) {
	p := pgtest.Shared(t)
	gone := pgtest.NewLine(t, p, nil)
	gone.Cut()
	refused(t, p.Address("single=yes dbname=none"), `database "none" does not exist: see which databases there are`)
	refused(t, p.Address("single=yes user=nobody"), `role "nobody" does not exist: see which roles there are`)
	refused(t, p.Address("sslmode=require"), fmt.Sprintf("127.0.0.1:%d: tls error: server refused TLS connection", p.Port))
	refused(t, p.Address("host=absent.invalid"), "absent.invalid")
	address := p.Address(fmt.Sprintf("host=127.0.0.1,127.0.0.1 port=%d,%d user=nobody", gone.Port(), p.Port))
	refused(t, address, fmt.Sprintf("127.0.0.1:%d: ", gone.Port()), fmt.Sprintf("; 127.0.0.1:%d: role", p.Port))
	if _, err := Connect(t.Context(), address); strings.Contains(err.Error(), "\n") {
		t.Errorf("it has several lines: %v", err)
	}
	pooler := &pgconn.PgError{Code: "08P01", Message: "unsupported startup parameter: lock_timeout"} // PgBouncer's
	if got := reason(pooler); !strings.Contains(got, "lock_timeout") || !strings.Contains(got, "name the server itself") {
		t.Errorf("of a pooler it says %q", got)
	}
}

// Law: where the primary does not answer, that is said, and not what to do about the standby
// beside it, since all servers are named already. That is for a standby which is named alone.
func TestNoPrimary(t *testing.T) {
	t.Parallel()
	c := pgtest.NewCluster(t, pgtest.Options{Standbys: 1, Direct: true})
	primary, standby := c.Primary, c.Standbys()[0]
	refused(t, standby.Address(""), "the server is a standby: name the primary, or all servers")
	primary.Crash(t)
	refused(t, c.Address(""), fmt.Sprintf("127.0.0.1:%d: connect: connection refused; 127.0.0.1:%d: a standby",
		primary.Port, standby.Port))
}

// Law: of a standby it is said that the primary is to be named where it is named alone; beside other
// servers it is as it should be. Those are asked too, one after the other.
func TestStandbyAloneAndBesideOthers(t *testing.T) {
	for address, want := range map[string]string{
		"host=127.0.0.1 port=1 user=ada sslmode=disable":             errStandby.Error(),
		"host=127.0.0.1,127.0.0.1 port=1,2 user=ada sslmode=disable": "127.0.0.1:1: a standby; 127.0.0.1:2: a standby",
	} {
		d := must.Get(configure(address))(t)
		d.config.DialFunc = func(context.Context, string, string) (net.Conn, error) { return nil, errStandby }
		if _, err := d.connect(t.Context()); err == nil || plainly(err).Error() != want {
			t.Errorf("%s: it is said %q, want %q", address, plainly(err), want)
		}
	}
}

// Law: a role without rights, encrypted and with its password, has all that a log needs. A server
// that cannot prove to be that of the address is not talked to, and what to do is said.
func TestEncrypted(t *testing.T) {
	t.Parallel()
	p := pgtest.NewCluster(t, pgtest.Options{Asynchronous: true, Direct: true}).Primary
	authority := p.Encrypt(t, "lab", "sesame")
	p.SQL(t, `create database lab owner lab`)
	at := func(host, password, parameters string) string {
		return fmt.Sprintf("host=%s port=%d user=lab password=%s dbname=lab single=yes %s", host, p.Port, password, parameters)
	}
	proven := "sslmode=verify-full sslrootcert=" + authority
	refused(t, at("127.0.0.1", "sesame", "sslmode=disable"), "no encryption", "sslmode=verify-full")
	refused(t, at("127.0.0.1", "sesame", "sslmode=verify-full"), "unknown authority", "sslrootcert")
	refused(t, at("localhost", "sesame", proven), "not localhost", "write the host as its certificate does")
	refused(t, at("127.0.0.1", "open", proven), "password authentication failed", "PGPASSWORD")

	address := at("127.0.0.1", "sesame", proven)
	conform(t, mustConnect(t, address))
	seen := must.Get(Inspect(t.Context(), address))(t)
	if seen.TLS == "" || seen.Superuser || seen.Refusal != "" {
		t.Errorf("TLS %q, superuser %t, refused %q", seen.TLS, seen.Superuser, seen.Refusal)
	}
}

// Law: an address that leads to a server of another cluster, as a list of hosts
// can, is refused as that; the events that are not there are no damage.
func TestAnotherCluster(t *testing.T) {
	d := mustConnect(t, freshDatabase(t))
	l := mustOpen(t, d, "s", Options{})
	must.Do(t, l.Probe())
	own := pgtest.Shared(t).SQL(t, `select system_identifier from pg_control_system()`)[0]
	d.mu.Lock()
	if d.cluster != own {
		t.Errorf("the cluster is %q, want %q", d.cluster, own)
	}
	d.cluster = "7"
	d.mu.Unlock()
	if err := l.Probe(); err == nil || !strings.Contains(err.Error(), "another cluster ("+own+")") {
		t.Errorf("a server of another cluster: %v", err)
	}
}

// Law: a session has the settings that its promises rest on, whatever the role
// says, and the tables are not used by a program that does not know them.
func TestSessions(t *testing.T) {
	p := pgtest.Shared(t)
	address := freshDatabase(t)
	name := pgtest.SQL(t, address, `select current_database()`)[0]
	for _, setting := range []string{`statement_timeout = '1ms'`, `synchronous_commit = off`, `lock_timeout = '1ms'`,
		`default_transaction_isolation = 'serializable'`, `idle_session_timeout = '1ms'`} {
		p.SQL(t, `alter database `+name+` set `+setting)
	}
	d := mustConnect(t, address)
	l := mustOpen(t, d, "s", Options{})
	must.Get(l.Append(t.Context(), "c", 0, testEvents(3, "e")...))(t)
	sound(t, l, "e-0", "e-1", "e-2")
	p.SQL(t, `alter database `+name+` reset all`)

	if _, err := d.Open(t.Context(), "absent", Options{MustExist: true}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a store that is not there: %v", err)
	}
	if _, err := d.Open(t.Context(), "absent", Options{ReadOnly: true}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a store that is not there, to read: %v", err)
	}
	for _, name := range []string{"", "a\nb", "a\xff", strings.Repeat("x", MaxNameSize+1)} {
		if _, err := d.Open(t.Context(), name, Options{}); err == nil {
			t.Errorf("the name %q is taken", name)
		}
	}
	cause := errors.New("not this one")
	if _, err := d.Open(t.Context(), "s", Options{Check: func(s events.Store) error {
		return errors.Join(s.Check(t.Context(), ""), cause)
	}}); !errors.Is(err, cause) || errors.Is(err, events.ErrDamaged) {
		t.Errorf("a store that is refused by its check: %v", err)
	}
	reader := mustOpen(t, d, "s", Options{ReadOnly: true})
	if _, err := reader.Append(t.Context(), "c", 3); !errors.Is(err, events.ErrReadOnly) {
		t.Errorf("an append to a log for reading: %v", err)
	}
	if err := errors.Join(reader.SetOffset("c", 1), reader.Probe()); !errors.Is(err, events.ErrReadOnly) {
		t.Errorf("an offset in a log for reading: %v", err)
	}

	pgtest.SQL(t, address, `update cd_schema set version = 1000`)
	if _, err := Connect(t.Context(), address); !errors.Is(err, events.ErrNewerFormat) {
		t.Errorf("tables of a newer program: %v", err)
	}
}
