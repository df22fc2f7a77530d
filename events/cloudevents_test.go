package events_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/campaignd/campaignd/events"
	_ "github.com/campaignd/campaignd/internal/tests/draws"
	"github.com/campaignd/campaignd/internal/tests/must"
)

func measured() events.Event {
	return events.Event{
		Position:  57,
		Campaign:  "electrolyte",
		Sequence:  41,
		ID:        "41",
		Kind:      events.KindExperimentMeasured,
		Version:   1,
		Time:      time.Date(2026, 3, 1, 9, 30, 0, 120_000_000, time.UTC),
		Actor:     "instrument:simulated/electrolyte",
		Cause:     "39",
		Simulated: true,
		Trace:     "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
		Data:      []byte(`{"experiment":"e7","objective":{"name":"conductivity","value":12.9,"unit":"mS/cm"}}`),
	}
}

// The printed form is a contract: scripts and other programs read it.
func TestMarshalCloudEventForm(t *testing.T) {
	tests := []struct {
		name   string
		change func(*events.Event)
		want   string
	}{
		{"a measurement", func(*events.Event) {},
			`{"specversion":"1.0","id":"41","type":"campaignd.experiment.measured","source":"/campaigns/electrolyte",` +
				`"subject":"e7","time":"2026-03-01T09:30:00.120000Z","dataschema":"urn:campaignd:schema:experiment.measured:1",` +
				`"datacontenttype":"application/json","position":57,"sequence":41,"actor":"instrument:simulated/electrolyte",` +
				`"cause":"39","simulated":true,"traceparent":"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",` +
				`"data":{"experiment":"e7","objective":{"name":"conductivity","value":12.9,"unit":"mS/cm"}}}`},
		{"what a caller asked for", func(e *events.Event) {
			e.Kind, e.Actor, e.Account, e.Simulated, e.Trace, e.Data = "some.thing", "person:ada", "root (uid 0)", false, "", nil
			e.Request, e.RequestDigest = "guess-7", "00ff5"
		},
			`{"specversion":"1.0","id":"41","type":"campaignd.some.thing","source":"/campaigns/electrolyte",` +
				`"time":"2026-03-01T09:30:00.120000Z","dataschema":"urn:campaignd:schema:some.thing:1",` +
				`"position":57,"sequence":41,"actor":"person:ada","account":"root (uid 0)",` +
				`"request":"guess-7","requestdigest":"00ff5","cause":"39","simulated":false}`},
		{"the least an event has", func(e *events.Event) {
			e.Kind, e.Actor, e.Cause, e.Simulated, e.Trace, e.Data = "some.thing", "", "", false, "", nil
		},
			`{"specversion":"1.0","id":"41","type":"campaignd.some.thing","source":"/campaigns/electrolyte",` +
				`"time":"2026-03-01T09:30:00.120000Z","dataschema":"urn:campaignd:schema:some.thing:1",` +
				`"position":57,"sequence":41,"simulated":false}`},
		{"text for people is not escaped, a name in a URL is", func(e *events.Event) {
			e.Kind, e.Campaign, e.Actor, e.Cause, e.Simulated, e.Trace, e.Data = "some.thing", "a b/c", "person:<Åsa>", "", false, "", []byte(`"é <&>"`)
		},
			`{"specversion":"1.0","id":"41","type":"campaignd.some.thing","source":"/campaigns/a%20b%2Fc",` +
				`"time":"2026-03-01T09:30:00.120000Z","dataschema":"urn:campaignd:schema:some.thing:1",` +
				`"datacontenttype":"application/json","position":57,"sequence":41,"actor":"person:<Åsa>","simulated":false,"data":"é <&>"}`},
		{"a payload that is not JSON", func(e *events.Event) {
			e.Kind, e.Actor, e.Cause, e.Simulated, e.Trace, e.Data = "some.thing", "", "", false, "", []byte{0, 255}
		},
			`{"specversion":"1.0","id":"41","type":"campaignd.some.thing","source":"/campaigns/electrolyte",` +
				`"time":"2026-03-01T09:30:00.120000Z","dataschema":"urn:campaignd:schema:some.thing:1",` +
				`"datacontenttype":"application/octet-stream","position":57,"sequence":41,"simulated":false,"data_base64":"AP8="}`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			e := measured()
			test.change(&e)
			got := must.Get(events.MarshalCloudEvent(e))(t)
			if string(got) != test.want {
				t.Errorf("got\n%s\nwant\n%s", got, test.want)
			}
		})
	}
}

// Law: the subject is the identifier of what the event is about, an experiment, a question, a
// decision or an exclusion, whatever else it names; an event about the campaign has none.
func TestCloudEventSubject(t *testing.T) {
	everything := `{"experiment":"e1","question":"q2","decision":"d3","exclusion":"n4","about":"e5","corrects":"6","supersedes":"7","act":"a8","batch":"b9"}`
	want := map[events.Kind]string{
		events.KindCampaignDefined: "", events.KindCampaignAmended: "", events.KindCampaignPaused: "",
		events.KindCampaignResumed: "", events.KindCampaignStopped: "", events.KindCampaignCompleted: "",
		events.KindRecoveryDone: "", events.KindAnchorsDeclared: "", events.KindNoteAdded: "e5",
		events.KindFileAttached: "e1", events.KindFileWithdrawn: "e1", events.KindStockCounted: "",
		events.KindSafetyOrdered: "", events.KindSafetyAnswered: "",
		events.KindQuestionAsked: "q2", events.KindQuestionAnswered: "q2", events.KindQuestionSuperseded: "q2", events.KindQuestionContested: "q2",
		events.KindQuestionExpired: "q2", events.KindQuestionWithdrawn: "q2",
		events.KindExperimentRequested: "e1", events.KindExperimentDispatched: "e1", events.KindExperimentStarted: "e1",
		events.KindExperimentMeasured: "e1", events.KindQuantityArrived: "e1", events.KindExperimentFailed: "e1", events.KindExperimentCancelled: "e1",
		events.KindExperimentUnresolved: "e1", events.KindExperimentResolved: "e1", events.KindExperimentInfeasible: "e1",
		events.KindExperimentCorrected: "e1", events.KindExperimentDeferred: "e1",
		events.KindBatchPlanned: "b9", events.KindBatchEnded: "b9", events.KindActDispatched: "a8", events.KindActAccepted: "a8",
		events.KindActEnded: "a8", events.KindActUnresolved: "a8", events.KindActResolved: "a8",
		events.KindCancellationOrdered: "e1", events.KindCancellationAnswered: "e1", events.KindInstrumentAnswered: "e1",
		events.KindRegionExcluded: "n4", events.KindRegionAllowed: "n4",
		events.KindMeasurementsJudged: "", events.KindMeasurementFlagged: "e1", events.KindMeasurementCorrected: "e1",
		events.KindInstrumentStalled: "e1", events.KindInstrumentSignalled: "e1", events.KindModelFitted: "", events.KindModelFitFailed: "",
		events.KindTrustAdjusted: "d3", events.KindDecisionMade: "d3", events.KindMethodAnswered: "d3",
	}
	for _, k := range events.Kinds() {
		if _, ok := want[k.Kind]; !ok {
			t.Errorf("add %s to want above, with its subject", k.Kind)
		}
	}
	want["foreign.kind"] = "" // nobody knows what it is about
	for kind, subject := range want {
		e := measured()
		e.Kind = kind
		e.Data = []byte(everything)
		got, there := events.CloudEventAttributes(e)["subject"]
		if got != subject || there != (subject != "") {
			t.Errorf("%s: subject %q, want %q", kind, got, subject)
		}
	}
}

// envelopeText draws what an envelope may hold: anything but control characters.
func envelopeText(min int) *rapid.Generator[string] {
	return rapid.StringN(min, 20, -1).Filter(func(s string) bool {
		return !strings.ContainsFunc(s, func(r rune) bool { return r < 0x20 || r == 0x7f })
	})
}

func storedEvent() *rapid.Generator[events.Event] {
	data := rapid.OneOf(
		rapid.SliceOf(rapid.Byte()),
		rapid.SampledFrom([][]byte{nil, []byte("null"), []byte(" 1"), []byte("1\n"), []byte("{\n}"), []byte(`{"a": 1.0, "a":2}`),
			[]byte("\"\xff\""), []byte("\"\u2028<>&\\u0000\""), []byte(`[1,2e400]`), []byte("tru"), []byte("-0")}),
		rapid.Map(rapid.MapOf(rapid.String(), rapid.Float64Range(-1e9, 1e9)), func(m map[string]float64) []byte {
			text, err := json.Marshal(m)
			if err != nil {
				panic(err)
			}
			return text
		}),
	)
	kinds := make([]events.Kind, 0, len(events.Kinds()))
	for _, k := range events.Kinds() {
		kinds = append(kinds, k.Kind)
	}
	return rapid.Custom(func(t *rapid.T) events.Event {
		kind := rapid.OneOf(rapid.SampledFrom(kinds),
			rapid.Map(envelopeText(1), func(s string) events.Kind { return events.Kind(s) })).Draw(t, "kind")
		request := envelopeText(0).Draw(t, "request")
		digest := ""
		if request != "" {
			digest = rapid.StringMatching("[0-9a-f]{0,64}").Draw(t, "digest")
		}
		return events.Event{
			Request: request, RequestDigest: digest,

			Position:  events.Position(rapid.Uint64().Draw(t, "position")), // 0: not known
			Campaign:  envelopeText(1).Draw(t, "campaign"),
			Sequence:  events.Sequence(rapid.Uint64Range(1, uint64(events.AnySequence)-1).Draw(t, "sequence")),
			ID:        envelopeText(1).Draw(t, "id"),
			Kind:      kind,
			Version:   int(rapid.Int32Min(1).Draw(t, "version")),
			Time:      time.UnixMicro(rapid.Int64Range(-62135596800e6, 253402300799e6).Draw(t, "micros")).UTC(),
			Actor:     envelopeText(0).Draw(t, "actor"),
			Account:   envelopeText(0).Draw(t, "account"),
			Cause:     envelopeText(0).Draw(t, "cause"),
			Simulated: rapid.Bool().Draw(t, "simulated"),
			Trace:     envelopeText(0).Draw(t, "trace"),
			Data:      data.Draw(t, "data"),
		}
	})
}

// sameEvent compares as a log does: an empty payload is not a payload.
func sameEvent(a, b events.Event) bool {
	if !bytes.Equal(a.Data, b.Data) {
		return false
	}
	a.Data, b.Data = nil, nil
	return reflect.DeepEqual(a, b)
}

// Every event a log can hold is written on one line of JSON with CloudEvents
// attribute names, and read back as the same event, to the byte of its payload.
func TestCloudEventRoundTrip(t *testing.T) {
	attributeName := regexp.MustCompile(`^[a-z0-9]{1,20}$`)
	rapid.Check(t, func(t *rapid.T) {
		e := storedEvent().Draw(t, "event")
		line := must.Get(events.MarshalCloudEvent(e))(t)
		if bytes.ContainsAny(line, "\r\n") || !utf8.Valid(line) {
			t.Fatalf("not one line of text: %q", line)
		}
		var members map[string]any
		if err := json.Unmarshal(line, &members); err != nil && !strings.Contains(err.Error(), "2e400") {
			t.Fatalf("not JSON: %v: %q", err, line)
		}
		for name := range members {
			if name != "data_base64" && !attributeName.MatchString(name) {
				t.Fatalf("CloudEvents does not allow the attribute name %q", name)
			}
		}
		back, err := events.UnmarshalCloudEvent(line)
		if err != nil {
			t.Fatalf("%v: %q", err, line)
		}
		if !sameEvent(e, back) {
			t.Fatalf("got  %+v\nwant %+v", back, e)
		}
		back, err = events.FromCloudEventAttributes(events.CloudEventAttributes(e), e.Data)
		if err != nil || !sameEvent(e, back) {
			t.Fatalf("from attributes: %v\ngot  %+v\nwant %+v", err, back, e)
		}
	})
}

// What is not the CloudEvents form of one of our events is refused, with a
// word about the attribute at fault.
func TestUnmarshalCloudEventRefuses(t *testing.T) {
	line := must.Get(events.MarshalCloudEvent(measured()))(t)
	tests := []struct{ from, to, word string }{
		{`"specversion":"1.0"`, `"specversion":"0.3"`, "specversion"},
		{`"id":"41",`, ``, "ID"},
		{`"type":"campaignd.`, `"type":"org.`, "type"},
		{`"/campaigns/electrolyte"`, `"/elsewhere"`, "source"},
		{`"/campaigns/electrolyte"`, `"/campaigns/"`, "campaign"},
		{`"/campaigns/electrolyte"`, `"/campaigns/%zz"`, "source"},
		{`measured:1"`, `measured:x"`, "dataschema"},
		{`measured:1"`, `measured:01"`, "dataschema"},
		{`"time":"2026-`, `"time":"26-`, "time"},
		{`"position":57,`, `"position":0,`, "position"},
		{`"position":57,`, `"position":"",`, "position"},
		{`"position":57,`, `"position":-1,`, "position"},
		{`"position":57,`, `"position":[57],`, "position"},
		{`"sequence":41,`, `"sequence":0,`, "sequence"},
		{`"simulated":true,`, ``, "simulated"},
		{`"simulated":true,`, `"simulated":"maybe",`, "simulated"},
		{`"id":"41",`, `"id":["41"],`, "id"},
		{`"id":"41",`, `"id":{"a":1},`, "id"},
		{`"data":{`, `"data_base64":"","data":{`, "data_base64"},
		{`{"specversion"`, `["specversion"`, ""},
	}
	for _, test := range tests {
		text := strings.Replace(string(line), test.from, test.to, 1)
		if text == string(line) {
			t.Fatalf("%s is not in the line", test.from)
		}
		_, err := events.UnmarshalCloudEvent([]byte(text))
		if !errors.Is(err, events.ErrBadCloudEvent) || !strings.Contains(err.Error(), test.word) {
			t.Errorf("%s for %s: %v", test.to, test.from, err)
		}
	}
	// What CloudEvents allows others to write is read: a time of another zone, a null
	// where there is nothing.
	for _, same := range []struct{ from, to string }{
		{`T09:30:00.120000Z`, `T10:30:00.12+01:00`},
		{`"data":{`, `"data_base64":null,"data":{`},
		{`"position":57,`, `"position":"57",`},
		{`"subject":"e7",`, `"subject":null,"account":null,`},
	} {
		text := strings.Replace(string(line), same.from, same.to, 1)
		if e, err := events.UnmarshalCloudEvent([]byte(text)); text == string(line) || err != nil || !sameEvent(e, measured()) {
			t.Errorf("%s for %s: %v\n%+v", same.to, same.from, err, e)
		}
	}
	bare := measured()
	bare.Data = nil
	text := strings.Replace(string(line), `"data":`+string(measured().Data), `"data":null`, 1)
	if e, err := events.UnmarshalCloudEvent([]byte(text)); err != nil || !sameEvent(e, bare) {
		t.Errorf("null for the payload: %v\n%+v", err, e)
	}
	// Attributes of others are none of our business.
	if _, err := events.UnmarshalCloudEvent([]byte(strings.Replace(string(line), `{`, `{"partitionkey":"x","knativearrivaltime":1,`, 1))); err != nil {
		t.Error(err)
	}
}

// Law: position is information: an event whose position is not known has a form
// without it, which is read back without it, and but for it all forms of an event are
// the same.
func TestCloudEventPosition(t *testing.T) {
	e := measured()
	with := must.Get(events.MarshalCloudEvent(e))(t)
	e.Position = 0
	without := must.Get(events.MarshalCloudEvent(e))(t)
	if want := strings.Replace(string(with), `"position":57,`, ``, 1); string(without) != want {
		t.Errorf("got\n%s\nwant\n%s", without, want)
	}
	if back, err := events.UnmarshalCloudEvent(without); err != nil || !sameEvent(back, e) {
		t.Errorf("read back as %+v, %v", back, err)
	}
}

// An event that has no record has no printed form.
func TestMarshalCloudEventRefuses(t *testing.T) {
	e := measured()
	e.Sequence = 0
	if _, err := events.MarshalCloudEvent(e); !errors.Is(err, events.ErrInvalidEvent) {
		t.Errorf("got %v", err)
	}
}

// FuzzCloudEvents: no line makes reading panic, what is read has a record, and written
// again it is read as the same event. A line comes from another program: from a file
// that is imported, or over a socket.
func FuzzCloudEvents(f *testing.F) {
	e := measured()
	for _, data := range [][]byte{e.Data, nil, []byte("null"), {0, 255}, []byte("{\n}")} {
		e.Data = data
		line := must.Get(events.MarshalCloudEvent(e))(f)
		f.Add(line)
		f.Add(bytes.Replace(line, []byte(`"position":57,`), nil, 1))
		f.Add(bytes.Replace(line, []byte(`{`), []byte(`{"data_base64":"AP8=",`), 1))
		f.Add(bytes.Replace(line, []byte(`.120000Z`), []byte(`+14:00`), 1))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		e, err := events.UnmarshalCloudEvent(line)
		if err != nil {
			if !errors.Is(err, events.ErrBadCloudEvent) {
				t.Fatalf("%v is not ErrBadCloudEvent", err)
			}
			return
		}
		if _, err := events.AppendRecord(nil, e); err != nil {
			t.Fatalf("%+v was read from %q and has no record: %v", e, line, err)
		}
		again, err := events.MarshalCloudEvent(e)
		if err != nil {
			t.Fatalf("%+v was read from %q and cannot be written: %v", e, line, err)
		}
		back, err := events.UnmarshalCloudEvent(again)
		if err != nil || !sameEvent(back, e) {
			t.Fatalf("%q was written as %q, %v:\ngot  %+v\nwant %+v", line, again, err, back, e)
		}
		back, err = events.FromCloudEventAttributes(events.CloudEventAttributes(e), e.Data)
		if err != nil || !sameEvent(back, e) {
			t.Fatalf("%q from its attributes, %v:\ngot  %+v\nwant %+v", line, err, back, e)
		}
	})
}

func BenchmarkMarshalCloudEvent(b *testing.B) {
	e := measured()
	b.ReportAllocs()
	for b.Loop() {
		must.Get(events.MarshalCloudEvent(e))(b)
	}
}

func BenchmarkUnmarshalCloudEvent(b *testing.B) {
	line := must.Get(events.MarshalCloudEvent(measured()))(b)
	b.ReportAllocs()
	for b.Loop() {
		must.Get(events.UnmarshalCloudEvent(line))(b)
	}
}
