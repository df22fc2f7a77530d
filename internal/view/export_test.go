package view

import "github.com/campaignd/campaignd/projections/campaign"

// Ask is ask.
func (c *Campaign) Ask(q *campaign.Question) { c.ask(q) }
