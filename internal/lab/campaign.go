package lab

import (
	"context"
	"errors"
	"sync"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/ground/problem"
	"github.com/campaignd/campaignd/internal/view"
)

// Campaign is a campaign of the lab. Its methods may be called by several
// goroutines. starting is taken before mu, never after it.
type Campaign struct {
	store *member
	name  string

	// starting is held while a run begins or ends, and while a step is made by
	// hand.
	starting sync.Mutex

	record *view.Record // folded from the log

	mu  sync.Mutex
	run *driving // nil where this process does not run the campaign
	// trouble is the error that ended the last run before the campaign, or that keeps it from
	// beginning.
	trouble  error
	cache    cache
	foregone foregone
}

// newCampaign returns a campaign without events: [member.take] lists it after the first.
func newCampaign(s *member, name string) *Campaign {
	record := view.NewRecord(s.lab.options.Registry, name, &s.lab.past)
	return &Campaign{
		store: s, name: name, record: record, cache: cache{busy: make(chan struct{}, 1)},
	}
}

// Name is the campaign's name.
func (c *Campaign) Name() string { return c.name }

// Store is the path of its store.
func (c *Campaign) Store() string { return c.store.path }

// Place is the name of its store in the lab, the same at all its servers: the name of one in a
// database, or the path from the lab's folder.
func (c *Campaign) Place() string { return c.store.lab.relative(c.store.path) }

// Sequence is that of the last event that is folded.
func (c *Campaign) Sequence() events.Sequence {
	return c.record.Sequence()
}

// Standing says where a campaign stands, and who drives it.
type Standing struct {
	view.Campaign
	Driven
}

// Driven describes the driver of a campaign, beyond the log.
type Driven struct {
	// Run is the run, in whichever process; zero without a run.
	Run Running
	// Here is true where this process runs the campaign, or is about to.
	Here bool
	// Elsewhere is true where another process of a lab in a database runs the
	// campaign, or is about to.
	Elsewhere bool
	// Trouble is the error that ended a run before the campaign, or that delays its beginning;
	// nil for none.
	Trouble error
}

// Runs reports whether the campaign is run, or about to be.
func (d Driven) Runs() bool { return d.Ours() || d.Run.PID != 0 }

// Ours reports whether a process of the lab runs the campaign, or is about to:
// it can be halted from any of them.
func (d Driven) Ours() bool { return d.Here || d.Elsewhere }

// Standing returns where the campaign stands, without working anything out. It
// is put together from parts that each have a lock of their own, and may be of
// two neighboring moments; the next change is announced.
func (c *Campaign) Standing() Standing {
	run := c.Running()
	s := Standing{Campaign: c.record.Stands()}
	broken := c.record.Broken()
	c.mu.Lock()
	s.Trouble = errors.Join(broken, c.trouble)
	s.Here = c.run != nil
	c.mu.Unlock()
	if !s.Here {
		c.store.lab.custodian.driver(c, run, &s)
	}
	c.cache.found.fill(&s)
	if run != nil {
		s.Run = *run
		s.WaitingFor = run.WaitingFor
		s.Computing = engine.Computation{What: run.Computing, Since: run.ComputingSince}
	}
	return s
}

// Running returns the run of the campaign, nil if it is not run.
func (c *Campaign) Running() *Running {
	at, err := c.store.holder()
	if err != nil {
		return nil
	}
	return RunningIn(at, c.name)
}

// Log returns the log that holds the campaign, for reading. Of a store in a
// database it is there while that changes hands, too.
func (c *Campaign) Log() (events.Log, error) {
	if log := c.store.reading(); log != nil {
		return log, nil
	}
	at, err := c.store.holder()
	if err != nil {
		return nil, err
	}
	return at.Log(), nil
}

// Load returns the campaign at the end of its log, for work that takes longer than a list may.
// The core is the caller's.
func (c *Campaign) Load(ctx context.Context) (*engine.Core, error) {
	log, err := c.Log()
	if err != nil {
		return nil, err
	}
	return c.record.Now(ctx, log)
}

// At returns the campaign as it was after the event at a sequence. The core is
// the caller's.
func (c *Campaign) At(ctx context.Context, at events.Sequence) (*engine.Core, error) {
	log, err := c.Log()
	if err != nil {
		return nil, err
	}
	return c.record.At(ctx, log, at)
}

// Timeline returns the campaign event by event. It is the caller's.
func (c *Campaign) Timeline(ctx context.Context) (*view.Timeline, error) {
	log, err := c.Log()
	if err != nil {
		return nil, err
	}
	return c.record.Timeline(ctx, log)
}

// Record is the campaign for those who look at it, whose log is that of
// [Campaign.Log].
func (c *Campaign) Record() *view.Record { return c.record }

// Read calls f with the folded campaign, which f may neither change nor keep.
// It must be quick: the campaign's events wait meanwhile.
func (c *Campaign) Read(f func(*engine.Core)) {
	c.record.Read(f)
}

// Defined returns the campaign's definition, as last amended; an empty one if its first event
// cannot be read.
func (c *Campaign) Defined() *definition.Campaign {
	var def definition.Campaign
	if as := c.record.Definition(); as != nil {
		def = *as
	}
	return &def
}

// recordedAt returns the sequence of the event by which a request was recorded, 0 for none. It
// knows the events that this process has folded; the engine checks again when it records.
func (c *Campaign) recordedAt(r engine.Request) (at events.Sequence, err error) {
	c.Read(func(core *engine.Core) { at, err = core.Recorded(r) })
	return at, err
}

// Recorded returns the events of a request that was recorded before, none where
// it was not. Who makes a request from how the campaign stands asks first: a
// repeat would make another one.
func (c *Campaign) Recorded(ctx context.Context, r engine.Request) ([]events.Event, error) {
	at, err := c.recordedAt(r)
	if at == 0 || err != nil {
		return nil, err
	}
	log, err := c.Log()
	if err != nil {
		return nil, err
	}
	return engine.ReadBatch(ctx, log, c.name, at)
}

// Submit has a person's request recorded, by the process that holds the store. When it returns,
// the campaign as the lab shows it holds the recorded events, so that the page after a form
// shows the form's changes.
//
// Only a request with an identifier is sent again if its recording is uncertain: any other
// might count twice.
func (c *Campaign) Submit(ctx context.Context, r engine.Request) ([]events.Event, error) {
	var at Store
	var stored []events.Event
	find := func() (err error) {
		at, err = c.store.holder()
		return err
	}
	err := Persist(ctx, r.ID != "", find, func() (err error) {
		stored, err = at.Submit(ctx, c.name, r)
		return err
	})
	if errors.Is(err, events.ErrStopped) && !errors.Is(err, events.ErrUncertain) {
		err = problem.New(problem.Unavailable, "%w", err).With(problem.Remedy{
			Text: "mend what failed, a full disk by making room: the store is opened again by itself once it takes writes",
		})
	}
	if err != nil || len(stored) == 0 {
		return stored, err
	}
	last := stored[len(stored)-1].Sequence
	if _, err := c.store.await(ctx, c.name, last); err != nil {
		return stored, nil // it is recorded; the page shows it a moment later
	}
	if r.Amend != nil || r.Resume != nil || r.Resolve != nil || r.Cancel != nil || r.Abort != nil {
		c.goOn() // a campaign that had ended can go on, or has to call something off
	}
	return stored, nil
}
