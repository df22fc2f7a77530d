package view

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/files/registry"
	"github.com/campaignd/campaignd/projections/campaign"
)

// Record is a campaign for its readers: one fold of its log that all readers of a process share,
// brought forward event by event. Readers get a copy of the folded state, now or as it was at any
// event, so that no page folds a log from its first event again, and one reader's changes to a core
// reach no other.
//
// A record that is not read can be put to rest: the state of the campaign stays in memory, and the
// folded state as a snapshot, which is short.
//
// Nothing is decided from a record: a process that runs or audits a campaign folds the log itself.
// The methods may be called by several goroutines.
//
// The parts of a record: one core, which [Record.Take] moves; its [Campaign], computed on request;
// and, at rest, the snapshot instead of the core. Every method that needs the core calls wake
// first.
type Record struct {
	registry registry.Registry
	name     string
	past     *Past

	mu      sync.Mutex
	core    *engine.Core // at the newest event that was taken; nil at rest
	resting *resting     // the campaign at that event, or an earlier one; nil before it was at rest
	stands  *Campaign    // at that event; nil until its first use
	read    bool         // since the last call of Rest
	broken  error        // why no event is taken any more
	// snapshots are those in the campaign's store, nil where none are kept.
	snapshots *Snapshots
	// made are the sequences of the decisions: that of d1 first.
	made []events.Sequence

	reading  sync.Mutex // held while the timeline is brought forward
	timeline *Timeline  // nil until its first use, and at rest
}

// NewRecord returns the record of a campaign before its first event. Its earlier states are kept in
// past, which several records may share.
func NewRecord(reg registry.Registry, name string, past *Past) *Record {
	return &Record{registry: reg, name: name, past: past, core: engine.NewCore(reg)}
}

// FoldRecord returns the record of a campaign up to the end of a log, folded from
// the first event on.
func FoldRecord(
	ctx context.Context, reg registry.Registry, log events.Log, name string,
) (*Record, error) {
	r := NewRecord(reg, name, new(Past))
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.wake() {
		r.fold(ctx, log, events.AnySequence)
	}
	if r.broken != nil {
		return nil, r.broken
	}
	return r, r.known(r.core)
}

// known fails where a core has folded nothing. An empty fold differs from a campaign without
// events: it is not a campaign, and readers must not show it.
func (r *Record) known(core *engine.Core) error {
	if core.State().Status == campaign.Undefined {
		return fmt.Errorf("%w: %q", engine.ErrNoCampaign, r.name)
	}
	return nil
}

// Take folds the next event. It ignores one that does not follow the last: that event was taken
// before. An event that cannot be folded breaks the record for good: the later ones would be shown
// wrong.
func (r *Record) Take(e events.Event) (taken bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.broken != nil || e.Sequence != r.sequence()+1 || !r.wake() {
		return false
	}
	r.stands = nil
	if r.broken = r.core.Apply(e); r.broken == nil {
		r.note(e)
	}
	return true
}

// fold takes the events of a log up to a sequence. The lock is held.
func (r *Record) fold(ctx context.Context, log events.Log, to events.Sequence) {
	each := func(e events.Event, _ events.Payload) error {
		r.stands = nil
		r.note(e)
		return nil
	}
	r.broken = r.core.Follow(ctx, log, r.name, to, each)
}

// note notes the last folded event. The lock is held.
func (r *Record) note(e events.Event) {
	if r.core.State().Decisions > len(r.made) {
		r.made = append(r.made, e.Sequence)
	}
}

// sequence is that of the last event. The lock is held. At rest it is that of
// stands, which Rest computes before it drops the core.
func (r *Record) sequence() events.Sequence {
	if r.core == nil {
		return r.stands.Sequence
	}
	return r.core.State().Sequence
}

// Sequence is that of the last event that was taken, 0 for none.
func (r *Record) Sequence() events.Sequence {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.sequence()
}

// Definition is the campaign's, as it was amended last; nil before its first
// event.
func (r *Record) Definition() *definition.Campaign {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.core == nil {
		return r.stands.Definition
	}
	return r.core.State().Definition
}

// Stands returns where the campaign stands. Nothing is brought back for it.
func (r *Record) Stands() Campaign {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.standing()
}

// standing is [Record.Stands]. The lock is held. It is computed once for each
// event, when it is first asked for, since a lab's list asks all campaigns at
// once.
func (r *Record) standing() Campaign {
	if r.stands == nil {
		if r.core.State().Definition == nil {
			return Campaign{Summary: engine.Summary{Campaign: r.name}}
		}
		now := CampaignOf(r.core, Shown{}, "")
		r.stands = &now
	}
	return *r.stands
}

// Broken is why no event is taken any more: the log holds one that cannot be
// folded.
func (r *Record) Broken() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.broken
}

// Read calls f with the folded campaign, which f may neither change nor keep.
// It must be quick: the campaign's events wait meanwhile. Where the campaign
// was at rest and cannot be brought back, which Broken explains, f is not
// called.
func (r *Record) Read(f func(*engine.Core)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.read = true; r.wake() {
		f(r.core)
	}
}

// Now returns the campaign at the end of the log. The core is the caller's. The record itself may
// be behind the log by events that were not taken yet; the clone reads on by itself, outside the
// lock.
func (r *Record) Now(ctx context.Context, log events.Log) (*engine.Core, error) {
	r.mu.Lock()
	r.read = true
	r.wake()
	if r.broken != nil {
		defer r.mu.Unlock()
		return nil, r.broken
	}
	core := r.core.Clone()
	r.mu.Unlock()
	if err := core.Forward(ctx, log, r.name, events.AnySequence); err != nil {
		return nil, err
	}
	return core, r.known(core)
}

// At returns the campaign as it was after the event at a sequence, or at the
// end of the log where that comes first. The core is the caller's. It starts
// from the nearest state that is known: the record's own, one of the past, or
// none.
func (r *Record) At(
	ctx context.Context, log events.Log, at events.Sequence,
) (*engine.Core, error) {
	core := r.before(ctx, at)
	// What is looked at next is often the experiment before: the last round
	// sequence on the way is kept, so that few events lie between the two.
	if round := at - at%between; round > core.State().Sequence {
		if err := core.Forward(ctx, log, r.name, round); err != nil {
			return nil, err
		}
		r.keep(core, round)
	}
	if err := core.Forward(ctx, log, r.name, at); err != nil {
		return nil, err
	}
	r.keep(core, at)
	return core, nil
}

// before returns the newest state that is at hand and not later than a
// sequence: of the present one, those that were kept, and the snapshots.
//
// The snapshots are read without the lock, since unpacking takes a while; one
// that cannot be unpacked is passed over, for the log has it all.
func (r *Record) before(ctx context.Context, at events.Sequence) *engine.Core {
	r.mu.Lock()
	r.read = true
	if r.wake() && r.core.State().Sequence <= at {
		defer r.mu.Unlock()
		return r.core.Clone()
	}
	snapshots := r.snapshots
	r.mu.Unlock()
	var packed *resting
	core := r.past.before(r, at)
	if core == nil {
		core = engine.NewCore(r.registry)
	}
	between := func(c Campaign) bool {
		return core.State().Sequence < c.Sequence && c.Sequence <= at
	}
	if snapshots != nil && core.State().Sequence < at {
		packed, _, _ = snapshots.newest(ctx, r.name, between)
	}
	if packed == nil {
		return core
	}
	found, _, err := packed.unpack(r)
	if err != nil {
		return core
	}
	r.past.keep(r, found.Clone())
	return found
}

// Summary is [engine.Core.Summarize] of a core that [Record.At] returned. It
// fits a model, so the result is kept with the state. Two callers may compute it
// at the same time; both get the same.
func (r *Record) Summary(ctx context.Context, core *engine.Core) (engine.Summary, error) {
	r.past.mu.Lock()
	k := r.past.find(r, core.State().Sequence)
	r.past.mu.Unlock()
	if k == nil {
		return core.Summarize(ctx)
	}
	k.summing.Lock() // who comes second waits for the first
	defer k.summing.Unlock()
	if k.summary == nil {
		summary, err := core.Summarize(ctx)
		if err != nil {
			return summary, err
		}
		k.summary = &summary
	}
	return *k.summary, nil
}

// keep keeps a copy of a core if it is at that sequence: the log may have ended
// before. A state under a sequence that it does not have would be found as the
// past of another one.
func (r *Record) keep(core *engine.Core, at events.Sequence) {
	if core.State().Sequence == at {
		r.past.keep(r, core.Clone())
	}
}

// between is the number of events between two states that are kept on the way
// to another one: folding that many takes a few milliseconds.
const between = 512

// decisionAt returns the sequence of a decision; 0 if no such decision was
// taken.
func (r *Record) decisionAt(id string) events.Sequence {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.read = true
	r.wake()
	if n := events.DecisionNumber(id); 1 <= n && n <= len(r.made) {
		return r.made[n-1]
	}
	return 0
}

// LastUpTo returns the sequence and the position of a campaign's last event up
// to a position of the log, zeros for none. It is a binary search over the
// campaign's events, so it reads some twenty of them in a log of a million.
func LastUpTo(
	ctx context.Context, log events.Log, name string, limit events.Position,
) (events.Sequence, events.Position, error) {
	last, err := log.LastSequence(ctx, name)
	if err != nil {
		return 0, 0, err
	}
	// position returns that of the event at a sequence.
	position := func(at events.Sequence) (events.Position, error) {
		for e, err := range events.ReadCampaign(ctx, log, name, at-1) {
			return e.Position, err
		}
		return 0, context.Cause(ctx)
	}
	var found events.Position
	from, to := events.Sequence(0), last // the event at from is within the limit, or no event is
	for from < to {
		middle := from + (to-from+1)/2
		p, err := position(middle)
		switch {
		case err != nil:
			return 0, 0, err
		case p > limit:
			to = middle - 1
		default:
			from = middle
			found = p
		}
	}
	return from, found, nil
}

// mostPast is how many earlier states are kept, those that were used last. They
// hold no models, so each is as large as the folded state: at most a few
// megabytes.
const mostPast = 32

// Past keeps some earlier states of campaigns. Its methods may be called by
// several goroutines.
type Past struct {
	mu   sync.Mutex
	kept []*pastState // the last one used last
}

// pastState is a campaign as it was. The core is never changed; readers get
// clones.
type pastState struct {
	of   *Record
	core *engine.Core

	summing sync.Mutex
	summary *engine.Summary // nil until its first use
}

// before returns a copy of the newest state of a campaign that is kept, and not
// later than a sequence; nil for none. It becomes the one that was used last.
func (p *Past) before(of *Record, at events.Sequence) *engine.Core {
	p.mu.Lock()
	defer p.mu.Unlock()
	best := -1
	for i, k := range p.kept {
		s := k.core.State().Sequence
		if k.of == of && s <= at && (best < 0 || s > p.kept[best].core.State().Sequence) {
			best = i
		}
	}
	if best < 0 {
		return nil
	}
	found := p.kept[best]
	p.kept = append(slices.Delete(p.kept, best, best+1), found)
	return found.core.Clone()
}

// find returns the kept state of a campaign at a sequence, nil for none. The
// lock is held. The result points into the list and is good only while the lock
// is held.
func (p *Past) find(of *Record, at events.Sequence) *pastState {
	for _, k := range p.kept {
		if k.of == of && k.core.State().Sequence == at {
			return k
		}
	}
	return nil
}

// keep keeps a state, in place of the one that was used longest ago if there are many.
func (p *Past) keep(of *Record, core *engine.Core) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.find(of, core.State().Sequence) != nil {
		return
	}
	p.kept = append(p.kept, &pastState{of: of, core: core})
	if len(p.kept) > mostPast {
		p.kept = slices.Delete(p.kept, 0, 1)
	}
}
