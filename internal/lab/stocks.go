package lab

import (
	"slices"
	"time"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/bus"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/events/store"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/engine/drive"
	"github.com/campaignd/campaignd/internal/files/labfile"
	"github.com/campaignd/campaignd/internal/files/registry"
	"github.com/campaignd/campaignd/internal/ground/problem"
	"github.com/campaignd/campaignd/internal/lab/lablog"
	"github.com/campaignd/campaignd/internal/lab/stocks"
	"github.com/campaignd/campaignd/projections/campaign"
)

// DeclaredIn returns a function that reads the stocks and places of a folder's lab file, as it is then.
func DeclaredIn(reg registry.Registry, folder string) func() (stocks.Declared, error) {
	return func() (all stocks.Declared, err error) {
		file, err := labfile.ReadFolder(reg, folder)
		if file == nil {
			return all, err
		}
		all.Stocks = make(map[string]definition.Stock)
		for name, stock := range file.Stocks {
			all.Stocks[name] = stock.Declared()
		}
		for _, p := range file.Places {
			all.Places = append(all.Places, definition.Place{Name: p.Name, Room: p.Room})
		}
		return all, nil
	}
}

// Stocks returns the stocks of the lab, in the order of their names.
func (l *Lab) Stocks() ([]campaign.Stock, error) { return l.stocks.List() }

// Count records a person's word on what there is of a stock of the lab.
func (l *Lab) Count(n engine.Count, by engine.Request) error {
	err := l.stocks.Count(n, by)
	l.announce()
	return err
}

// Places returns the places of the lab, in the order in which a batch may hold them.
func (l *Lab) Places() ([]stocks.Place, error) { return l.stocks.Places() }

// Free records a person's word that a batch is in a place of the lab no more.
func (l *Lab) Free(f stocks.Free, by engine.Request) error {
	err := l.stocks.Free(f, by)
	l.announce()
	return err
}

// readOwn has the lab's own log read, and anew once it was opened again.
func (l *Lab) readOwn() {
	for l.ctx.Err() == nil {
		if log, err := l.own.Store(); err == nil {
			b := bus.New(log, bus.Config{})
			l.options.ReadsOwn(l.ctx, lablog.Name, b, func() {})
			_ = b.Close() // it has nothing left to close
		}
		select {
		case <-time.After(retryAfter):
		case <-l.ctx.Done():
		}
	}
}

// Alone refuses a campaign that needs stocks or places of a lab in a store that no lab serves.
func Alone(def *definition.Campaign, address string) error {
	stocks, places := def.LabStocks(), def.LabPlaces()
	what, own := "draws from stocks of the lab", "give the campaign stocks of its own: labels or an amount in place of lab"
	if len(stocks) == 0 {
		what, own = "needs places of the lab", "give the campaign places of its own: a name in place of lab"
	}
	if len(stocks)+len(places) == 0 || store.InDatabase(address) {
		return nil
	}
	return problem.New(problem.NotPossible, "the campaign %s (%s), and this program does not hold the lab's log",
		what, slices.Concat(stocks, places)[0]).
		With(problem.Remedy{Text: "have the lab run it: `campaignd serve` in its folder"}).
		With(problem.Remedy{Text: own})
}

// stocksOf returns the lab's stocks and places for a campaign that is about to be run; nil for one that
// needs none of them. folder is that of lab.yaml.
func (h *Local) stocksOf(s *campaign.State, folder string) (drive.Stocks, error) {
	if h.options.Stocks != nil {
		return h.options.Stocks.Campaign(s.Name), nil
	}
	if len(s.Definition.LabStocks())+len(s.Definition.LabPlaces()) == 0 {
		return nil, nil
	}
	if err := Alone(s.Definition, h.address); err != nil {
		return nil, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	own := h.devices // opened by queue
	if own.stocks == nil {
		own.stocks = stocks.New(own.log, DeclaredIn(h.options.Registry, folder))
		own.follow(events.StocksStream, own.stocks.Hear)
	}
	return own.stocks.Store(store.Name(h.address)).Campaign(s.Name), nil
}

// follow has a stream of the lab's log hear of what other processes append.
func (o *ownDevices) follow(stream string, hear func()) {
	ctx := o.ctx
	o.following.Go(func() {
		var last events.Position
		for ctx.Err() == nil {
			if log, err := o.log.Store(); err == nil {
				last = max(last, log.Last())
				for e, err := range log.Follow(ctx, last) {
					if err != nil {
						break
					}
					last = e.Position
					if e.Campaign == stream {
						hear()
					}
				}
			}
			select {
			case <-time.After(retryAfter):
				hear() // something may have been missed
			case <-ctx.Done():
			}
		}
	})
}

var _ drive.Stocks = (*stocks.Campaign)(nil)
