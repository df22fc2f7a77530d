package engine

import (
	"context"
	"crypto/rand"
	"fmt"
	"time"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/files/registry"
	"github.com/campaignd/campaignd/internal/ground/problem"
	"github.com/campaignd/campaignd/projections/campaign"
)

// ErrNoCampaign means that the log holds no events of the campaign.
const ErrNoCampaign = problem.NoCampaign

// Load folds a campaign's events into a core. It fails with [ErrNoCampaign],
// with the error of the log, or with the first event that contradicts those
// before it.
func Load(ctx context.Context, reg registry.Registry, log events.Log, name string) (*Core, error) {
	core := NewCore(reg)
	if err := core.Forward(ctx, log, name, events.AnySequence); err != nil {
		return nil, err
	}
	if core.State().Status == campaign.Undefined {
		return nil, fmt.Errorf("%w: %q", ErrNoCampaign, name)
	}
	return core, nil
}

// Forward folds the events of the campaign that follow the core's last one, up
// to a sequence, or to the end of the log where that comes first. The campaign
// is named, since a core that has folded nothing does not know its name. It is
// safe to call again after an error of the log: the core stands where the last
// event left it. After one of [Core.Apply] the core is of no use.
func (c *Core) Forward(ctx context.Context, log events.Log, name string, to events.Sequence) error {
	return c.Follow(ctx, log, name, to, func(events.Event, events.Payload) error { return nil })
}

// Follow is [Core.Forward] for callers who need more than its end: it calls each after every
// event that is folded, with the event's payload. An error of each ends it, and is returned.
func (c *Core) Follow(
	ctx context.Context, log events.Log, name string, to events.Sequence,
	each func(events.Event, events.Payload) error,
) error {
	after := c.State().Sequence
	if after >= to {
		return nil
	}
	for e, err := range events.ReadCampaign(ctx, log, name, after) {
		if err != nil {
			return err
		}
		if e.Sequence > to {
			break
		}
		payload, err := events.Decode(e)
		if err != nil {
			return err
		}
		if err := c.apply(e, payload); err != nil {
			return err
		}
		if err := each(e, payload); err != nil {
			return err
		}
	}
	if ctx.Err() != nil {
		return context.Cause(ctx) // it may be cut short
	}
	return nil
}

// Rehearse returns, in memory, the campaign that a definition would begin.
func Rehearse(
	reg registry.Registry, defined events.CampaignDefined, actor string, now time.Time,
) (*Core, error) {
	name := defined.Definition.Name
	e, err := events.New(name, &defined)
	if err != nil {
		return nil, err
	}
	e.Actor = actor
	e.Time = Stamp(now)
	first, err := events.Assign(name, 0, []events.Event{e})
	if err != nil {
		return nil, err
	}
	core := NewCore(reg)
	return core, core.Apply(first[0])
}

// Amended returns the core as it would be if the campaign were amended now, for readers:
// nothing is recorded, and the core stays as it is. It fails if the definition does not fit the
// record; it does not judge whether the campaign would accept the amendment.
func (c *Core) Amended(a events.CampaignAmended) (*Core, error) {
	own := c.Clone()
	return own, own.imagine(c.last, "", &a)
}

// Rehearsed returns the core as it would be once a request were fulfilled, for readers:
// nothing is recorded, and the core stays as it is.
func (c *Core) Rehearsed(r Request, now time.Time) (*Core, error) {
	batch, err := c.Granted(r, now, nil)
	if err != nil {
		return nil, err
	}
	own := c.Clone()
	return own, own.fold(batch)
}

// imagine folds events that an actor could have recorded at a time, so that later ones are
// judged as after them. The core must be the caller's own copy.
func (c *Core) imagine(at time.Time, actor string, payloads ...events.Payload) error {
	batch, err := NewBatch(c.State(), at, Envelope{Actor: actor}, payloads...)
	if err != nil {
		return err
	}
	return c.fold(batch)
}

// fold folds a batch that follows the last event.
func (c *Core) fold(batch []events.Event) error {
	batch, err := events.Assign(c.State().Name, c.State().Sequence, batch)
	if err != nil {
		return err
	}
	for _, e := range batch {
		if err := c.Apply(e); err != nil {
			return err
		}
	}
	return nil
}

// NewInstance returns a random word for [events.CampaignDefined], or for an
// epoch. Fifty random bits: enough that no two copies of a campaign in one lab
// have the same. Nothing is decided from it.
func NewInstance() string { return rand.Text()[:10] }

// Stamp is an event's time: UTC, to the microsecond. An audit holds every event
// to this form.
func Stamp(t time.Time) time.Time { return t.UTC().Truncate(time.Microsecond) }
