package view

import (
	"strings"
	"testing"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/projections/campaign"
)

// Law: a batch is a line: the stages that are under way with their counts, then what holds it up.
func TestBatchInALine(t *testing.T) {
	plate := make([]string, 24)
	stages := []StageStatus{{Stage: "dose", On: "doser", Done: 24}, {Stage: "measure", On: "meter", Done: 11, UnderWay: 2, Failed: 1}, {Stage: "clean", On: "doser"}}
	for want, b := range map[string]BatchStatus{
		"b3: 24 experiments · measure 11 of 24 at meter, 1 failed · 1 unresolved": {
			ID: "b3", Experiments: plate, Stages: stages, Unresolved: []string{"a12"}, WaitsFor: "a person: …",
		},
		"b3: 24 experiments · in oven · goes on at 14:02": {
			ID: "b3", Experiments: plate, Stages: stages[:1], Places: []string{"oven"}, WaitsFor: "b3, which goes on at 14:02",
		},
		"b3: 24 experiments · waits for its turn at arm": {ID: "b3", Experiments: plate, Stages: stages[:1], WaitsFor: "its turn at arm"},
	} {
		if got := BatchText(&b); got != want {
			t.Errorf("it is %q, want %q", got, want)
		}
	}
}

// Law: an act whose fate is unknown is a person's first task, with its command; one that is being called
// off is listed as that, and not as unknown too.
func TestActsNeedAPerson(t *testing.T) {
	act := func(id string, off *campaign.CallOff) campaign.Act {
		return campaign.Act{
			ID: id, Batch: "b3", Stage: "measure", Resource: "meter", Experiments: []string{"e7"}, Cause: "it jammed",
			Command: campaign.Command{Fate: campaign.Unknown, Instrument: "acme", CallOff: off},
		}
	}
	c := Campaign{
		Definition: &definition.Campaign{Procedure: []definition.Stage{{Name: "measure", On: "meter", Gives: []string{"x"}}}},
		Doubtful:   []campaign.Experiment{{ID: "e1", Flag: &events.MeasurementFlagged{Reason: "it is far off."}}},
		Acts:       []campaign.Act{act("a12", nil), act("a13", &campaign.CallOff{})},
		Batches: []BatchStatus{
			{ID: "b2", WaitsFor: "a person: take b2 out of oven, and say that it is scrapped"},
			{ID: "b3", WaitsFor: "a person: …", Unresolved: []string{"a12"}},
		},
	}
	needs := c.NeedsPerson(how, true)
	want := []string{
		"the fate of a12 (measure of e7) is unknown (it jammed): look at meter, then `resolve a12`",
		"take b2 out of oven, and say that it is scrapped", "a13 is being called off, and meter has not answered", "e1 is in doubt",
	}
	if len(needs) != len(want) {
		t.Fatalf("a person is needed for %q", needs)
	}
	for i := range want {
		if !strings.HasPrefix(needs[i], want[i]) {
			t.Errorf("task %d is %q, want %q", i+1, needs[i], want[i])
		}
	}
	if ways := c.settleAct(&c.Acts[0]).Ways; ways[0] != string(events.ResolvedMeasured) {
		t.Errorf("an act that measures is settled as %q", ways)
	}
}
