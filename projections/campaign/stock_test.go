package campaign_test

import (
	"slices"
	"testing"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
)

// Law: a log in which a label is handed out twice, or out of turn, or more is used up than there
// was, contradicts itself. A count takes the place of what was known; an amended stock is as full
// as the amendment says, and the others stay as they are.
func TestStocks(t *testing.T) {
	f := begin(t)
	def := *f.State().Definition
	stocks := func(declared map[string]definition.Stock) {
		def.Stocks = declared
		f.must(&events.CampaignAmended{Definition: def})
	}
	tips := definition.Stock{Labels: "A1-D1"}
	stocks(map[string]definition.Stock{"tips": tips, "solvent": {Amount: "10 mL"}})
	draw := func(n int, drawn ...events.Drawn) *events.ExperimentDispatched {
		id := events.ExperimentID(n)
		return &events.ExperimentDispatched{Experiment: id, Command: "c/" + id, Instrument: "robot", Drawn: drawn}
	}
	two := func(a, b string) events.Drawn { return events.Drawn{Stock: "tips", Labels: []string{a, b}} }
	of := func(amount float64, unit string) events.Drawn {
		return events.Drawn{Stock: "solvent", Amount: amount, Unit: unit}
	}
	f.must(request(1), draw(1, of(4, "mL"), two("A1", "B1")), request(2))
	f.refuses(
		draw(2, two("A1", "B1")), draw(2, two("D1", "C1")), draw(2, two("D1", "E1")),
		draw(2, of(6.001, "mL")), draw(2, of(1, "L")), draw(2, events.Drawn{Stock: "oil", Amount: 1, Unit: "mL"}),
		draw(2, of(-1, "mL")), draw(2, two("C1", "D1"), two("C1", "D1")), draw(2, two("C1", "D1"), of(1, "mL")),
		draw(2, events.Drawn{Stock: "solvent", Amount: 1, Unit: "mL", Labels: []string{"C1"}}),
	)
	f.must(draw(2, of(6, "mL"), two("C1", "D1")))
	amount := 20.0
	f.refuses(
		&events.StockCounted{Stock: "tips", Amount: &amount}, &events.StockCounted{Stock: "solvent", Labels: []string{"A1"}},
		&events.StockCounted{Stock: "oil", Amount: &amount},
	)
	f.must(&events.StockCounted{Stock: "solvent", Amount: &amount, Lot: "7"}, &events.StockCounted{Stock: "tips", Labels: []string{"A1", "A2"}})
	if k := f.State().Stock("solvent"); k.Amount != 20 || k.Full != 20 || k.Lot != "7" || k.ComesToAnEnd() {
		t.Errorf("counted: %+v", k)
	}
	f.must(request(3), draw(3, of(17, "mL"), events.Drawn{Stock: "tips", Labels: []string{"A1"}}))
	if k := f.State().Stock("solvent"); !k.ComesToAnEnd() {
		t.Errorf("3 of 20 mL: %+v", k)
	}
	low := 3.0
	stocks(map[string]definition.Stock{"tips": {Labels: tips.Labels, Low: &low}, "solvent": {Amount: "30 mL"}})
	if k := f.State().Stock("solvent"); k.Amount != 30 {
		t.Errorf("amended: %+v", k)
	}
	if k := f.State().Stock("tips"); !slices.Equal(k.Labels, []string{"A2"}) || !k.ComesToAnEnd() || k.Low != 3 {
		t.Errorf("not amended: %+v", k)
	}
	stocks(nil)
	if f.State().Stocks != nil {
		t.Errorf("they are there still: %+v", f.State().Stocks)
	}
}
