package instruments_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/campaignd/campaignd/adapters/instruments"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/tests/must"
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

		{"sd 0", func(m *events.Measurement) { m.Objective.SD, m.Further[0].SD = ptr(0.0), ptr(0.0) }, false, "", ""},
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
			if c.name == "sd 0" && (got.Objective.SD == nil || got.Further[0].SD == nil) {
				t.Errorf("a spread of 0 is lost: %+v", got)
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

// Law: of the parts of an answer that cannot be used, a hundred are kept one by one, as
// they were given; what is beyond them is kept in one more, which says how many they are.
func TestAdmitKeepsAHundredParts(t *testing.T) {
	for parts, together := range map[int]int{99: 0, 100: 0, 101: 1, 103: 3} {
		m := measurement()
		for i := range parts {
			m.Unread = append(m.Unread, events.Unread{Field: fmt.Sprint("f", i), Text: fmt.Sprint("t", i), Reason: fmt.Sprint("r", i)})
		}
		got := must.Get(instruments.Admit(campaign(), m))(t)
		alone := parts - together
		if len(got.Unread) < alone || !slices.Equal(got.Unread[:alone], m.Unread[:alone]) {
			t.Fatalf("of %d parts, the first %d are not kept as they were: %+v", parts, alone, got.Unread)
		}
		rest := got.Unread[alone:]
		if together == 0 {
			if len(rest) != 0 {
				t.Errorf("of %d parts, there is more: %+v", parts, rest)
			}
			continue
		}
		if len(rest) != 1 || !strings.HasPrefix(rest[0].Reason, fmt.Sprint(together, " more parts")) {
			t.Fatalf("of %d parts, the last %d are kept as %+v", parts, together, rest)
		}
		for _, u := range m.Unread[alone:] {
			if !strings.Contains(rest[0].Text, u.Text) {
				t.Errorf("of %d parts, %s is lost: %+v", parts, u.Text, rest)
			}
		}
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

// described is a description without fault.
func described() instruments.Description {
	return instruments.Description{
		Name: "acme/mixer", Identity: "M2, serial 0042", Capacity: 1,
		Parameters: []instruments.ParameterSpec{
			{Name: "lipf6", Unit: "mol/kg", Min: ptr(0.0), Max: ptr(2.0), Step: 0.01}, {Name: "solvent", Categories: []string{"EC"}},
		},
		Outputs: []instruments.OutputSpec{{Name: "conductivity", Unit: "mS/cm"}},
	}
}

// What names itself in a way that no log takes is refused before anything moves.
func TestCheckDescription(t *testing.T) {
	for _, text := range []string{"a\x07b", "a\nb", "a\x1b[2Jb", "a\u0085b", "a\u202eb", "a\u2028b", "a\xffb", strings.Repeat("ü", 1001)} {
		for field, set := range map[string]func(*instruments.Description){
			"name":      func(d *instruments.Description) { d.Name = text },
			"identity":  func(d *instruments.Description) { d.Identity = text },
			"parameter": func(d *instruments.Description) { d.Parameters[0].Name = text },
			"unit":      func(d *instruments.Description) { d.Parameters[0].Unit = text },
			"category":  func(d *instruments.Description) { d.Parameters[1].Categories[0] = text },
			"output":    func(d *instruments.Description) { d.Outputs[0].Name = text },
			"of output": func(d *instruments.Description) { d.Outputs[0].Unit = text },
		} {
			d := described()
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
	if err := instruments.CheckDescription(described()); err != nil {
		t.Error(err)
	}
}

// Law: a text may be as long as docs/process-instrument.md says, counted in characters,
// and not longer: 200, and 1,000 for the identity.
func TestCheckDescriptionLengths(t *testing.T) {
	for most, set := range map[int][]func(*instruments.Description, string){
		200: {
			func(d *instruments.Description, s string) { d.Name = s },
			func(d *instruments.Description, s string) { d.Parameters[0].Name = s },
			func(d *instruments.Description, s string) { d.Parameters[0].Unit = s },
			func(d *instruments.Description, s string) { d.Parameters[1].Categories[0] = s },
			func(d *instruments.Description, s string) { d.Outputs[0].Name = s },
			func(d *instruments.Description, s string) { d.Outputs[0].Unit = s },
		},
		1000: {func(d *instruments.Description, s string) { d.Identity = s }},
	} {
		for i, set := range set {
			d := described()
			set(&d, strings.Repeat("試", most))
			if err := instruments.CheckDescription(d); err != nil {
				t.Errorf("text %d of %d characters: %v", i, most, err)
			}
			set(&d, strings.Repeat("試", most+1))
			if err := instruments.CheckDescription(d); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("at most %d", most)) {
				t.Errorf("text %d of %d characters: %v", i, most+1, err)
			}
		}
	}
}

// Law: a description that contradicts itself, or says nothing, is refused with that one
// fault, whatever the campaign; one at the edge of that is not.
func TestCheckDescriptionSense(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*instruments.Description)
		want   string // the one fault; empty: none
	}{
		{"no name", func(d *instruments.Description) { d.Name = "" }, "it has no name"},
		{"no capacity", func(d *instruments.Description) { d.Capacity = 0 }, "its capacity is 0"},
		{"a parameter without a name", func(d *instruments.Description) { d.Parameters[0].Name = "" }, "a parameter has no name"},
		{"a parameter twice", func(d *instruments.Description) { d.Parameters[1].Name = "lipf6" }, `the parameter "lipf6" twice`},
		{"an output without a name", func(d *instruments.Description) { d.Outputs[0].Name = "" }, "an output has no name"},
		{"an output twice", func(d *instruments.Description) { d.Outputs = append(d.Outputs, d.Outputs[0]) }, `the output "conductivity" twice`},
		{"an output called as a parameter", func(d *instruments.Description) { d.Outputs[0].Name = "lipf6" }, ""},
		{"limits the wrong way round", func(d *instruments.Description) { d.Parameters[0].Min = ptr(3.0) }, "limits 3 to 2"},
		{"a limit that is NaN", func(d *instruments.Description) { d.Parameters[0].Min = ptr(math.NaN()) }, "limits NaN to 2"},
		{"a limit alone", func(d *instruments.Description) { d.Parameters[0].Min, d.Parameters[0].Max = ptr(3.0), nil }, ""},
		{"limits that are one number", func(d *instruments.Description) { d.Parameters[0].Min = ptr(2.0) }, ""},
		{"no step", func(d *instruments.Description) { d.Parameters[0].Step = 0 }, ""},
		{"a negative step", func(d *instruments.Description) { d.Parameters[0].Step = -1 }, "step -1"},
		{"a step that is NaN", func(d *instruments.Description) { d.Parameters[0].Step = math.NaN() }, "step NaN"},
		{"an infinite step", func(d *instruments.Description) { d.Parameters[0].Step = math.Inf(1) }, "step +Inf"},
	} {
		d := described()
		c.change(&d)
		err := instruments.CheckDescription(d)
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%s: %v", c.name, err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n")):
			t.Errorf("%s: %v, want one fault with %q", c.name, err, c.want)
		}
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

// Law: of a text that is too long so many characters are kept, and its size in bytes is
// told; what is not UTF-8 becomes the replacement character, what a terminal obeys an
// escape, and everything else stays.
func TestLegible(t *testing.T) {
	for _, c := range []struct {
		text string
		most int
		want string
	}{
		{"", 0, ""},
		{"a cause\nin two\tlines", 100, "a cause\nin two\tlines"},
		{"試料", 2, "試料"},
		{"試料です", 2, "試料… (12 bytes)"},
		{"ab", 1, "a… (2 bytes)"},
		{"a\xffb\xe8\xa9", 10, "a\ufffdb\ufffd\ufffd"},
		{"a\ufffdb", 10, "a\ufffdb"},
		{"\xff\xff\xff", 2, "\ufffd\ufffd… (3 bytes)"},
		{"a\x1b[2Jb\u202e", 10, `a\u001b[2Jb\u202e`},
	} {
		if got := instruments.Legible(c.text, c.most); got != c.want {
			t.Errorf("%q in %d characters is %q, want %q", c.text, c.most, got, c.want)
		}
	}
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
