package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/campaignd/campaignd/adapters/instruments"
	"github.com/campaignd/campaignd/adapters/internal/program"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/tests/draws"
	"github.com/campaignd/campaignd/internal/tests/must"
)

// The messages shown in the documentation are messages of the protocol.
func TestDocumentation(t *testing.T) {
	text := must.Get(os.ReadFile("../../../../docs/process-instrument.md"))(t)
	n := 0
	for line := range strings.Lines(string(text)) {
		if request, ok := strings.CutPrefix(line, "→ "); ok {
			n++
			d := json.NewDecoder(strings.NewReader(request))
			d.DisallowUnknownFields()
			var r Request
			if err := d.Decode(&r); err != nil {
				t.Errorf("%v: %s", err, request)
			}
		}
		if reply, ok := strings.CutPrefix(line, "← "); ok {
			n++
			r, err := DecodeReply([]byte(reply))
			if err != nil || UnknownFields([]byte(reply)) != "" {
				t.Errorf("%v, %s: %s", err, UnknownFields([]byte(reply)), reply)
			}
			if r.Outcome != nil {
				plate := instruments.Command{Act: "a12", Gives: []string{"flow"}, Experiments: []instruments.Sample{{Experiment: "e7"}, {Experiment: "e9"}}}
				if strings.Contains(string(r.Outcome), `"gave"`) {
					if o := DecodeOutcome(r.Outcome, plate); o.Status != instruments.Done || len(o.Gave) != 2 || len(o.Remarks) > 0 {
						t.Errorf("%+v: %s", o, line)
					}
				} else if o := DecodeOutcome(r.Outcome, instruments.Command{}); o.Status != instruments.Measured {
					t.Errorf("%+v", o)
				}
			}
			if r.Description != nil {
				if err := instruments.CheckDescription(*r.Description); err != nil {
					t.Error(err)
				}
			}
		}
	}
	if n < 8 {
		t.Errorf("only %d messages were found", n)
	}
}

// A bare NaN or Infinity is told from other faults, and from the same letters
// in a string; the reply still says which request it answers.
func TestNonFinite(t *testing.T) {
	for line, token := range map[string]string{
		`{"id":7,"outcome":{"value":NaN}}`:                  "NaN",
		`{"id":7,"outcome":{"value": -Infinity , "x":NaN}}`: "-Infinity",
		`{"id":7,"outcome":[Infinity]}`:                     "Infinity",
		`{"id":7,"outcome":{"cause":"\"NaN, ","v":nan}}`:    "nan",
		`{"id":7,"outcome":[1,-NaN]}`:                       "-NaN",
		`{"id":7,"outcome":[1,inf]}`:                        "inf",
		`{"id":7,"outcome":[1,-inf]}`:                       "-inf",
		`{"id":7,"outcome":{"cause":"it was NaN"}}`:         "",
	} {
		r, err := DecodeReply([]byte(line))
		var nonFinite *program.NonFiniteError
		switch {
		case token == "" && err != nil:
			t.Errorf("%s: %v", line, err)
		case token != "" && (!errors.As(err, &nonFinite) || nonFinite.Token != token):
			t.Errorf("%s: %v, want %s", line, err, token)
		}
		if r.ID == nil || *r.ID != 7 {
			t.Errorf("%s: the id was lost", line)
		}
	}
	for _, line := range []string{`{"id":7,"ok":truNaN}`, `{"id":7,"ok":NaNa}`, `{"id":7,"ok":info}`,
		`{"id":7,"error":"cut off at \`} {
		if r, err := DecodeReply([]byte(line)); err == nil || errors.As(err, new(*program.NonFiniteError)) || r.ID != nil {
			t.Errorf("%s: any slip is taken for NaN: %+v, %v", line, r, err)
		}
	}
}

// Whatever a program writes, reading it does not panic, and no outcome is
// measured without a finite objective.
func FuzzReply(f *testing.F) {
	for _, seed := range []string{
		`{"id":1,"ok":true}`, `{"id":1,"outcome":{"status":"measured","measurement":{"objective":{"name":"y","value":1}}}}`,
		`{"command":"c/e1","outcome":{"status":"measured","measurement":{"objective":{"value":NaN},"further":[null,{"value":null}]}}}`,
		`{"outcome":{"status":"measured","measurement":{"objective":null,"actual":{"a":null}}}}`, `[]`, `"NaN`, `{"a":-Infinity\`, "\xff",
	} {
		f.Add([]byte(seed))
	}
	for _, n := range []int{300_000, 3_000_000} {
		long := strings.Repeat("k", n)
		f.Add([]byte(`{"id":1,"` + long + `":{"` + long + `":1}}`))
		f.Add([]byte(`{"outcome":{"status":"` + long + `","measurement":{"objective":{"name":"` + long + `","value":1}}}}`))
	}
	requested := definition.Point{"salt": definition.Number(1)}
	f.Fuzz(func(t *testing.T, line []byte) {
		var r Reply
		var err error
		draws.Answers(t, func() {
			UnknownFields(line)
			program.SubjectOf(line)
			r, err = DecodeReply(line)
		})
		if r.Outcome == nil {
			return
		}
		if err != nil {
			r.NonFinite, r.Line = err, line
		}
		o := r.Result(instruments.Command{Parameters: requested})
		switch o.Status {
		case instruments.Measured:
			if o.Measurement == nil || math.IsNaN(o.Measurement.Objective.Value) || math.IsInf(o.Measurement.Objective.Value, 0) || o.Measurement.Actual == nil {
				t.Errorf("%q became %+v", line, o)
			}
			if !bytes.Contains(r.Outcome, []byte("value")) && !bytes.Contains(bytes.ToLower(r.Outcome), []byte("value")) && !bytes.Contains(r.Outcome, []byte(`\u`)) {
				t.Errorf("%q has no value and became %+v", line, o.Measurement)
			}
		case instruments.Failed, instruments.Infeasible, instruments.Deferred, instruments.Cancelled, instruments.Unknown:
			if o.Cause == "" || o.Measurement != nil {
				t.Errorf("%q became %+v", line, o)
			}
		default:
			t.Errorf("%q became the status %q", line, o.Status)
		}
		canBeRecorded(t, line, o)
	})
}

// canBeRecorded defends that the log takes what became of a line.
func canBeRecorded(t *testing.T, line []byte, o instruments.Outcome) {
	t.Helper()
	def := definition.Campaign{
		Parameters: []definition.Parameter{{Name: "salt", Min: new(float64), Max: new(float64)}},
		Objective:  definition.Objective{Name: "y"},
	}
	o = o.Recordable()
	var payloads []events.Payload
	switch {
	case o.Measurement == nil && len(line) > 1<<10: // the longest of them
		payloads = []events.Payload{&events.ExperimentFailed{Cause: o.Cause, Rejected: o.Rejected}}
	case o.Measurement == nil:
		payloads = []events.Payload{
			&events.ExperimentFailed{Cause: o.Cause, Rejected: o.Rejected}, &events.ExperimentUnresolved{Cause: o.Cause},
			&events.ExperimentInfeasible{Cause: o.Cause}, &events.ExperimentDeferred{Cause: o.Cause}, &events.ExperimentCancelled{Reason: o.Cause},
		}
	default:
		m, err := instruments.Admit(def, *o.Measurement)
		payloads = []events.Payload{&events.ExperimentMeasured{Measurement: m}}
		if err != nil {
			data, _ := json.Marshal(o.Measurement)
			payloads = []events.Payload{&events.ExperimentFailed{Cause: err.Error(), Rejected: instruments.Legible(string(data), instruments.MaxRejected)}}
		}
	}
	for _, p := range payloads {
		e, err := events.New("c", p)
		if err == nil {
			e.Position, e.Sequence, e.ID, e.Actor, e.Time = 1, 1, "1", "instrument:x", time.Unix(0, 0).UTC()
			_, err = events.AppendRecord(nil, e)
		}
		if err != nil {
			t.Fatalf("%.200q cannot be recorded as %s: %v", line, events.KindOf(p), err)
		}
	}
}

// The longest lines that the protocol allows become events that the log takes.
func TestLongestLinesCanBeRecorded(t *testing.T) {
	for _, form := range []string{
		`{"outcome":{"status":"failed","cause":"%s"}}`,
		`{"outcome":{"status":"%s"}}`,
		`{"outcome":{"status":"measured","measurement":{"objective":{"name":"y","value":1},"identity":"%s"}}}`,
		`{"outcome":{"status":"measured","measurement":{"objective":{"name":"y","value":1},"further":"%s"}}}`,
		`{"outcome":{"status":"measured","measurement":{"objective":{"name":"%s","value":1}}}}`,
		`{"outcome":{"status":"measured","measurement":{"objective":{"name":"y","value":1},"actual":{"%s":1}}}}`,
		`{"outcome":{"status":"measured","measurement":{"objective":{"name":"y","value":1},"further":[{"name":"z","unit":"%s","value":1}]}}}`,
	} {
		line := []byte(strings.Replace(form, "%s", strings.Repeat("<", program.MaxLine-len(form)), 1))
		r := must.Get(DecodeReply(line))(t)
		canBeRecorded(t, line, r.Result(instruments.Command{Parameters: definition.Point{"salt": definition.Number(0)}}))
	}
	many := []byte(`{"outcome":{"status":"measured","measurement":{"objective":{"name":"y","value":1},"further":[{}` + strings.Repeat(",{}", 100_000) + `]}}}`)
	r := must.Get(DecodeReply(many))(t)
	canBeRecorded(t, many, r.Result(instruments.Command{Parameters: definition.Point{"salt": definition.Number(0)}}))
}

// What decorates a result never costs it, and is kept as it was written; what the
// result is made of is never guessed.
func TestDecorationCostsNoResult(t *testing.T) {
	measured := func(fields string) string {
		return `{"status":"measured","measurement":{"objective":{"name":"y","value":12.5,"unit":"u"}` + fields + `}}`
	}
	for _, test := range []struct {
		name, outcome string
		status        instruments.Status
		unread        string // "field: text" of all that is kept aside
	}{
		{"nothing", measured(""), instruments.Measured, ""},
		{"a good further quantity", measured(`,"further":[{"name":"t","value":26,"unit":"°C","sd":0.1}]`), instruments.Measured, ""},
		{"nulls", measured(`,"further":null,"actual":null,"identity":null,"began":null,"ended":""`), instruments.Measured, ""},
		{"a text", measured(`,"further":[{"name":"lot","value":"LOT-7"}]`), instruments.Measured, `further 1 (lot): {"name":"lot","value":"LOT-7"}`},
		{"no value", measured(`,"further":[{"name":"t"}]`), instruments.Measured, `further 1 (t): {"name":"t"}`},
		{"null", measured(`,"further":[{"name":"t","value":null}]`), instruments.Measured, `further 1 (t): {"name":"t","value":null}`},
		{"too large a number", measured(`,"further":[{"name":"t","value":1e999}]`), instruments.Measured, `further 1 (t): {"name":"t","value":1e999}`},
		{"a unit that is a number", measured(`,"further":[{"name":"t","value":1,"unit":5}]`), instruments.Measured, `further 1 (t): {"name":"t","value":1,"unit":5}`},
		{"no quantity at all", measured(`,"further":["LOT-7"]`), instruments.Measured, `further 1: "LOT-7"`},
		{"no list", measured(`,"further":{"t":26}`), instruments.Measured, `further: {"t":26}`},
		{"a text as sd", measured(`,"further":[{"name":"t","value":1,"sd":"?"}]`), instruments.Measured, `further 1 (t).sd: "?"`},
		{"fields of a quantity", measured(`,"further":[{"name":"t","value":1,"at":"pump"}]`), instruments.Measured, `further 1 (t).at: "pump"`},
		{"fields of the measurement", measured(`,"files":["a.csv"]`), instruments.Measured, `files: ["a.csv"]`},
		{"an identity that is an object", measured(`,"identity":{"serial":42}`), instruments.Measured, `identity: {"serial":42}`},
		{"a time without a zone", measured(`,"began":"2026-05-01T12:00:00"`), instruments.Measured, `began: "2026-05-01T12:00:00"`},
		{"a time that is a number", measured(`,"ended":1777636800`), instruments.Measured, `ended: 1777636800`},
		{"a cause", `{"cause":"fine",` + measured("")[1:], instruments.Measured, `cause: "fine"`},
		{"a field of the outcome", `{"lot":7,` + measured("")[1:], instruments.Measured, `lot: 7`},
		{"sd of the objective", `{"status":"measured","measurement":{"objective":{"name":"y","value":12.5,"sd":"small"}}}`, instruments.Measured, `objective.sd: "small"`},
		{"a field of the objective", `{"status":"measured","measurement":{"objective":{"name":"y","value":12.5,"raw":[1]}}}`, instruments.Measured, `objective.raw: [1]`},
		{"NaN", measured(`,"further":[{"name":"t","value":NaN}]`), instruments.Measured, `further 1 (t): {"name":"t","value":null}; the whole answer: `},
		{"NaN as sd", `{"status":"measured","measurement":{"objective":{"name":"y","value":12.5,"sd":NaN}}}`, instruments.Measured, `the whole answer: `},

		{"the objective is a text", `{"status":"measured","measurement":{"objective":{"name":"y","value":"12.5"}}}`, instruments.Failed, ""},
		{"the objective is null", `{"status":"measured","measurement":{"objective":{"name":"y","value":null}}}`, instruments.Failed, ""},
		{"the objective is NaN", `{"status":"measured","measurement":{"objective":{"name":"y","value":NaN}}}`, instruments.Failed, ""},
		{"the unit is a number", `{"status":"measured","measurement":{"objective":{"name":"y","value":1,"unit":5}}}`, instruments.Failed, ""},
		{"there is no objective", `{"status":"measured","measurement":{"further":[{"name":"y","value":1}]}}`, instruments.Failed, ""},
		{"the composition is a text", measured(`,"actual":"as asked"`), instruments.Failed, ""},
		{"the composition holds null", measured(`,"actual":{"salt":null}`), instruments.Failed, ""},
		{"the composition holds NaN", measured(`,"actual":{"salt":NaN}`), instruments.Failed, ""},
		{"a text as the outcome", `"measured"`, instruments.Unknown, ""},
		{"there is no status", `{"measurement":{"objective":{"name":"y","value":1}}}`, instruments.Unknown, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			line := []byte(`{"id":7,"outcome":` + test.outcome + `}`)
			r, err := DecodeReply(line)
			if err != nil {
				r.NonFinite, r.Line = err, line
			}
			o := r.Result(instruments.Command{Parameters: definition.Point{"salt": definition.Number(1)}})
			if o.Status != test.status {
				t.Fatalf("it became %+v", o)
			}
			if o.Status != instruments.Measured {
				if o.Rejected == "" || !strings.Contains(o.Cause, "it wrote") ||
					strings.Contains(test.outcome, "NaN") != strings.Contains(o.Rejected, "NaN") {
					t.Errorf("what was written is not kept: %+v", o)
				}
				return
			}
			var aside []string
			for _, u := range o.Measurement.Unread {
				if u.Reason == "" {
					t.Errorf("%s has no reason", u.Field)
				}
				if u.Field == "the whole answer" {
					if u.Text != string(line) {
						t.Errorf("the answer was kept as %s", u.Text)
					}
					u.Text = ""
				}
				aside = append(aside, u.Field+": "+u.Text)
			}
			if got := strings.Join(aside, "; "); got != test.unread {
				t.Errorf("kept aside: %s, want %s", got, test.unread)
			}
			made, _ := o.Measurement.Actual["salt"].Float()
			if o.Measurement.Objective.Value != 12.5 || o.Measurement.Objective.SD != nil || made != 1 || len(o.Measurement.Actual) != 1 {
				t.Errorf("the result is %+v", o.Measurement)
			}
		})
	}
	// What a command without a result says beside its cause is kept with it.
	o := DecodeOutcome([]byte(`{"status":"failed","cause":"a bubble","measurement":{"pressure":3}}`), instruments.Command{})
	if o.Status != instruments.Failed || !strings.Contains(o.Cause, "a bubble") || !strings.Contains(o.Cause, `{"pressure":3}`) {
		t.Errorf("%+v", o)
	}
}

// Law: only an object is a message, and what it says in words is safe to show and to record.
func TestDecodeReply(t *testing.T) {
	for _, line := range []string{"", "null", " null ", "7", `"id"`, "[]", "true"} {
		if r, err := DecodeReply([]byte(line)); err == nil || r.ID != nil {
			t.Errorf("%q is the message %+v", line, r)
		}
	}
	words := `"\u001b[2J` + strings.Repeat("é", 5000) + `"`
	r, err := DecodeReply([]byte(` {"id":7,"error":` + words + `,"refused":` + words + `}`))
	for _, text := range []string{r.Error, r.Refused} {
		if err != nil || strings.Contains(text, "\x1b") || strings.Count(text, "é") < 3900 || strings.Count(text, "é") > 4000 || !strings.Contains(text, "bytes)") {
			t.Errorf("%v: %.40q… (%d bytes)", err, text, len(text))
		}
	}
}

// Law: whatever a program gave as the cause of what is not a result is told, as it was written,
// and where it gave none, that.
func TestCauses(t *testing.T) {
	for outcome, want := range map[string]string{
		`{"status":"failed","cause":"a bubble"}`:                 "a bubble",
		`{"status":"failed","cause":""}`:                         "no cause",
		`{"status":"failed"}`:                                    "no cause",
		`{"status":"failed","cause":{"code":7}}`:                 `{"code":7}`,
		`{"status":"failed","cause":"a bubble","pressure": NaN}`: `"pressure": NaN`,
	} {
		line := []byte(`{"id":7,"outcome":` + outcome + `}`)
		r, err := DecodeReply(line)
		if err != nil {
			r.NonFinite, r.Line = err, line
		}
		if o := r.Result(instruments.Command{}); o.Status != instruments.Failed || !strings.Contains(o.Cause, want) {
			t.Errorf("%s became %+v", outcome, o)
		}
	}
	lost := Reply{Lost: "too long", Outcome: []byte(`{"status":"failed","cause":"a bubble"}`)}
	if o := lost.Result(instruments.Command{}); o.Status != instruments.Unknown || o.Cause != "too long" {
		t.Errorf("a lost answer became %+v", o)
	}
}

// Law: of a long cause and of whatever else was written beside it, both are kept as far as
// there is room in a cause of 4,000 characters, about half of it for either.
func TestLongCauses(t *testing.T) {
	long := func(c string) string { return strings.Repeat(c, 5000) }
	o := DecodeOutcome([]byte(`{"status":"failed","cause":"`+long("ä")+`","log":"`+long("ö")+`"}`), instruments.Command{})
	cause, rest := strings.Count(o.Cause, "ä"), strings.Count(o.Cause, "ö")
	if n := utf8.RuneCountInString(o.Cause); n > 4000 || cause < 1800 || rest < 1800 || cause > 2200 || rest > 2200 {
		t.Errorf("of %d characters, %d are of the cause and %d of the rest", n, cause, rest)
	}
}

func TestCheckLimits(t *testing.T) {
	low, high := 0.1, 0.3
	d := instruments.Description{Parameters: []instruments.ParameterSpec{
		{Name: "salt", Unit: "mol/kg", Min: &low, Max: &high},
		{Name: "solvent", Categories: []string{"EC", "DMC"}},
	}}
	ec := definition.Category("EC")
	for _, test := range []struct {
		name  string
		point definition.Point
		want  string // of the error
	}{
		{"inside", definition.Point{"salt": definition.Number(0.2), "solvent": ec}, ""},
		{"on the limit, up to rounding", definition.Point{"salt": definition.Number(0.1 + 0.2), "solvent": ec}, ""},
		{"below", definition.Point{"salt": definition.Number(0.0999), "solvent": ec}, "below"},
		{"above", definition.Point{"salt": definition.Number(0.3001), "solvent": ec}, "above"},
		{"NaN", definition.Point{"salt": definition.Number(math.NaN()), "solvent": ec}, "NaN"},
		{"a parameter too few", definition.Point{"salt": definition.Number(0.2)}, "solvent is missing"},
		{"a parameter too many", definition.Point{"salt": definition.Number(0.2), "solvent": ec, "sugar": ec}, "no parameter sugar"},
		{"no such category", definition.Point{"salt": definition.Number(0.2), "solvent": definition.Category("H2O")}, "H2O"},
		{"a number for a category", definition.Point{"salt": definition.Number(0.2), "solvent": definition.Number(1)}, "solvent"},
		{"a category for a number", definition.Point{"salt": ec, "solvent": ec}, "not a number"},
	} {
		t.Run(test.name, func(t *testing.T) {
			err := CheckLimits(d, test.point)
			if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
	// Law: a limit itself may be asked for, also where it is all there is and there is no size
	// by which to round.
	zero := 0.0
	for _, spec := range []instruments.ParameterSpec{{Min: &zero}, {Max: &zero}, {Min: &zero, Max: &zero}} {
		spec.Name = "voltage"
		d := instruments.Description{Parameters: []instruments.ParameterSpec{spec}}
		for x, want := range map[float64]bool{0: true, 1e-300: spec.Max == nil, -1e-300: spec.Min == nil} {
			if err := CheckLimits(d, definition.Point{"voltage": definition.Number(x)}); (err == nil) != want {
				t.Errorf("limits %v to %v, %g is asked for: %v", spec.Min != nil, spec.Max != nil, x, err)
			}
		}
	}
	// Law: rounding is a billionth of the larger limit, at either, of whatever sign; and no
	// instrument is given what is not a finite number, whatever its limits.
	far, near, smallest := -5.0, -1.0, -math.MaxFloat64
	for _, c := range []struct {
		min, max *float64
		x        float64
		want     bool
	}{
		{&far, &near, -5 - 1e-10, true}, {&far, &near, -5 - 1e-8, false},
		{&far, &near, -1 + 1e-10, true}, {&far, &near, -1 + 1e-8, false},
		{nil, nil, 1e300, true}, {nil, nil, math.Inf(1), false}, {nil, nil, math.Inf(-1), false}, {nil, nil, math.NaN(), false},
		{&smallest, nil, math.Inf(1), false},
	} {
		d := instruments.Description{Parameters: []instruments.ParameterSpec{{Name: "voltage", Min: c.min, Max: c.max}}}
		if err := CheckLimits(d, definition.Point{"voltage": definition.Number(c.x)}); (err == nil) != c.want {
			t.Errorf("%v is asked for: %v", c.x, err)
		}
	}
	// Law: all that is wrong is said, in the order of the names.
	for range 20 {
		err := CheckLimits(d, definition.Point{"a": ec, "b": ec, "c": ec, "d": ec, "solvent": ec})
		if err == nil || strings.Join(regexp.MustCompile(`parameter (\w)|salt is missing`).FindAllString(err.Error(), -1), ", ") !=
			"parameter a, parameter b, parameter c, parameter d, salt is missing" {
			t.Fatalf("the faults are %v", err)
		}
	}
	if err := CheckLimits(instruments.Description{}, definition.Point{"anything": ec}); err != nil {
		t.Errorf("an instrument that describes nothing takes everything: %v", err)
	}
}
