package pglog

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// refusal is the reason why a server is not used, with a remedy. It holds nothing of the address
// but the server's own name.
type refusal struct{ what, remedy string }

func (r *refusal) Error() string { return r.what + ": " + r.remedy }

// errStandby is the refusal of a server that follows another one.
var errStandby = &refusal{"the server is a standby",
	"name the primary, or all servers of the cluster (host=a,b,c)"}

// leastVersion is the earliest PostgreSQL whose behaviour was tried.
const leastVersion = 15

// settings are those of each session, set in its first message, so that they
// hold whatever the role, the database or the address says. No time ends a
// statement: a commit that the server itself gives up waiting for is one that
// was cancelled (see doc.go).
var settings = map[string]string{
	"client_encoding":                     "UTF8",
	"default_transaction_isolation":       "read committed",
	"idle_in_transaction_session_timeout": "0",
	"idle_session_timeout":                "0",
	"lock_timeout":                        "0",
	"statement_timeout":                   "0",
	"synchronous_commit":                  "on",
}

// look is the first query on a new connection. The timeline is the first eight digits of the name
// of the file that the server writes to; the server's control file lags behind it after a
// promotion.
const look = `select
	pg_backend_pid(),
	pg_is_in_recovery(),
	current_setting('server_version_num'),
	current_setting('server_encoding'),
	current_setting('fsync'),
	current_setting('full_page_writes'),
	current_setting('synchronous_standby_names'),
	current_setting('synchronous_commit'),
	current_setting('statement_timeout'),
	(select system_identifier from pg_control_system()),
	case when not pg_is_in_recovery() then left(pg_walfile_name(pg_current_wal_lsn()), 8) end`

// server is the description that a connection gives of its server.
type server struct {
	pid                                  string
	recovery                             bool
	version                              int
	encoding, fsync, pages               string
	standbys, commit, statementTimeoutMS string
	cluster                              string // what its servers have in common
	timeline                             uint64
}

// examine asks a new connection what server it leads to.
func examine(ctx context.Context, pg *pgconn.PgConn) (server, error) {
	results, err := pg.Exec(ctx, look).ReadAll()
	if err != nil {
		return server{}, err
	}
	row := results[0].Rows[0]
	s := server{
		pid: string(row[0]), recovery: string(row[1]) == "t", encoding: string(row[3]), fsync: string(row[4]),
		pages: string(row[5]), standbys: string(row[6]), commit: string(row[7]), statementTimeoutMS: string(row[8]),
		cluster: string(row[9]),
	}
	if s.version, err = strconv.Atoi(string(row[2])); err != nil {
		return server{}, err
	}
	if !s.recovery {
		s.timeline, err = strconv.ParseUint(string(row[10]), 16, 32)
	}
	return s, err
}

// refuse says why a server is not to be used, nil where nothing is to be seen
// against it. single allows a server without a standby, whose loss is that of
// the logs.
func (s server) refuse(pid uint32, single bool) error {
	switch {
	case s.version/10000 < leastVersion:
		return &refusal{fmt.Sprintf("the server is PostgreSQL %d", s.version/10000),
			fmt.Sprintf("use PostgreSQL %d or a newer one", leastVersion)}
	case s.pid != strconv.FormatUint(uint64(pid), 10):
		return &refusal{"a pooler of connections stands before the server",
			"name the server itself: shared sessions lose their settings, which durability rests on"}
	case s.recovery:
		return errStandby
	case s.encoding != "UTF8":
		return &refusal{"the database's encoding is " + s.encoding,
			"make a database with the encoding UTF8"}
	case s.fsync != "on":
		return &refusal{"the server runs with fsync = off, and loses what it acknowledged when it crashes",
			"set fsync = on"}
	case s.pages != "on":
		return &refusal{"the server runs with full_page_writes = off, and can lose what it acknowledged when it crashes",
			"set full_page_writes = on"}
	case s.commit != "on" || s.statementTimeoutMS != "0":
		return &refusal{"the session did not take its settings",
			"name the server itself, without a pooler of connections before it"}
	case s.standbys == "" && !single:
		return &refusal{"the server waits for no standby, so that its loss is that of the logs",
			"set synchronous_standby_names = 'ANY 1 (…)', or add single=yes to the address if that is to be so"}
	}
	return nil
}

// barrierTime is how long a server may take to have an empty commit confirmed
// by its standbys. One that takes longer has none, or is one of the past.
const barrierTime = 1500 * time.Millisecond

// stuck counts this user's sessions that have waited for a standby for so long
// that it is not to be expected soon.
const stuck = `select count(*) from pg_stat_activity
	where datname = current_database() and usename = session_user and pid <> pg_backend_pid()
	and wait_event = 'SyncRep' and clock_timestamp() - query_start > interval '1 second'`

// barrier is an empty commit, which a standby must confirm: a session that has passed
// it talks to a server that can still acknowledge, and whatever that server
// shows from before is on a standby.
//
// A session that waits for a standby stays on the server for as long as it
// waits, also when its client has gone. So that those who try again and again
// do not fill the server, one waits without a commit of its own while others
// are stuck.
func barrier(ctx context.Context, c *conn, pg *pgconn.PgConn) (err error) {
	ctx, cancel := context.WithTimeout(ctx, barrierTime)
	defer cancel()
	defer func() {
		if err != nil && ctx.Err() != nil {
			err = &refusal{"no standby confirms the server's commits",
				"have one follow it again, or name the primary that there is now"}
		}
	}()
	for {
		results, err := pg.Exec(ctx, stuck).ReadAll()
		if err != nil {
			return err
		}
		if string(results[0].Rows[0][0]) == "0" {
			break
		}
		if err := pause(ctx, 100*time.Millisecond); err != nil {
			return err
		}
	}
	c.warning = nil
	if _, err := pg.Exec(ctx, `select pg_logical_emit_message(true, 'campaignd', '')`).ReadAll(); err != nil {
		return err
	}
	return c.warned()
}

// pause waits, or until the context is done.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
