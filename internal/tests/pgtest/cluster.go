//go:build unix

package pgtest

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Cluster is a primary and its standbys; one of the standbys must confirm each commit. A line that
// can be held and cut is between every two of them, and between clients and each of them.
type Cluster struct {
	Servers []*Server // the first one begins as the primary
	Primary *Server
	// Promoted is when the newest Failover had made a standby the primary.
	Promoted time.Time

	dir    *folder
	direct bool
	lines  map[[2]string]*Line
}

// Options are the options of a cluster.
type Options struct {
	Standbys int
	// Asynchronous makes the primary acknowledge without a standby, PostgreSQL's default.
	Asynchronous bool
	// Direct omits the lines between the servers, for tests that hold or cut none: forwarding takes
	// this process's time.
	Direct bool
}

// NewCluster starts a cluster of the test's own.
func NewCluster(t testing.TB, o Options) *Cluster {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("it needs Linux, to find the processes of a server")
	}
	dir, err := newFolder(binaries(t))
	must(t, err)
	c := &Cluster{dir: dir, direct: o.Direct, lines: make(map[[2]string]*Line)}
	t.Cleanup(func() {
		if t.Failed() {
			c.printLogs(t)
		}
		for _, s := range c.Servers {
			if s.Running() {
				s.Signal(t, syscall.SIGCONT)
			}
		}
		must(t, dir.close())
	})
	for i := range o.Standbys + 1 {
		c.Servers = append(c.Servers, dir.server(string(rune('a'+i))))
	}
	c.Primary = c.Servers[0]
	for _, s := range c.Servers {
		names := ""
		if !o.Asynchronous {
			names = c.quorum(s)
		}
		// A stopped server is not given up: the test decides what follows.
		must(t, s.create("synchronous_standby_names = '"+names+"'", "wal_level = replica", "max_wal_senders = 10",
			"wal_sender_timeout = 0", "wal_receiver_timeout = 0", "wal_receiver_status_interval = 1",
			"wal_retrieve_retry_interval = 200", "log_line_prefix = '%m [%p] %a '"))
	}
	c.Primary.Start(t)
	for _, standby := range c.Standbys() {
		c.standby(t, standby)
	}
	c.Replicated(t)
	return c
}

// quorum is the setting by which a primary waits for any of the others.
func (c *Cluster) quorum(s *Server) string {
	var names []string
	for _, other := range c.Servers {
		if other != s {
			names = append(names, other.Name)
		}
	}
	return fmt.Sprintf("ANY 1 (%s)", strings.Join(names, ", "))
}

// standby starts a server that is stopped as a standby of the primary.
func (c *Cluster) standby(t testing.TB, s *Server) {
	t.Helper()
	must(t, os.WriteFile(filepath.Join(s.data, "standby.signal"), nil, 0o644))
	s.Configure(t, fmt.Sprintf("primary_conninfo = '%s'", c.source(t, s)))
	s.Start(t)
}

// source is the address from which a standby gets the primary's log.
func (c *Cluster) source(t testing.TB, s *Server) string {
	t.Helper()
	port := c.Primary.Port
	if !c.direct {
		port = c.Line(t, s.Name, c.Primary).Port()
	}
	return fmt.Sprintf("host=127.0.0.1 port=%d user=campaignd application_name=%s", port, s.Name)
}

// Standbys are the servers that are not the primary.
func (c *Cluster) Standbys() []*Server {
	return slices.DeleteFunc(slices.Clone(c.Servers), func(s *Server) bool { return s == c.Primary })
}

// Replicated waits until all standbys that run follow the primary.
func (c *Cluster) Replicated(t testing.TB) {
	t.Helper()
	running := 0
	for _, s := range c.Standbys() {
		if s.Running() {
			running++
		}
	}
	c.Primary.Eventually(t, "the standbys follow", `select count(*) from pg_stat_replication
		where state = 'streaming'`, fmt.Sprint(running))
}

// Line is the line from a standby or a client, by its name, to a server. It is
// made when it is first asked for.
func (c *Cluster) Line(t testing.TB, from string, to *Server) *Line {
	t.Helper()
	key := [2]string{from, to.Name}
	if c.lines[key] == nil {
		c.lines[key] = NewLine(t, to, nil)
	}
	return c.lines[key]
}

// Lines are the lines to a server: of its standbys, or of clients.
func (c *Cluster) Lines(to *Server, ofClients bool) (found []*Line) {
	for key, line := range c.lines {
		isServer := slices.ContainsFunc(c.Servers, func(s *Server) bool { return s.Name == key[0] })
		if key[1] == to.Name && isServer != ofClients {
			found = append(found, line)
		}
	}
	return found
}

// Address names all servers, without lines.
func (c *Cluster) Address(parameters string) string {
	var ports []int
	for _, s := range c.Servers {
		ports = append(ports, s.Port)
	}
	return address(ports, "target_session_attrs=read-write connect_timeout=2 "+parameters)
}

// AddressFrom is Address for a client that has lines of its own.
func (c *Cluster) AddressFrom(t testing.TB, client, parameters string) string {
	t.Helper()
	var ports []int
	for _, s := range c.Servers {
		ports = append(ports, c.Line(t, client, s).Port())
	}
	return address(ports, "target_session_attrs=read-write connect_timeout=2 "+parameters)
}

// Failover makes a standby the primary, as a careful program does: no standby hears the old primary
// any more, so that it can acknowledge nothing; then all are asked, and the one with most of the
// log is promoted, since one alone may lack commits that the other has confirmed; the others follow
// it. The new primary waits for a standby from its first commit on. It ignores the old one, which
// may be alive.
func (c *Cluster) Failover(t testing.TB) {
	t.Helper()
	standbys := c.Standbys()
	for _, line := range c.Lines(c.Primary, false) {
		line.Cut()
	}
	for _, s := range standbys {
		s.Set(t, "primary_conninfo", "")
	}
	var next *Server
	most := -1
	for _, s := range standbys {
		s.Eventually(t, "the standby hears the old primary no more", `select count(*) from pg_stat_wal_receiver`, "0")
		// A restarted one reports its log only once it has applied it.
		s.Eventually(t, "the standby has applied what it has", `select count(*) from pg_stat_activity
			where backend_type = 'startup' and wait_event in ('RecoveryRetrieveRetryInterval', 'RecoveryWalStream')`, "1")
		has := s.Count(t, `select greatest(pg_last_wal_receive_lsn(), pg_last_wal_replay_lsn()) - '0/0'`)
		if has > most {
			next, most = s, has
		}
	}
	next.Promote(t)
	c.Primary, c.Promoted = next, time.Now()
	for _, s := range standbys {
		if s != next {
			s.Set(t, "primary_conninfo", c.source(t, s))
		}
	}
}

// Rejoin starts a cleanly stopped server as a standby of the primary.
func (c *Cluster) Rejoin(t testing.TB, s *Server) {
	t.Helper()
	c.standby(t, s)
}

// printLogs prints the ends of the servers' logs.
func (c *Cluster) printLogs(t testing.TB) {
	for _, s := range c.Servers {
		content, err := os.ReadFile(s.data + ".log")
		if err != nil {
			continue
		}
		t.Logf("the log of server %s ends:\n%s", s.Name, content[max(0, len(content)-8_000):])
	}
}
