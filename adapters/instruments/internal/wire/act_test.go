package wire

import (
	"strings"
	"testing"

	"github.com/campaignd/campaignd/adapters/instruments"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
)

func oneOf(text string) instruments.Outcome {
	return DecodeOutcome([]byte(text), instruments.Command{Act: "a1", Stage: "dose", Experiment: "e7",
		Parameters: definition.Point{"x": definition.Number(1)}})
}

// Law: what a program writes wrongly of what an act gave costs the experiment that it is about, or
// nothing, never the act; and it is said.
func TestGave(t *testing.T) {
	plate := instruments.Command{Act: "a1", Stage: "measure", Gives: []string{"flow"},
		Experiments: []instruments.Sample{{Experiment: "e7", Position: 1}, {Experiment: "e9", Position: 2}}}
	const flow = `"measurement":{"quantities":[{"name":"flow","value":3}]}`
	for _, c := range []struct {
		gave  string
		e7    events.ActStatus
		value bool   // of e7
		said  string // in the remarks, or in the cause of e7
	}{
		{`[{"experiment":"e7",` + flow + `},{"experiment":"e9","status":"failed","cause":"a bubble"}]`, events.ActDone, true, ""},
		{`[{"experiment":"e7","status":"done",` + flow + `},{"experiment":"e8",` + flow + `}]`, events.ActDone, true, "no experiment that the act serves"},
		{`[{"experiment":"e7",` + flow + `},{"experiment":"e7","status":"failed"}]`, events.ActDone, true, "once more"},
		{`[7,{"experiment":"e7",` + flow + `,"vial":3}]`, events.ActDone, true, "gave 1 it is not a JSON object"},
		{`[{"experiment":"e7",` + flow + `,"vial":3}]`, events.ActDone, true, "vial of e7"},
		{`[{"experiment":"e7","status":"odd",` + flow + `}]`, events.ActFailed, false, `"odd" is not the status`},
		{`[{"experiment":"e7","status":3}]`, events.ActFailed, false, `"3" is not the status`},
		{`[{"experiment":"e7","measurement":{"objective":{"value":"high"}}}]`, events.ActFailed, false, "which is not a number"},
		{`{"e7":3}`, events.ActDone, false, "gave is not a list"},
	} {
		o := DecodeOutcome([]byte(`{"status":"done","gave":`+c.gave+`}`), plate)
		e7 := events.Of(o.Gave, "e7")
		said := strings.Join(append(o.Remarks, e7.Cause), "\n")
		if o.Status != instruments.Done || e7.Status != c.e7 || (e7.Measurement != nil) != c.value {
			t.Errorf("%s is %s, with %+v of e7", c.gave, o.Status, e7)
		}
		if c.said == "" && said != "" || !strings.Contains(said, c.said) {
			t.Errorf("%s: it is said: %q; want %q", c.gave, said, c.said)
		}
		if e7.Measurement != nil && e7.Measurement.Actual != nil {
			t.Errorf("%s: the composition is said to have been made as %v", c.gave, e7.Measurement.Actual)
		}
	}
}

// Law: a program that knows nothing of acts performs a stage that measures nothing by whatever it
// measures: of that the composition made is kept, and nothing else can fail it.
func TestIdleAct(t *testing.T) {
	for text, made := range map[string]bool{
		`{"status":"done"}`:     false,
		`{"status":"measured"}`: false,
		`{"status":"measured","measurement":{"objective":{"value":null}}}`:                false,
		`{"status":"measured","measurement":{"objective":{"value":3},"actual":{"x":2}}}`:  true,
		`{"status":"measured","measurement":7}`:                                           false,
		`{"status":"done","gave":[{"experiment":"e7","measurement":{"actual":{"x":2}}}]}`: true,
	} {
		o := oneOf(text)
		given := events.Of(o.Gave, "e7")
		if o.Status != instruments.Done || given.Status != events.ActDone || (given.Measurement != nil) != made {
			t.Errorf("%s is %s, with %+v", text, o.Status, given)
		}
		if made && given.Measurement.Actual["x"] != definition.Number(2) {
			t.Errorf("%s has made %v", text, given.Measurement.Actual)
		}
	}
	if o := oneOf(`{"status":"failed","cause":"a bubble"}`); o.Status != instruments.Failed {
		t.Errorf("a failure is %s", o.Status)
	}
}
