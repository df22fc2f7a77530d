package labfile

import (
	"slices"

	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/files/yamltree"
)

// Stock is something that the campaigns of the lab use up together. Exactly one of Labels and Amount
// is set. It counts until something is taken or counted the first time; from then on the lab's log
// has the contents.
type Stock struct {
	// Labels are handed out one by one, in this order, as in a campaign file: A1-H12.
	Labels string `json:"labels,omitempty"`
	// Amount is how much there is at first, with its unit: "20 L".
	Amount string `json:"amount,omitempty"`
	// Low is the rest that causes an alarm: a number of labels, or an amount in the stock's unit.
	// Default: a fifth of the last count.
	Low *float64 `json:"low,omitempty" jsonschema:"minimum=0"`
}

// Declared is the stock as a campaign would declare it.
func (s Stock) Declared() definition.Stock {
	return definition.Stock{Labels: s.Labels, Amount: s.Amount, Low: s.Low}
}

// stocks reads the stocks of a lab.
func stocks(c *checker, node *yamltree.Node) map[string]Stock {
	all := named[Stock](c, node)
	for _, name := range sortedKeys(all) {
		stock, here := all[name], node.Field(name)
		var err error
		switch {
		case (stock.Labels == "") == (stock.Amount == ""):
			unread := slices.ContainsFunc(here.Keys(), func(key string) bool {
				_, text := here.Field(key).Value.(string) // another value has a fault of its own
				return key != "low" && (!text || key != "labels" && key != "amount")
			})
			if stock.Labels != "" || !unread {
				c.fault(here, "it has labels or an amount, one of the two", "write labels: A1-H12, or amount: 20 L")
			}
			continue
		case stock.Labels != "":
			here = here.Field("labels")
			_, err = definition.ParseLabels(stock.Labels)
		default:
			here = here.Field("amount")
			_, _, err = definition.ParseAmount(stock.Amount)
		}
		if err != nil && !here.Faulty {
			c.fault(here, err.Error(), "")
		}
	}
	return all
}
