//go:build pauses

package store

import (
	"context"
	"iter"
	"math/rand/v2"
	"time"

	"github.com/campaignd/campaignd/events"
)

// A program that is built with the tag "pauses" stands still at random round its appends and reads,
// as on a machine under load: an event is seen by others before its writer goes on, and what was
// read has changed since. Tests that wait for a time, in place of a state, fail with it. Releases
// are never built so.

// pausing is a store with pauses.
type pausing struct{ events.Store }

func withPauses(s events.Store) events.Store { return pausing{s} }

func withoutPauses(s events.Store) events.Store {
	if p, ok := s.(pausing); ok {
		return p.Store
	}
	return s
}

// pause stands still for up to 60 ms, one time in six.
func pause() {
	if rand.IntN(6) == 0 {
		time.Sleep(rand.N(60 * time.Millisecond))
	}
}

// Append implements [events.Log].
func (p pausing) Append(
	ctx context.Context, campaign string, expected events.Sequence, batch ...events.Event,
) ([]events.Event, error) {
	pause()
	stored, err := p.Store.Append(ctx, campaign, expected, batch...)
	pause()
	return stored, err
}

// Read implements [events.Log].
func (p pausing) Read(ctx context.Context, after events.Position) iter.Seq2[events.Event, error] {
	pause()
	return p.Store.Read(ctx, after)
}

// ReadCampaign implements [events.CampaignReader].
func (p pausing) ReadCampaign(
	ctx context.Context, campaign string, after events.Sequence,
) iter.Seq2[events.Event, error] {
	pause()
	return p.Store.ReadCampaign(ctx, campaign, after)
}
