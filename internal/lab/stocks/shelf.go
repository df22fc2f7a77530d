package stocks

import (
	"fmt"
	"maps"
	"slices"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/projections/campaign"
)

// Shelf has the contents of the lab's stocks and places: a pure fold of their stream.
type Shelf struct {
	stocks map[string]campaign.Stock
	taken  map[command]*events.StockTaken // the latest of each command
	places map[string][]Occupation        // who is in them
}

// command names a command in the lab. Two copies of a store have commands of the same name.
type command struct{ store, id string }

// NewShelf returns the shelf before the first event, or with the stocks of an earlier one, for a
// reader who does not ask for takes.
func NewShelf(of ...campaign.Stock) *Shelf {
	s := &Shelf{
		stocks: make(map[string]campaign.Stock), taken: make(map[command]*events.StockTaken),
		places: make(map[string][]Occupation),
	}
	for _, stock := range of {
		s.stocks[stock.Name] = stock
	}
	return s
}

// Apply folds an event of the stream. problem names a fault that no honest log has: a part that was taken
// and was not there, such as a label that another command has.
func (s *Shelf) Apply(e events.Event) (problem string, err error) {
	payload, err := events.Lab.Decode(e)
	if err != nil {
		return "", err
	}
	switch p := payload.(type) {
	case *events.LabStockCounted:
		stock := campaign.Stock{Name: p.Stock, Labels: p.Labels, Unit: p.Unit, Lot: p.Lot}
		if p.Amount != nil {
			stock.Amount = *p.Amount
		}
		stock.Full = stock.Left()
		stock.Low = stock.Full / 5
		if e.Actor != byFile {
			stock.CountedAt, stock.CountedBy = e.Time, e.Actor
		} else if _, known := s.stocks[p.Stock]; known {
			problem = fmt.Sprintf("lab.yaml counts %s again, which was counted before", p.Stock)
		}
		s.stocks[p.Stock] = stock
	case *events.StockTaken:
		for _, part := range p.Taken {
			if fault := s.take(part); fault != "" && problem == "" {
				problem = fmt.Sprintf("%s takes %s", p.Command, fault)
			}
		}
		s.taken[command{p.Store, p.Command}] = p
	case *events.PlaceTaken:
		problem = s.occupy(p, e.Time)
	case *events.PlaceFreed:
		problem = s.vacate(p)
	}
	return problem, nil
}

// sortedKeys keeps one order.
func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// take takes a part out of its stock.
func (s *Shelf) take(part events.Drawn) (problem string) {
	stock, known := s.stocks[part.Stock]
	n := len(part.Labels)
	switch {
	case !known || stock.Unit != part.Unit:
		return fmt.Sprintf("%s in %q, which the lab does not have", part.Stock, part.Unit)
	case part.Unit == "" && (n == 0 || n > len(stock.Labels) || !slices.Equal(part.Labels, stock.Labels[:n])):
		problem = fmt.Sprintf("%v of %s, which are not its next ones", part.Labels, part.Stock)
		stock.Labels = slices.DeleteFunc(slices.Clone(stock.Labels), func(label string) bool {
			return slices.Contains(part.Labels, label)
		})
	case part.Unit == "":
		stock.Labels = stock.Labels[n:]
	case !(part.Amount > 0 && part.Amount <= stock.Amount):
		return fmt.Sprintf("%g %s of %s, which has %g left", part.Amount, part.Unit, part.Stock, stock.Amount)
	default:
		stock.Amount -= part.Amount
	}
	s.stocks[part.Stock] = stock
	return problem
}

// Taken returns the parts that were taken for a command of a campaign, by the names of the stocks in
// the lab; nil for none.
func (s *Shelf) Taken(store, id string) []events.Drawn {
	if p := s.taken[command{store, id}]; p != nil {
		return p.Taken
	}
	return nil
}

// Stocks returns the stocks in the order of their names.
func (s *Shelf) Stocks() []campaign.Stock {
	all := make([]campaign.Stock, 0, len(s.stocks))
	for _, name := range sortedKeys(s.stocks) {
		all = append(all, s.stocks[name])
	}
	return all
}
