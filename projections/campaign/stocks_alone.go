package campaign

import "github.com/campaignd/campaignd/events"

// ApplyStocks folds the stocks alone, into a state with nothing but them and the definition, for who needs
// no more of a campaign.
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
