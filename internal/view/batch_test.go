package view

import (
	"slices"
	"strings"
	"testing"
	"time"

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

// Law: an act says at what and for whom, how long it waited since it could have begun, which try it is,
// and what it gave or that nothing is known of it.
func TestActsInLines(t *testing.T) {
	at := func(minutes int) time.Time { return time.Date(2026, 3, 4, 12, minutes, 0, 0, time.Local) }
	act := func(id, stage, on string, from, until int, status events.ActStatus, experiments ...string) campaign.Act {
		return campaign.Act{
			ID: id, Batch: "b1", Stage: stage, Resource: on, Experiments: experiments, Status: status,
			Command: campaign.Command{DispatchedAt: at(from)}, EndedAt: at(until),
		}
	}
	x := definition.Quantity{Name: "x", Value: 2, Unit: "S"}
	s := &campaign.State{
		Definition: salty,
		Batches: []campaign.Batch{{
			ID: "b1", Experiments: []string{"e1", "e2"}, PlannedAt: at(0), Acts: []string{"a1", "a2", "a3", "a4"},
			Procedure: []definition.Stage{
				{Name: "load", On: "arm"},
				{Name: "measure", On: "meter", After: []definition.Edge{{Stage: "load", From: definition.Duration(time.Minute)}}},
			},
		}},
		Acts: []campaign.Act{
			act("a1", "load", "arm", 0, 1, events.ActDone, "e1", "e2"),
			act("a2", "measure", "meter", 2, 3, events.ActFailed, "e1"),
			act("a3", "measure", "meter", 5, 6, events.ActDone, "e1"),
			act("a4", "measure", "meter", 6, 6, "", "e2"),
		},
	}
	s.Acts[1].Cause = "a bubble"
	s.Acts[2].Gave = []events.Given{{Experiment: "e1", Measurement: &events.Measurement{Objective: x}}}
	s.Acts[3].Command.Fate, s.Acts[3].Cause, s.Acts[3].EndedAt = campaign.Unknown, "it jammed", time.Time{}
	want := []string{
		"a1   load at arm for e1, e2, 12:00:00 for 1 min 0 s: done",
		"a2   measure at meter, 12:02:00 for 1 min 0 s: failed, a bubble",
		"a3   measure at meter, 12:05:00 for 1 min 0 s, having waited 3 min 0 s, try 2: 2.000 S",
	}
	if got := ActTexts(s, &s.Batches[0], "e1"); !slices.Equal(got, want) {
		t.Errorf("the acts of e1 are\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	last := "a4   measure at meter for e2, 12:06:00, having waited 4 min 0 s: its fate is unknown, it jammed"
	if got := ActTexts(s, &s.Batches[0], ""); len(got) != 4 || got[3] != last {
		t.Errorf("the last act is told as %q", got)
	}
}

// Law: the record of an act has what programs want to know besides its state: which attempt it is, when it
// could have begun, when it was accepted, and the files that came with it.
func TestActRecords(t *testing.T) {
	at := func(second int) time.Time { return time.Unix(int64(second), 0).UTC() }
	act := func(id string, from, until int) campaign.Act {
		return campaign.Act{ID: id, Batch: "b1", Stage: "read", Experiments: []string{"e1"}, EndedAt: at(until),
			Command: campaign.Command{DispatchedAt: at(from)}}
	}
	file := func(id, actor string, second int, withdrawn bool) campaign.File {
		return campaign.File{ID: id, Experiment: "e1", Actor: actor, Time: at(second), Withdrawn: withdrawn}
	}
	s := &campaign.State{
		Batches: []campaign.Batch{{ID: "b1", Acts: []string{"a1", "a2"}, PlannedAt: at(1), Procedure: []definition.Stage{{Name: "read"}}}},
		Acts:    []campaign.Act{act("a1", 5, 8), act("a2", 9, 12)},
		Files: []campaign.File{
			file("f1", "instrument:acme", 8, false), file("f2", "instrument:acme", 12, false),
			file("f3", "person:ada", 12, false), file("f4", "instrument:acme", 12, true),
		},
	}
	timeline := &Timeline{Lines: []Line{
		{Time: at(6), Entry: Entry{Kind: events.KindActAccepted, Subject: "a1"}},
		{Time: at(8), Entry: Entry{Kind: events.KindActEnded, Subject: "a1"}},
	}}
	all := timeline.ActRecords(s, s.ActsOf(&s.Batches[0]))
	if len(all) != 2 || !all[0].AcceptedAt.Equal(at(6)) || !all[0].DueAt.Equal(at(1)) || all[0].Attempt != 1 || len(all[0].Files) != 1 {
		t.Fatalf("the first one is %+v", all)
	}
	if a := all[1]; a.ID != "a2" || a.Attempt != 2 || !a.AcceptedAt.IsZero() || len(a.Files) != 1 || a.Files[0].ID != "f2" {
		t.Errorf("the second one is %+v", a)
	}
}
