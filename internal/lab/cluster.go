package lab

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/store"
	"github.com/campaignd/campaignd/internal/engine/control"
	"github.com/campaignd/campaignd/internal/ground/problem"
	"github.com/campaignd/campaignd/internal/ground/telemetry"
	"github.com/campaignd/campaignd/internal/lab/board"
	"github.com/campaignd/campaignd/internal/lab/lablog"
)

// A lab in a database may be held by any number of processes. Each reads all of its stores, and
// holds those whose campaigns it drives. Each of them decides for itself which campaigns to
// drive, from facts that all of them see: which campaigns are to go on (the lab's log), who
// holds which store (a lease in the store), and who lives. Two that want the same one meet at
// the lease.

// cluster is a process's knowledge of the others of a lab in a database.
type cluster struct {
	lab  *Lab
	db   *store.Database
	news chan struct{} // gets a value when others have done something
	// watched ends the metrics; nil before they begin.
	watched func()

	mu       sync.Mutex
	others   map[string]Process   // that live, by identifier; this process is one
	said     map[string]string    // what made them
	holders  map[string]string    // by store
	free     map[string]time.Time // since when a store that is to be driven has had no holder
	failures map[string]failure   // by store
	offer    offer
	given    map[string]time.Time // when a store was handed over, by its name
	leaving  bool
	office   events.Store // the hold of who forwards, nil where another process has it

	heard atomic.Int64                  // the position in the lab's log up to which it is passed on
	sizes lablog.Look[[]store.StoreRow] // how many events each store has
}

// Process is the description that a process of a lab in a database gives of itself.
type Process struct {
	// Host is the name of its machine.
	Host string `json:"host"`
	// Machine is the same for all processes of a machine, under whichever name and in
	// whichever container, until it is started anew; empty where that is not known.
	Machine string `json:"machine,omitempty"`
	PID     int    `json:"pid"`
	// Drives is set where it drives campaigns, and is not about to end.
	Drives bool `json:"drives"`
	// Instruments are those of the lab that it reaches; nil for all.
	Instruments []string     `json:"instruments"`
	Build       events.Build `json:"build"`

	stores map[string]control.Status
}

// reaches reports whether it can drive a campaign at an instrument of the lab;
// an empty name is for one that names none.
func (p *Process) reaches(instrument string) bool {
	return p.Drives && (instrument == "" || p.Instruments == nil || slices.Contains(p.Instruments, instrument))
}

// Campaigns is the number of campaigns it runs.
func (p *Process) Campaigns() (n int) {
	for _, status := range p.stores {
		n += len(status.Campaigns)
	}
	return n
}

// failure is a store whose campaign could not be driven here.
type failure struct {
	times int
	again time.Time
}

const (
	// clusterEvery is the interval at which the processes of a lab look at each other.
	clusterEvery = time.Second
	// shareTime is the time that a store is left to processes that drive fewer.
	shareTime = 3 * time.Second
	// newsTime is the time that news of others gathers before it is looked at.
	newsTime = 100 * time.Millisecond
	// mostOpening is the number of stores that a process takes at a time. Of a thousand that
	// are free at once, the processes that start a moment later have their share, and no
	// machine has to open all of them at once.
	mostOpening = 32
	// noDriverTime is the time that a campaign waits for a process to drive it before it
	// reports that.
	noDriverTime = 10 * time.Second
)

func newCluster(l *Lab) *cluster {
	return &cluster{
		lab: l, news: make(chan struct{}, 1),
		others: make(map[string]Process), holders: make(map[string]string),
		free: make(map[string]time.Time), failures: make(map[string]failure), given: make(map[string]time.Time),
	}
}

// open makes this process one of those of a lab in a database. It is registered as a worker
// from then on, even before it drives anything.
func (c *cluster) open(ctx context.Context) (err error) {
	if c.db, err = store.OpenDatabase(c.lab.options.Database); err != nil {
		return err
	}
	c.db.Describe(func() any { return c.self() })
	_, err = c.db.Worker(ctx)
	return err
}

// join implements [custodian].
func (c *cluster) join(ctx context.Context) (err error) {
	if err = c.open(ctx); err != nil {
		return err
	}
	if c.watched, err = telemetry.WatchDatabase(c.stats); err != nil {
		return err
	}
	log, err := c.lab.own.Store()
	if err != nil {
		return err
	}
	c.heard.Store(int64(log.Last()))
	c.lab.wg.Go(c.follow)
	if c.lab.options.Forwards != nil {
		c.takeOffice(ctx)
		c.lab.wg.Go(c.keepOffice)
	}
	return c.look(ctx)
}

// close implements [custodian].
func (c *cluster) close() {
	if c.watched != nil {
		c.watched()
	}
	if c.db != nil {
		_ = c.db.Close() // it has no error
	}
}

// refuses implements [custodian].
func (c *cluster) refuses() error { return c.db.Refuses() }

// ready implements [custodian]. It asks the database nothing: a heartbeat was
// answered a moment ago or not.
func (c *cluster) ready() error {
	if !c.sure() {
		return errors.New("the database does not answer")
	}
	return c.refuses()
}

// address implements [custodian].
func (c *cluster) address(campaign string) string { return store.In(c.lab.options.Database, campaign) }

// reading implements [custodian].
func (c *cluster) reading(address string) (events.Store, error) {
	return store.Open(address, store.Options{Shared: true})
}

// gone implements [custodian]: no store is removed from a database.
func (c *cluster) gone(string) bool { return false }

// take implements [custodian]: a store is taken only where this process wants it,
// and another one may be quicker.
func (c *cluster) take(ctx context.Context, s *member) (Store, error) {
	o := s.localOptions()
	s.mu.Lock()
	wanted := s.wanted
	s.mu.Unlock()
	if wanted {
		local, err := OpenLocal(ctx, s.path, o)
		if err == nil {
			return local, nil
		}
		s.mu.Lock()
		s.wanted = false
		s.mu.Unlock()
		if !errors.Is(err, events.ErrInUse) {
			return nil, err
		}
	}
	return &watched{Copy{s.path, s.reading(), o.Registry}, c, o}, nil
}

// driver implements [custodian].
func (c *cluster) driver(of *Campaign, run *Running, s *Standing) {
	due := of.store.custody.started(of.name) && !of.over()
	if run == nil && due {
		s.Trouble = errors.Join(s.Trouble, c.noDriver(of.store))
	}
	s.Elsewhere = run != nil || due && s.Trouble == nil
}

// keptRuns is the number of runs of a kind that are remembered. Their results may be large, and
// can be computed again.
const keptRuns = 32

// board implements [custodian].
func (c *cluster) board(prefix, letter string) *board.Board {
	return &board.Board{
		Prefix: prefix, Letter: letter, Most: keptRuns, Log: c.lab.Log, Self: c.id(),
		Lives: func(process string) bool {
			c.mu.Lock()
			defer c.mu.Unlock()
			_, lives := c.others[process]
			return lives
		},
	}
}

// self returns this process's description of itself.
func (c *cluster) self() Process {
	host, _ := os.Hostname()
	c.mu.Lock()
	defer c.mu.Unlock()
	return Process{
		Host: host, Machine: machine(), PID: os.Getpid(), Build: c.lab.options.Build,
		Drives:      !c.lab.options.Watches && !c.leaving,
		Instruments: c.lab.options.Instruments,
	}
}

// machine is [Process.Machine]: Linux draws it when it starts.
var machine = sync.OnceValue(func() string {
	text, _ := os.ReadFile("/proc/sys/kernel/random/boot_id") // other systems have none
	return strings.TrimSpace(string(text))
})

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

// stats returns this process's counts of its use of the database, for metrics.
func (c *cluster) stats() telemetry.Database {
	s := c.db.Stats()
	return telemetry.Database{
		Held: s.Held, TakenOver: s.TakenOver, Lost: s.Lost, Missed: s.Missed, HeartbeatSeconds: s.Heartbeat.Seconds(),
		Settled: s.Settled, Resent: s.Resent, LettersAsked: s.Asked, LettersServed: s.Answered, Behind: s.Behind,
	}
}

// leave announces that this process drives nothing any more: it is about to end.
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
			select {
			case <-c.lab.ctx.Done():
				return
			case <-time.After(newsTime):
			}
		}
	}
}

// look reads the living processes and the holders of stores, and adds new stores.
func (c *cluster) look(ctx context.Context) error {
	workers, err := c.db.Workers(ctx)
	if err != nil {
		return err
	}
	stores, err := c.db.Stores(ctx)
	if err != nil {
		return err
	}
	c.mu.Lock()
	others, said := maps.Clone(c.others), make(map[string]string)
	for _, w := range workers {
		if !w.Alive {
			continue
		}
		said[w.ID] = string(w.Said)
		if before, known := c.said[w.ID]; !known || before != said[w.ID] {
			others[w.ID], _ = ProcessOf(w) // it lives, whatever it is
		}
	}
	c.mu.Unlock()
	maps.DeleteFunc(others, func(id string, _ Process) bool { _, lives := said[id]; return !lives })
	holders := make(map[string]string)
	for _, s := range stores {
		if reserved(s.Name) {
			continue
		}
		if s.Holder != "" {
			holders[s.Name] = s.Holder
		}
		c.lab.add(c.address(s.Name))
	}
	c.mu.Lock()
	changed := !maps.Equal(c.said, said) || !maps.Equal(c.holders, holders)
	c.others = others
	c.said = said
	c.holders = holders
	c.mu.Unlock()
	if changed {
		c.lab.announce()
	}
	return nil
}

// ProcessOf reads a process's description of itself; ok is false for a process outside the lab,
// such as a command, or of a version with another format.
func ProcessOf(w store.WorkerRow) (p Process, ok bool) {
	var said store.Said
	if json.Unmarshal(w.Said, &said) != nil {
		return p, false
	}
	_ = json.Unmarshal(said.Process, &p) // what cannot be read is not known
	p.stores = make(map[string]control.Status)
	for name, text := range said.Stores {
		var status control.Status
		if json.Unmarshal(text, &status) == nil {
			p.stores[name] = status
		}
	}
	return p, p.Host != ""
}

// reserved reports whether a store of the database does not hold campaigns.
func reserved(name string) bool { return strings.HasPrefix(name, ".") }

// status returns the holder's report on a store; zero without one.
func (c *cluster) status(name string) control.Status {
	c.mu.Lock()
	defer c.mu.Unlock()
	holder := c.others[c.holders[name]]
	status := holder.stores[name]
	status.Host = holder.Host
	return status
}

// assign takes the stores whose campaigns this process is to drive, and lets go of those whose
// campaigns it drives no longer.
//
// A process takes as many as are due to it where all share alike, and more only
// where it has taken those, and a store has been free for a while: because the others
// do not reach its instrument, drive more already, or are slower.
func (c *cluster) assign() {
	self := c.self()
	var wanted []*member
	driven, opening := 0, 0
	for _, s := range c.lab.list() {
		switch {
		case s.mine():
			driven++
			if _, ours := s.local(); !ours {
				opening++
			}
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
	idle := opening == 0
	var take []*member
	for _, s := range free {
		if opening == mostOpening {
			break // one that is taken is news
		}
		waited := now.Sub(c.free[s.base()])
		if now.Before(c.failures[s.base()].again) || !self.reaches(s.instrument()) {
			continue
		}
		if driven < due || idle && waited > shareTime {
			driven++
			opening++
			take = append(take, s)
		}
	}
	over := c.give(driven, due, now)
	c.mu.Unlock()
	for _, s := range take {
		s.want(true)
	}
	if over != nil { // another one has less than its share
		over.want(false)
	}
}

// start has a campaign driven that a person has started, and returns once it is under way
// somewhere, or says why it cannot be. It does not wait for long: its driver may be away.
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
		trouble, waits := of.trouble, of.run != nil
		of.mu.Unlock()
		switch {
		case trouble != nil && waits:
			return nil // for its device
		case trouble != nil:
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

// startTime is the time that a person who starts a campaign waits for a process to drive it.
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

// noDriver is the error that no process can drive a campaign; nil if one can, or if the
// campaign has not waited long.
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

// follow passes on the events of others in the lab's log, until the lab is closed.
func (c *cluster) follow() {
	for c.lab.ctx.Err() == nil {
		log, err := c.lab.own.Store()
		if err == nil {
			for e, err := range log.Follow(c.lab.ctx, events.Position(c.heard.Load())) {
				if err != nil {
					break
				}
				c.hear(e)
				c.heard.Store(int64(e.Position))
			}
		}
		select {
		case <-time.After(retryAfter):
		case <-c.lab.ctx.Done():
		}
	}
}

// hear passes on an event of the lab's log: news of a store, or how campaigns are filed.
func (c *cluster) hear(e events.Event) {
	if e.Campaign == events.FilingStream {
		c.lab.filings.hear()
		c.lab.announce()
		return
	}
	if e.Campaign == events.DevicesStream {
		c.lab.devices.Hear(e.Sequence)
		return
	}
	if e.Campaign == events.StocksStream {
		c.lab.stocks.Hear()
		c.lab.announce()
		return
	}
	if e.Campaign == events.ServiceStream {
		c.lab.services.Hear()
		c.lab.announce()
		return
	}
	if name, ok := events.StoreOfStream(e.Campaign); ok {
		c.lab.mu.Lock()
		s := c.lab.stores[c.address(name)]
		c.lab.mu.Unlock()
		if s != nil {
			s.custody.hear(e)
			for _, campaign := range s.list() {
				if !s.custody.started(campaign.name) {
					campaign.stopped()
				}
			}
			c.lab.announce()
		}
	}
	select {
	case c.news <- struct{}{}:
	default:
	}
}

// ToGoOn reads from the lab's log which campaigns of a store in a database are to be driven.
func ToGoOn(ctx context.Context, log events.Store, name string) ([]string, error) {
	c, err := CustodyOf(ctx, log, events.StoreStream(name))
	if err != nil {
		return nil, err
	}
	return slices.Sorted(maps.Keys(c.Started)), nil
}
