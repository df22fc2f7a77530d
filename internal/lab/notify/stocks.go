package notify

import (
	"slices"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/view"
	"github.com/campaignd/campaignd/projections/campaign"
)

// stocks tells once that a stock comes to an end, and once that an experiment waits for it. A count
// ends either.
func (p *Planner) stocks(s *stream, e events.Event, payload events.Payload) {
	state := campaign.State{Definition: s.Definition, Stocks: slices.Clone(s.Stocks)}
	if d, defined := payload.(*events.CampaignDefined); defined {
		state = campaign.State{Definition: &d.Definition}
	}
	if state.Definition == nil {
		return
	}
	state.ApplyStocks(e, payload)
	s.Stocks = state.Stocks
	switch x := payload.(type) {
	case *events.ExperimentRequested:
		if len(s.Stocks) > 0 {
			s.Undrawn = append(s.Undrawn, x.Experiment)
		}
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
