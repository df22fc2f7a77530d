package server_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/mod/sumdb/note"

	"github.com/campaignd/campaignd/adapters/instruments"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/files/builtin"
	"github.com/campaignd/campaignd/internal/lab"
	"github.com/campaignd/campaignd/internal/tests/draws"
	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/internal/web/server"
)

// forgetful is a device that does not know what became of anything; each is another one.
type forgetful struct {
	silent
	number int64
}

func (f forgetful) Describe(context.Context) (instruments.Description, error) {
	return instruments.Description{Name: "forgetful", Identity: fmt.Sprint("forgetful ", f.number), Capacity: 1}, nil
}

func (forgetful) Await(context.Context, instruments.Command) (instruments.Outcome, error) {
	return instruments.Outcome{Status: instruments.Unknown, Cause: "the plug was pulled"}, nil
}

// sampled is a campaign that requests are sent to; x and y are never 0 where nobody says so.
const sampled = `
name: NAME
seed: 1
parameters: [{name: x, min: -1, max: 1}, {name: y, min: -1, max: 1}, {name: k, categories: [a, b]}]
objective: {name: flow, unit: mL/s, goal: maximize}
`

// Campaigns by what is open in them.
var (
	manually   = sampled + "initial: {experiments: 4}\nbudget: {experiments: 9}\ninstrument: manual\npolicy: sobol\n"
	withStocks = strings.Replace(manually, "instrument: manual", "instrument: {manual: {}, draws: {tips: 2, solvent: 5*(2 - x) mL}}", 1) +
		"stocks: {tips: {labels: A1-H12}, solvent: {amount: 2000 mL}}\n"
	unknown   = sampled + "initial: {experiments: 1}\nbudget: {experiments: 1}\ninstrument: forgetful\npolicy: sobol\n"
	several   = manually + declared
	arriving  = manually + "quantities: [{name: capacity, unit: mAh, arrives: later, answer_within: 3d}]\n"
	forgotten = unknown + declared
	inPairs   = sampled + "initial: {experiments: 2, comparisons: 1}\n" + asksAda + "policy: {trust: coexbo}\n"
	inWords   = sampled + "initial: {experiments: 2, labels: 2}\n" + asksAda + "policy: cobol\n"
	inNumbers = sampled + "initial: {experiments: 2, estimates: 4}\n" + asksAda
	inColumns = sampled + "initial: {experiments: 2, estimates: 4}\nquantities: [{name: purity}]\nconstraints_on_outcomes: [purity >= 0.1]\n" +
		strings.Replace(asksAda, "name: ada", "name: ada, quantities: [flow, purity]", 1)
	inPlaces = sampled + "initial: {experiments: 2, labels: 2}\n" + asksAda + "policy: {trust: {cobol: {feedback: pinpoint}}}\n"
)

// compares is a campaign that measures nothing.
var compares = sampled + "budget: {comparisons: 9}\nexperts: [{name: ada, web: {}}]\npolicy: {duel: {raeubo: {alpha: 1}}}\n"

// Of campaigns that declare their quantities.
const declared = "quantities: [{name: loss, unit: mL/s}, {name: ph}]\n"

const asksAda = "budget: {experiments: 9}\ninstrument: manual\nexperts: [{name: ada, web: {}}]\n"

// What was sent before a sample.
var (
	measured     = []string{"/campaigns/NAME/tell", `{"experiment": "e1", "value": 1.5}`}
	bothMeasured = append(slices.Clone(measured), "/campaigns/NAME/tell", `{"experiment": "e2", "value": 2.5}`)
	modeled      = append([]string{"/questions/NAME/q1", `{"answer": "accept"}`, "/questions/NAME/q2", `{"answer": "reject"}`}, bothMeasured...)
)

// sample is a request with which an operation is tried.
type sample struct {
	campaign string
	// before are requests that come first, each a path and a body.
	before []string
	body   string
}

// samples have each field of each operation's body at least once, and are accepted as they are.
// CHECKPOINT is one of the campaign's store, KEY a verifier key.
var samples = map[string][]sample{
	"tell": {
		{campaign: manually, body: `{"experiment": "e1", "value": 2.5, "unit": "mL/s", "sd": 0.25, "anyway": true,
			"actual": {"x": 0.125, "y": 0.375, "k": "b"}, "further": [{"name": "pH", "value": 7.5, "unit": "one", "sd": 0.75}]}`},
		{campaign: manually, body: `{"parameters": {"x": 0.125, "y": 0.375, "k": "a"}, "value": 2.5, "notes": ["cloudy"]}`},
		{campaign: manually, body: `{"experiment": "e1", "failed": "it leaked"}`},
		{campaign: manually, body: `{"experiment": "e1", "infeasible": "it froze"}`},
		{campaign: manually, body: `{"experiment": "e1", "again": "the door was open"}`},
		{campaign: several, body: `{"experiment": "e1", "quantities": [{"name": "loss", "value": 2.5, "unit": "mL/s", "sd": 0.25}],
			"missing": [{"name": "ph", "reason": "the electrode broke"}, {"name": "flow", "reason": "it was clogged"}]}`},
		{campaign: arriving, body: `{"experiment": "e1", "later": true}`},
	},
	"results": {{campaign: manually, body: `[
		{"experiment": "e1", "value": 2.5, "unit": "mL/s", "sd": 0.25, "anyway": true, "notes": ["cloudy"],
			"actual": {"x": 0.125, "y": 0.375, "k": "b"}, "further": [{"name": "pH", "value": 7.5, "unit": "one", "sd": 0.75}]},
		{"parameters": {"x": 0.125, "y": 0.375, "k": "a"}, "value": 2.5}]`},
		{campaign: manually, body: `[{"experiment": "e1", "failed": "it leaked"}]`},
		{campaign: manually, body: `[{"experiment": "e1", "infeasible": "it froze"}]`},
		{campaign: manually, body: `[{"experiment": "e1", "again": "the door was open"}]`},
		{campaign: several, body: `[{"experiment": "e1", "quantities": [{"name": "loss", "value": 2.5, "unit": "mL/s", "sd": 0.25}],
			"missing": [{"name": "ph", "reason": "the electrode broke"}, {"name": "flow", "reason": "it was clogged"}]}]`},
		{campaign: arriving, body: `[{"experiment": "e1", "later": true}]`}},
	"import": {{campaign: arriving, body: `[{"parameters": {"x": 0.125, "y": 0.375, "k": "a"}, "later": true}]`},
		{campaign: several, body: `[{"parameters": {"x": 0.125, "y": 0.375, "k": "a"},
		"quantities": [{"name": "loss", "value": 2.5, "unit": "mL/s", "sd": 0.25}],
		"missing": [{"name": "ph", "reason": "the electrode broke"}, {"name": "flow", "reason": "it was clogged"}]}]`},
		{campaign: manually, body: `[
		{"parameters": {"x": 0.125, "y": 0.375, "k": "a"}, "value": 2.5, "notes": ["cloudy"], "sd": 0.25,
			"actual": {"x": 0.25, "y": 0.5, "k": "b"}, "further": [{"name": "pH", "value": 7.5, "unit": "one", "sd": 0.75}], "unit": "mL/s"},
		{"parameters": {"x": 0.625, "y": 0.875, "k": "b"}, "infeasible": "it froze"},
		{"parameters": {"x": 0.6875, "y": 0.9375, "k": "b"}, "failed": "it leaked", "anyway": true}]`}},
	"correct": {
		{campaign: manually, before: measured,
			body: `{"experiment": "e1", "outcome": "measured", "value": 2.5, "sd": 0.25, "actual": {"x": 0.125, "y": 0.375, "k": "a"},
				"further": [{"name": "pH", "value": 7.5, "unit": "one", "sd": 0.75}], "anyway": true, "reason": "misread"}`},
		{campaign: several, before: []string{"/campaigns/NAME/tell", `{"experiment": "e1", "value": 1.5, "quantities": [{"name": "ph", "value": 7}]}`},
			body: `{"experiment": "e1", "quantities": [{"name": "loss", "value": 2.5, "unit": "mL/s", "sd": 0.25}], "leave_out": ["ph"], "reason": "misread"}`},
		{campaign: manually, before: measured, body: `{"experiment": "e1", "exclude": true, "reason": "the wrong vial"}`},
		{campaign: manually, before: measured, body: `{"experiment": "e1", "outcome": "failed", "reason": "misread"}`},
	},
	"resolve": {
		{campaign: unknown, body: `{"experiment": "e1", "resolution": "measured", "value": 2.5, "sd": 0.25, "actual": {"x": 0.125, "y": 0.375, "k": "a"},
			"further": [{"name": "pH", "value": 7.5, "unit": "one", "sd": 0.75}], "anyway": true, "reason": "on the display"}`},
		{campaign: forgotten, body: `{"experiment": "e1", "resolution": "measured", "reason": "on the display",
			"quantities": [{"name": "loss", "value": 2.5, "unit": "mL/s", "sd": 0.25}],
			"missing": [{"name": "ph", "reason": "the electrode broke"}, {"name": "flow", "reason": "it was clogged"}]}`},
		{campaign: unknown, body: `{"experiment": "e1", "resolution": "not-performed", "repeat": true, "reason": "the vial is full"}`},
		{campaign: unknown, body: `{"experiment": "e1", "resolution": "failed", "voided": "power", "reason": "the vial is full"}`},
	},
	"resolve-many": {
		{campaign: unknown, body: `[{"experiment": "e1", "resolution": "measured", "value": 2.5, "sd": 0.25, "actual": {"x": 0.125, "y": 0.375, "k": "a"},
			"further": [{"name": "pH", "value": 7.5, "unit": "one", "sd": 0.75}], "anyway": true, "reason": "on the display"}]`},
		{campaign: forgotten, body: `[{"experiment": "e1", "resolution": "measured", "reason": "on the display",
			"quantities": [{"name": "loss", "value": 2.5, "unit": "mL/s", "sd": 0.25}],
			"missing": [{"name": "ph", "reason": "the electrode broke"}, {"name": "flow", "reason": "it was clogged"}]}]`},
		{campaign: unknown, body: `[{"experiment": "e1", "resolution": "not-performed", "repeat": true, "reason": "the vial is full"}]`},
		{campaign: unknown, body: `[{"experiment": "e1", "resolution": "failed", "voided": "power", "reason": "the vial is full"}]`},
	},
	"count-stock": {
		{campaign: manually, body: `{"stock": "rack", "labels": "C1-D2", "lot": "2206-17", "reason": "a new rack"}`},
		{campaign: manually, body: `{"stock": "drum", "amount": "12.5 mL"}`},
	},
	"free-place": {{campaign: manually, body: `{"place": "oven", "campaign": "plates", "batch": "b3", "reason": "taken out"}`}},
	"service-instrument": {
		{campaign: manually, body: `{"resource": "meter", "out": true, "reason": "lamp exchanged", "files": ["https://lab.example.org/1.pdf"]}`},
		{campaign: manually, body: `{"resource": "meter", "out": false, "calibrated_until": "2999-01-01"}`},
	},
	"abort-device": {{campaign: unknown, body: `{"device": "none", "reason": "a leak"}`}},
	"cancel": {
		{campaign: unknown, body: `{"experiment": "e1", "end_program": true, "reason": "the vial is full"}`},
		{campaign: unknown, body: `{"experiment": "e1", "voided": "power", "reason": "the vial is full"}`},
	},
	"exclude": {
		{campaign: manually, body: `{"point": {"x": 0.125, "y": 0.375, "k": "a"}, "reason": "toxic"}`},
		{campaign: manually, body: `{"region": {"x": {"min": 0.125, "max": 0.375}, "k": {"is": "a"}}, "reason": "toxic"}`},
		{campaign: manually, body: `{"about": "e1", "reason": "toxic"}`},
	},
	"allow": {{campaign: manually, before: []string{"/campaigns/NAME/exclude", `{"about": "e1", "reason": "toxic"}`},
		body: `{"exclusion": "n1", "reason": "not at all"}`}},
	"anchor": {{campaign: compares, body: `{"expert": "ada", "points": [{"x": 0.125, "y": 0.375, "k": "a"}], "instead": true, "reason": "I made it"}`}},
	"note":   {{campaign: manually, body: `{"text": "cloudy", "about": "e1"}`}},
	"count": {
		{campaign: withStocks, body: `{"stock": "tips", "labels": "C1-D2", "lot": "2206-17", "reason": "a new rack"}`},
		{campaign: withStocks, body: `{"stock": "solvent", "amount": "12.5 mL"}`},
	},
	"attach-uri": {{campaign: manually, body: `{"experiment": "e1", "name": "run.csv", "media_type": "text/csv", "uri": "https://data.example.org/7",
		"digest": "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08", "size": 4, "quantity": "pH", "comment": "raw"}`}},
	"withdraw-file": {{campaign: manually, before: []string{"/campaigns/NAME/attach-uri", `{"name": "7", "uri": "https://data.example.org/7"}`},
		body: `{"file": "f1", "reason": "of another cell"}`}},
	"pause-campaign":  {{campaign: manually, body: `{"reason": "cleaning"}`}},
	"resume-campaign": {{campaign: manually, before: []string{"/campaigns/NAME/pause", "{}"}, body: `{"reason": "clean"}`}},
	"abort-campaign":  {{campaign: manually, body: `{"reason": "a leak"}`}},
	"stop-campaign":   {{campaign: manually, body: `{"reason": "enough"}`}, {campaign: unknown, body: `{"reason": "a leak", "now": true}`}},
	"answer-question": {
		{campaign: inPairs, before: bothMeasured, body: `{"order": ["B", "A"], "comment": "by its color", "took": 2.5, "shown": {"at": 3, "best": "e1", "nearest": ["e1", "e2"]}}`},
		{campaign: inWords, body: `{"answer": "accept", "saw": ""}`},
		{campaign: inNumbers, body: `{"estimates": [1.5, 2, 2.5, 3.5]}`},
		{campaign: inColumns, body: `{"columns": {"flow": [1.5, 2, 2.5, 3.5], "purity": [0.25, 0.5]}}`},
		{campaign: inPlaces, before: modeled, body: `{"point": {"x": 0.125, "y": 0.375, "k": "a"}}`},
	},
	"predict": {{campaign: inPlaces, before: modeled, body: `{"points": [{"x": 0.125, "y": 0.375, "k": "a"}]}`}},
	"begin-what-if": {{campaign: manually, body: `{"method": "random", "without": "ada", "experiments": 2,
		"require": ["flow >= 1"], "without_constraints": ["flow <= 9"], "worst": {"flow": 1}, "weight": {"flow": 2},
		"maximize": "flow / loss", "minimize": "loss", "definition": "name: bench"}`}},
	"begin-audit":  {{campaign: manually, body: `{"since": [{"file": "kept", "text": "CHECKPOINT"}], "keys": ["KEY"], "except": ["v9"], "files": true}`}},
	"prove-growth": {{campaign: manually, body: `{"from": "CHECKPOINT"}`}},
	"verify":       {{campaign: manually, body: `{"files": [{"file": "kept", "text": "CHECKPOINT"}], "keys": ["KEY"]}`}},
}

// recordless are the operations that record nothing in a campaign: they only read what is sent.
var recordless = []string{"abort-device", "count-stock", "free-place", "predict", "begin-what-if", "begin-audit", "prove-growth", "verify", "service-instrument"}

// reworded are fields whose text is not recorded as it is: it is looked up, or read as words.
var reworded = []string{"answer", "order", "saw", "experiment", "exclusion"}

// never are fields that stand in the document, and are refused in each body.
var never = map[string][]string{"import": {"experiment", "again"}}

// wrong is what each field is given; gone stands for its absence.
var wrong = []any{"", nil, "sentinel", 0.0625, []any{}, []any{"sentinel"}, map[string]any{}, map[string]any{"sentinel": "sentinel"}, true, gone{}}

type gone struct{}

// trier tries samples.
type trier struct {
	*client
	document document
	campaign string // the one in use, "" where the last request changed it
	made     int
	values   int // that could be tried
}

type document struct {
	Paths map[string]map[string]struct {
		OperationID string `json:"operationId"`
		Parameters  []struct {
			Name, In string
			Schema   map[string]any
		}
		RequestBody *struct {
			Content map[string]struct{ Schema map[string]any }
		}
	}
	Components struct{ Schemas map[string]map[string]any }
}

// plain is a schema without references and alternatives, and the JSON types that it admits.
func (d document) plain(schema map[string]any) (plain map[string]any, types []string) {
	if ref, ok := schema["$ref"].(string); ok {
		schema = d.Components.Schemas[strings.TrimPrefix(ref, "#/components/schemas/")]
	}
	if either, ok := schema["anyOf"].([]any); ok { // something, or null
		plain, types = d.plain(either[0].(map[string]any))
		return plain, append(types, "null")
	}
	switch t := schema["type"].(type) {
	case string:
		types = []string{t}
	case []any:
		for _, one := range t {
			types = append(types, one.(string))
		}
	}
	return schema, types
}

func typeOf(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case string:
		return "string"
	case float64:
		return "number"
	case bool:
		return "boolean"
	case []any:
		return "array"
	case gone:
		return "absent"
	}
	return "object"
}

// field is a place in a body, and what the API's document says of it.
type field struct {
	path     []any // names and indices
	types    []string
	required bool
	item     bool // of a list
}

// name is what an answer must say: the last name on the way, where there is one.
func (f field) name() string {
	for _, step := range slices.Backward(f.path) {
		if name, ok := step.(string); ok {
			return name
		}
	}
	return "body["
}

func (f field) String() string { return definition.Path(f.path).String() }

// fields are the places of a body. seen notes the properties that are there, by their place in
// the document.
func (d document) fields(schema map[string]any, body any, path []any, seen map[string]bool) (found []field) {
	schema, _ = d.plain(schema)
	at := func(step any) []any { return append(slices.Clone(path), step) }
	switch body := body.(type) {
	case map[string]any:
		properties, _ := schema["properties"].(map[string]any)
		required, _ := schema["required"].([]any)
		more, _ := schema["additionalProperties"].(map[string]any)
		for _, name := range slices.Sorted(maps.Keys(body)) {
			of, _ := properties[name].(map[string]any)
			seen[where(at(name))] = true
			f := field{path: at(name), required: slices.Contains(required, any(name))}
			if of == nil { // a name of the campaign, such as a parameter's
				of = more
			}
			if _, f.types = d.plain(of); f.types == nil { // a number, or a category's name
				f.types, f.required = []string{typeOf(body[name])}, true
			}
			found = append(found, f)
			found = append(found, d.fields(of, body[name], f.path, seen)...)
		}
	case []any:
		items, _ := schema["items"].(map[string]any)
		for i := range body {
			f := field{path: at(i), item: true}
			_, f.types = d.plain(items)
			found = append(found, f)
			found = append(found, d.fields(items, body[i], f.path, seen)...)
		}
	}
	return found
}

// where is a place in the document: without indices.
func where(path []any) string {
	var names []string
	for _, step := range path {
		if name, ok := step.(string); ok {
			names = append(names, name)
		}
	}
	return strings.Join(names, ".")
}

// properties are the places of a schema's own names.
func (d document) properties(schema map[string]any, path []any, deep int) (all []string) {
	schema, _ = d.plain(schema)
	if deep == 0 {
		return nil
	}
	properties, _ := schema["properties"].(map[string]any)
	for name, of := range properties {
		at := append(slices.Clone(path), name)
		all = append(append(all, where(at)), d.properties(of.(map[string]any), at, deep-1)...)
	}
	if items, ok := schema["items"].(map[string]any); ok {
		all = append(all, d.properties(items, path, deep-1)...)
	}
	return all
}

// with returns a copy of a body with another value at a place.
func with(body any, path []any, v any) any {
	if len(path) == 0 {
		return v
	}
	switch body := body.(type) {
	case map[string]any:
		copied, name := maps.Clone(body), path[0].(string)
		if _, absent := v.(gone); absent && len(path) == 1 {
			delete(copied, name)
			return copied
		}
		copied[name] = with(body[name], path[1:], v)
		return copied
	case []any:
		copied, i := slices.Clone(body), path[0].(int)
		if _, absent := v.(gone); absent && len(path) == 1 {
			return slices.Delete(copied, i, i+1)
		}
		copied[i] = with(body[i], path[1:], v)
		return copied
	}
	panic("no such place")
}

// leaves adds the values of a JSON value, each behind the name it stands under.
func leaves(into map[string]bool, name string, v any) {
	switch v := v.(type) {
	case map[string]any:
		for key, of := range v {
			leaves(into, key, of)
		}
	case []any:
		for _, of := range v {
			leaves(into, name, of)
		}
	default:
		text, _ := json.Marshal(v)
		into[name+"="+string(text)] = true
	}
}

// fresh begins a campaign for a sample, unless the one in use is as it was.
func (r *trier) fresh(s sample) {
	r.t.Helper()
	if r.campaign != "" {
		return
	}
	r.made++
	r.campaign = "c" + strconv.Itoa(r.made)
	r.begin(strings.ReplaceAll(s.campaign, "NAME", r.campaign))
	for i := 0; i < len(s.before); i += 2 {
		r.open(s)
		r.post(strings.ReplaceAll("/api/v1"+s.before[i], "NAME", r.campaign), s.before[i+1], http.StatusOK, nil)
	}
	r.open(s)
}

// open waits until something is open in the campaign, and returns the question, if there is one.
func (r *trier) open(s sample) (question string) {
	r.t.Helper()
	if s.campaign == unknown || s.campaign == forgotten {
		for late := time.Now().Add(patience); ; {
			_, _, text := r.do("GET", "/api/v1/campaigns/"+r.campaign+"/experiments", "", "")
			if strings.Contains(string(text), `"status":"unresolved"`) {
				return ""
			}
			if time.Now().After(late) {
				r.t.Fatalf("nothing is unresolved: %s", text)
			}
			time.Sleep(time.Millisecond)
		}
	}
	var list suggestion
	if r.post("/api/v1/campaigns/"+r.campaign+"/suggest", "", http.StatusOK, &list); len(list.Questions) > 0 {
		return list.Questions[0].ID
	}
	return ""
}

// text is a sample's body for the campaign in use.
func (r *trier) text(s sample) string {
	if !strings.Contains(s.body, "CHECKPOINT") {
		return s.body
	}
	_, key := must.Get2(note.GenerateKey(rand.Reader, "lab"))(r.t)
	var checkpoint struct{ Text string }
	r.get("/api/v1/campaigns/"+r.campaign+"/checkpoint", &checkpoint)
	quoted, _ := json.Marshal(checkpoint.Text)
	return strings.NewReplacer(`"CHECKPOINT"`, string(quoted), "KEY", key).Replace(s.body)
}

// send sends a body and returns what was answered, with the data of the events that it recorded.
func (r *trier) send(path string, s sample, body any) (status int, answer string, recorded []any) {
	r.t.Helper()
	path = strings.NewReplacer("{campaign}", r.campaign, "{question}", r.open(s), "{decision}", "e1").Replace("/api/v1" + path)
	text := must.Get(json.Marshal(body))(r.t)
	status, _, said := r.do("POST", path, "application/json", string(text))
	var events struct{ Recorded []struct{ Data any } }
	if status < 300 {
		_ = json.Unmarshal(said, &events) // what records nothing has none
	}
	for _, e := range events.Recorded {
		recorded = append(recorded, e.Data)
	}
	return status, string(said), recorded
}

// log are the data of all events of the campaign.
func (r *trier) log() map[string]bool {
	found := make(map[string]bool)
	_, _, text := r.do("GET", "/api/v1/campaigns/"+r.campaign+"/events", "", "")
	for line := range strings.Lines(string(text)) {
		var e struct{ Data any }
		if json.Unmarshal([]byte(line), &e) == nil {
			leaves(found, "", e.Data)
		}
	}
	return found
}

// try sends a sample with each field as each kind of value.
func (r *trier) try(id, path string, schema map[string]any, s sample, seen map[string]bool) {
	r.campaign = ""
	r.fresh(s)
	var body any
	if err := json.Unmarshal([]byte(r.text(s)), &body); err != nil {
		r.t.Fatalf("%s: %v", s.body, err)
	}
	known := r.log()
	status, answer, recorded := r.send(path, s, body)
	records := !slices.Contains(recordless, id)
	if status >= 300 && records || records && len(recorded) == 0 {
		r.t.Errorf("%s: %s is answered %d %s", id, s.body, status, answer)
		return
	}
	leaves(known, "", recorded)
	r.campaign = ""
	for _, f := range r.document.fields(schema, body, nil, seen) {
		for _, v := range wrong {
			if _, absent := v.(gone); absent && f.item {
				continue // a shorter list is another list
			}
			r.values++
			if !draws.Whole() && r.values%7 != 0 {
				continue
			}
			r.fresh(s)
			status, answer, recorded := r.send(path, s, with(body, f.path, v))
			if status < 300 && records {
				r.campaign = "" // it is not as it was
			}
			given, _ := json.Marshal(v)
			if _, absent := v.(gone); absent {
				given = []byte("nothing at all")
			}
			say := func(what string) {
				r.t.Helper()
				r.t.Errorf("%s of %s = %s %s: %d %.300s", f, id, given, what, status, answer)
			}
			kind := typeOf(v)
			admitted := slices.Contains(f.types, kind) ||
				kind == "number" && slices.Contains(f.types, "integer") || kind == "absent" && !f.required
			switch {
			case status >= 500:
				say("is no fault of the server's")
			case status >= 400:
				if !admitted && kind != "absent" && !strings.Contains(answer, f.name()) {
					say("is refused without its name")
				}
			case !admitted:
				say("is accepted")
			case records:
				r.means(f, v, known, recorded, say)
			}
		}
	}
}

// means checks that what was recorded of a request is what it says: nothing that was neither sent
// nor known before, and the value that was sent.
func (r *trier) means(f field, v any, known map[string]bool, recorded []any, say func(string)) {
	r.t.Helper()
	sent, got := make(map[string]bool), make(map[string]bool)
	leaves(sent, f.name(), v)
	leaves(got, "", recorded)
	for leaf := range got {
		_, value, _ := strings.Cut(leaf, "=")
		// What was sent may stand under another name, as the cause of a failure; a neighborhood is
		// worked out, and sentences are the campaign's own.
		source := strings.HasPrefix(leaf, "corrects=") || strings.HasPrefix(leaf, "supersedes=") // an event by its number
		// The command that an experiment was given is the campaign's own.
		command := strings.HasPrefix(leaf, `command="c`+strconv.Itoa(r.made)+"/")
		own := source || command || sent[f.name()+"="+value] || strings.Contains(value, " ") || f.path[0] == "point" && f.name() != "point"
		if !known[leaf] && !own {
			say("records " + leaf)
		}
	}
	text, isText := v.(string)
	if number, is := v.(float64); is {
		text = strconv.FormatFloat(number, 'g', -1, 64)
	}
	if text == "" || isText && slices.Contains(reworded, f.name()) || f.path[0] == "point" {
		return
	}
	for leaf := range got {
		if _, value, _ := strings.Cut(leaf, "="); strings.Trim(value, `"`) == text {
			return
		}
	}
	say(fmt.Sprintf("is accepted and not recorded: %v", slices.Sorted(maps.Keys(got))))
}

// tries serves a lab with an instrument that forgets what it was given.
func tries(t *testing.T) *trier {
	t.Helper()
	var opened atomic.Int64
	reg := builtin.Registry()
	reg.Instruments = append(reg.Instruments, instruments.Driver{
		Name:     "forgetful",
		Settings: func() definition.Settings { return new(silentSettings) },
		Open: func(context.Context, definition.Campaign, instruments.Environment) (instruments.Instrument, error) {
			return forgetful{number: opened.Add(1)}, nil
		},
	})
	l := must.Get(lab.Open(t.Context(), lab.Options{Folder: t.TempDir(), Registry: reg}))(t)
	s := httptest.NewServer(server.New(server.Options{Lab: l, Version: "test"}).Handler())
	t.Cleanup(func() { s.Close(); l.Close() })
	r := &trier{client: &client{t, s.URL}}
	r.get("/api/v1/openapi.json", &r.document)
	return r
}

// Law: each field of each body that the API's own document names, given a value of each kind, is
// refused with its name, or means what it says: an empty text is not a number, and nothing is
// recorded that was not sent.
func TestEveryField(t *testing.T) {
	r := tries(t)
	only := os.Getenv("CAMPAIGND_OPERATION") // of the API, to try it alone
	for _, path := range slices.Sorted(maps.Keys(r.document.Paths)) {
		operations := r.document.Paths[path]
		for _, method := range slices.Sorted(maps.Keys(operations)) {
			operation := operations[method]
			r.query(method, path, operation.OperationID)
			if operation.RequestBody == nil || only != "" && only != operation.OperationID {
				continue
			}
			content, ok := operation.RequestBody.Content["application/json"]
			if !ok {
				continue
			}
			seen := make(map[string]bool)
			for _, s := range samples[operation.OperationID] {
				r.try(operation.OperationID, path, content.Schema, s, seen)
			}
			for _, name := range r.document.properties(content.Schema, nil, 5) {
				if !seen[name] && !slices.Contains(never[operation.OperationID], name) {
					t.Errorf("no sample of %s has %s", operation.OperationID, name)
				}
			}
		}
	}
}

// query gives each parameter that is not text in the address one that it cannot have.
func (r *trier) query(method, path, id string) {
	r.t.Helper()
	for _, p := range r.document.Paths[path][method].Parameters {
		_, types := r.document.plain(p.Schema)
		if p.In != "query" || slices.Contains(types, "string") || slices.Contains(types, "array") {
			continue
		}
		for _, v := range []string{"", "sentinel", "null", "[]", "1.5"} {
			at := strings.NewReplacer("{campaign}", "none", "{question}", "q1", "{decision}", "d1", "{audit}", "a1", "{whatif}", "w1").Replace(path)
			status, _, answer := r.do(strings.ToUpper(method), "/api/v1"+at+"?"+p.Name+"="+v, "", "")
			if status < 400 || status >= 500 || !strings.Contains(string(answer), p.Name) {
				r.t.Errorf("%s?%s=%s: %d %s", id, p.Name, v, status, answer)
			}
		}
	}
}
