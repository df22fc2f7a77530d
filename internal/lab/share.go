package lab

import (
	"time"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/projections/campaign"
)

// A process that holds more than its share hands campaigns over to one that holds less, as one
// that was started later does: one at a time, and only those that stand still. No process takes
// more than its share if that can be avoided, so that a campaign that was handed over is not
// handed on.

const (
	// giveAfter is the time that a campaign must have stood still, while another process had
	// less than its share, before it is handed over.
	giveAfter = 5 * time.Second
	// keepFor is the time that a store stays which came back because no other process took it.
	keepFor = 10 * time.Minute
)

// offer is the store that this process is about to hand over; zero for none.
type offer struct {
	store *member
	last  events.Position // of its log, which does not grow meanwhile
	since time.Time
}

// give hands a store over where this process drives more than are due to each, and
// nothing waits to be taken. The caller holds mu.
func (c *cluster) give(driven, due int, now time.Time) (over *member) {
	before := c.offer
	c.offer = offer{}
	if driven <= due || len(c.free) > 0 {
		return nil
	}
	held := make(map[string]int)
	for _, holder := range c.holders {
		held[holder]++
	}
	own := c.id()
	for _, s := range c.lab.list() {
		last, still := s.still()
		if !still || now.Sub(c.given[s.base()]) < keepFor {
			continue
		}
		for id, other := range c.others {
			if id == own || held[id] >= due || !other.reaches(s.instrument()) {
				continue
			}
			switch {
			case before.store != s || before.last != last:
				c.offer = offer{s, last, now}
			case now.Sub(before.since) < giveAfter:
				c.offer = before
			default:
				c.given[s.base()] = now
				return s
			}
			return nil
		}
	}
	return nil
}

// still reports whether nothing goes on in a store that this process holds: its
// campaigns wait, nothing is computed, and no instrument works on a command. Last
// is the end of its log.
func (s *member) still() (last events.Position, still bool) {
	local, ours := s.local()
	if !ours {
		return 0, false
	}
	for _, c := range s.list() {
		if c.current() == nil {
			continue
		}
		run := RunningIn(local, c.name)
		if run == nil || run.WaitingFor == "" || run.Computing != "" {
			return 0, false
		}
		commanded := false
		c.Read(func(core *engine.Core) {
			s := core.State() // what people measure is not the process's doing
			commanded = !s.Definition.ByHand() &&
				(s.Count(campaign.Dispatched, campaign.Started) > 0 || s.BeingCalledOff() != nil)
		})
		if commanded {
			return 0, false
		}
	}
	return local.log.Last(), true
}
