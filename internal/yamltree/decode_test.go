package yamltree

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	reflected "github.com/invopop/jsonschema"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"pgregory.net/rapid"
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
	Rates  map[string]float64 `json:"rates,omitempty" jsonschema:"minProperties=1,maxProperties=2"`
	Inner  *inner             `json:"inner,omitempty"`
	Inners []inner            `json:"inners,omitempty"`
	Any    any                `json:"any,omitempty"`
	Goals  []string           `json:"goals,omitempty" jsonschema:"maxItems=2,enum=ab,enum=c"`
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
	defaults := everything{Choice: "c", Whole: 2, Count: &count, Real: &half, List: []string{"old", "older"}, Hidden: "h"}
	got := defaults
	faults := read(t, `
unit: mS/cm
text: abc
flag: true
count: 9
list: [new]
rates: {a: 1, b: 25e-2}
inner: {name: i, max: 1e2}
inners: [{name: j}, {name: k, max: -1}]
any: [1, {x: y}]
goals: [c, ab]
`).Decode(&got)
	nine := uint8(9)
	want := everything{
		shared: shared{"mS/cm"}, Text: "abc", Choice: "c", Flag: true, Whole: 2, Count: &nine, Real: &half, List: []string{"new"},
		Rates: map[string]float64{"a": 1, "b": 0.25}, Inner: &inner{"i", 100}, Inners: []inner{{"j", 0}, {"k", -1}},
		Any: []any{json.Number("1"), map[string]any{"x": "y"}}, Goals: []string{"c", "ab"}, Hidden: "h",
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(everything{})); diff != "" || len(faults) > 0 {
		t.Errorf("%v\n(-want +got):\n%s", faults, diff)
	}
	if count != 7 || defaults.List[0] != "old" {
		t.Error("the defaults were changed")
	}
}

// pace is a type that decodes itself.
type pace time.Duration

func (p *pace) UnmarshalJSON(data []byte) error {
	if string(data) != `"slow"` {
		return fmt.Errorf("%s is no pace: write slow", data)
	}
	*p = pace(time.Hour)
	return nil
}

// Law: every fault is reported at once, at its place, with what to do; of a misspelt key
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
inners: [{max: 1e30}, 3]
pace: 7
strange: 1
any:
`
	var to struct {
		everything
		Pace pace `json:"pace"`
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
		`12:7 pace: 7 is no pace: write slow`,
		`13:1 strange: unknown key "strange"; the keys here are unit, text, choice, flag, whole, count, real, list, rates, inner, inners, any, goals, pace`,
		`14:1 any: there is no value; give it one, or remove the key`,
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
	rates, _ := generated.Properties.Get("rates") // the generator does not know these constraints
	one, two := uint64(1), uint64(2)
	rates.MinProperties, rates.MaxProperties = &one, &two
	text, err := json.Marshal(generated)
	if err != nil {
		t.Fatal(err)
	}
	plain, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("urn:everything", plain); err != nil {
		t.Fatal(err)
	}
	schema, err := c.Compile("urn:everything")
	if err != nil {
		t.Fatal(err)
	}
	sound, broken := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		scalar := rapid.SampledFrom([]string{"a", "ab", "abc", "abcc", "''", "d", "true", "-1", "0", "1", "1e0", "2", "2.5", "3", "4", "200", "201"})
		numbers := rapid.SampledFrom([]string{"0", "1", "0.5", "2", "x"})
		value := map[string]*rapid.Generator[string]{
			"unit": scalar, "text": scalar, "choice": scalar, "flag": scalar, "whole": scalar, "count": scalar, "real": scalar,
			"list":   rapid.SampledFrom([]string{"[]", "[a]", "[a, b]", "[a, a]", "[a, b, c]", "[1]", "a"}),
			"rates":  rapid.SampledFrom([]string{"{}", "{a: 1}", "{a: 1, b: 2}", "{a: 1, b: 2, c: 3}", "{a: b}", "[]"}),
			"inner":  rapid.SampledFrom([]string{"{name: a}", "{}", "{name: a, max: 1}", "{name: a, mox: 1}", "a"}),
			"inners": rapid.SampledFrom([]string{"[]", "[{name: a}]", "[{max: 1}]", "{name: a}"}),
			"any":    numbers, "hidden": numbers,
			"goals": rapid.SampledFrom([]string{"[]", "[ab]", "[c, ab]", "[ab, d]", "[c, c, c]", "[1]"}),
		}
		var b strings.Builder
		for _, key := range []string{"unit", "text", "choice", "flag", "whole", "count", "real", "list", "rates", "inner", "inners", "any", "hidden", "goals"} {
			if rapid.IntRange(0, 3).Draw(t, "has "+key) == 0 || key == "unit" && rapid.IntRange(0, 3).Draw(t, "unit") > 0 {
				fmt.Fprintf(&b, "%s: %s\n", key, value[key].Draw(t, key))
			}
		}
		root, faults := Read([]byte("unread: 1\n"+b.String()), tests)
		if len(faults) > 0 {
			t.Fatal(faults)
		}
		root = root.Without("unread")
		var to everything
		faults = root.Decode(&to)
		invalid := schema.Validate(root.Plain())
		if (len(faults) == 0) != (invalid == nil) {
			t.Fatalf("%s\nfaults %v\nschema %v", b.String(), faults, invalid)
		}
		if invalid == nil {
			sound++
		} else {
			broken++
		}
	})
	if sound == 0 || broken == 0 {
		t.Errorf("%d sound and %d broken settings", sound, broken)
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
