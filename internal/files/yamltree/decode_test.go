package yamltree

import (
	"bytes"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/google/go-cmp/cmp"
	reflected "github.com/invopop/jsonschema"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// everything has a field of each type, with each constraint.
type everything struct {
	shared
	Text   string             `json:"text,omitempty" jsonschema:"pattern=^[a-c]+$,minLength=1,maxLength=3"`
	Choice string             `json:"choice,omitempty" jsonschema:"enum=ab,enum=c"`
	Flag   bool               `json:"flag,omitempty"`
	Whole  int                `json:"whole,omitempty" jsonschema:"minimum=-1,maximum=3"`
	Count  *uint8             `json:"count,omitempty" jsonschema:"minimum=0,maximum=200"`
	Real   *float64           `json:"real,omitempty" jsonschema:"exclusiveMinimum=0,exclusiveMaximum=2"`
	List   []string           `json:"list,omitempty" jsonschema:"minItems=1,maxItems=2,uniqueItems=true"`
	Rates  map[string]float64 `json:"rates,omitempty"`
	Inner  *inner             `json:"inner,omitempty"`
	Inners []inner            `json:"inners,omitempty"`
	Any    any                `json:"any,omitempty"`
	Goals  []string           `json:"goals,omitempty" jsonschema:"maxItems=2,enum=ab,enum=c"`
	Lists  [][]string         `json:"lists,omitempty" jsonschema:"minItems=2"`
	Hidden string             `json:"-"`
}

type shared struct {
	Unit string `json:"unit" jsonschema:"required"`
}

type inner struct {
	Name string `json:"name" jsonschema:"required"`
	Max  int    `json:"max,omitempty"`
}

// Law: what a tree says is in the struct, what it does not say stays as it was, and what
// others point to is not touched.
func TestDecode(t *testing.T) {
	count, half := uint8(7), 0.5
	five := inner{Max: 5}
	defaults := everything{
		Choice: "c",
		Whole:  2,
		Count:  &count,
		Inner:  &five,
		Real:   &half,
		List:   []string{"old", "older"},
		Hidden: "h",
	}
	got := defaults
	faults := read(t, `
unit: mS/cm
text: abc
flag: true
count: 9
list: [new]
rates: {a: 1, b: 25e-2}
inner: {name: i}
inners: [{name: j}, {name: k, max: -1e2}]
any: [1, {x: y}]
goals: [c, ab]
`).Decode(&got)
	nine := uint8(9)
	want := everything{
		shared: shared{"mS/cm"}, Text: "abc", Choice: "c", Flag: true, Whole: 2, Count: &nine, Real: &half, List: []string{"new"},
		Rates: map[string]float64{"a": 1, "b": 0.25}, Inner: &inner{"i", 5}, Inners: []inner{{"j", 0}, {"k", -100}},
		Any: []any{json.Number("1"), map[string]any{"x": "y"}}, Goals: []string{"c", "ab"}, Hidden: "h",
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(everything{})); diff != "" || len(faults) > 0 {
		t.Errorf("%v\n(-want +got):\n%s", faults, diff)
	}
	if count != 7 || five.Name != "" || defaults.List[0] != "old" {
		t.Error("the defaults were changed")
	}
}

// pace is a type that decodes itself.
type pace time.Duration

func (p *pace) UnmarshalJSON(data []byte) error {
	if string(data) != `"slow"` {
		return fmt.Errorf("%s is not a pace: write slow", data)
	}
	*p = pace(time.Hour)
	return nil
}

// Law: every fault is reported at once, at its place, with what to do; of a misspelled key
// and a missing one only the first.
func TestDecodeFaults(t *testing.T) {
	text := `txt: abc
text: 12
choice: d
flag: 'true'
whole: 2.5
count: -1
real: 0,5
list: a b
rates: {a: x, b: 1}
inner: {nam: i}
inners: [{max: 1e30}, 3, {name: x, max: 1e-7}]
pace: 7
strange: 1
any:
single: 1e39
`
	var to struct {
		everything
		Pace   pace    `json:"pace"`
		Single float32 `json:"single"`
	}
	faults := read(t, text).Decode(&to)
	var got []string
	for _, f := range NewError("f.yaml", nil, "", faults).Faults {
		got = append(got, fmt.Sprintf("%d:%d %s", f.Line, f.Column, f))
	}
	want := []string{
		`1:1 txt: unknown key "txt"; did you mean "text"?`,
		`1:1 "unit" is missing`,
		`2:7 text: it must be text, and this is a number; a name that looks like a number goes in quotes: "12"`,
		`3:9 choice: "d" is not possible here; choose from ab, c`,
		`4:7 flag: it must be true or false, and this is text`,
		`5:8 whole: 2.5 is not a whole number`,
		`6:8 count: -1 is too small; the least is 0`,
		`7:7 real: it must be a number, and this is text; write 0.5, with a point`,
		`8:7 list: it must be a list, and this is text; write a list in brackets: [a, b]`,
		`9:12 rates.a: it must be a number, and this is text`,
		`10:9 inner.nam: unknown key "nam"; did you mean "name"?`,
		`11:10 inners[0]: "name" is missing`,
		`11:16 inners[0].max: 1e+30 is too large a number`,
		`11:23 inners[1]: it must be a mapping (key: value), and this is a number`,
		`11:41 inners[2].max: 1e-07 is not a whole number`,
		`12:7 pace: 7 is not a pace: write slow`,
		`13:1 strange: unknown key "strange"; the keys here are unit, text, choice, flag, whole, count, real, list, rates, inner, inners, any, goals, lists, pace, single`,
		`14:1 any: there is no value; give it one, or remove the key`,
		`15:9 single: 1e+39 is too large a number`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if to.Rates["b"] != 1 {
		t.Error("what is beside a fault was not decoded")
	}
}

// Law: Decode refuses exactly what the JSON Schema of the same struct refuses.
func TestDecodeAgreesWithSchema(t *testing.T) {
	r := &reflected.Reflector{ExpandedStruct: true, RequiredFromJSONSchemaTags: true}
	generated := r.Reflect(&everything{})
	text := must.Get(json.Marshal(generated))(t)
	plain := must.Get(jsonschema.UnmarshalJSON(bytes.NewReader(text)))(t)
	c := jsonschema.NewCompiler()
	must.Do(t, c.AddResource("urn:everything", plain))
	schema := must.Get(c.Compile("urn:everything"))(t)
	scalars := []string{"a", "ab", "abc", "abcc", "''", "d", "true", "-2", "-1", "0", "1", "1e0", "2",
		"2.5", "3", "4", "200", "201", "1e-7"}
	values := map[string][]string{
		"list":    {"[]", "[a]", "[a, b]", "[a, a]", "[a, b, c]", "[1]", "a"},
		"goals":   {"[]", "[ab]", "[c, ab]", "[ab, d]", "[c, c, c]", "[1]"},
		"lists":   {"[]", "[[a]]", "[[a], [b]]", "[[a, b], []]"},
		"rates":   {"{}", "{a: 1}", "{a: 1, b: 2}", "{a: b}", "[]"},
		"inner":   {"{name: a}", "{}", "{name: a, max: 1}", "{name: a, mox: 1}", "a"},
		"inners":  {"[]", "[{name: a}]", "[{max: 1}]", "{name: a}"},
		"any":     {"0", "x", "[1]"},
		"hidden":  {"x"},
		"unknown": {"1"},
	}
	for _, key := range []string{"text", "choice", "flag", "whole", "count", "real"} {
		values[key] = scalars
	}
	sound := 0
	for key, written := range values {
		for _, value := range written {
			for _, text := range []string{"unit: m\n" + key + ": " + value, key + ": " + value} {
				root := read(t, text)
				var to everything
				faults := root.Decode(&to)
				invalid := schema.Validate(root.Plain())
				if (len(faults) == 0) != (invalid == nil) {
					t.Errorf("%s\nfaults %v\nschema %v", text, faults, invalid)
				}
				if invalid == nil {
					sound++
				}
			}
		}
	}
	if sound < 20 {
		t.Errorf("only %d settings are sound", sound)
	}
}

// Law: of what could not be read, and was reported, nothing more is said, nor is it
// decoded; also where an alias brings it.
func TestDecodeFaulty(t *testing.T) {
	root, faults := Read([]byte("a: &a .nan\nb: *a\nc: [*a, 1]\nd: 2"), tests)
	to := struct {
		A float64   `json:"a" jsonschema:"required,enum=3"`
		B float64   `json:"b" jsonschema:"enum=3"`
		C []float64 `json:"c" jsonschema:"enum=1"`
		D float64   `json:"d"`
	}{A: 7}
	further := root.Decode(&to)
	if len(faults) != 1 || len(further) != 0 || to.A != 7 || to.D != 2 {
		t.Errorf("%v, further %v, %+v", faults, further, to)
	}
	if diff := cmp.Diff(map[string]any{"c": []any{nil, json.Number("1")}, "d": json.Number("2")},
		root.Plain()); diff != "" {
		t.Errorf("plain (-want +got):\n%s", diff)
	}
}

// Law: a programmer's mistake panics: nothing is left unchecked in silence.
func TestDecodePanics(t *testing.T) {
	root := read(t, "a: 1")
	for what, to := range map[string]any{
		"no pointer": everything{},
		"an unknown constraint": &struct {
			A int `json:"a" jsonschema:"multipleOf=2"`
		}{},
		"a broken constraint": &struct {
			A int `json:"a" jsonschema:"minimum=x"`
		}{},
		"a complex number": &struct {
			A complex128 `json:"a"`
		}{},
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", what)
				}
			}()
			root.Decode(to)
		}()
	}
}
