package doctor

import (
	"context"
	"fmt"
	"strings"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/ground/format"
	"github.com/campaignd/campaignd/internal/lab/stocks"
	"github.com/campaignd/campaignd/internal/view"
	"github.com/campaignd/campaignd/projections/campaign"
)

// Stock is the rest of a stock, of the lab or of a campaign that has not ended.
type Stock struct {
	campaign.Stock
	Campaign string // empty for one of the lab
}

// stocksOfLab reads the stocks in a lab's log, or declared in lab.yaml.
func stocksOfLab(log events.Log, declared stocks.Declared) (found []Stock, err error) {
	all, err := stocks.Read(context.Background(), log, declared)
	for _, s := range all {
		found = append(found, Stock{Stock: s})
	}
	return found, err
}

// stocksOfCampaigns reads the stocks of a store's campaigns.
func stocksOfCampaigns(log events.Store) (found []Stock, err error) {
	ctx := context.Background()
	names, err := log.Campaigns(ctx)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		var s campaign.State
		ended := false
		for e, err := range events.ReadCampaign(ctx, log, name, 0) {
			if err != nil {
				return nil, err
			}
			switch e.Kind {
			case events.KindCampaignCompleted, events.KindCampaignStopped:
				ended = true
			case events.KindCampaignDefined, events.KindCampaignAmended, events.KindExperimentDispatched,
				events.KindActDispatched, events.KindStockCounted:
				payload, err := events.Decode(e)
				if err != nil {
					return nil, err
				}
				s.ApplyStocks(e, payload)
			}
		}
		for _, stock := range s.Stocks {
			if !ended {
				found = append(found, Stock{stock, name})
			}
		}
	}
	return found, nil
}

// judgeStocks names the stocks that are used up or come to an end: campaigns then wait for a person.
func judgeStocks(all []Stock, s Services) Finding {
	var low []string
	for i := range all {
		stock := &all[i]
		if !stock.ComesToAnEnd() {
			continue
		}
		of := stock.Campaign
		if of == "" {
			of = "the lab"
		}
		low = append(low, fmt.Sprintf("%s of %s: %s", stock.Name, of, view.LeftText(&stock.Stock)))
	}
	switch {
	case low != nil:
		return unsafe("experiments will wait for "+strings.Join(low, "; "),
			"refill them, and count them with `campaignd stock`; those of the lab with --lab")
	case s.LabFile != nil:
		return unknown("lab.yaml says which ones the lab has, and cannot be read", "mend lab.yaml first")
	case len(all) > 0:
		return safe(format.Count(len(all), "stock") + ", and none of them comes to an end")
	}
	return Finding{}
}
