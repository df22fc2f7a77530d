package notify

import (
	"slices"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/view"
	"github.com/campaignd/campaignd/projections/campaign"
)

// stocks tells once that a stock comes to an end, and once that an experiment waits for it. A count
// ends either. def is the definition that was in force before the event.
func (p *Planner) stocks(s *stream, def *definition.Campaign, e events.Event, payload events.Payload) {
	state := campaign.State{Definition: def, Stocks: slices.Clone(s.Stocks)}
	state.ApplyStocks(e, payload)
	if s.Stocks == nil && state.Stocks == nil {
		return
	}
	s.Stocks = state.Stocks
	switch x := payload.(type) {
	case *events.ExperimentRequested:
		s.Undrawn = append(s.Undrawn, x.Experiment)
	default: // a dispatched one has drawn, one with an outcome needs nothing
		s.Undrawn = slices.DeleteFunc(s.Undrawn, func(id string) bool {
			_, dispatched := payload.(*events.ExperimentDispatched)
			return dispatched && id == payload.Subject() || !s.Open[id]
		})
	}
	short := ""
	if len(s.Undrawn) > 0 {
		short = view.ShortText(&state, &campaign.Experiment{ID: s.Undrawn[0], Parameters: s.Asked[s.Undrawn[0]]})
	}
	if short == "" {
		p.close(e, shortage, "", "the stocks suffice")
	} else {
		p.begin(e, &matter{Kind: shortage, Heading: e.Campaign + " waits: " + short,
			Lines: []string{"Refill it, and count it."}})
	}
	for i := range s.Stocks {
		stock := &s.Stocks[i]
		if !stock.ComesToAnEnd() {
			p.close(e, low, stock.Name, "refilled")
		} else if short == "" {
			p.begin(e, &matter{Kind: low, Subject: stock.Name,
				Heading: stock.Name + " of " + e.Campaign + " comes to an end: " + view.LeftText(stock)})
		}
	}
}
