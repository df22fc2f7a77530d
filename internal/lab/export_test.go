package lab

import (
	"context"
	"maps"
	"slices"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/store"
	"github.com/campaignd/campaignd/internal/lab/stocks"
)

// CurrentTime is how long a request waits for what others have recorded.
const CurrentTime = currentTime

// GiveAfter is how long a campaign stands still before it is handed over.
const GiveAfter = giveAfter

// StocksOf returns the stocks and places of a lab, as its campaigns know them.
func StocksOf(l *Lab) *stocks.Stocks { return l.stocks }

// Opening returns the options of a lab whose stores are opened by a function.
func (o Options) Opening(open func(folder string, o store.Options) (events.Store, error)) Options {
	o.open = open
	return o
}

// Hand has a store of a lab in a database held by this process, or not any more,
// and waits until it is, or until another process has turned out to hold it.
func (l *Lab) Hand(ctx context.Context, campaign string, held bool) {
	c, err := l.Campaign(campaign)
	if err != nil {
		panic(err)
	}
	s := c.store
	s.want(held)
	l.await(ctx, func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		_, ours := s.at.(*Local)
		return s.at != nil && ours == s.wanted
	})
}

// Processes are the identifiers of the processes of a lab in a database that live,
// and own is that of this one.
func (l *Lab) Processes() (ids []string, own string) {
	c := l.custodian.(*cluster)
	own = c.id()
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Sorted(maps.Keys(c.others)), own
}

// MostOpening is how many stores a process of a lab in a database takes at a time.
const MostOpening = mostOpening

// Assign has a process of a lab in a database take what it is to drive, as it does
// from time to time, and returns how many stores it holds or is about to.
func (l *Lab) Assign() (mine int) {
	l.custodian.(*cluster).assign()
	for _, s := range l.list() {
		if s.mine() {
			mine++
		}
	}
	return mine
}
