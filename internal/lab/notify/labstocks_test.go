package notify

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/files/labfile"
	"github.com/campaignd/campaignd/internal/tests/must"
)

// Law: of a stock of the lab people are told once that it comes to an end, by the rest that lab.yaml
// names, and once that it is used up; a count ends it. Another stream of the lab's log says nothing
// of stocks, and an event that is read again changes nothing.
func TestLabStocksEnd(t *testing.T) {
	rest := 2.0
	p := NewPlanner(&labfile.File{Lab: labfile.Lab{
		URL: "https://lab.example.org", Stocks: map[string]labfile.Stock{"rack": {Labels: "A1-D1", Low: &rest}},
	}})
	at := time.Date(2026, 3, 2, 10, 0, 0, 0, time.UTC)
	sequence := events.Sequence(0)
	apply := func(actor string, kind events.Kind, payload events.Payload) {
		t.Helper()
		e := must.Get(events.Lab.New(events.StocksStream, kind, payload))(t)
		sequence++
		e.Actor, e.Sequence, e.Time = actor, sequence, at.Add(time.Duration(sequence)*time.Minute)
		p.ApplyLab(e)
		p.ApplyLab(e)
		e.Campaign = "devices"
		p.ApplyLab(e)
	}
	count := func(labels ...string) {
		t.Helper()
		apply("person:ada", events.KindStockCounted, &events.LabStockCounted{StockCounted: events.StockCounted{Stock: "rack", Labels: labels}})
	}
	take := func(label string) {
		t.Helper()
		apply("engine", events.KindStockTaken, &events.StockTaken{Command: "a/e1", Taken: []events.Drawn{{Stock: "rack", Labels: []string{label}}}})
	}
	is := func(want ...string) {
		t.Helper()
		var open []string
		for _, m := range p.state.Matters {
			if m.open() {
				open = append(open, fmt.Sprintf("%s: %s, %s", m.Kind, m.Heading, p.link(m)))
			}
		}
		if !slices.Equal(open, want) {
			t.Errorf("open is %q, want %q", open, want)
		}
	}
	const link = ", https://lab.example.org/stocks"
	count("A1", "B1", "C1", "D1")
	take("A1")
	is()
	take("B1")
	is("low: rack of the lab comes to an end: 2 of 4 left, C1 next" + link)
	take("C1")
	is("low: rack of the lab comes to an end: 2 of 4 left, C1 next" + link) // told once
	take("D1")
	is("shortage: rack of the lab is used up" + link)
	count("A1", "B1", "C1")
	is()
}
