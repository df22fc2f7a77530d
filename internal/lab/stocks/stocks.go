// Package stocks keeps the stocks and places that a lab's campaigns share, in the lab's log: tips, wells,
// vials, solvent; an oven, a press.
//
// A campaign takes parts for a command before it dispatches that: one append, on condition of the
// last sequence read ([events.StocksStream]), so that of two campaigns one gets the last tip. The
// same command is given the same parts again, so that a crash in between costs nothing, or a tip.
// Labels never come back, but by the word of a person who has looked.
//
// lab.yaml gives the contents before the first take or count, and no later.
//
// A batch takes a place in the same way, before it is brought there, and frees it when it has left.
package stocks

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/ground/clock"
	"github.com/campaignd/campaignd/internal/ground/computed"
	"github.com/campaignd/campaignd/internal/ground/problem"
	"github.com/campaignd/campaignd/internal/lab/lablog"
	"github.com/campaignd/campaignd/projections/campaign"
)

// byFile is the actor of what lab.yaml says.
const byFile = "engine"

// Stocks are the stocks of a lab as this process knows them. Its methods may be called by several
// goroutines. It is nil in a program without a lab's log.
type Stocks struct {
	*lablog.Stream[*Shelf]
	declared func() (Declared, error)

	recent struct { // what lab.yaml declared when it was read last
		mu   sync.Mutex
		at   time.Time
		as   Declared
		read bool
	}
}

// New returns the stocks in a lab's log. declared reads those of lab.yaml.
func New(own *lablog.Log, declared func() (Declared, error)) *Stocks {
	stream := lablog.NewStream(own, events.StocksStream, func() *Shelf { return NewShelf() })
	return &Stocks{Stream: stream, declared: declared}
}

// lately returns what lab.yaml declares, read a second ago at most: the loop of each campaign asks for it
// at each turn. A file with a fault is read again.
func (s *Stocks) lately() (Declared, error) {
	r, now := &s.recent, clock.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	if age := now.Sub(r.at); r.read && age >= 0 && age < time.Second {
		return r.as, nil
	}
	as, err := s.declared()
	r.as, r.at, r.read = as, now, err == nil
	return as, err
}

// event is an event of the stream.
func event(kind events.Kind, payload events.Payload, by engine.Request) (events.Event, error) {
	e, err := events.Lab.New(events.StocksStream, kind, payload)
	e.Actor, e.Account, e.Time = by.Actor, by.Account, engine.Stamp(clock.Now())
	e.Request, e.RequestDigest = by.ID, by.Digest
	return e, err
}

// stock returns a stock of the shelf; before its first event as lab.yaml has it, with the event that
// says so. ok is false where the lab has none of the name.
func (s *Stocks) stock(shelf *Shelf, name string) (stock campaign.Stock, first []events.Event, ok bool, err error) {
	if stock, ok := shelf.stocks[name]; ok {
		return stock, nil, true, nil
	}
	all, err := s.declared()
	declared, ok := all.Stocks[name]
	if err != nil || !ok {
		return stock, nil, false, err
	}
	stock = campaign.FullStock(name, declared)
	counted := events.LabStockCounted{
		StockCounted: events.StockCounted{Stock: name, Labels: stock.Labels, Reason: "as lab.yaml has it"}, Unit: stock.Unit,
	}
	if stock.Unit != "" {
		counted.Amount = &stock.Amount
	}
	e, err := event(events.KindStockCounted, &counted, engine.Request{Actor: byFile})
	return stock, []events.Event{e}, true, err
}

// List returns the stocks that lab.yaml declares or a person has counted, in the order of their names.
func (s *Stocks) List() (all []campaign.Stock, err error) {
	declared, err := s.declared()
	if err != nil {
		return nil, err
	}
	err = s.Read(false, func(shelf *Shelf) error {
		all = shelf.with(declared)
		return nil
	})
	return all, err
}

// Read is [Stocks.List] of a log that is only read.
func Read(ctx context.Context, log events.Log, declared Declared) ([]campaign.Stock, error) {
	shelf := NewShelf()
	for e, err := range events.ReadCampaign(ctx, log, events.StocksStream, 0) {
		if err == nil {
			_, err = shelf.Apply(e) // the audit names the problem
		}
		if err != nil {
			return nil, err
		}
	}
	return shelf.with(declared), nil
}

// with are the stocks of the shelf, and those that lab.yaml declares besides.
func (s *Shelf) with(declared Declared) []campaign.Stock {
	all := s.Stocks()
	for name, as := range declared.Stocks {
		i, known := slices.BinarySearchFunc(all, name, func(k campaign.Stock, name string) int {
			return cmp.Compare(k.Name, name)
		})
		if !known {
			all = slices.Insert(all, i, campaign.FullStock(name, as))
		}
		if as.Low != nil {
			all[i].Low = *as.Low
		}
	}
	return all
}

// Count records a person's word on what there is of a stock, which is in the unit that lab.yaml has
// for it. A request that was recorded before changes nothing.
func (s *Stocks) Count(n engine.Count, by engine.Request) error {
	if err := engine.CheckActor(by.Actor); err != nil {
		return err
	}
	if err := n.Check(); err != nil {
		return err
	}
	declared, err := s.declared()
	if err != nil {
		return err
	}
	return s.Change(func(shelf *Shelf) ([]events.Event, error) {
		stock, known := shelf.stocks[n.Stock]
		if as, ok := declared.Stocks[n.Stock]; ok {
			stock, known = campaign.FullStock(n.Stock, as), true
		}
		if !known {
			return nil, problem.New(problem.NotFound, "the lab has no stock %q", n.Stock).
				With(problem.Remedy{Text: "declare it in lab.yaml: stocks: {" + n.Stock + ": {labels: A1-H12}}"})
		}
		counted, err := n.Of(&stock)
		if err != nil {
			return nil, err
		}
		e, err := event(events.KindStockCounted, &events.LabStockCounted{StockCounted: *counted, Unit: stock.Unit}, by)
		return []events.Event{e}, err
	})
}

// Store is the stocks for the campaigns of a store, by its path relative to the lab's folder; nil for
// nil stocks.
func (s *Stocks) Store(path string) *Store {
	if s == nil {
		return nil
	}
	return &Store{s, path}
}

// Store is the stocks for the campaigns of a store. It is nil in a program without a lab's log.
type Store struct {
	of   *Stocks
	path string
}

// Campaign returns the stocks for a campaign of the store, a [drive.Stocks].
func (s *Store) Campaign(name string) *Campaign { return &Campaign{s.of, s.path, name} }

// Campaign is the stocks for a campaign.
type Campaign struct {
	of          *Stocks
	store, name string
}

// Left returns the rest of some stocks, and a channel that is closed once that may have changed.
func (c *Campaign) Left(names []string) (left map[string]campaign.Stock, changed <-chan struct{}, err error) {
	changed = c.of.Changed()
	left = make(map[string]campaign.Stock)
	err = c.of.Read(false, func(shelf *Shelf) error {
		for _, name := range names {
			stock, _, ok, err := c.of.stock(shelf, name)
			if err != nil {
				return err
			}
			if ok {
				left[name] = stock
			}
		}
		return nil
	})
	return left, changed, err
}

// Take takes parts of stocks for a command, in the order of the parts: all or, where one does not
// suffice, none. The same parts for the same command are those that it was given first.
func (c *Campaign) Take(experiment, command string, parts []computed.Draw) (taken []events.Drawn, err error) {
	by := engine.Request{Actor: "engine"}
	err = c.of.Change(func(shelf *Shelf) (batch []events.Event, err error) {
		taken = shelf.Taken(c.store, command)
		if slices.EqualFunc(taken, parts, func(t events.Drawn, d computed.Draw) bool {
			return t.Stock == d.Stock && engine.Meets(t, d)
		}) {
			return nil, nil
		}
		taken = nil
		p := &events.StockTaken{Store: c.store, Campaign: c.name, Experiment: experiment, Command: command}
		for _, d := range parts {
			stock, first, ok, err := c.of.stock(shelf, d.Stock)
			if err != nil || !ok || engine.LacksOfLab(&stock, d) != "" {
				return nil, err
			}
			batch = append(batch, first...)
			part := events.Drawn{Stock: d.Stock, Amount: d.Amount, Unit: d.Unit}
			if d.Labels > 0 {
				part.Labels = slices.Clone(stock.Labels[:d.Labels])
			}
			p.Taken = append(p.Taken, part)
		}
		e, err := event(events.KindStockTaken, p, by)
		if err != nil {
			return nil, err
		}
		taken = p.Taken
		return append(batch, e), nil
	})
	if err != nil {
		return nil, err
	}
	return taken, nil
}
