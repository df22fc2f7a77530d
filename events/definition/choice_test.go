package definition_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/campaignd/campaignd/events/definition"
)

// Law: a choice is an object with its name as the one key, null where nothing is chosen,
// and is read back as it was; what chooses twice, or has settings that are no object,
// is refused.
func TestChoiceJSON(t *testing.T) {
	pump := definition.NewChoice("process", map[string]any{"command": []string{"./pump", "-q"}})
	for _, c := range []struct {
		choice definition.Choice
		want   string
	}{
		{definition.Choice{}, `null`},
		{definition.NewChoice("manual", nil), `{"manual":{}}`},
		{pump, `{"process":{"command":["./pump","-q"]}}`},
	} {
		text, err := json.Marshal(c.choice)
		if err != nil || string(text) != c.want {
			t.Errorf("%v is written as %s, %v; want %s", c.choice, text, err, c.want)
			continue
		}
		back := pump
		if err := json.Unmarshal(text, &back); err != nil || !back.Equal(c.choice) || back.IsZero() != (c.want == "null") {
			t.Errorf("%s is read back as %v, %v", text, back, err)
		}
	}
	for text, want := range map[string]definition.Choice{
		`{}`:               {},
		`{"manual": null}`: definition.NewChoice("manual", nil),
		`{"process": {"command": [ "./pump", "-q" ]}}`: pump,
	} {
		var got definition.Choice
		if err := json.Unmarshal([]byte(text), &got); err != nil || !got.Equal(want) {
			t.Errorf("%s is read as %v, %v; want %v", text, got, err, want)
		}
	}
	for text, want := range map[string]string{
		`{"manual": {}, "process": {}}`: "more than one",
		`{"process": ["./pump"]}`:       "not an object",
		`["manual"]`:                    "cannot unmarshal",
	} {
		got := pump
		if err := json.Unmarshal([]byte(text), &got); err == nil || !strings.Contains(err.Error(), want) || !got.Equal(pump) {
			t.Errorf("%s is read as %v, %v; want an error that says %q", text, got, err, want)
		}
	}
}

// Law: an instrument or an expert is one object, in which the choice is one key among the
// fields, the first, and is read back as it was; where nothing is chosen there is none.
func TestChoiceBesideFields(t *testing.T) {
	manual := definition.NewChoice("manual", map[string]string{"instructions": "Rinse."})
	for _, c := range []struct {
		value any
		want  string
	}{
		{definition.Instrument{}, `{}`},
		{definition.Instrument{Driver: manual}, `{"manual":{"instructions":"Rinse."}}`},
		{definition.Instrument{ByHand: true}, `{"by_hand":true}`},
		{
			definition.Instrument{Driver: manual, Steps: map[string]float64{"salt": 0.01}, StallAfter: definition.Duration(15e8), ByHand: true},
			`{"manual":{"instructions":"Rinse."},"steps":{"salt":0.01},"stall_after":"1.5s","by_hand":true}`,
		},
		{definition.Expert{Name: "ada"}, `{"name":"ada"}`},
		{definition.Expert{Name: "ada", Channel: definition.NewChoice("terminal", nil), Person: true}, `{"terminal":{},"name":"ada","person":true}`},
	} {
		text, err := json.Marshal(c.value)
		if err != nil || string(text) != c.want {
			t.Errorf("%+v is written as %s, %v; want %s", c.value, text, err, c.want)
			continue
		}
		back := reflect.New(reflect.TypeOf(c.value))
		if err := json.Unmarshal(text, back.Interface()); err != nil || !reflect.DeepEqual(back.Elem().Interface(), c.value) {
			t.Errorf("%s is read back as %+v, %v", text, back.Elem(), err)
		}
	}
	for _, text := range []string{`{"manual":{},"process":{},"by_hand":true}`, `{"manual":1}`, `{"by_hand":1}`, `[]`} {
		var i definition.Instrument
		if err := json.Unmarshal([]byte(text), &i); err == nil || !strings.HasPrefix(err.Error(), "instrument: ") || !reflect.DeepEqual(i, definition.Instrument{}) {
			t.Errorf("%s is read as %+v, %v", text, i, err)
		}
	}
}

// Law: a campaign in which nothing is said of an instrument has none in its definition, and
// whatever is said of one stands there, be it a single field.
func TestInstrumentIsZero(t *testing.T) {
	said := map[string]definition.Instrument{
		"Driver":      {Driver: definition.NewChoice("manual", nil)},
		"Steps":       {Steps: map[string]float64{"salt": 0.01}},
		"Draws":       {Draws: map[string]definition.Draw{"tips": "2"}},
		"StallAfter":  {StallAfter: definition.Duration(1e9)},
		"GiveUpAfter": {GiveUpAfter: definition.Duration(1e9)},
		"ByHand":      {ByHand: true},
	}
	for i := range reflect.TypeFor[definition.Instrument]().NumField() {
		if name := reflect.TypeFor[definition.Instrument]().Field(i).Name; said[name].IsZero() {
			t.Errorf("an instrument of which %s is said counts as none, or is not here", name)
		}
	}
	for name, i := range said {
		var members map[string]json.RawMessage
		text, err := json.Marshal(definition.Campaign{Instrument: i})
		if err == nil {
			err = json.Unmarshal(text, &members)
		}
		if err != nil || members["instrument"] == nil {
			t.Errorf("%s: the definition is %s, %v", name, text, err)
		}
	}
	for name, i := range map[string]definition.Instrument{"nothing": {}, "no steps": {Steps: map[string]float64{}}} {
		text, err := json.Marshal(definition.Campaign{Instrument: i})
		if err != nil || !i.IsZero() || strings.Contains(string(text), "instrument") {
			t.Errorf("%s is said of an instrument, and the definition is %s, %v", name, text, err)
		}
	}
}
