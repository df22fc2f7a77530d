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

// NewInstance returns a random word for [events.CampaignDefined], or for an
// epoch.
func NewInstance() string { return rand.Text()[:10] }

// Stamp is an event's time: UTC, to the microsecond.
func Stamp(t time.Time) time.Time { return t.UTC().Truncate(time.Microsecond) }
