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
	"errors"
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

// within is the time limit of the log for an answer.
const within = 10 * time.Second

// Stocks are the stocks of a lab as this process knows them. Its methods may be called by several
// goroutines. It is nil in a program without a lab's log.
type Stocks struct {
	own      *lablog.Log
	declared func() (Declared, error)

	mu    sync.Mutex
	log   events.Store // from which the shelf was folded; nil before that
	shelf *Shelf
	stale bool // another process has appended something

	wait    sync.Mutex
	changed chan struct{} // closed and replaced at each event
}

// New returns the stocks in a lab's log. declared reads those of lab.yaml.
func New(own *lablog.Log, declared func() (Declared, error)) *Stocks {
	return &Stocks{own: own, declared: declared, changed: make(chan struct{})}
}

// Changed returns a channel that is closed once the stocks may have changed.
func (s *Stocks) Changed() <-chan struct{} {
	s.wait.Lock()
	defer s.wait.Unlock()
	return s.changed
}

// Hear reports that another process has appended to the stream.
func (s *Stocks) Hear() {
	s.mu.Lock()
	s.stale = true
	s.mu.Unlock()
	s.tell()
}

// tell wakes those who wait.
func (s *Stocks) tell() {
	s.wait.Lock()
	defer s.wait.Unlock()
	close(s.changed)
	s.changed = make(chan struct{})
}

// read folds the new events of the stream, where there may be some. The caller holds mu.
func (s *Stocks) read(ctx context.Context) error {
	log, err := s.own.Store()
	if err != nil || log == s.log && !s.stale {
		return err
	}
	if log != s.log {
		s.shelf = NewShelf()
	}
	for e, err := range log.ReadCampaign(ctx, events.StocksStream, s.shelf.last) {
		if err == nil {
			_, err = s.shelf.Apply(e) // the audit names the problem
		}
		if err != nil {
			s.log = nil
			return lablog.Fault(err)
		}
	}
	s.log, s.stale = log, false
	return nil
}

// change appends the events that decide derives from the shelf, until no other process is quicker.
// Without events nothing is appended.
func (s *Stocks) change(decide func(*Shelf) ([]events.Event, error)) error {
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stale = s.stale || s.own.Shared() // where a stock was refilled, nothing is refused that is there
	for {
		if err := s.read(ctx); err != nil {
			return err
		}
		batch, err := decide(s.shelf)
		if err != nil || len(batch) == 0 {
			return err
		}
		_, err = s.log.Append(ctx, events.StocksStream, s.shelf.last, batch...)
		s.stale = true // also after an error: it may be stored nevertheless
		if late := new(events.ConflictError); errors.As(err, &late) {
			continue
		}
		if err != nil {
			return lablog.Fault(err)
		}
		s.tell()
		return s.read(ctx)
	}
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
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	declared, err := s.declared()
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.read(ctx); err != nil {
		return nil, err
	}
	return s.shelf.with(declared), nil
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
	return s.change(func(shelf *Shelf) ([]events.Event, error) {
		if recorded, err := shelf.recorded(by); recorded || err != nil {
			return nil, err
		}
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
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	changed = c.of.Changed()
	c.of.mu.Lock()
	defer c.of.mu.Unlock()
	if err := c.of.read(ctx); err != nil {
		return nil, changed, err
	}
	left = make(map[string]campaign.Stock)
	for _, name := range names {
		stock, _, ok, err := c.of.stock(c.of.shelf, name)
		if err != nil {
			return nil, changed, err
		}
		if ok {
			left[name] = stock
		}
	}
	return left, changed, nil
}

// Take takes parts of stocks for a command, in the order of the parts: all or, where one does not
// suffice, none. The same parts for the same command are those that it was given first.
func (c *Campaign) Take(experiment, command string, parts []computed.Draw) (taken []events.Drawn, err error) {
	by := engine.Request{Actor: "engine"}
	err = c.of.change(func(shelf *Shelf) (batch []events.Event, err error) {
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
