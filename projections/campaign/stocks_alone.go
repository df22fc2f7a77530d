package campaign

import "github.com/campaignd/campaignd/events"

// ApplyStocks folds what an event says of the stocks into a state that holds them and the definition
// alone, for who needs no more of a campaign.
func (s *State) ApplyStocks(e events.Event, payload events.Payload) {
	switch p := payload.(type) {
	case *events.CampaignDefined:
		s.stockUp(nil, &p.Definition)
		s.Definition = &p.Definition
	case *events.CampaignAmended:
		s.stockUp(s.Definition, &p.Definition)
		s.Definition = &p.Definition
	case *events.ExperimentDispatched:
		if drawable(s, nil, p) == "" {
			use(s, p.Drawn)
		}
	case *events.StockCounted:
		counted(s, e, p)
	}
}
