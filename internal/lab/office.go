package lab

import (
	"context"
	"time"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/store"
)

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
