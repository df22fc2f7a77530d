// Package lab holds stores of campaigns and runs the campaigns in them.
//
// A [Local] is one store that this process holds, with the campaigns that it
// runs:
//
//	local, err := lab.OpenLocal(ctx, "electrolyte.campaign", options)
//	equipment, err := equip.Open(ctx, options.Registry, definition, environment)
//	run, err := local.Start(ctx, "electrolyte", equipment, lab.Hooks{})
//	err = run.Run(ctx)
//
// A [Lab] is the stores of a folder, or of a database: what a server serves. A store belongs to
// one process at a time. The lab takes every store of its folder that is free, and offers it to
// other commands on the store's socket; one that another process holds, `campaignd run` for
// example, is read through that process, and taken once it is free. Readers see a campaign as
// folded from the store's log in either case.
//
// A lab in a database has any number of processes. Each reads all stores, and takes only those
// with a campaign that it drives: see custodian.
//
// Nothing physical begins unasked: after a restart the lab goes on with the
// campaigns that people have started in it, and with no others.
package lab

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/campaignd/campaignd/adapters/instruments"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/bus"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/events/store"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/files/campaignfile"
	"github.com/campaignd/campaignd/internal/files/labfile"
	"github.com/campaignd/campaignd/internal/files/registry"
	"github.com/campaignd/campaignd/internal/ground/lock"
	"github.com/campaignd/campaignd/internal/ground/problem"
	"github.com/campaignd/campaignd/internal/lab/board"
	"github.com/campaignd/campaignd/internal/lab/devices"
	"github.com/campaignd/campaignd/internal/lab/equip"
	"github.com/campaignd/campaignd/internal/lab/lablog"
	"github.com/campaignd/campaignd/internal/lab/stocks"
	"github.com/campaignd/campaignd/internal/view"
)

// Private is the folder within the lab's that holds the memory of the lab and its server.
const Private = ".campaignd"

// Options are the settings of a lab.
type Options struct {
	// Folder holds the stores, each a folder NAME.campaign, and campaign files'
	// relative paths start there.
	Folder string
	// Database, if set, is the address of the database that holds the stores and the lab's log,
	// for any number of processes; Folder then holds lab.yaml and the files that campaign files
	// name.
	Database string
	// Watches is set where this process shows the campaigns of a lab in a database
	// and drives none.
	Watches bool
	// Instruments are those of the lab that this process reaches: it drives no
	// campaign at another one. Nil for all.
	Instruments []string
	// Stores, if any, are the only stores; new campaigns go into the first one.
	// Without, a new campaign gets a store of its own in the folder.
	Stores []string
	// Registry holds the entries that campaign files may name.
	Registry registry.Registry
	// Build is recorded with the lab's events.
	Build events.Build
	// Account is the system's user that runs the campaigns.
	Account string
	// Own is the lab's own log, where this process holds it already: it must
	// outlive the lab. Without, the lab opens that of its folder.
	Own *lablog.Log
	// Reads, if set, reads the log of each store, which store names, until ctx
	// is done or the log ends; the store is let go of once it has returned. It
	// is called for several stores at a time, also for those that another
	// process holds: their logs keep no offsets ([bus.Bus.Keeps]). Open waits
	// until it has called caught, or returned.
	Reads func(ctx context.Context, store string, b *bus.Bus, caught func())
	// ReadsOwn, if set, reads the lab's own log like Reads, under the name [lablog.Name]. Open does not
	// wait for it.
	ReadsOwn func(ctx context.Context, store string, b *bus.Bus, caught func())
	// Forwards, if set, reads like Reads, and keeps the offsets up to which it has
	// read with the log. In a lab in a database one process at a time does.
	Forwards func(ctx context.Context, store string, b *bus.Bus)
	// Log, if set, takes messages for the operator. It may be called by several goroutines.
	Log func(format string, args ...any)

	// open opens stores; tests replace it, so that disks fail.
	open func(folder string, o store.Options) (events.Store, error)
}

// Lab holds stores and runs campaigns. Its methods may be called by several
// goroutines.
type Lab struct {
	options Options
	ctx     context.Context
	stop    context.CancelFunc
	wg      sync.WaitGroup

	// slots has room for a computation on each processor but one, on which
	// people are answered.
	slots chan struct{}

	custodian custodian

	own      *lablog.Log
	filings  *filings          // of that log
	devices  *devices.Queue    // in that log
	stocks   *stocks.Stocks    // in that log
	services *devices.Services // in that log
	worker   string            // a random word for this process, in that log
	past     view.Past         // campaigns as they were, for readers

	// defining is held while a campaign is begun: names stay different.
	defining sync.Mutex

	mu      sync.Mutex
	stores  map[string]*member // by absolute path
	ordered []*member          // by their paths; replaced, and never changed
	// campaigns are those of all stores in the order of their names, nil where one
	// has come since; came counts those.
	campaigns []*Campaign
	came      int
	changed   chan struct{} // closed and made anew whenever a campaign has changed
}

// Open opens the stores of a folder and goes on with the campaigns that were
// started in it.
func Open(ctx context.Context, o Options) (*Lab, error) {
	if o.Log == nil {
		o.Log = func(string, ...any) {}
	}
	var err error
	if o.Folder, err = filepath.Abs(o.Folder); err != nil {
		return nil, err
	}
	if info, err := os.Stat(o.Folder); err != nil || !info.IsDir() {
		return nil, problem.New(problem.Invalid, "there is no folder %s", o.Folder)
	}
	l := &Lab{
		options: o,
		stores:  make(map[string]*member),
		changed: make(chan struct{}),
		slots:   make(chan struct{}, max(1, runtime.GOMAXPROCS(0)-1)),
		worker:  engine.NewInstance(),
	}
	l.custodian = folder{l}
	if o.Database != "" {
		l.custodian = newCluster(l)
	}
	if l.own = o.Own; l.own == nil {
		if l.own, err = lablog.Open(lablog.Address(cmp.Or(o.Database, o.Folder)), lablog.Options{}); err != nil {
			return nil, err
		}
	}
	l.filings = &filings{own: l.own}
	l.devices = devices.New(l.own, devices.Options{Review: l.review})
	l.stocks = stocks.New(l.own, DeclaredIn(o.Registry, o.Folder))
	l.services = devices.NewServices(l.own)
	l.ctx, l.stop = context.WithCancel(context.WithoutCancel(ctx))
	if err := l.custodian.join(ctx); err != nil {
		l.Close()
		return nil, err
	}
	for _, s := range l.list() { // so that a list is whole from the first
		if err := s.wait(ctx); err != nil {
			l.Close()
			return nil, err
		}
	}
	l.wg.Go(l.custodian.run)
	l.wg.Go(l.unload)
	if o.ReadsOwn != nil {
		l.wg.Go(l.readOwn)
	}
	l.wg.Go(func() {
		WatchClock(l.ctx, func(text string) {
			l.options.Log("%s", text)
			l.announce()
		})
	})
	return l, nil
}

// Close ends all runs, so that they can go on later, and lets go of the stores.
func (l *Lab) Close() {
	l.custodian.leave()
	l.stop()
	l.wg.Wait()
	l.devices.Close()
	l.custodian.close()
	if l.options.Own != nil {
		return // it outlives the lab
	}
	if err := l.own.Close(); err != nil {
		l.options.Log("the lab's log did not close: %v", err)
	}
}

// Log returns the lab's own log, the memory of the lab and its server, as it is held now: see
// [lablog.Log.Store].
func (l *Lab) Log() (events.Store, error) { return l.own.Store() }

// private is a path in the lab's own folder.
func (l *Lab) private(name string) string {
	return filepath.Join(l.options.Folder, Private, name)
}

// Private returns the folder in which a server of this lab keeps its own files.
func (l *Lab) Private() string { return l.private("") }

// Registry returns the entries that campaign files may name.
func (l *Lab) Registry() registry.Registry { return l.options.Registry }

// Build returns the program that runs the campaigns, as it is recorded.
func (l *Lab) Build() events.Build { return l.options.Build }

// Folder returns the folder of the stores.
func (l *Lab) Folder() string { return l.options.Folder }

// restEvery is the interval after which campaigns that were not read leave memory: longer than
// the time between pages of a campaign that someone works with.
const restEvery = 30 * time.Second

// unload calls Rest at intervals.
func (l *Lab) unload() {
	tick := time.NewTicker(restEvery)
	defer tick.Stop()
	for {
		select {
		case <-l.ctx.Done():
			return
		case <-tick.C:
			l.Rest()
		}
	}
}

// Rest takes campaigns out of memory that were not read since the last call:
// the lab calls it now and then. Where they stand stays, and who reads one
// brings it back.
func (l *Lab) Rest() {
	for _, s := range l.list() {
		s.rest()
	}
}

// add begins to hold a store, once. The goroutine that it starts opens the
// store; wait says when it is read.
func (l *Lab) add(path string) *member {
	l.mu.Lock()
	defer l.mu.Unlock()
	if s := l.stores[path]; s != nil {
		return s
	}
	s := newMember(l, path)
	l.stores[path] = s
	at, _ := slices.BinarySearchFunc(l.ordered, path, func(s *member, path string) int {
		return cmp.Compare(s.path, path)
	})
	l.ordered = slices.Insert(slices.Clone(l.ordered), at, s)
	l.wg.Go(s.hold)
	return s
}

// list returns the stores in the order of their paths, which the caller must not
// change. It takes no time for a thousand: every page asks, for each thing that it
// looks for.
func (l *Lab) list() []*member {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.ordered
}

// Campaigns returns the campaigns of all stores in the order of their names. It is
// called several times for each page, and puts them in order only once another one
// has come.
func (l *Lab) Campaigns() []*Campaign {
	l.mu.Lock()
	all, came := l.campaigns, l.came
	l.mu.Unlock()
	if all == nil {
		for _, s := range l.list() {
			all = append(all, s.list()...)
		}
		slices.SortStableFunc(all, func(a, b *Campaign) int { return cmp.Compare(a.name, b.name) })
		l.mu.Lock()
		if l.came == came {
			l.campaigns = all
		}
		l.mu.Unlock()
	}
	return slices.Clone(all)
}

// Campaign returns the campaign of that name; of several stores that hold one,
// the campaign of STORE with "NAME@STORE". One whose first event cannot be read is
// refused here, for all who would show something of it.
func (l *Lab) Campaign(id string) (*Campaign, error) {
	name, base, chosen := strings.Cut(id, "@")
	var found []*Campaign
	for _, s := range l.list() {
		if c := s.campaign(name); c != nil && (!chosen || s.base() == base) {
			found = append(found, c)
		}
	}
	switch len(found) {
	case 0:
		return nil, problem.New(problem.NoCampaign, "there is no campaign %q here", id).About(id)
	case 1:
		if err := found[0].record.Broken(); err != nil && found[0].record.Definition() == nil {
			return nil, problem.New(problem.Damaged, "the beginning of %s cannot be read: %v", name, err).About(id)
		}
		return found[0], nil
	}
	var ids []string
	for _, c := range found {
		ids = append(ids, c.name+"@"+c.store.base())
	}
	return nil, problem.New(problem.Conflict, "several stores hold a campaign %q: say which, %s",
		name, strings.Join(ids, " or ")).About(id)
}

// Troubles says, for each store that cannot be used, why not; before all, why the
// database of the lab takes nothing.
func (l *Lab) Troubles() (troubles []string) {
	if err := l.custodian.refuses(); err != nil {
		troubles = append(troubles, err.Error())
	}
	for _, s := range l.list() {
		if err := s.failure(); err != nil {
			troubles = append(troubles, fmt.Sprintf("%s: %v", s.base(), err))
		}
	}
	return troubles
}

// Health counts the stores: all, and those that cannot be used or take no
// events now.
func (l *Lab) Health() (stores, troubled int) {
	for _, s := range l.list() {
		stores++
		if s.failure() != nil {
			troubled++
		}
	}
	return stores, troubled
}

// Ready says why this process can do nothing for anybody now, nil where it can. It
// asks the database of the lab nothing: a heartbeat was answered a moment ago or
// not.
func (l *Lab) Ready() error {
	if l.ctx.Err() != nil {
		return errors.New("it is about to end")
	}
	return l.custodian.ready()
}

// Current waits until this process shows all that any process of the lab has recorded before
// the call: of the campaign of that name, if there is one, otherwise of all.
func (l *Lab) Current(ctx context.Context, campaign string) { l.custodian.current(ctx, campaign) }

// Board returns the board that shows runs of a kind at all servers of the lab; nil for a single
// server. See [board.Board].
func (l *Lab) Board(prefix, letter string) *board.Board { return l.custodian.board(prefix, letter) }

// Changed returns a channel that is closed at the next change of any campaign.
func (l *Lab) Changed() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.changed
}

// announce reports that a campaign has changed. Waiting callers check their conditions again:
// the channel reports that something has changed, and not what.
func (l *Lab) announce() {
	l.mu.Lock()
	defer l.mu.Unlock()
	close(l.changed)
	l.changed = make(chan struct{})
}

// Parse reads a campaign file as the lab would, with the instruments and
// experts of its lab.yaml as that is now; nothing is written. The error is a
// *yamltree.Error where one of the two files has faults, and that of ctx where that is
// done: who has left reads nothing of it.
func (l *Lab) Parse(ctx context.Context, name string, source []byte) (*campaignfile.File, error) {
	named, err := labfile.ReadFolder(l.options.Registry, l.options.Folder)
	if err != nil {
		return nil, err
	}
	return campaignfile.ParseIn(ctx, l.options.Registry, named, name, source)
}

// Reaches returns what a definition reaches beyond the campaign that neither the lab file, as
// it is now, nor the campaign as it was, nil for a new one, reaches already; ok is false if
// that is nothing.
//
// It checks additions by a person who may define campaigns but not equip the lab: the lab
// file's own entries were allowed by its author.
func (l *Lab) Reaches(def, was *definition.Campaign) (first registry.Reach, ok bool, err error) {
	reg := l.options.Registry
	found := reg.Reaches(def)
	if len(found) == 0 {
		return first, false, nil
	}
	file, err := labfile.ReadFolder(reg, l.options.Folder)
	if err != nil {
		return first, false, err
	}
	var before []registry.Reach
	if was != nil {
		before = reg.Reaches(was)
	}
	for _, reach := range found {
		reached := slices.ContainsFunc(before, func(b registry.Reach) bool {
			return b.Expert == reach.Expert && b.Method == reach.Method && b.Choice.Equal(reach.Choice)
		})
		if !reached && !file.Offers(reg, def, reach) {
			return reach, true, nil
		}
	}
	return first, false, nil
}

// Define is [Lab.Begin] of a campaign that is run at once.
func (l *Lab) Define(
	ctx context.Context, file *campaignfile.File, by engine.Request,
) (*Campaign, error) {
	c, again, err := l.begin(ctx, file, by, true)
	if err != nil {
		return nil, err
	}
	if again {
		c.goOn() // the server may have ended before it ran; it may have been halted since
		return c, nil
	}
	return c, c.Start(ctx, by)
}

// Begin begins a campaign; by gives the requester and the identifier. Nothing is written if the
// campaign could not be run: its instrument or an expert cannot be reached, or the name is
// taken. One that the same request has begun before is returned.
func (l *Lab) Begin(
	ctx context.Context, file *campaignfile.File, by engine.Request,
) (*Campaign, error) {
	c, _, err := l.begin(ctx, file, by, false)
	return c, err
}

// begin is [Lab.Begin]; again is set where the same request has begun the
// campaign before.
func (l *Lab) begin(
	ctx context.Context, file *campaignfile.File, by engine.Request, run bool,
) (c *Campaign, again bool, err error) {
	l.defining.Lock()
	defer l.defining.Unlock()
	name := file.Definition.Name
	for _, s := range l.list() {
		there := s.campaign(name)
		if there == nil {
			continue
		}
		at, err := there.recordedAt(by)
		if at == 0 && err == nil {
			err = problem.New(problem.Conflict, "there is a campaign %s already", name).About(name).
				With(problem.Remedy{Text: "give the new one another name"})
		}
		return there, true, err
	}
	c, err = l.define(ctx, file, by, run)
	return c, false, err
}

// define begins a campaign of a new name. The instrument is asked to describe
// itself before anything is written, and is closed again: the run opens its own.
func (l *Lab) define(
	ctx context.Context, file *campaignfile.File, by engine.Request, run bool,
) (*Campaign, error) {
	def := file.Definition
	path := l.custodian.address(def.Name)
	equipment, err := equip.Open(ctx, l.options.Registry, def, l.environment(path, def.Name))
	if err != nil {
		return nil, unanswered(err)
	}
	equipment.Unleased = store.InDatabase(path) // the process that drives it leases its device
	def, err = equipment.Prepare(ctx, def, file.Source)
	var held *lock.HeldError
	if errors.As(err, &held) {
		err = nil // the campaign waits for its turn
	}
	if errors.Is(err, instruments.ErrLater) {
		err = nil // and for a device that is off
	}
	if err = errors.Join(unanswered(err), equipment.Close()); err != nil {
		return nil, err
	}
	s := l.add(path)
	if err := s.wait(ctx); err != nil {
		return nil, err
	}
	// Before the event, so that a server that is killed behind it runs the
	// campaign when it is started again.
	if err := s.custody.setStarted(def.Name, run, by); err != nil {
		return nil, err
	}
	defined := events.CampaignDefined{Definition: def, Source: file.Source}
	if err := s.define(ctx, defined, by); err != nil {
		return nil, errors.Join(err, s.custody.setStarted(def.Name, false, ourselves))
	}
	return s.await(ctx, def.Name, 1)
}

// unanswered adds the remedy for an instrument that does not answer as it should.
func unanswered(err error) error {
	var silent *equip.SilentError
	if !errors.As(err, &silent) {
		return err
	}
	return problem.New(problem.Unavailable, "%w", err).About("instrument").With(problem.Remedy{
		Text: "see that the device is on and that its program speaks the protocol; " +
			"then begin again",
	})
}

// Definition completes a file's definition for an existing campaign: with the compositions that
// its instrument lists, and with the campaign's own values where the file leaves them open.
func (l *Lab) Definition(
	ctx context.Context, c *Campaign, file *campaignfile.File,
) (definition.Campaign, error) {
	environment := l.environment(c.store.path, file.Definition.Name)
	def, err := equip.Listed(ctx, l.options.Registry, file.Definition, environment)
	if err != nil {
		return def, unanswered(err)
	}
	core, err := c.Load(ctx)
	if err != nil {
		return def, err
	}
	state := core.State()
	def, err = campaignfile.Meant(l.options.Registry, *state.Definition, state.Source, def)
	return file.Begun(l.options.Registry, def, *state.Definition), err
}
