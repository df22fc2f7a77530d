package notify

import (
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/lab/lablog"
	"github.com/campaignd/campaignd/internal/lab/stocks"
	"github.com/campaignd/campaignd/internal/view"
)

// ofLab stands for the lab in matters about its stocks; no campaign has the name.
const ofLab = "/lab"

// Lab is the name under which [Notifier.Serve] is given the lab's own log.
const Lab = lablog.Name

// ApplyLab folds an event of the lab's log. People hear once that a stock of the lab comes to an end,
// and once that it is used up; a count ends either.
func (p *Planner) ApplyLab(e events.Event) {
	about := map[string]string{events.StocksStream: ofLab, events.ServiceStream: ofInstruments}[e.Campaign]
	if about == "" {
		return
	}
	s := p.state.Streams[about]
	if s == nil {
		s = &stream{}
		p.state.Streams[about] = s
	}
	if e.Sequence <= s.Sequence {
		return
	}
	s.Sequence = e.Sequence
	if about == ofInstruments {
		p.service(e)
		return
	}
	shelf := stocks.NewShelf(s.Stocks...)
	if _, err := shelf.Apply(e); err != nil {
		return // of a later version: it concerns no one
	}
	s.Stocks = shelf.Stocks()
	e.Campaign = ofLab
	for i := range s.Stocks {
		stock := &s.Stocks[i]
		if rest := p.lab.Stocks[stock.Name].Low; rest != nil {
			stock.Low = *rest
		}
		switch {
		case stock.Left() == 0:
			p.close(e, low, stock.Name, "it is used up")
			p.begin(e, &matter{Kind: shortage, Subject: stock.Name, Heading: stock.Name + " of the lab is used up",
				Lines: []string{"Campaigns that need it wait. Refill it, and count it."}})
		case stock.ComesToAnEnd():
			p.close(e, shortage, stock.Name, "counted")
			p.begin(e, &matter{Kind: low, Subject: stock.Name,
				Heading: stock.Name + " of the lab comes to an end: " + view.LeftText(stock)})
		default:
			p.close(e, shortage, stock.Name, "refilled")
			p.close(e, low, stock.Name, "refilled")
		}
	}
}
