package pglog

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// cluster is a primary and the standby that it waits for.
type cluster struct{ primary, standby *postgres }

// newCluster starts a cluster of the test's own.
func newCluster(t *testing.T) *cluster {
	t.Helper()
	if testing.Short() {
		t.Skip("it starts two servers")
	}
	bin := binaries(t)
	dir, err := ownedDir()
	if err != nil {
		t.Fatal(err)
	}
	c := new(cluster)
	t.Cleanup(func() {
		for _, p := range []*postgres{c.primary, c.standby} {
			if p != nil {
				p.signal(syscall.SIGCONT)
				p.stop("immediate")
			}
		}
		_ = os.RemoveAll(dir)
	})
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	c.primary, err = newPostgres(t, bin, dir, "primary", "wal_level = replica", "max_wal_senders = 8")
	check(err)
	check(c.primary.start())
	c.standby = &postgres{t: t, bin: bin, data: filepath.Join(dir, "standby")}
	check(c.primary.run("pg_basebackup", "-D", c.standby.data, "-R", "--no-sync", "-c", "fast",
		"-d", fmt.Sprintf("host=127.0.0.1 port=%d user=campaignd application_name=standby", c.primary.port)))
	check(c.standby.place("wal_receiver_timeout = 0", "wal_receiver_status_interval = 1"))
	check(c.standby.start())
	sql(t, c.primary.address(""),
		`alter system set synchronous_standby_names = 'FIRST 1 (standby)'`,
		`alter system set wal_sender_timeout = 0`,
		`select pg_reload_conf()`)
	c.primary.eventually("the standby is synchronous",
		`select count(*) from pg_stat_replication where sync_state = 'sync'`, "1")
	return c
}

// address names both servers.
func (c *cluster) address(more string) string {
	return fmt.Sprintf("host=127.0.0.1,127.0.0.1 port=%d,%d user=campaignd dbname=postgres sslmode=disable "+
		"connect_timeout=2 %s", c.primary.port, c.standby.port, more)
}

// eventually waits until a query returns a value.
func (p *postgres) eventually(what, query, want string) {
	p.t.Helper()
	var got []string
	for range 600 {
		if got = sql(p.t, p.address(""), query); len(got) == 1 && got[0] == want {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	p.t.Fatalf("%s: waited in vain; it is %q, want %s", what, got, want)
}

// count returns the number that a query returns.
func (p *postgres) count(query string) (n int) {
	p.t.Helper()
	rows := sql(p.t, p.address(""), query)
	if _, err := fmt.Sscan(strings.Join(rows, " "), &n); err != nil {
		p.t.Fatal(err)
	}
	return n
}

// crash ends all processes of the server.
func (p *postgres) crash() {
	p.t.Helper()
	p.signal(syscall.SIGKILL)
	for range 200 {
		if p.run("pg_ctl", "-D", p.data, "status") != nil {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	p.t.Fatal("the server does not end")
}

// restart starts a server that has crashed.
func (p *postgres) restart() {
	p.t.Helper()
	if err := p.start(); err != nil {
		p.t.Fatal(err)
	}
}

// promote makes a standby a primary that waits for nobody.
func (p *postgres) promote() {
	p.t.Helper()
	sql(p.t, p.address(""), `alter system set synchronous_standby_names = ''`, `select pg_reload_conf()`)
	if err := p.run("pg_ctl", "-D", p.data, "-w", "-t", "60", "promote"); err != nil {
		p.t.Fatal(err)
	}
}

const (
	// visible counts the events that a server shows.
	visible = `select count(*) from cd_event`
	// waiting counts the sessions that wait for a standby, appending the appends
	// among them, and setting the values.
	waiting   = `select count(*) from pg_stat_activity where wait_event = 'SyncRep'`
	appending = waiting + ` and query like '%insert into cd_event%'`
	setting   = waiting + ` and query like '%insert into cd_value%'`
)
