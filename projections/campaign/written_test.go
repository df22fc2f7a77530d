package campaign_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/campaignd/campaignd/projections/campaign"
)

// written are two experiments with all that can be known of one, and one of which nothing is known.
const written = `[
	{
		"id": "e1", "status": "started", "parameters": {"x": 1}, "origin": "policy", "decision": "d1", "turn": 1,
		"replicate": 2, "command": "c/e1", "instrument": "device", "identity": "serial 7", "real": true,
		"measurement": {"actual": {"x": 1.5}, "objective": {"name": "y", "value": 2, "unit": "mS"}},
		"retracted": {"actual": {"x": 1}, "objective": {"name": "y", "value": 3, "unit": "mS"}},
		"source": "i7", "excluded": true, "without": ["z"], "later": ["w"], "elsewhere": true, "outside": "x",
		"astray": true, "flag": {"experiment": "e1", "verdict": "suspect", "predicted": {"mean": 0, "sd": 0}, "deviation": 0,
			"reason": "why"}, "simulated": true, "once": true, "cause": "why", "stalled": true,
		"call_off": {
			"order": "i5", "by": "person:ada", "at": "2027-03-01T12:00:00Z", "reason": "smoke", "end_program": true,
			"repeat": "e2", "settled": true, "voided": "answer", "fate": "running", "over": true, "performed": true,
			"overtaken": true
		},
		"requested_at": "2027-03-01T12:00:01Z", "dispatched_at": "2027-03-01T12:00:02Z",
		"recalled_at": "2027-03-01T12:00:03Z", "ended_at": "2027-03-01T12:00:04Z", "last_event": "i8", "trace": "t8"
	},
	{"id": "e2", "status": "measured", "parameters": {"x": 2}, "origin": "person", "replicate": 1,
		"instrument": "person", "last_event": "i9"},
	{"id": "e3", "status": "requested", "parameters": null, "origin": "", "replicate": 0, "last_event": ""}
]`

// Law: programs read an experiment in a form of its own, whose fields and their order do not change
// with those of the fold; nothing is lost by it.
func TestExperimentsAreWrittenAsBefore(t *testing.T) {
	var want bytes.Buffer
	if err := json.Compact(&want, []byte(written)); err != nil {
		t.Fatal(err)
	}
	var experiments []campaign.Experiment
	if err := json.Unmarshal([]byte(written), &experiments); err != nil {
		t.Fatal(err)
	}
	got, err := json.Marshal(experiments)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want.String() {
		t.Errorf("experiments are written as\n%s\nwant\n%s", got, want.String())
	}
}
