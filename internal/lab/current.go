package lab

import (
	"context"
	"time"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/store"
	"github.com/campaignd/campaignd/internal/lab/lablog"
)

// A person may act at one process of a lab in a database and look, with the next request, at
// another one: that one answers from all that was recorded by then.

// currentTime is the time that a request waits for that. After it, or while the database does
// not answer, it is answered from this process's knowledge.
const currentTime = 3 * time.Second

// current implements [custodian].
func (c *cluster) current(ctx context.Context, campaign string) {
	l := c.lab
	if !c.sure() {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, currentTime)
	defer cancel()
	rows, err := c.recorded(ctx, campaign)
	if err != nil {
		return
	}
	for _, row := range rows {
		if row.Name == lablog.Name {
			l.await(ctx, func() bool { return c.heard.Load() >= row.Size })
		} else if !reserved(row.Name) {
			s := l.add(c.address(row.Name))
			l.await(ctx, func() bool { return s.folded.Load() >= row.Size || s.failure() != nil })
		}
	}
}

// recorded returns the sizes of the stores of a campaign and of the lab itself, or of all if no
// campaign has that name.
func (c *cluster) recorded(ctx context.Context, campaign string) ([]store.StoreRow, error) {
	if of, err := c.lab.Campaign(campaign); err == nil {
		return c.db.Stores(ctx, lablog.Name, of.store.base())
	}
	return c.sizes.Since(time.Now(), func(time.Time) ([]store.StoreRow, error) {
		ctx, cancel := context.WithTimeout(c.lab.ctx, currentTime)
		defer cancel()
		return c.db.Stores(ctx)
	})
}

// await waits until something holds that the lab announces, and looks now and then for changes
// that are not announced: most of the lab's log is not about campaigns.
func (l *Lab) await(ctx context.Context, holds func() bool) {
	for {
		changed := l.Changed()
		if holds() {
			return
		}
		select {
		case <-changed:
		case <-time.After(5 * time.Millisecond):
		case <-ctx.Done():
			return
		case <-l.ctx.Done():
			return
		}
	}
}

// has notes that all events of the store up to a position are folded.
func (s *member) has(last events.Position) { s.folded.Store(int64(last)) }
