package pglog

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// Inspection is a session's view of a server, its cluster and its database. It judges nothing.
type Inspection struct {
	// Refusal is why the server is not used, in words, and Remedy what to do about
	// it; empty where it is.
	Refusal, Remedy string

	Version      int               // 150018 for 15.18
	Settings     map[string]string // as the role has them; one that the server does not know is not there
	Standby      bool              // the server is one
	Cluster      string            // the identifier that its servers share
	Timeline     uint64
	Local        bool          // it is on this machine
	TLS          string        // the version of TLS, empty without
	ClockAhead   time.Duration // of the server's, at least; 0 where the two may agree
	Monitor      bool          // the role sees all sessions and standbys
	Superuser    bool
	Signals      bool // the role may cancel and end sessions of others
	OwnsDatabase bool
	Sessions     int // of all roles and databases
	Ours         int // of programs of ours, in this database
	Stuck        int // of the role, that wait for a standby for more than a second

	Standbys []Standby // that follow now, where Monitor is set
	Archive  Archive

	Schema       int // the version of the tables, 0 where there are none
	Tables       []Table
	Foreign      []string // tables that the role does not own
	Workers      []WorkerRow
	Stores       []StoreRow
	DatabaseSize int64 // bytes
}

// Standby is a server that follows.
type Standby struct {
	Name, State, Sync string        // as pg_stat_replication has them
	Address           string        // from which it follows, empty for a socket of the file system
	Behind            int64         // bytes of WAL that it has not on its disk
	Silent            time.Duration // since its newest answer, by the clocks of both; 0 before the first
}

// Archive is how the WAL is archived.
type Archive struct {
	Failed     int64     // how often it failed
	Last       time.Time // the newest that succeeded, zero for none
	LastFailed time.Time // the newest that did not
}

// Table is a table of ours.
type Table struct {
	Name string
	Size int64 // bytes, with its indexes
}

// inspected are the settings that an inspection reads.
var inspected = []string{
	"archive_mode", "data_checksums", "fsync", "full_page_writes", "idle_in_transaction_session_timeout",
	"idle_session_timeout", "lock_timeout", "max_connections", "server_encoding", "statement_timeout",
	"synchronous_commit", "synchronous_standby_names", "transaction_timeout", "wal_level",
}

// Inspect looks at the server that an address leads to, and at the content of the database, in a
// session that can only read. Of several servers it takes the primary, or the first that answers
// where none of them is one. A server that would be refused is looked at, too; the error is for one
// that does not answer. It does not take longer than 15 seconds.
func Inspect(ctx context.Context, address string) (*Inspection, error) {
	d, err := configure(address)
	if err != nil {
		return nil, fmt.Errorf("database: inspect: %w", err)
	}
	ctx, cancel := context.WithTimeout(context.WithValue(ctx, dialing{}, true), inspectTime)
	defer cancel()
	pg, s, err := d.visit(ctx)
	if err != nil {
		return nil, fmt.Errorf("database: inspect: %w", err)
	}
	defer func() { _ = pg.Conn().Close() }()
	i := new(Inspection)
	if err := i.look(ctx, &conn{pg: pg}, s, d.single); err != nil {
		return nil, fmt.Errorf("database: inspect: %w", err)
	}
	return i, nil
}

// visit connects to the server that is to be inspected.
func (d *Database) visit(ctx context.Context) (pg *pgconn.PgConn, s server, err error) {
	config := d.config.Copy()
	config.DialFunc = dial(d.config.DialFunc)
	config.OnNotice = nil
	config.ValidateConnect = nil // such as target_session_attrs=read-write, which this session is not
	for name := range settings { // what the role has is looked at
		delete(config.RuntimeParams, name)
	}
	config.RuntimeParams["client_encoding"] = "UTF8"
	config.RuntimeParams["default_transaction_read_only"] = "on"
	failed := new(unreachable)
	for _, e := range d.endpoints {
		other, seen, err := examined(ctx, e.alone(config))
		switch {
		case err != nil:
			failed.add(e, err)
			continue
		case pg == nil:
		case seen.recovery: // as the one that there is
			_ = other.Conn().Close()
			continue
		default:
			_ = pg.Conn().Close()
		}
		if pg, s = other, seen; !s.recovery {
			break
		}
	}
	if pg == nil {
		return nil, s, failed
	}
	return pg, s, nil
}

// examined connects to a server and examines it.
func examined(ctx context.Context, config *pgconn.Config) (*pgconn.PgConn, server, error) {
	pg, err := pgconn.ConnectConfig(ctx, config)
	if err != nil {
		return nil, server{}, err
	}
	s, err := examine(ctx, pg)
	if err != nil {
		_ = pg.Conn().Close()
	}
	return pg, s, err
}

const inspectTime = 15 * time.Second

func (i *Inspection) look(ctx context.Context, c *conn, s server, single bool) error {
	// Each session of ours sets these.
	s.commit, s.statementTimeoutMS = settings["synchronous_commit"], settings["statement_timeout"]
	var refused *refusal
	if errors.As(s.refuse(c.pg.PID(), single), &refused) {
		i.Refusal, i.Remedy = refused.what, refused.remedy
	}
	i.Version = s.version
	i.Standby = s.recovery
	i.Cluster = s.cluster
	i.Timeline = s.timeline
	i.Local = local(c.pg)
	steps := []func(context.Context, *conn) error{i.lookAtSettings, i.lookAtSession, i.lookAtClock,
		i.lookAtTables}
	if !i.Standby {
		steps = append(steps, i.lookAtStandbys, i.lookAtArchive)
	}
	for _, step := range steps {
		if err := step(ctx, c); err != nil {
			return err
		}
	}
	return nil
}

// local reports whether a connection leaves this machine.
func local(pg *pgconn.PgConn) bool {
	host, _, err := net.SplitHostPort(pg.Conn().RemoteAddr().String())
	if err != nil {
		return true // a socket of the file system
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}

func (i *Inspection) lookAtSettings(ctx context.Context, c *conn) error {
	i.Settings = make(map[string]string)
	var name, value string
	return c.query(ctx, `select name, current_setting(name) from pg_settings where name = any($1)`, inspected).
		each(func() error {
			i.Settings[name] = value
			return nil
		}, &name, &value)
}

func (i *Inspection) lookAtSession(ctx context.Context, c *conn) error {
	return c.query(ctx, `select
		coalesce((select version from pg_stat_ssl where pid = pg_backend_pid() and ssl), ''),
		pg_has_role('pg_monitor', 'usage'),
		(select rolsuper from pg_roles where rolname = current_user),
		pg_has_role('pg_signal_backend', 'member'),
		(select pg_has_role(datdba, 'usage') from pg_database where datname = current_database()),
		(select count(*) from pg_stat_activity where backend_type = 'client backend' or backend_type is null),
		(select count(*) from pg_stat_activity where datname = current_database() and application_name = 'campaignd'
			and pid <> pg_backend_pid()),
		(`+stuck+`),
		pg_database_size(current_database())`).
		one(&i.TLS, &i.Monitor, &i.Superuser, &i.Signals, &i.OwnsDatabase, &i.Sessions, &i.Ours, &i.Stuck,
			&i.DatabaseSize)
}

// lookAtClock compares the clocks: the server's was read between two looks at
// this machine's.
func (i *Inspection) lookAtClock(ctx context.Context, c *conn) error {
	before := time.Now()
	var theirs time.Time
	if err := c.query(ctx, `select clock_timestamp()`).one(&theirs); err != nil {
		return err
	}
	after := time.Now()
	i.ClockAhead = clockAhead(before, theirs, after)
	return nil
}

// clockAhead is how far a clock is ahead at least that was read between two looks
// at this machine's; negative for one that is behind.
func clockAhead(before, theirs, after time.Time) time.Duration {
	switch {
	case theirs.After(after):
		return theirs.Sub(after)
	case theirs.Before(before):
		return theirs.Sub(before)
	}
	return 0
}

func (i *Inspection) lookAtStandbys(ctx context.Context, c *conn) (err error) {
	i.Standbys, err = all(c.query(ctx, `select
		coalesce(application_name, ''), coalesce(state, ''), coalesce(sync_state, ''), coalesce(host(client_addr), ''),
		coalesce(pg_wal_lsn_diff(pg_current_wal_lsn(), flush_lsn), 0)::bigint,
		coalesce(greatest(extract(epoch from clock_timestamp() - reply_time) * 1e9, 0), 0)::bigint
		from pg_stat_replication where state is distinct from 'backup' order by 1`),
		func(s *Standby) []any {
			return []any{&s.Name, &s.State, &s.Sync, &s.Address, &s.Behind, (*int64)(&s.Silent)}
		})
	return err
}

func (i *Inspection) lookAtArchive(ctx context.Context, c *conn) error {
	var last, failed *time.Time
	err := c.query(ctx, `select failed_count, last_archived_time, last_failed_time from pg_stat_archiver`).
		one(&i.Archive.Failed, &last, &failed)
	if last != nil {
		i.Archive.Last = *last
	}
	if failed != nil {
		i.Archive.LastFailed = *failed
	}
	return err
}

func (i *Inspection) lookAtTables(ctx context.Context, c *conn) error {
	var there bool
	if err := c.query(ctx, `select to_regclass('cd_schema') is not null`).one(&there); err != nil || !there {
		return err
	}
	var t Table
	var owns bool
	err := c.query(ctx, `select relname::text, pg_total_relation_size(c.oid), pg_has_role(relowner, 'usage')
		from pg_class c where relkind = 'r' and relname like 'cd\_%' and relnamespace = (
			select relnamespace from pg_class where oid = to_regclass('cd_schema')) order by 1`).each(func() error {
		if i.Tables = append(i.Tables, t); !owns {
			i.Foreign = append(i.Foreign, t.Name)
		}
		return nil
	}, &t.Name, &t.Size, &owns)
	if err != nil {
		return err
	}
	if err := c.query(ctx, `select version from cd_schema`).one(&i.Schema); err != nil {
		return denied(err)
	}
	if i.Schema < 2 {
		return nil // they are made by the next program that starts
	}
	if i.Workers, err = all(c.query(ctx, workersQuery), (*WorkerRow).columns); err == nil {
		i.Stores, err = all(c.query(ctx, storesQuery, []string(nil)), (*StoreRow).columns)
	}
	return denied(err)
}

// denied is nil for an error that says that the role may not read a table, which
// is known from its owner.
func denied(err error) error {
	var answer *pgconn.PgError
	if errors.As(err, &answer) && answer.Code == "42501" {
		return nil
	}
	return err
}

// MostConnections is how many sessions a process has at most with an address.
func MostConnections(address string) (int, error) {
	d, err := configure(address)
	if err != nil {
		return 0, err
	}
	// One sends heartbeats, one hears notifications, one looks for another primary.
	return cap(d.slots) + 3, nil
}

// KnownSchema is the version of the tables that this program makes.
func KnownSchema() int { return len(migrations) }
