package campaign

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
)

// Stock is the rest of a stock.
type Stock struct {
	Name string `json:"name"`
	// Labels are those that were not handed out yet, in their order; of a stock of labels.
	Labels []string `json:"labels,omitempty"`
	// Amount is the rest, in Unit; of a stock that is an amount. A stock of labels has no unit.
	Amount float64 `json:"amount,omitempty"`
	Unit   string  `json:"unit,omitempty"`
	// Full is how many labels there were, or how much, at first or when it was counted last.
	Full float64 `json:"full"`
	// Low is the rest from which on people are told.
	Low float64 `json:"low"`
	// CountedAt is when it was counted last, CountedBy by whom, Lot what stood on the package then.
	CountedAt time.Time `json:"counted_at,omitzero"`
	CountedBy string    `json:"counted_by,omitempty"`
	Lot       string    `json:"lot,omitempty"`
}

// Left is the number of labels that are left, or the amount.
func (s *Stock) Left() float64 {
	if s.Unit == "" {
		return float64(len(s.Labels))
	}
	return s.Amount
}

// ComesToAnEnd reports whether so little is left that people are to be told.
func (s *Stock) ComesToAnEnd() bool { return s.Left() <= s.Low }

// Stock returns the stock of a name, or nil.
func (s *State) Stock(name string) *Stock {
	i := slices.IndexFunc(s.Stocks, func(k Stock) bool { return k.Name == name })
	if i < 0 {
		return nil
	}
	return &s.Stocks[i]
}

// stockUp takes over the stocks of a definition: those that it declares in other words than the one
// before are as full as it says, the others stay as they are.
func (s *State) stockUp(before, now *definition.Campaign) {
	stocks := make([]Stock, 0, len(now.Stocks))
	for _, name := range slices.Sorted(maps.Keys(now.Stocks)) {
		declared := now.Stocks[name]
		if declared.Lab != "" {
			continue // the lab's log has it
		}
		if known := s.Stock(name); known != nil && declared.Labels == before.Stocks[name].Labels &&
			declared.Amount == before.Stocks[name].Amount {
			kept := *known
			kept.Low = low(declared, kept.Full)
			stocks = append(stocks, kept)
			continue
		}
		stocks = append(stocks, FullStock(name, declared))
	}
	if s.Stocks = stocks; len(stocks) == 0 {
		s.Stocks = nil
	}
}

// FullStock is a stock of labels or an amount that nothing was taken from. A declaration was checked
// where its file was read.
func FullStock(name string, declared definition.Stock) Stock {
	s := Stock{Name: name}
	if declared.Labels != "" {
		s.Labels, _ = definition.ParseLabels(declared.Labels)
	} else {
		s.Amount, s.Unit, _ = definition.ParseAmount(declared.Amount)
	}
	s.Full = s.Left()
	s.Low = low(declared, s.Full)
	return s
}

// low is the rest from which on people are told, where a stock was so full.
func low(declared definition.Stock, full float64) float64 {
	if declared.Low != nil {
		return *declared.Low
	}
	return full / 5
}

// counted folds a person's word on what there is of a stock.
func counted(s *State, e events.Event, p *events.StockCounted) (problem string) {
	stock := s.Stock(p.Stock)
	switch {
	case stock == nil:
		return fmt.Sprintf("stock %q is not declared", p.Stock)
	case (stock.Unit == "") != (p.Amount == nil):
		return fmt.Sprintf("the stock %s is of labels or an amount, and was counted as the other", p.Stock)
	}
	stock.Labels = p.Labels
	if p.Amount != nil {
		stock.Amount = *p.Amount
	}
	stock.Full = stock.Left()
	stock.Low = low(s.Definition.Stocks[p.Stock], stock.Full)
	stock.CountedAt, stock.CountedBy, stock.Lot = e.Time, e.Actor, p.Lot
	return ""
}

// drawable reports why something cannot be drawn from the stocks, or "": labels are handed out in
// their order, and never twice. Of a stock of the lab other campaigns may have had some, and a
// person may have counted it: only the lab's log knows which ones are next.
func drawable(s *State, drawn []events.Drawn) (problem string) {
	last := ""
	for _, d := range drawn {
		stock := s.Stock(d.Stock)
		switch {
		case d.Stock <= last:
			return fmt.Sprintf("it draws from %s twice, or not in the order of names", d.Stock)
		case s.Definition.Stocks[d.Stock].Lab != "":
			if problem := misshapen(s.Definition, d); problem != "" {
				return problem
			}
		case stock == nil:
			return fmt.Sprintf("it draws from %q, which the campaign does not have", d.Stock)
		case stock.Unit != d.Unit:
			return fmt.Sprintf("it draws %q from %s, which is in %q", d.Unit, d.Stock, stock.Unit)
		case d.Unit != "" && (!(d.Amount > 0 && d.Amount <= stock.Amount) || d.Labels != nil):
			return fmt.Sprintf("it draws %g %s from %s, which has %g left",
				d.Amount, d.Unit, d.Stock, stock.Amount)
		case d.Unit == "" && !stock.nextAre(d.Labels):
			return fmt.Sprintf("it draws %v from %s, which are not its next ones", d.Labels, d.Stock)
		}
		last = d.Stock
	}
	return ""
}

// misshapen reports why a part of a stock of the lab is not one that the definition draws.
func misshapen(def *definition.Campaign, d events.Drawn) (problem string) {
	_, _, unit, err := def.Stocks[d.Stock].Uses(def.Draws()[d.Stock]) // a stage may draw it instead
	distinct := slices.Compact(slices.Sorted(slices.Values(d.Labels)))
	switch {
	case err == nil && d.Unit != unit:
		return fmt.Sprintf("it draws %q from %s, which is in %q", d.Unit, d.Stock, unit)
	case d.Unit == "" && (len(distinct) == 0 || len(distinct) < len(d.Labels) || d.Amount != 0),
		d.Unit != "" && (!(d.Amount > 0) || d.Labels != nil):
		return fmt.Sprintf("it draws %v, %g %s from %s", d.Labels, d.Amount, d.Unit, d.Stock)
	}
	return ""
}

// nextAre reports whether labels are the next ones of the stock.
func (s *Stock) nextAre(labels []string) bool {
	return len(labels) <= len(s.Labels) && slices.Equal(labels, s.Labels[:len(labels)])
}

// use takes what a command uses up from the stocks.
func use(s *State, drawn []events.Drawn) {
	for _, d := range drawn {
		stock := s.Stock(d.Stock)
		if stock == nil {
			continue // the lab's
		}
		stock.Labels = stock.Labels[len(d.Labels):]
		stock.Amount -= d.Amount
	}
}

// ApplyStocks folds the stocks alone, into a state with nothing but them and the definition, for
// readers who need no more of a campaign.
func (s *State) ApplyStocks(e events.Event, payload events.Payload) {
	switch p := payload.(type) {
	case *events.CampaignDefined:
		s.stockUp(nil, &p.Definition)
		s.Definition = &p.Definition
	case *events.CampaignAmended:
		s.stockUp(s.Definition, &p.Definition)
		s.Definition = &p.Definition
	case *events.ExperimentDispatched:
		s.draw(p.Drawn)
	case *events.ActDispatched:
		s.draw(p.Drawn)
	case *events.StockCounted:
		counted(s, e, p)
	}
}

// draw takes what can be drawn from the stocks.
func (s *State) draw(drawn []events.Drawn) {
	if drawable(s, drawn) == "" {
		use(s, drawn)
	}
}
