//go:build unix

package pgtest

import (
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// Law: each test has a database of its own on the server that all share.
func TestShared(t *testing.T) {
	one, two := URL(t), Shared(t).Database(t, "single=yes")
	SQL(t, one, `create table a (b int)`)
	if n := SQL(t, two, `select count(*) from pg_tables where tablename = 'a'`)[0]; n != "0" {
		t.Errorf("a test has another one's tables")
	}
	if _, err := pgx.ParseConfig(one); err != nil {
		t.Error(err)
	}
}

// Law: the servers end with the process that started them, also when it is killed.
func TestServersEndWithTheirProcess(t *testing.T) {
	if address := os.Getenv("PGTEST_TO_BE_KILLED"); address != "" {
		_, _ = fmt.Println(Shared(t).Port, Shared(t).data)
		time.Sleep(time.Hour)
	}
	binaries(t)
	self, err := os.Executable()
	must(t, err)
	c := exec.Command(self, "-test.run", "^TestServersEndWithTheirProcess$")
	c.Env = append(os.Environ(), "PGTEST_TO_BE_KILLED=yes")
	out, err := c.StdoutPipe()
	must(t, err)
	must(t, c.Start())
	var port int
	var data string
	_, err = fmt.Fscan(out, &port, &data)
	must(t, err)
	SQL(t, address([]int{port}, ""), `select 1`)
	must(t, c.Process.Kill())
	_ = c.Wait()
	for range 600 {
		if _, err := os.Stat(data); os.IsNotExist(err) {
			if l, err := net.Dial("tcp", fmt.Sprint("127.0.0.1:", port)); err == nil {
				_ = l.Close()
				t.Error("the server goes on")
			}
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Error("the server's files are still there")
}

// Law: a line that is held closes nothing, accepts, and delivers late what it
// held; one that is cut does not.
func TestLine(t *testing.T) {
	echo, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer func() { _ = echo.Close() }()
	go func() {
		for {
			c, err := echo.Accept()
			if err != nil {
				return
			}
			go func() { _, _ = io.Copy(c, c); _ = c.Close() }()
		}
	}()
	l := NewLine(t, &Server{Port: echo.Addr().(*net.TCPAddr).Port}, nil)
	dial := func() net.Conn {
		c, err := net.Dial("tcp", fmt.Sprint("127.0.0.1:", l.Port()))
		must(t, err)
		t.Cleanup(func() { _ = c.Close() })
		return c
	}
	hears := func(c net.Conn, within time.Duration, want string) {
		t.Helper()
		_ = c.SetReadDeadline(time.Now().Add(within))
		b := make([]byte, 100)
		n, err := c.Read(b)
		if got := string(b[:n]); got != want && (want != "" || err == nil) {
			t.Errorf("heard %q, %v, want %q", got, err, want)
		}
	}
	old := dial()
	_, _ = old.Write([]byte("one"))
	hears(old, time.Minute, "one")
	l.Hold()
	fresh := dial()
	for _, c := range []net.Conn{old, fresh} {
		_, _ = c.Write([]byte("two"))
		hears(c, 100*time.Millisecond, "")
	}
	l.Pass()
	hears(old, time.Minute, "two")
	hears(fresh, time.Minute, "two")
	l.Cut()
	hears(old, time.Minute, "")
	hears(dial(), time.Minute, "")
	l.Pass()
	again := dial()
	_, _ = again.Write([]byte("three"))
	hears(again, time.Minute, "three")
}

// Law: after a failover the new primary has what was acknowledged, waits for the
// standby that is left, and clients find it; the old one confirms nothing.
func TestFailover(t *testing.T) {
	c := NewCluster(t, Options{Standbys: 2})
	client := c.AddressFrom(t, "client", "")
	SQL(t, client, `create table a (b int)`, `insert into a values (1)`)
	old := c.Primary
	// The one that will have less of the log is the one that does not hear.
	behind, ahead := c.Standbys()[0], c.Standbys()[1]
	c.Line(t, behind.Name, old).Hold()
	SQL(t, client, `insert into a values (2)`)
	c.Failover(t)
	if c.Primary != ahead {
		t.Fatal("the standby is promoted that has less")
	}
	must(t, func() error { _, err := query(c.Primary.Address(""), `insert into a values (3)`); return err }())
	if n := c.Primary.Count(t, `select count(*) from a`); n != 3 {
		t.Errorf("the new primary has %d rows", n)
	}
	c.Primary.Eventually(t, "the other follows", `select application_name from pg_stat_replication`, behind.Name)
	if n := old.Count(t, `select count(*) from pg_stat_replication`); n != 0 {
		t.Errorf("the old primary has %d standbys", n)
	}
	old.Stop(t, "immediate")
	if got := SQL(t, client, `select string_agg(b::text, ' ' order by b) from a`); strings.Join(got, "") != "1 2 3" {
		t.Errorf("a client finds %q", got)
	}
}
