package events_test

import (
	"encoding/json"
	"testing"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/tests/must"
)

// Law: the events of the lab's stocks keep their form: it is read by every later version.
func TestLabStockEvents(t *testing.T) {
	left := 1.5
	occupant := events.Occupant{Store: "lab/a.campaign", Campaign: "a", Instance: "K3JD", Batch: "b3"}
	for text, c := range map[string]struct {
		kind    events.Kind
		payload events.Payload
		subject string
	}{
		`{"store":"lab/a.campaign","campaign":"a","experiment":"e7","command":"a/K3JD/e7",` +
			`"taken":[{"stock":"rack","labels":["A1","B1"]},{"stock":"solvent","amount":4.2,"unit":"mL"}]}`: {
			"stock.taken", &events.StockTaken{Store: "lab/a.campaign", Campaign: "a", Experiment: "e7", Command: "a/K3JD/e7", Taken: []events.Drawn{
				{Stock: "rack", Labels: []string{"A1", "B1"}}, {Stock: "solvent", Amount: 4.2, Unit: "mL"}}}, "a"},
		`{"stock":"solvent","amount":1.5,"lot":"7","reason":"a new drum","unit":"L"}`: {
			"stock.counted", &events.LabStockCounted{StockCounted: events.StockCounted{
				Stock: "solvent", Amount: &left, Lot: "7", Reason: "a new drum"}, Unit: "L"}, ""},
		`{"store":"lab/a.campaign","campaign":"a","instance":"K3JD","batch":"b3","place":"oven","room":2}`: {
			"place.taken", &events.PlaceTaken{Occupant: occupant, Place: "oven", Room: 2}, "a"},
		`{"store":"lab/a.campaign","campaign":"a","instance":"K3JD","batch":"b3","place":"oven","reason":"taken out"}`: {
			"place.freed", &events.PlaceFreed{Occupant: occupant, Place: "oven", Reason: "taken out"}, "a"},
	} {
		e, err := events.Lab.New(events.StocksStream, c.kind, c.payload)
		if err != nil || string(e.Data) != text || c.payload.Subject() != c.subject || e.Campaign != "stocks" || e.Version != 1 {
			t.Errorf("%s: %s, %v", c.kind, e.Data, err)
		}
		read := must.Get(events.Lab.Decode(events.Event{Kind: c.kind, Version: 1, Data: []byte(text)}))(t)
		if again, err := json.Marshal(read); err != nil || string(again) != text {
			t.Errorf("%s: read and written again: %s, %v", c.kind, again, err)
		}
	}
}
