package console

import (
	"cmp"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/view"
	"github.com/campaignd/campaignd/internal/view/figure"
	"github.com/campaignd/campaignd/internal/view/report"
	"github.com/campaignd/campaignd/projections/campaign"
)

// sharesOf returns the Shapley values that were recorded with a question.
// Recorded values are of a standardized and maximized objective, so only their
// sizes relative to each other are shown.
func sharesOf(q *campaign.Question) []report.ShareTable {
	if q.Attributions == nil {
		return nil
	}
	captions := map[string]string{
		events.QuantityMean: "What makes it good or bad, in what the model expects",
		events.QuantitySD:   "What makes the model unsure of it",
		events.QuantityUCB:  "What makes it worth trying: the optimistic bound",
	}
	var shares []view.Share
	for _, s := range q.Attributions.Shapley {
		shares = append(shares, view.Share{
			Candidate: s.Candidate, Quantity: s.Quantity, Parameters: s.Parameters, Values: s.Values,
		})
	}
	letters := view.Letters(q)
	name := func(candidate string) string { return cmp.Or(letters[candidate], candidate) }
	return report.ShareTables(captions, shares, name, false, figure.Page{Palette: figure.Classes})
}
