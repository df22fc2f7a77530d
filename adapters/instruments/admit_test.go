package instruments_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/campaignd/campaignd/adapters/instruments"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
)

// A fault of what the models learn from refuses a result; a fault of anything
// else never costs it, and what was faulty is kept.
func TestAdmit(t *testing.T) {
	noon := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	further := func(q ...definition.Quantity) func(*events.Measurement) {
		return func(m *events.Measurement) { m.Further = append(m.Further, q...) }
	}
	for _, c := range []struct {
		name     string
		change   func(*events.Measurement)
		refused  bool
		unread   string // the field that is kept aside; empty: none
		contains string // in its text
	}{
		{"nothing wrong", func(*events.Measurement) {}, false, "", ""},

		{"objective NaN", func(m *events.Measurement) { m.Objective.Value = math.NaN() }, true, "", ""},
		{"objective infinite", func(m *events.Measurement) { m.Objective.Value = math.Inf(-1) }, true, "", ""},
		{"objective of another name", func(m *events.Measurement) { m.Objective.Name = "viscosity" }, true, "", ""},
		{"objective in another unit", func(m *events.Measurement) { m.Objective.Unit = "S/m" }, true, "", ""},
		{"objective out of range", func(m *events.Measurement) { m.Objective.Value = 4000 }, true, "", ""},
		{"no composition", func(m *events.Measurement) { m.Actual = nil }, true, "", ""},
		{"a parameter too few", func(m *events.Measurement) { delete(m.Actual, "lipf6") }, true, "", ""},
		{"a parameter too many", func(m *events.Measurement) { m.Actual["water"] = definition.Number(1) },
			true, "", ""},
		{"a parameter that is NaN",
			func(m *events.Measurement) { m.Actual["lipf6"] = definition.Number(math.NaN()) }, true, "", ""},
		{"a parameter of another kind",
			func(m *events.Measurement) { m.Actual["lipf6"] = definition.Category("x") }, true, "", ""},

		{"sd NaN", func(m *events.Measurement) { m.Objective.SD = ptr(math.NaN()) }, false, "objective.sd", "NaN"},
		{"sd negative", func(m *events.Measurement) { m.Objective.SD = ptr(-1.0) }, false, "objective.sd", "-1"},
		{"further NaN", further(definition.Quantity{Name: "pH", Value: math.NaN()}), false, "further 2 (pH)", "NaN"},
		{"further without a name", further(definition.Quantity{Value: 7}), false, "further 2 ()", "7"},
		{"further twice", further(definition.Quantity{Name: "viscosity", Value: 3}), false,
			"further 2 (viscosity)", "3"},
		{"further called as the objective", further(definition.Quantity{Name: "conductivity", Value: 3}),
			false, "further 2 (conductivity)", "3"},
		{"further with an impossible unit", further(definition.Quantity{Name: "pH", Unit: "a\x1b[2Jb"}),
			false, "further 2 (pH)", "[2J"},
		{"further with an endless name", further(definition.Quantity{Name: strings.Repeat("x", 300)}),
			false, "further 2 (xxx", "xxx"},
		{"sd of a further one", further(definition.Quantity{Name: "pH", Value: 7, SD: ptr(math.Inf(1))}),
			false, "further 2 (pH).sd", "Inf"},
		{"began in the year 12000", func(m *events.Measurement) { m.Began = noon.AddDate(10000, 0, 0) },
			false, "began", "12026"},
		{"ended before it began",
			func(m *events.Measurement) { m.Began, m.Ended = noon, noon.Add(-time.Hour) }, false, "ended", "11:00"},
		{"an endless identity", func(m *events.Measurement) { m.Identity = strings.Repeat("x", 1<<20) }, false, "", ""},
		{"an identity of another alphabet and none",
			func(m *events.Measurement) { m.Identity = "ü\x00\xff\u202e" }, false, "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := measurement()
			c.change(&m)
			got, err := instruments.Admit(campaign(), m)
			if c.refused {
				if !errors.As(err, new(*instruments.MeasurementError)) {
					t.Fatalf("it was admitted: %+v, %v", got, err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got.Objective.Value != 12.9 || len(got.Further) == 0 || got.Further[0].Value != 3.1 {
				t.Errorf("what was good is lost: %+v", got)
			}
			switch {
			case c.unread == "" && got.Unread != nil:
				t.Errorf("kept aside: %+v", got.Unread)
			case c.unread != "" && (len(got.Unread) != 1 || !strings.HasPrefix(got.Unread[0].Field, c.unread) ||
				!strings.Contains(got.Unread[0].Text, c.contains) || got.Unread[0].Reason == ""):
				t.Errorf("kept aside: %+v, want %s with %q", got.Unread, c.unread, c.contains)
			}
			if err := instruments.Check(campaign(), got); err != nil {
				t.Errorf("what was admitted is faulty: %v", err)
			}
			recordable(t, &events.ExperimentMeasured{
				Experiment:  "e1",
				Instrument:  "x",
				Measurement: got,
			}, "instrument:x")
		})
	}
}

// However much an instrument says, what is made of it fits into the log.
func TestAdmitFitsTheLog(t *testing.T) {
	huge := measurement()
	for i := range 50_000 {
		huge.Further = append(huge.Further, definition.Quantity{
			Name: fmt.Sprint(strings.Repeat("<", 100), i),
			Unit: strings.Repeat("<", 50),
		})
		huge.Unread = append(huge.Unread, events.Unread{Field: "<<<<", Text: "\x00\x01<<<<<<<<<<<", Reason: "<<<<<<<<"})
	}
	got, err := instruments.Admit(campaign(), huge)
	if err != nil || got.Objective != huge.Objective || len(got.Unread) == 0 {
		t.Fatalf("%v, %v", got.Objective, err)
	}
	recordable(t, &events.ExperimentMeasured{Experiment: "e1", Instrument: "x", Measurement: got}, "instrument:x")
	o := instruments.Outcome{
		Status:   instruments.Failed,
		Cause:    strings.Repeat("\xff\x00<", 1<<20),
		Rejected: strings.Repeat("<", 32<<20),
	}.Recordable()
	recordable(t, &events.ExperimentFailed{
		Experiment: "e1",
		Instrument: "x",
		Cause:      o.Cause,
		Rejected:   o.Rejected,
	}, "instrument:x")
	if !strings.Contains(o.Cause, "(3145728 bytes)") {
		t.Errorf("the cause does not say that it was clipped: …%s", o.Cause[len(o.Cause)-40:])
	}
}

// recordable fails the test if the log would refuse the event.
func recordable(t *testing.T, payload events.Payload, actor string) {
	t.Helper()
	e, err := events.New("check", payload)
	if err != nil {
		t.Fatalf("no event can be made of it: %v", err)
	}
	e.Position, e.Sequence, e.ID, e.Actor, e.Time = 1, 1, "1", actor, time.Unix(0, 0).UTC()
	if _, err := events.AppendRecord(nil, e); err != nil {
		t.Fatalf("the log refuses it: %v", err)
	}
	if _, err := events.Decode(e); err != nil {
		t.Fatalf("it cannot be read back: %v", err)
	}
	if !json.Valid(e.Data) || !utf8.Valid(e.Data) {
		t.Fatal("its payload is not JSON in UTF-8")
	}
}

// What names itself in a way that no log takes is refused before anything moves.
func TestCheckDescription(t *testing.T) {
	good := func() instruments.Description {
		return instruments.Description{
			Name: "acme/mixer", Identity: "M2, serial 0042", Capacity: 1,
			Parameters: []instruments.ParameterSpec{{Name: "lipf6", Unit: "mol/kg"}, {Name: "solvent",
				Categories: []string{"EC"}}},
			Outputs: []instruments.OutputSpec{{Name: "conductivity", Unit: "mS/cm"}},
		}
	}
	for _, text := range []string{"a\x07b", "a\nb", "a\x1b[2Jb", "a\u0085b", "a\u202eb", "a\u2028b",
		"a\xffb", strings.Repeat("ü", 1001)} {
		for field, set := range map[string]func(*instruments.Description){
			"name":      func(d *instruments.Description) { d.Name = text },
			"identity":  func(d *instruments.Description) { d.Identity = text },
			"parameter": func(d *instruments.Description) { d.Parameters[0].Name = text },
			"unit":      func(d *instruments.Description) { d.Parameters[0].Unit = text },
			"category":  func(d *instruments.Description) { d.Parameters[1].Categories[0] = text },
			"output":    func(d *instruments.Description) { d.Outputs[0].Name = text },
			"of output": func(d *instruments.Description) { d.Outputs[0].Unit = text },
		} {
			d := good()
			set(&d)
			err := instruments.CheckDescription(d)
			if err == nil || !strings.Contains(err.Error(), field) ||
				strings.ContainsFunc(err.Error(), func(r rune) bool { return r != '\n' && r < ' ' }) {
				t.Errorf("%s %.20q: %v", field, text, err)
			}
			if instruments.Compatible(d, campaign()) == nil {
				t.Errorf("%s %.20q fits a campaign", field, text)
			}
		}
	}
	if err := instruments.CheckDescription(good()); err != nil {
		t.Error(err)
	}
	d := good()
	d.Name = strings.Repeat("試", 200)
	if err := instruments.CheckDescription(d); err != nil {
		t.Errorf("200 characters: %v", err)
	}
}

// An instrument whose description passes can be the actor of an event.
func FuzzDescription(f *testing.F) {
	for _, seed := range []string{"acme/mixer", "a\nb", "\u202e", "\xff", strings.Repeat("試", 201)} {
		f.Add(seed, seed)
	}
	f.Fuzz(func(t *testing.T, name, identity string) {
		if instruments.CheckDescription(instruments.Description{Name: name, Identity: identity, Capacity: 1}) != nil {
			return
		}
		recordable(t, &events.ExperimentStarted{
			Experiment: "e1",
			Command:    "c/e1",
			Instrument: name,
		}, "instrument:"+name)
	})
}

// A legible text is UTF-8, holds nothing that a terminal obeys, and stays what
// it is if it was legible.
func FuzzLegible(f *testing.F) {
	f.Add("a cause\nin two lines", 10)
	f.Add("\x1b]0;owned\x07\u202e\xff", 5)
	f.Fuzz(func(t *testing.T, text string, most int) {
		most = max(0, most%5000)
		got := instruments.Legible(text, most)
		if !utf8.ValidString(got) ||
			strings.ContainsFunc(got,
				func(r rune) bool { return r < ' ' && r != '\n' && r != '\t' || r == 0x7f || r == '\u202e' }) {
			t.Errorf("%q became %q", text, got)
		}
		if again := instruments.Legible(got, len(got)); again != got {
			t.Errorf("%q became %q the second time", got, again)
		}
	})
}
