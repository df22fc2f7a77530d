package pglog

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/campaignd/campaignd/events"
)

// Database is a PostgreSQL database with any number of stores, which share a
// bounded number of connections. A process has one of each database. Its
// methods may be called from many goroutines.
type Database struct {
	config    *pgconn.Config
	endpoints []endpoint
	single    bool
	// patience is how long a statement may take before its connection is cut, and how long a caller
	// waits for a database that does not answer.
	patience time.Duration
	// pollTime is how often the heads are looked at of the stores that are
	// followed, in case a notification was lost.
	pollTime  time.Duration
	leaseTime time.Duration // see defaultLeaseTime

	life context.Context // ends with Close
	end  context.CancelFunc
	work sync.WaitGroup // statements and the listener

	slots    chan struct{} // one for each connection in use
	writers  chan struct{} // and one of these too for appends
	barriers chan struct{} // one for who is at the barrier
	lookers  chan struct{} // one for who looks for another primary

	counts counts

	mu       sync.Mutex
	closed   bool
	idle     []*conn
	conns    map[*conn]bool // all of them
	distrust uint64         // the number of unknown ends
	first    int            // of the endpoints, to be tried
	timeline uint64         // the newest that was seen
	cluster  string         // of the servers, empty before the first was used
	refuses  error          // see Refuses
	logs     map[*Log]bool
	worker   *Worker                  // this process, nil if it cannot hold stores
	awaited  map[string]chan struct{} // by letter: there may be an answer
	wake     wake
}

// The parameters of an address that are this package's own.
const (
	singleParameter      = "single"
	connectionsParameter = "connections"
)

const (
	defaultConnections = 8
	// connectTime is how long one server may take to answer, where the address
	// does not say connect_timeout.
	connectTime = 3 * time.Second
	// defaultPatience is longer than a group of the greatest size takes on a
	// slow line.
	defaultPatience = 10 * time.Second
	defaultPollTime = time.Second
)

// Connect opens a database, and makes its tables where there are none. Close
// releases it.
//
// The address is a URL (postgres://user@host/database) or a list of words
// (host=… dbname=…), as libpq has them, with the variables of the environment
// and the files of passwords and services that libpq reads. Two parameters are
// this package's: connections=N is how many there are at most (8 by default; one
// more waits for notifications); single=yes allows a server without a
// synchronous standby, whose loss is that of the logs.
//
// A server that is seen to be unsafe is refused, with what to do about it; the
// error wraps [events.ErrNewerFormat] where a newer campaignd made the tables.
// No error holds a password.
func Connect(ctx context.Context, address string) (*Database, error) {
	d, err := connectTo(ctx, address, defaultPatience, defaultPollTime)
	if err != nil {
		return nil, fmt.Errorf("database: connect: %w", err)
	}
	return d, nil
}

func connectTo(ctx context.Context, address string, patience, pollTime time.Duration) (*Database, error) {
	d, err := configure(address)
	if err != nil {
		return nil, err
	}
	d.patience = patience
	d.pollTime = pollTime
	d.leaseTime = defaultLeaseTime
	d.conns = make(map[*conn]bool)
	d.logs = make(map[*Log]bool)
	d.awaited = make(map[string]chan struct{})
	d.life, d.end = context.WithCancel(context.Background())
	d.wake.start(d)

	_, err = ask(ctx, d, use{fresh: true}, func(ctx context.Context, c *conn) (struct{}, error) {
		return struct{}{}, migrate(ctx, c)
	})
	if err != nil {
		return nil, errors.Join(plainly(err), d.Close())
	}
	return d, nil
}

// configure reads an address.
func configure(address string) (*Database, error) {
	config, err := pgconn.ParseConfig(address)
	if err != nil {
		// What pgx says may hold a part of the address, and that a password.
		return nil, errors.New("the address cannot be understood: write postgres://USER@HOST/DATABASE or " +
			"host=… user=… dbname=…, and the password into the variable PGPASSWORD or the file ~/.pgpass")
	}
	d := &Database{config: config, endpoints: endpoints(config)}
	connections := defaultConnections
	for name, value := range config.RuntimeParams {
		switch name {
		case singleParameter:
			if d.single = value == "yes"; !d.single && value != "no" {
				return nil, fmt.Errorf("%s=%s: it is yes or no", name, value)
			}
		case connectionsParameter:
			if connections, err = strconv.Atoi(value); err != nil || connections < 2 || connections > 1000 {
				return nil, fmt.Errorf("%s=%s: it is a number from 2 to 1000", name, value)
			}
		}
	}
	delete(config.RuntimeParams, singleParameter)
	delete(config.RuntimeParams, connectionsParameter)
	for name, value := range settings {
		config.RuntimeParams[name] = value
	}
	config.RuntimeParams["application_name"] = cmp.Or(config.RuntimeParams["application_name"],
		"campaignd")
	if config.ConnectTimeout = cmp.Or(config.ConnectTimeout, connectTime); config.ConnectTimeout > time.Minute {
		config.ConnectTimeout = connectTime // pgx's own default
	}
	d.slots = make(chan struct{}, connections)
	d.writers = make(chan struct{}, connections-max(1, connections/4))
	d.barriers, d.lookers = make(chan struct{}, 1), make(chan struct{}, 1)
	return d, nil
}

// plainly returns the refusal of a server alone, without the words of pgx around it; where an
// address names several, the refusal of each; any other error as it is.
func plainly(err error) error {
	var servers *unreachable
	if errors.As(err, &servers) && servers.several {
		return servers
	}
	var refused *refusal
	if errors.As(err, &refused) {
		return refused
	}
	return err
}

// Close closes the logs that are open, and the connections.
func (d *Database) Close() error {
	d.mu.Lock()
	d.closed = true
	logs := make([]*Log, 0, len(d.logs))
	for l := range d.logs {
		logs = append(logs, l)
	}
	d.mu.Unlock()
	var closing sync.WaitGroup
	for _, l := range logs {
		closing.Go(func() { _ = l.Close() }) // its owner has its error
	}
	closing.Wait()
	d.mu.Lock()
	d.end()
	d.mu.Unlock()
	d.work.Wait()
	d.mu.Lock()
	idle := d.idle
	d.idle = nil
	d.mu.Unlock()
	for _, c := range idle {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		_ = c.pg.Close(ctx) // nothing is under way
		cancel()
	}
	return nil
}

// errNotConnected means that a statement was never sent.
type errNotConnected struct{ cause error }

func (e *errNotConnected) Error() string { return "there is no connection: " + e.cause.Error() }
func (e *errNotConnected) Unwrap() error { return e.cause }

// use says how a connection is to be used.
type use struct {
	write bool // by a committer: some connections are left to readers
	fresh bool // behind a barrier of its own
}

// ask calls f with a connection, which f has to itself meanwhile. A context that
// is done ends the wait; f, and the statement that it has sent, go on: see
// doc.go. f has a context of its own, which ends by the patience of the
// database, and then the connection is cut. Where it returns an error, so is it.
func ask[T any](
	ctx context.Context, d *Database, u use, f func(context.Context, *conn) (T, error),
) (T, error) {
	type answer struct {
		value T
		err   error
	}
	if !d.begin() {
		return *new(T), events.ErrClosed
	}
	answered := make(chan answer, 1)
	go func() {
		defer d.work.Done()
		var a answer
		a.value, a.err = withConn(ctx, d, u, f)
		answered <- a
	}()
	select {
	case a := <-answered:
		return a.value, a.err
	case <-ctx.Done():
		return *new(T), context.Cause(ctx)
	}
}

// begin counts work that Close waits for. It returns false once there may be no
// more.
func (d *Database) begin() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.life.Err() != nil {
		return false
	}
	d.work.Add(1)
	return true
}

// withConn is ask in its goroutine. Only the wait for a turn ends with the caller's
// context.
func withConn[T any](
	ctx context.Context, d *Database, u use, f func(context.Context, *conn) (T, error),
) (none T, err error) {
	turns := []chan struct{}{d.slots}
	if u.write {
		turns = []chan struct{}{d.writers, d.slots}
	}
	for _, turn := range turns {
		select {
		case turn <- struct{}{}:
			defer func() { <-turn }()
		case <-ctx.Done():
			return none, &errNotConnected{context.Cause(ctx)}
		}
	}
	c, err := d.take(u.fresh)
	if err != nil {
		return none, &errNotConnected{err}
	}
	working, cancel := context.WithTimeout(context.Background(), d.patience)
	defer cancel()
	watch := time.AfterFunc(lookTime, func() { d.lookElsewhere(working, c.timeline) })
	value, err := f(working, c)
	watch.Stop()
	d.give(c, err)
	if err != nil {
		err = unavailable(err)
		d.refused(err)
		return none, err
	}
	return value, nil
}

// idleTime is how long a connection may have been idle before it is asked
// whether it is still there: a change that is sent on one that is not has an
// unknown end.
const idleTime = time.Second

// take returns a connection: an idle one that is still believed, or a new one.
func (d *Database) take(fresh bool) (*conn, error) {
	for !fresh {
		d.mu.Lock()
		var c *conn
		if n := len(d.idle); n > 0 {
			c, d.idle = d.idle[n-1], d.idle[:n-1]
		}
		believed := c != nil && c.distrust == d.distrust && c.timeline == d.timeline
		d.mu.Unlock()
		if c == nil {
			break
		}
		if believed && (time.Since(c.used) < idleTime || d.answers(c)) {
			return c, nil
		}
		d.cut(c)
	}
	ctx, cancel := context.WithTimeout(d.life, d.patience)
	defer cancel()
	return d.connect(ctx)
}

// answers reports whether the server still answers on a connection.
func (d *Database) answers(c *conn) bool {
	ctx, cancel := context.WithTimeout(d.life, barrierTime)
	defer cancel()
	return c.pg.Ping(ctx) == nil
}

// give takes a connection back. One with an error is not used again, whatever
// the error was; and where it left open what became of a statement, nothing that
// is connected is believed any more until it has passed another barrier.
func (d *Database) give(c *conn, err error) {
	d.mu.Lock()
	if err != nil && unknown(err) {
		d.distrust++
	}
	keep := err == nil && !c.pg.IsClosed() && c.pg.TxStatus() == 'I' && c.warning == nil
	if keep {
		c.used = time.Now()
		d.idle = append(d.idle, c)
	}
	d.mu.Unlock()
	if !keep {
		d.cut(c)
	}
}
