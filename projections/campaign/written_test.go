package campaign_test

import (
	"bytes"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"testing"

	"github.com/campaignd/campaignd/projections/campaign"
)

// written is an experiment with all that can be known of one.
const written = `{
	"id": "e1", "status": "started", "parameters": {"x": 1}, "origin": "policy", "decision": "d1", "batch": "b2", "turn": 1,
	"replicate": 2, "command": "c/e1", "instrument": "device", "identity": "serial 7", "real": true,
	"measurement": {"actual": {"x": 1.5}, "objective": {"name": "y", "value": 2, "unit": "mS"}},
	"retracted": {"actual": {"x": 1}, "objective": {"name": "y", "value": 3, "unit": "mS"}},
	"source": "i7", "excluded": true, "without": ["z"], "later": ["w"], "elsewhere": true, "outside": "x",
	"astray": true,
	"flag": {
		"experiment": "e1", "verdict": "suspect", "predicted": {"mean": 0, "sd": 0}, "deviation": 0, "reason": "why"
	}, "simulated": true, "once": true, "cause": "why",
	"drawn": [{"stock": "solvent", "amount": 4.2, "unit": "mL"}, {"stock": "tips", "labels": ["C5", "D5"]}],
	"handle": "f3b2",
	"sign": {"handle": "f3b2", "fraction": 0.5, "text": "half", "next_by": 60, "at": "2027-03-01T12:00:00Z", "recorded": 3},
	"stalled": true,
	"call_off": {
		"order": "i5", "by": "person:ada", "at": "2027-03-01T12:00:00Z", "reason": "smoke", "end_program": true,
		"repeat": "e2", "settled": true, "voided": "program", "fate": "running", "over": true, "performed": true,
		"overtaken": true
	},
	"requested_at": "2027-03-01T12:00:01Z", "dispatched_at": "2027-03-01T12:00:02Z",
	"recalled_at": "2027-03-01T12:00:03Z", "ended_at": "2027-03-01T12:00:04Z", "last_event": "i8", "trace": "t8"
}`

// Law: programs read an experiment in a form of its own, whose fields and their order do not change
// with those of the fold; each field is kept by it, with the others and alone.
func TestExperimentsAreWrittenAsBefore(t *testing.T) {
	var all bytes.Buffer
	if err := json.Compact(&all, []byte(written)); err != nil {
		t.Fatal(err)
	}
	again := func(text []byte) string {
		t.Helper()
		var x campaign.Experiment
		if err := json.Unmarshal(text, &x); err != nil {
			t.Fatal(err)
		}
		got, err := json.Marshal(x)
		if err != nil {
			t.Fatal(err)
		}
		return string(got)
	}
	if got := again(all.Bytes()); got != all.String() {
		t.Errorf("an experiment is written as\n%s\nwant\n%s", got, all.String())
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(all.Bytes(), &fields); err != nil {
		t.Fatal(err)
	}
	if n := reflect.TypeFor[campaign.Written]().NumField(); n != len(fields) {
		t.Errorf("an experiment has %d fields here, of %d", len(fields), n)
	}
	always := []string{"id", "status", "parameters", "origin", "replicate", "last_event"}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		one := map[string]json.RawMessage{name: fields[name]}
		for _, other := range always {
			one[other] = fields[other]
		}
		text, err := json.Marshal(one)
		if err != nil {
			t.Fatal(err)
		}
		var got map[string]json.RawMessage
		if err := json.Unmarshal([]byte(again(text)), &got); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got, one) {
			t.Errorf("of %s alone %s is left", name, slices.Sorted(maps.Keys(got)))
		}
	}
}
