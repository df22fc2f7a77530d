package lab

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/store"
	"github.com/campaignd/campaignd/internal/control"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/problem"
	"github.com/campaignd/campaignd/internal/telemetry"
	"github.com/campaignd/campaignd/internal/view"
)

// A lab in a database may be held by any number of processes. Each reads all of
// its stores, and holds those whose campaigns it drives. Who drives what is
// decided by each of them for itself, from what all of them see: which campaigns
// are to go on (the lab's log), who holds which store (a lease in the store), and
// who lives. Two that want the same one meet at the lease.

// cluster is what a process knows of the others that a lab in a database has.
type cluster struct {
	lab  *Lab
	db   *store.Database
	news chan struct{} // gets a value when others have done something
	// watched ends the metrics; nil before they begin.
	watched func()

	mu       sync.Mutex
	others   map[string]colleague // that live, by identifier; this process is one
	holders  map[string]string    // by store
	free     map[string]time.Time // since when a store that is to be driven has had no holder
	failures map[string]failure   // by store
	leaving  bool
	office   events.Store // the hold of who forwards, nil where another process has it

	heard events.Position // in the lab's log; of follow alone
}

// colleague is what a process of the lab says of itself.
type colleague struct {
	// Host is the name of its machine.
	Host string `json:"host"`
	PID  int    `json:"pid"`
	// Drives is set where it drives campaigns, and is not about to end.
	Drives bool `json:"drives"`
	// Instruments are those of the lab that it reaches; nil for all.
	Instruments []string     `json:"instruments"`
	Build       events.Build `json:"build"`

	stores map[string]control.Status
}

// reaches reports whether it can drive a campaign at an instrument of the lab;
// an empty name is for one that names none.
func (c *colleague) reaches(instrument string) bool {
	return c.Drives && (instrument == "" || c.Instruments == nil || slices.Contains(c.Instruments, instrument))
}

// failure is a store whose campaign could not be driven here.
type failure struct {
	times int
	again time.Time
}

const (
	// clusterEvery is how often the processes of a lab look at each other.
	clusterEvery = time.Second
	// shareTime is how long a store is left to processes that drive fewer.
	shareTime = 3 * time.Second
	// noDriverTime is how long a campaign waits for a process that drives it before it
	// says that it does.
	noDriverTime = 10 * time.Second
)

// openCluster makes this process one of those of a lab in a database. It is a
// worker from then on, also before it drives anything: it can be asked for.
func openCluster(ctx context.Context, l *Lab) (*cluster, error) {
	db, err := store.OpenDatabase(l.options.Database)
	if err != nil {
		return nil, err
	}
	c := &cluster{
		lab: l, db: db, news: make(chan struct{}, 1),
		others: make(map[string]colleague), holders: make(map[string]string),
		free: make(map[string]time.Time), failures: make(map[string]failure),
	}
	db.Describe(func() any { return c.self() })
	if _, err := db.Worker(ctx); err != nil {
		_ = db.Close()
		return nil, err
	}
	return c, nil
}

// officeName is the store whose holder forwards the events of the lab, so that
// they are forwarded once.
const officeName = ".office"

// keepOffice takes the office whenever it is free, until the lab is closed.
func (c *cluster) keepOffice() {
	for c.lab.ctx.Err() == nil {
		log := c.takeOffice(c.lab.ctx)
		var lost <-chan struct{} // never, without the office
		if log != nil {
			lost = log.Failed()
		}
		select {
		case <-time.After(clusterEvery):
		case <-lost:
		case <-c.lab.ctx.Done():
		}
		if log != nil && (log.Err() != nil || c.lab.ctx.Err() != nil) {
			c.setOffice(nil)
			_ = log.Close() // its error was seen
		}
	}
}

// takeOffice returns the office where this process has it, or could take it.
func (c *cluster) takeOffice(ctx context.Context) events.Store {
	c.mu.Lock()
	log := c.office
	c.mu.Unlock()
	if log != nil {
		return log
	}
	log, err := c.db.Open(ctx, officeName, store.Options{})
	if err != nil {
		return nil // another process has it, or the database is away
	}
	c.setOffice(log)
	return log
}

// setOffice has the stores read, or read no more.
func (c *cluster) setOffice(log events.Store) {
	c.mu.Lock()
	c.office = log
	c.mu.Unlock()
	for _, s := range c.lab.list() {
		s.again()
	}
}

// forwards reports whether this process forwards the events of the lab.
func (c *cluster) forwards() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.office != nil
}

// self is what this process says of itself.
func (c *cluster) self() colleague {
	host, _ := os.Hostname()
	c.mu.Lock()
	defer c.mu.Unlock()
	return colleague{
		Host: host, PID: os.Getpid(), Build: c.lab.options.Build,
		Drives:      !c.lab.options.Watches && !c.leaving,
		Instruments: c.lab.options.Instruments,
	}
}

// id is this process to the others.
func (c *cluster) id() string {
	worker, err := c.db.Worker(context.Background())
	if err != nil {
		return "" // it is one since openCluster
	}
	return worker.ID()
}

// sure reports whether the database has answered a moment ago.
func (c *cluster) sure() bool {
	worker, err := c.db.Worker(context.Background())
	return err == nil && worker.Sure()
}

// stats is what this process has seen of the database, for metrics.
func (c *cluster) stats() telemetry.Database {
	s := c.db.Stats()
	return telemetry.Database{
		Held: s.Held, TakenOver: s.TakenOver, Lost: s.Lost, Missed: s.Missed, HeartbeatSeconds: s.Heartbeat.Seconds(),
		Settled: s.Settled, Resent: s.Resent, LettersAsked: s.Asked, LettersServed: s.Answered, Behind: s.Behind,
	}
}

// leave says that this process drives nothing any more: it is about to end.
func (c *cluster) leave() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.leaving = true
}

// run looks at the others until the lab is closed.
func (c *cluster) run() {
	tick := time.NewTicker(clusterEvery)
	defer tick.Stop()
	for {
		if err := c.look(c.lab.ctx); err == nil {
			c.assign()
		}
		select {
		case <-c.lab.ctx.Done():
			return
		case <-tick.C:
		case <-c.news:
		}
	}
}

// look reads who lives and who holds what, and adds stores that have come.
func (c *cluster) look(ctx context.Context) error {
	workers, err := c.db.Workers(ctx)
	if err != nil {
		return err
	}
	stores, err := c.db.Stores(ctx)
	if err != nil {
		return err
	}
	others := make(map[string]colleague)
	for _, w := range workers {
		if w.Alive {
			others[w.ID] = colleagueOf(w)
		}
	}
	holders := make(map[string]string)
	for _, s := range stores {
		if reserved(s.Name) {
			continue
		}
		if s.Holder != "" {
			holders[s.Name] = s.Holder
		}
		c.lab.add(store.In(c.lab.options.Database, s.Name))
	}
	c.mu.Lock()
	changed := !sameJSON(c.others, others) || !sameJSON(c.holders, holders)
	c.others, c.holders = others, holders
	c.mu.Unlock()
	if changed {
		c.lab.announce()
	}
	return nil
}

// sameJSON compares what processes have said, which came as JSON.
func sameJSON(a, b any) bool {
	x, errX := json.Marshal(a)
	y, errY := json.Marshal(b)
	return errX == nil && errY == nil && string(x) == string(y)
}

// MarshalJSON has the comparison see the stores, too.
func (c colleague) MarshalJSON() ([]byte, error) {
	type plain colleague
	return json.Marshal(struct {
		plain
		Stores map[string]control.Status `json:"stores,omitempty"`
	}{plain(c), c.stores})
}

// colleagueOf reads what a worker has said. One that is no process of a lab, as a
// command, has said less.
func colleagueOf(w store.WorkerRow) (c colleague) {
	var said store.Said
	if json.Unmarshal(w.Said, &said) != nil {
		return c // another version: it lives, and that is all that is known
	}
	_ = json.Unmarshal(said.Process, &c)
	c.stores = make(map[string]control.Status)
	for name, text := range said.Stores {
		var status control.Status
		if json.Unmarshal(text, &status) == nil {
			c.stores[name] = status
		}
	}
	return c
}

// reserved reports whether a store of the database is none of campaigns.
func reserved(name string) bool { return strings.HasPrefix(name, ".") }

// status is what the holder of a store says of it; zero where none does.
func (c *cluster) status(name string) control.Status {
	c.mu.Lock()
	defer c.mu.Unlock()
	holder := c.others[c.holders[name]]
	status := holder.stores[name]
	status.Host = holder.Host
	return status
}

// assign takes the stores whose campaigns this process is to drive, and lets go
// of those of which it drives none any more.
//
// A process takes as many as are due to it where all share alike, and more only
// where a store has been free for a while: because the others do not reach its
// instrument, or drive more already.
func (c *cluster) assign() {
	self := c.self()
	var wanted []*member
	driven := 0
	for _, s := range c.lab.list() {
		switch {
		case s.mine():
			driven++
			if !s.drives() && (!s.wants() || c.failing(s.base())) {
				s.want(false)
			}
		case s.wants():
			wanted = append(wanted, s)
		}
	}
	now := time.Now()
	var free []*member
	c.mu.Lock()
	names := make(map[string]bool)
	for _, s := range wanted {
		if holder := c.holders[s.base()]; holder != "" && holder != c.id() {
			continue
		}
		names[s.base()] = true
		if c.free[s.base()].IsZero() {
			c.free[s.base()] = now
		}
		free = append(free, s)
	}
	for name := range c.free {
		if !names[name] {
			delete(c.free, name)
		}
	}
	drivers := 0
	for _, o := range c.others {
		if o.Drives {
			drivers++
		}
	}
	all := driven + len(wanted)
	due := (all + max(1, drivers) - 1) / max(1, drivers)
	var take []*member
	for _, s := range free {
		waited := now.Sub(c.free[s.base()])
		if now.Before(c.failures[s.base()].again) || !self.reaches(s.instrument()) {
			continue
		}
		if driven < due || waited > shareTime {
			driven++
			take = append(take, s)
		}
	}
	c.mu.Unlock()
	for _, s := range take {
		s.want(true)
	}
}

// start has a campaign driven that a person has started, and returns once it is
// under way somewhere, or says why it cannot be. It does not wait for long: who
// is to drive it may be away.
func (c *cluster) start(ctx context.Context, of *Campaign) error {
	if of.over() {
		return problem.New(problem.Gone, "the campaign has ended").About(of.name)
	}
	c.mu.Lock()
	delete(c.failures, of.store.base()) // it is tried at once
	c.mu.Unlock()
	of.mu.Lock()
	of.trouble = nil
	of.mu.Unlock()
	if _, ours := of.store.local(); ours {
		of.start()
	} else if err := c.look(ctx); err == nil {
		c.assign()
	}
	timeout := time.NewTimer(startTime)
	defer timeout.Stop()
	for {
		changed := c.lab.Changed()
		if of.Running() != nil || c.held(of.store.base()) {
			return nil
		}
		of.mu.Lock()
		trouble := of.trouble
		of.mu.Unlock()
		if trouble != nil {
			return trouble
		}
		select {
		case <-changed:
		case <-timeout.C:
			return nil // its page says what it waits for
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-c.lab.ctx.Done():
			return events.ErrClosed
		}
	}
}

// held reports whether another process holds a store.
func (c *cluster) held(name string) bool {
	holder := c.id()
	c.mu.Lock()
	defer c.mu.Unlock()
	other := c.holders[name]
	return other != "" && other != holder
}

// startTime is how long a person who starts a campaign waits for a process that
// drives it.
const startTime = 5 * time.Second

// ended notes how driving a campaign of a store has ended. Where it could not be
// driven it is tried again, here or elsewhere, later and later.
func (c *cluster) ended(name string, failed bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f := c.failures[name]
	if !failed {
		delete(c.failures, name)
		return
	}
	f.times++
	f.again = time.Now().Add(min(5*time.Minute, 5*time.Second<<min(f.times, 10)))
	c.failures[name] = f
}

// failing reports whether a store is not to be tried here for now.
func (c *cluster) failing(name string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Now().Before(c.failures[name].again)
}

// noDriver says that there is no process that could drive a campaign, nil where
// there is, or it has not waited long.
func (c *cluster) noDriver(s *member) error {
	instrument := s.instrument()
	c.mu.Lock()
	defer c.mu.Unlock()
	since := c.free[s.base()]
	if since.IsZero() || time.Since(since) < noDriverTime {
		return nil
	}
	for _, o := range c.others {
		if o.reaches(instrument) {
			return nil
		}
	}
	if instrument == "" {
		return problem.New(problem.Unavailable, "no process drives campaigns now").With(problem.Remedy{
			Text: "start `campaignd work` on a machine that reaches the database",
		})
	}
	return problem.New(problem.Unavailable, "no process that reaches the instrument %s drives campaigns now", instrument).
		With(problem.Remedy{Text: fmt.Sprintf("start `campaignd work --instrument %s` on a machine that reaches it", instrument)})
}

// Colleague is a process of a lab in a database.
type Colleague struct {
	ID, Host string
	PID      int
	Build    events.Build
	// Drives is set where it drives campaigns, and Campaigns is how many it does.
	Drives    bool
	Campaigns int
	// Instruments are those of the lab that it reaches; nil for all.
	Instruments []string
	Here        bool // it is this process
}

// Colleagues returns the processes of a lab in a database that live, in the order
// of their identifiers; none for a lab in a folder.
func (l *Lab) Colleagues() (all []Colleague) {
	c := l.cluster
	if c == nil {
		return nil
	}
	here := c.id()
	c.mu.Lock()
	defer c.mu.Unlock()
	for id, o := range c.others {
		one := Colleague{
			ID: id, Host: o.Host, PID: o.PID, Build: o.Build, Drives: o.Drives, Instruments: o.Instruments, Here: id == here,
		}
		for _, status := range o.stores {
			one.Campaigns += len(status.Campaigns)
		}
		all = append(all, one)
	}
	slices.SortFunc(all, func(a, b Colleague) int { return cmp.Compare(a.ID, b.ID) })
	return all
}

// follow passes on what others record in the lab's log, until the lab is closed.
func (c *cluster) follow() {
	for c.lab.ctx.Err() == nil {
		log, err := c.lab.own.Store()
		if err == nil {
			for e, err := range log.Follow(c.lab.ctx, c.heard) {
				if err != nil {
					break
				}
				c.hear(e)
				c.heard = e.Position
			}
		}
		select {
		case <-time.After(retryAfter):
		case <-c.lab.ctx.Done():
		}
	}
}

// hear passes on an event of the lab's log: what is said of a store, and how
// campaigns are filed.
func (c *cluster) hear(e events.Event) {
	if e.Campaign == events.FilingStream {
		c.lab.filings.hear()
		c.lab.announce()
		return
	}
	for _, s := range c.lab.list() {
		if s.custody.stream != e.Campaign {
			continue
		}
		s.custody.hear(e)
		for _, campaign := range s.list() {
			if !s.custody.started(campaign.name) {
				campaign.stopped()
			}
		}
		c.lab.announce()
	}
	select {
	case c.news <- struct{}{}:
	default:
	}
}

// watched is a store of a lab in a database that this process reads, and that
// another one may hold.
type watched struct {
	cluster *cluster
	address string
	options LocalOptions
	log     events.Store
}

// watch opens a store for reading.
func (c *cluster) watch(address string, o LocalOptions) (*watched, error) {
	log, err := store.Open(address, store.Options{Shared: true})
	if err != nil {
		return nil, err
	}
	return &watched{c, address, o, log}, nil
}

// Log implements [Store].
func (w *watched) Log() events.Log { return w.log }

// Record implements [Store].
func (w *watched) Record(ctx context.Context, campaign string) (*view.Record, error) {
	return view.FoldRecord(ctx, w.options.Registry, w.log, campaign)
}

// hold takes the store for a moment. Another process may have it for one, too.
func (w *watched) hold(ctx context.Context, do func(*Local) error) error {
	var local *Local
	err := Patiently(ctx, func() (err error) {
		local, err = OpenLocal(ctx, w.address, w.options)
		return err
	})
	if err != nil {
		return err
	}
	return errors.Join(do(local), local.Close())
}

// with has something done by the process that holds the store, or by this one
// where none does.
func (w *watched) with(ctx context.Context, do func(Store) ([]events.Event, error)) ([]events.Event, error) {
	at, err := Take(ctx, w.address, w.options)
	if err != nil {
		return nil, err
	}
	stored, err := do(at)
	_ = at.Close() // what was recorded is recorded
	return stored, err
}

// Submit implements [Store].
func (w *watched) Submit(ctx context.Context, campaign string, r engine.Request) ([]events.Event, error) {
	return w.with(ctx, func(at Store) ([]events.Event, error) { return at.Submit(ctx, campaign, r) })
}

// Status implements [Store]: that of the process that holds it.
func (w *watched) Status() control.Status {
	status := w.cluster.status(store.Name(w.address))
	status.Last = w.log.Last()
	return status
}

// Close implements [Store].
func (w *watched) Close() error { return w.log.Close() }

// Process is what a process of a lab in a database says of itself.
type Process struct {
	Host      string
	PID       int
	Drives    bool
	Version   string
	Campaigns int
	// Instruments are those of the lab that it reaches; nil for all.
	Instruments []string
}

// ProcessOf reads what a process has said, and ok is false for one that is no process of
// a lab, as a command, or of a version that says it otherwise.
func ProcessOf(w store.WorkerRow) (p Process, ok bool) {
	c := colleagueOf(w)
	for _, status := range c.stores {
		p.Campaigns += len(status.Campaigns)
	}
	p.Host, p.PID, p.Drives, p.Version, p.Instruments = c.Host, c.PID, c.Drives, c.Build.Version, c.Instruments
	return p, c.Host != ""
}

// ToGoOn reads which campaigns of a store in a database are to be driven, by what the
// lab's log says.
func ToGoOn(ctx context.Context, log events.Store, name string) ([]string, error) {
	c, err := CustodyOf(ctx, log, events.StoreStream(name))
	if err != nil {
		return nil, err
	}
	return slices.Sorted(maps.Keys(c.Started)), nil
}
