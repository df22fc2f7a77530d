package attest

import (
	"fmt"
	"testing"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/events/memlog"
	"github.com/campaignd/campaignd/internal/tests/must"
)

// Law: the audit of a lab compares what campaigns did with what its log gave them: an act that brings a
// batch to a place which was not taken for it, and labels that were taken for another command, are found.
func TestWhatTheLabGave(t *testing.T) {
	def := definition.Campaign{
		Places:    []definition.Place{{Name: "press"}, {Name: "hot", Lab: "oven"}},
		Procedure: []definition.Stage{{Name: "squeeze", Holds: "press"}, {Name: "load", Holds: "hot"}, {Name: "look"}},
		Stocks:    map[string]definition.Stock{"tips": {Lab: "rack"}},
	}
	tip := []events.Drawn{{Stock: "tips", Labels: []string{"A1"}}}
	campaign := memlog.New()
	write := func(log *memlog.Log, stream string, all ...events.Event) {
		for i, e := range all {
			e.Actor = "engine"
			must.Get(log.Append(t.Context(), stream, events.Sequence(i), e))(t)
		}
	}
	done := func(p events.Payload) events.Event { return must.Get(events.New("a", p))(t) }
	given := func(kind events.Kind, p events.Payload) events.Event {
		return must.Get(events.Lab.New(events.StocksStream, kind, p))(t)
	}
	act := func(id, stage string, drawn []events.Drawn) *events.ActDispatched {
		return &events.ActDispatched{Act: id, Batch: "b1", Stage: stage, Command: "a/" + id, Experiments: []string{"e1"}, Drawn: drawn}
	}
	write(campaign, "a", done(&events.CampaignDefined{Definition: def, Instance: "K3JD"}),
		done(act("a1", "squeeze", nil)), done(act("a2", "load", tip)), done(act("a3", "look", nil)))
	counted := &events.LabStockCounted{StockCounted: events.StockCounted{Stock: "rack", Labels: []string{"A1"}}}
	taken := func(command string) *events.StockTaken {
		return &events.StockTaken{Campaign: "a", Experiment: "e1", Command: command, Taken: []events.Drawn{{Stock: "rack", Labels: []string{"A1"}}}}
	}
	place := func(instance, name string) *events.PlaceTaken {
		return &events.PlaceTaken{Occupant: events.Occupant{Store: "x", Campaign: "a", Instance: instance, Batch: "b1"}, Place: name, Room: 1}
	}
	const noPlace = "[it brings b1 to oven of the lab, which was not taken for it]"
	for _, c := range []struct {
		command string
		place   *events.PlaceTaken
		want    string
	}{
		{"a/a2", place("K3JD", "oven"), "[]"},
		{"a/a2", place("K3JD", "press"), noPlace},
		{"a/a2", place("ZZZZ", "oven"), noPlace},
		{"a/a1", place("K3JD", "oven"), "[it draws [{rack [A1] 0 }] from stocks of the lab, which were not taken for a/a2]"},
	} {
		own := memlog.New()
		write(own, events.StocksStream, given(events.KindStockCounted, counted),
			given(events.KindStockTaken, taken(c.command)), given(events.KindPlaceTaken, c.place))
		draws := new(Draws)
		must.Do(t, draws.collect(t.Context(), campaign, "a"))
		r := NewAudit()
		must.Do(t, r.lab(t.Context(), own, draws))
		got := []string{}
		for _, m := range r.Mismatches {
			got = append(got, m.Problem)
		}
		if fmt.Sprint(got) != c.want {
			t.Errorf("%s, %s of %s: %v, want %s", c.command, c.place.Place, c.place.Instance, got, c.want)
		}
	}
}
