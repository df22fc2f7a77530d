package engine

import (
	"fmt"
	"slices"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/ground/computed"
	"github.com/campaignd/campaignd/internal/ground/format"
	"github.com/campaignd/campaignd/projections/campaign"
)

// Stocks of the lab are shared, so that what a command uses up of them is taken in the lab's log
// before the command is dispatched: ticket, take, dispatch. A crash between take and dispatch leaves
// the command what was taken for it (a second take of the same command gives the same), or costs a
// tip; it never hands one out twice.

// LabStocks are the stocks of the lab that a campaign draws from, in a process that can take from
// them. The zero LabStocks limit nothing: those of a study, of an imagined course, and of an audit of
// the campaign alone.
type LabStocks struct {
	// Left are those that this process knows, by their names in the lab; nil without a lab.
	Left map[string]campaign.Stock
	// Taken are the parts that were taken for the command of an experiment or an act, by the stocks'
	// names in the campaign, until it is dispatched.
	Taken map[string][]events.Drawn
	// Fault says why nothing can be taken now.
	Fault string
}

// Take takes parts of the lab's stocks for the command of an experiment or an act, by the names of
// the stocks in the campaign.
type Take struct {
	Subject, Experiment string // the experiment, or the first of an act
	Parts               []computed.Draw
}

func (Take) step() {}

// part returns the part that was taken for a draw from a stock of the lab, nil for none yet.
func (l LabStocks) part(subject, who string, d computed.Draw, lab string) (*events.Drawn, *Shortage) {
	for _, t := range l.Taken[subject] {
		if t.Stock == d.Stock && Meets(t, d) {
			return &t, nil
		}
	}
	if l.Left == nil {
		return nil, nil
	}
	short := &Shortage{Experiment: who, Stock: d.Stock, Lab: lab}
	stock, known := l.Left[lab]
	switch {
	case l.Fault != "":
		short.Why, short.Fault = l.Fault, true
	case !known:
		short.Why = fmt.Sprintf("it needs %s, and the lab has no stock %q", d.Stock, lab)
	default:
		short.Why = LacksOfLab(&stock, d)
	}
	if short.Why == "" {
		return nil, nil
	}
	return nil, short
}

// LacksOfLab is [Lacks] of a stock of the lab, which a person may have counted in another unit since
// the campaign was begun.
func LacksOfLab(stock *campaign.Stock, d computed.Draw) string {
	if stock.Unit != d.Unit {
		return fmt.Sprintf("it needs %s of %s, which the lab has in %s", amountOf(d), d.Stock, unitOf(stock.Unit))
	}
	return Lacks(stock, d)
}

// Meets reports whether a part satisfies a draw.
func Meets(t events.Drawn, d computed.Draw) bool {
	return len(t.Labels) == d.Labels && t.Amount == d.Amount && t.Unit == d.Unit
}

// take returns the step that takes what a command uses up of the lab's stocks; nil where all of that
// was taken, and without a lab.
func take(c Now, uses map[string]definition.Draw, subject string, experiments []string) Step {
	if c.LabStocks.Left == nil {
		return nil
	}
	needs, _ := draws(c.State, uses, experiments) // see Short
	step := Take{Subject: subject, Experiment: experiments[0]}
	all := true
	for _, d := range needs {
		if c.Definition.Stocks[d.Stock].Lab == "" {
			continue
		}
		step.Parts = append(step.Parts, d)
		all = all && slices.ContainsFunc(c.LabStocks.Taken[subject], func(t events.Drawn) bool {
			return t.Stock == d.Stock && Meets(t, d)
		})
	}
	if all {
		return nil
	}
	return step
}

// amountOf puts a draw into words.
func amountOf(d computed.Draw) string {
	if d.Unit == "" {
		return format.Count(d.Labels, "label")
	}
	return format.SettingIn(d.Amount, d.Unit)
}

// unitOf names what a stock is counted in.
func unitOf(unit string) string {
	if unit == "" {
		return "labels"
	}
	return unit
}
