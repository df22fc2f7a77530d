package store

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"strings"
	"sync"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/pglog"
)

// Database is a database with stores in it. All that this process opens at one
// address share its connections, and are one worker to other processes. Its
// methods may be called from many goroutines.
type Database struct {
	*pglog.Database
	address string

	uses int // of databases.mu

	working sync.Mutex    // of worker and answers
	worker  *pglog.Worker // nil before a store is taken hold of
	answers func()        // ends answering

	mu       sync.Mutex
	describe func() any        // this process
	served   map[string]served // by store
}

// served is how this process answers for a store.
type served struct {
	answer Handler
	status func() any
}

// databases are those that this process has open, by their addresses.
var databases struct {
	mu   sync.Mutex
	open map[string]*Database
}

// OpenDatabase opens the database at an address, once for all of this process.
// Each has to be closed.
func OpenDatabase(address string) (*Database, error) {
	databases.mu.Lock()
	defer databases.mu.Unlock()
	if d := databases.open[address]; d != nil {
		d.uses++
		return d, nil
	}
	log, err := pglog.Connect(context.Background(), address)
	if err != nil {
		return nil, err
	}
	d := &Database{Database: log, address: address, uses: 1, served: make(map[string]served)}
	if databases.open == nil {
		databases.open = make(map[string]*Database)
	}
	databases.open[address] = d
	return d, nil
}

// Close lets go of the database. The last one to do so closes it.
func (d *Database) Close() error {
	databases.mu.Lock()
	defer databases.mu.Unlock()
	if d.uses--; d.uses > 0 {
		return nil
	}
	delete(databases.open, d.address)
	d.working.Lock()
	worker, answers := d.worker, d.answers
	d.working.Unlock()
	if answers != nil {
		answers()
	}
	if worker != nil {
		worker.Close()
	}
	return d.Database.Close()
}

// Open opens a store of the database, and takes hold of it unless it is opened
// for reading or shared. It is closed before the database is.
func (d *Database) Open(ctx context.Context, name string, o Options) (*pglog.Log, error) {
	log, err := d.Database.Open(ctx, name, pglog.Options{ReadOnly: o.ReadOnly, MustExist: o.MustExist, Check: o.Check,
		Marked: o.Marked})
	if err != nil || o.ReadOnly || o.Shared {
		return log, err
	}
	worker, err := d.Worker(ctx)
	if err == nil {
		err = log.Hold(ctx, worker)
	}
	if err != nil {
		return nil, errors.Join(err, log.Close())
	}
	return log, nil
}

// Worker is this process to the others that use the database.
func (d *Database) Worker(ctx context.Context) (*pglog.Worker, error) {
	d.working.Lock()
	defer d.working.Unlock()
	if d.worker != nil {
		return d.worker, nil
	}
	host, err := os.Hostname()
	if err != nil || host == "" {
		host = "unknown"
	}
	// People find the process by it.
	id := fmt.Sprintf("%s/%d/%s", host, os.Getpid(), strings.ToLower(rand.Text()[:6]))
	worker, err := d.Work(ctx, id, d.say)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		worker.Answer(ctx, d.answer)
	}()
	d.worker = worker
	d.answers = func() { cancel(); <-done }
	return worker, nil
}

// Said is the status of a process, which the others that use the database learn about once a
// second.
type Said struct {
	// Process describes the process: see [Database.Describe].
	Process json.RawMessage `json:"process,omitempty"`
	// Stores is the status of each store for which it answers.
	Stores map[string]json.RawMessage `json:"stores,omitempty"`
}

// Describe sets the function whose result, as JSON, others learn about this process.
func (d *Database) Describe(process func() any) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.describe = process
}

// say returns the status that others learn with a heartbeat.
func (d *Database) say() []byte {
	d.mu.Lock()
	describe := d.describe
	all := maps.Clone(d.served)
	d.mu.Unlock()
	text := func(value any) json.RawMessage {
		t, _ := json.Marshal(value) // it is left out where it cannot be said
		return t
	}
	said := Said{Stores: make(map[string]json.RawMessage, len(all))}
	if describe != nil {
		said.Process = text(describe())
	}
	for name, s := range all {
		said.Stores[name] = text(s.status())
	}
	return text(said)
}

// Handler answers what other processes ask about a store that this one holds.
type Handler func(ctx context.Context, request []byte) []byte

// Serve has a function answer requests about a store, until stop is called, and others learn its
// status.
func (d *Database) Serve(name string, answer Handler, status func() any) (stop func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.served[name] = served{answer, status}
	return func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		delete(d.served, name)
	}
}

// The first byte of an answer: whether this process answers for the store.
const (
	unhandled = 0
	handled   = 1
)

// answer answers a letter, which begins with the name of the store.
func (d *Database) answer(ctx context.Context, letter []byte) []byte {
	name, request, _ := bytes.Cut(letter, []byte{0})
	d.mu.Lock()
	s, ok := d.served[string(name)]
	d.mu.Unlock()
	if !ok {
		return []byte{unhandled}
	}
	return append([]byte{handled}, s.answer(ctx, request)...)
}

// ErrNobody means that no process holds a store, or that who holds it answers
// nothing: as one does that has it for a moment.
var ErrNobody = errors.New("no process answers for the store")

// AskHolder asks the process that holds a store. The error wraps [ErrNobody] where no process does,
// and then nothing was done; [pglog.ErrUnanswered], as [events.ErrUncertain], where that is not
// known.
func (d *Database) AskHolder(ctx context.Context, name string, request []byte) ([]byte, error) {
	holder, err := d.Holder(ctx, name)
	if err != nil {
		return nil, err
	}
	if holder == "" {
		return nil, ErrNobody
	}
	answer, err := d.Ask(ctx, holder, append([]byte(name+"\x00"), request...))
	switch {
	case errors.Is(err, pglog.ErrUnread):
		return nil, fmt.Errorf("%w: %w", ErrNobody, err)
	case errors.Is(err, pglog.ErrUnanswered):
		return nil, fmt.Errorf("%w: %w", events.ErrUncertain, err)
	case err != nil:
		return nil, err
	case len(answer) == 0 || answer[0] != handled:
		return nil, ErrNobody
	}
	return answer[1:], nil
}

// What a database shows of itself: see events/pglog.
type (
	// Inspection is a session's view of a server and a database.
	Inspection = pglog.Inspection
	// Standby is a server that follows.
	Standby = pglog.Standby
	// Archive is how the WAL is archived.
	Archive = pglog.Archive
	// Table is a table of ours.
	Table = pglog.Table
	// WorkerRow is a process as the database knows it.
	WorkerRow = pglog.WorkerRow
	// StoreRow is a store of a database.
	StoreRow = pglog.StoreRow
)

// Inspect looks at a database, and changes nothing: see [pglog.Inspect].
func Inspect(ctx context.Context, database string) (*Inspection, error) {
	return pglog.Inspect(ctx, database)
}

// MostConnections is how many sessions a process has at most: see [pglog.MostConnections].
func MostConnections(database string) (int, error) { return pglog.MostConnections(database) }

// KnownSchema is the version of the tables that this program makes.
func KnownSchema() int { return pglog.KnownSchema() }
