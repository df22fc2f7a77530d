package engine

import (
	"context"
	"crypto/rand"
	"fmt"
	"time"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/problem"
	"github.com/campaignd/campaignd/internal/registry"
	"github.com/campaignd/campaignd/projections/campaign"
)

// ErrNoCampaign means that the log holds no events of the campaign.
const ErrNoCampaign = problem.NoCampaign

// Load folds a campaign's events into a core.
func Load(ctx context.Context, reg registry.Registry, log events.Log, name string) (*Core, error) {
	core := NewCore(reg)
	for e, err := range events.ReadCampaign(ctx, log, name, 0) {
		if err != nil {
			return nil, err
		}
		if err := core.Apply(e); err != nil {
			return nil, err
		}
	}
	if core.State().Status == campaign.Undefined {
		return nil, fmt.Errorf("%w: %q", ErrNoCampaign, name)
	}
	return core, nil
}

// Define writes the event that opens a campaign.
func Define(
	ctx context.Context, log events.Log, definition events.CampaignDefined, actor string,
	now time.Time, trace string,
) error {
	e, err := events.New(definition.Definition.Name, &definition)
	if err != nil {
		return err
	}
	e.Actor = actor
	e.Time = stamp(now)
	e.Trace = trace
	_, err = log.Append(ctx, e.Campaign, 0, e)
	return err
}

// NewInstance returns a random word for [events.CampaignDefined], or for an epoch.
func NewInstance() string { return rand.Text()[:10] }

// stamp is an event's time: UTC, to the microsecond.
func stamp(t time.Time) time.Time { return t.UTC().Truncate(time.Microsecond) }

// Submit fulfils a request on a campaign that nobody runs, and folds it into core.
func Submit(
	ctx context.Context, log events.Log, core *Core, request Request, now time.Time,
) ([]events.Event, error) {
	batch, err := core.requested(request, now, nil)
	if err != nil {
		return nil, err
	}
	stored, err := log.Append(ctx, core.State().Name, core.State().Sequence, batch...)
	if err != nil {
		return nil, err
	}
	for _, e := range stored {
		if err := core.Apply(e); err != nil {
			return nil, err
		}
	}
	return stored, nil
}
