package console

import (
	"github.com/campaignd/campaignd/adapters/humans"
	"github.com/campaignd/campaignd/internal/ground/format"
)

// outcomeCard is one of two outcomes that are compared, as its page shows it.
type outcomeCard struct {
	Name       string // the letter
	Key        int    // on the keyboard
	Experiment string // where it was measured; empty: it is expected
	Line       string // its subject
	Rows       []outcomeRow
}

type outcomeRow struct{ Name, Value string }

// compareOutcomes shows the quantities of two outcomes next to each other. Nothing
// is marked as best, and nothing is drawn that would judge for the expert.
func (p *questionPage) compareOutcomes(write format.Compositions) {
	for i, o := range p.Question.Options {
		if o.Outcome == nil {
			continue // a log from elsewhere may say anything
		}
		card := outcomeCard{
			Name: humans.OptionName(i), Key: i + 1, Experiment: o.Outcome.Experiment,
			Line: write.LineWithUnits(o.Parameters),
		}
		for _, q := range o.Outcome.Quantities {
			value := format.Result(q)
			if q.SD != nil {
				value = format.PlusMinus(q.Value, *q.SD, q.Unit)
			}
			card.Rows = append(card.Rows, outcomeRow{q.Name, value})
		}
		p.Outcomes = append(p.Outcomes, card)
	}
}
