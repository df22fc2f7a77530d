package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/campaignd/campaignd/adapters/instruments"
	"github.com/campaignd/campaignd/events"
)

// The messages shown in the documentation are messages of the protocol.
func TestDocumentation(t *testing.T) {
	text, err := os.ReadFile("../../../../docs/process-instrument.md")
	if err != nil {
		t.Fatal(err)
	}
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
				if o := DecodeOutcome(r.Outcome, nil); o.Status != instruments.Measured {
					t.Errorf("%+v", o)
				}
			}
			if r.Description != nil {
				if err := CheckDescription(*r.Description); err != nil {
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
		`{"id":7,"outcome":{"cause":"it was NaN"}}`:         "",
	} {
		r, err := DecodeReply([]byte(line))
		var nonFinite *NonFiniteError
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
	if _, err := DecodeReply([]byte(`{"id":7,"ok":truNaN}`)); errors.As(err, new(*NonFiniteError)) {
		t.Error("any slip is taken for NaN")
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
	requested := events.Point{"salt": events.Number(1)}
	f.Fuzz(func(t *testing.T, line []byte) {
		UnknownFields(line)
		r, _ := DecodeReply(line)
		if r.Outcome == nil {
			return
		}
		switch o := DecodeOutcome(r.Outcome, requested); o.Status {
		case instruments.Measured:
			if o.Measurement == nil || math.IsNaN(o.Measurement.Objective.Value) || math.IsInf(o.Measurement.Objective.Value, 0) || o.Measurement.Actual == nil {
				t.Errorf("%q became %+v", line, o)
			}
			if !bytes.Contains(r.Outcome, []byte("value")) && !bytes.Contains(bytes.ToLower(r.Outcome), []byte("value")) && !bytes.Contains(r.Outcome, []byte(`\u`)) {
				t.Errorf("%q has no value and became %+v", line, o.Measurement)
			}
		case instruments.Failed, instruments.Cancelled, instruments.Unknown:
			if o.Cause == "" || o.Measurement != nil {
				t.Errorf("%q became %+v", line, o)
			}
		default:
			t.Errorf("%q became the status %q", line, o.Status)
		}
	})
}

func TestCheckLimits(t *testing.T) {
	low, high := 0.1, 0.3
	d := instruments.Description{Parameters: []instruments.ParameterSpec{
		{Name: "salt", Unit: "mol/kg", Min: &low, Max: &high},
		{Name: "solvent", Categories: []string{"EC", "DMC"}},
	}}
	ec := events.Category("EC")
	for _, test := range []struct {
		name  string
		point events.Point
		want  string // of the error
	}{
		{"inside", events.Point{"salt": events.Number(0.2), "solvent": ec}, ""},
		{"on the limit, up to rounding", events.Point{"salt": events.Number(0.1 + 0.2), "solvent": ec}, ""},
		{"below", events.Point{"salt": events.Number(0.0999), "solvent": ec}, "below"},
		{"above", events.Point{"salt": events.Number(0.3001), "solvent": ec}, "above"},
		{"NaN", events.Point{"salt": events.Number(math.NaN()), "solvent": ec}, "NaN"},
		{"a parameter too few", events.Point{"salt": events.Number(0.2)}, "solvent is missing"},
		{"a parameter too many", events.Point{"salt": events.Number(0.2), "solvent": ec, "sugar": ec}, "no parameter sugar"},
		{"no such category", events.Point{"salt": events.Number(0.2), "solvent": events.Category("H2O")}, "H2O"},
		{"a number for a category", events.Point{"salt": events.Number(0.2), "solvent": events.Number(1)}, "solvent"},
		{"a category for a number", events.Point{"salt": ec, "solvent": ec}, "not a number"},
	} {
		t.Run(test.name, func(t *testing.T) {
			err := CheckLimits(d, test.point)
			if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
	if err := CheckLimits(instruments.Description{}, events.Point{"anything": ec}); err != nil {
		t.Errorf("an instrument that describes nothing takes everything: %v", err)
	}
}

// Lines of any length and ending are told apart.
func TestEachLine(t *testing.T) {
	var got []string
	var long []int
	input := "a\n\nb\r\n" + strings.Repeat("x", MaxLine+5) + "\n" + strings.Repeat("y", 1<<17) + "\nend"
	EachLine(strings.NewReader(input), func(l []byte) { got = append(got, string(l[:min(len(l), 3)])) }, func(n int) { long = append(long, n) })
	if want := []string{"a", "", "b\r", "yyy", "end"}; strings.Join(got, "|") != strings.Join(want, "|") {
		t.Errorf("got %q, want %q", got, want)
	}
	if len(long) != 1 || long[0] != MaxLine+6 {
		t.Errorf("too long: %v", long)
	}
}
