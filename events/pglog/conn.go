package pglog

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// conn is a connection behind its barrier. One goroutine has it at a time.
type conn struct {
	pg       *pgconn.PgConn
	prepared map[string]*pgconn.StatementDescription // by text
	timeline uint64
	distrust uint64         // the database's count of unknown ends at the barrier
	warning  *pgconn.Notice // since the last statement began
	used     time.Time
}

// errWarned means that a server reported success with a warning: the commit may
// be nowhere but there.
var errWarned = errors.New("the server warned")

// warned returns the warning of the statement as an error, or nil. Any warning counts, whatever its
// code: the statements of this package have none when all is well.
func (c *conn) warned() error {
	if c.warning == nil {
		return nil
	}
	return fmt.Errorf("%w: %s (SQLSTATE %s)", errWarned, c.warning.Message, c.warning.Code)
}

// cut closes a connection at once, and says nothing to the server. pgx would
// go on reading from it for a while, and a server that hangs holds that up.
func (d *Database) cut(c *conn) {
	d.mu.Lock()
	delete(d.conns, c)
	d.mu.Unlock()
	_ = c.pg.Conn().Close()
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = c.pg.Close(ctx)
}

// endpoint is one of the servers of an address: the ways to connect to it, in their
// order (with TLS and without, where the address allows both).
type endpoint []*pgconn.FallbackConfig

// endpoints are the servers of an address, in its order.
func endpoints(config *pgconn.Config) (found []endpoint) {
	ways := append([]*pgconn.FallbackConfig{{Host: config.Host, Port: config.Port, TLSConfig: config.TLSConfig}},
		config.Fallbacks...)
	for _, way := range ways {
		if n := len(found); n > 0 && found[n-1][0].Host == way.Host && found[n-1][0].Port == way.Port {
			found[n-1] = append(found[n-1], way)
			continue
		}
		found = append(found, endpoint{way})
	}
	return found
}

// alone is a copy of an address's configuration that names this server only.
func (e endpoint) alone(config *pgconn.Config) *pgconn.Config {
	config = config.Copy()
	config.Host = e[0].Host
	config.Port = e[0].Port
	config.TLSConfig = e[0].TLSConfig
	config.Fallbacks = e[1:]
	return config
}

// dialing marks the contexts of this package's own dialing.
type dialing struct{}

// errNoCancel refuses a request to cancel.
var errNoCancel = errors.New("a statement is never cancelled")

// dial is the DialFunc of every connection. pgx dials for two reasons: to
// connect, which this package asks it to with a context of its own; and, on
// every connection that breaks, to ask the server to cancel what that one was
// doing (pgconn, asyncClose), with a context of pgx's. The second is refused.
// The server answers it by ending the wait for a standby, and so shows a commit
// that exists nowhere else, and that a failover takes away again.
func dial(dial pgconn.DialFunc) pgconn.DialFunc {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		if ctx.Value(dialing{}) == nil {
			return nil, errNoCancel
		}
		return dial(ctx, network, address)
	}
}

// connect returns a new connection to a server that is the primary and has passed the barrier. Of
// several servers in the address, one after the other is tried: first the one that was the primary
// last.
//
// Where the time is over before all were tried, the next call begins with the one after that which
// took it. Otherwise a caller with little time, such as a heartbeat, would wait for the first
// server alone, and that may be a machine that is gone.
func (d *Database) connect(ctx context.Context) (*conn, error) {
	d.mu.Lock()
	first := d.first
	d.mu.Unlock()
	failed := &unreachable{several: len(d.endpoints) > 1}
	for i := range d.endpoints {
		at := (first + i) % len(d.endpoints)
		c, err := d.reach(ctx, d.endpoints[at])
		if err == nil {
			d.mu.Lock()
			d.first = at
			d.mu.Unlock()
			return c, nil
		}
		failed.add(d.endpoints[at], err)
		if ctx.Err() != nil {
			d.mu.Lock()
			d.first = (at + 1) % len(d.endpoints)
			d.mu.Unlock()
			break
		}
	}
	return nil, failed
}

// reach connects to one server.
func (d *Database) reach(ctx context.Context, e endpoint) (*conn, error) {
	d.mu.Lock()
	c := &conn{distrust: d.distrust}
	d.mu.Unlock()
	config := e.alone(d.config)
	config.DialFunc = dial(d.config.DialFunc)
	config.OnNotice = func(_ *pgconn.PgConn, n *pgconn.Notice) {
		if n.SeverityUnlocalized == "WARNING" {
			c.warning = n
		}
	}
	config.ValidateConnect = func(ctx context.Context, pg *pgconn.PgConn) error {
		err := d.admit(ctx, c, pg)
		if err != nil {
			_ = pg.Conn().Close() // see cut
		}
		return err
	}
	config.OnNotification = func(_ *pgconn.PgConn, n *pgconn.Notification) { d.hear(n) }
	pg, err := pgconn.ConnectConfig(context.WithValue(ctx, dialing{}, true), config)
	if err != nil {
		return nil, err
	}
	c.pg, c.used = pg, time.Now()
	d.mu.Lock()
	d.conns[c] = true
	late := c.timeline < d.timeline
	d.mu.Unlock()
	if late { // a newer one was seen meanwhile
		d.cut(c)
		return nil, past(c.timeline, d.seenTimeline(0))
	}
	return c, nil
}

// past is why a server is not believed that is on an earlier timeline than one that
// was seen.
func past(timeline, seen uint64) error {
	return &refusal{fmt.Sprintf("the server is on timeline %d, and %d was seen: it is a primary of the past",
		timeline, seen), "stop it, and make it a standby of the primary that there is now"}
}

// admit decides whether a new connection is used. It is not while another one
// passes its barrier: where no standby answers, one session waits, and not one
// of each caller.
func (d *Database) admit(ctx context.Context, c *conn, pg *pgconn.PgConn) error {
	select {
	case d.barriers <- struct{}{}:
		defer func() { <-d.barriers }()
	case <-ctx.Done():
		return ctx.Err()
	}
	s, err := examine(ctx, pg)
	if err != nil {
		return err
	}
	if err := s.refuse(pg.PID(), d.single); err != nil {
		return err
	}
	if err := d.sameCluster(s.cluster); err != nil {
		return err
	}
	if seen := d.seenTimeline(0); s.timeline < seen {
		return past(s.timeline, seen)
	}
	if s.standbys != "" { // a server that is alone, and busy, was taken for one whose standby is away
		if err := barrier(ctx, c, pg); err != nil {
			return err
		}
	}
	c.timeline = s.timeline
	d.mu.Lock()
	d.cluster = s.cluster
	d.mu.Unlock()
	d.seenTimeline(s.timeline)
	return nil
}

// sameCluster refuses a server of another cluster than the one that was used. Timelines of two
// clusters cannot be compared, and events that one lacks of the other are not damage.
func (d *Database) sameCluster(id string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.cluster == "" || d.cluster == id {
		return nil
	}
	return &refusal{
		fmt.Sprintf("the server is of another cluster (%s) than the one that was used (%s)",
			id, d.cluster),
		"name the servers of one cluster alone, or start this program again if the database was moved",
	}
}

// seenTimeline notes that a timeline was seen, and returns the newest. What is
// connected to a primary of the past is cut: nothing that was sent there is
// answered any more, or is to be believed.
func (d *Database) seenTimeline(t uint64) uint64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.timeline = max(d.timeline, t)
	for c := range d.conns {
		if c.timeline < d.timeline {
			_ = c.pg.Conn().Close()
		}
	}
	return d.timeline
}

// lookTime is how long a statement may take before another primary is looked for.
const lookTime = 2 * time.Second

// lookElsewhere looks for another primary for as long as a statement is not answered,
// until its context ends. The server may only be slow, and then nothing happens; or
// its machine is gone, and says nothing.
func (d *Database) lookElsewhere(ctx context.Context, timeline uint64) {
	if !d.begin() {
		return
	}
	defer d.work.Done()
	select {
	case d.lookers <- struct{}{}:
		defer func() { <-d.lookers }()
	case <-ctx.Done():
		return
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(d.life, cancel)()
	for ctx.Err() == nil && d.seenTimeline(0) == timeline {
		if c, err := d.connect(ctx); err == nil {
			d.cut(c)
		}
		_ = pause(ctx, lookTime/2)
	}
}
