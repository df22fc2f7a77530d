package server_test

import (
	"encoding/json"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/campaignd/campaignd/internal/engine"
)

// Law: what contradicts itself, or lacks what it is about, is refused by the API and by a store's
// protocol alike, as a fault of what was sent, in the same words; nothing is recorded.
func TestEachChannelRefusesTheSame(t *testing.T) {
	c := serve(t)
	c.begin(bench)
	before := c.sequence()
	for _, f := range []struct{ operation, part, body, says string }{
		{"tell", "tell", `{"experiment":"e1","parameters":{"x":0.5,"salt":1},"value":1}`, "give one of experiment and parameters"},
		{"tell", "tell", `{"value":1}`, "say which experiment it is"},
		{"tell", "tell", `{"experiment":"e1"}`, "give the value, or the reason for its absence"},
		{"tell", "tell", `{"experiment":"e1","value":2,"failed":"it leaked"}`, "has no value: give one of the two"},
		{"tell", "tell", `{"experiment":"e1","failed":"it leaked","again":"no argon"}`, "at most one of failed, infeasible and again"},
		{"tell", "tell", `{"parameters":{},"value":1}`, "parameters is empty"},
		{"tell", "tell", `{"experiment":"e1","value":1,"actual":{}}`, "actual is empty"},
		{"import", "import", `[]`, "nothing to take over"},
		{"import", "import", `[{"parameters":{"x":0.5,"salt":1},"value":1},{"parameters":{"x":0.5,"salt":1}}]`, "row 2: give the value"},
		{"correct", "correct", `{"experiment":"e1","value":1,"reason":" "}`, "a correction needs a reason"},
		{"correct", "correct", `{"experiment":"e1","actual":{},"reason":"x"}`, "actual is empty"},
		{"resolve", "resolve", `{"experiment":"e1","resolution":"measured","value":1,"actual":{}}`, "actual is empty"},
		{"cancel", "cancel", `{"experiment":"e1","voided":"power","end_program":true}`, "give one of the two"},
		{"exclude", "exclude", `{"about":"e1","reason":" "}`, "an exclusion needs a reason"},
		{"exclude", "exclude", `{"region":{},"reason":"x"}`, "region is empty"},
		{"exclude", "exclude", `{"point":{},"reason":"x"}`, "point is empty"},
		{"stocks", "count", `{"stock":"tips"}`, "a count gives the labels that are there, or the amount"},
		{"stocks", "count", `{"stock":"tips","labels":"A1","amount":"3 mL"}`, "a count gives the labels that are there, or the amount"},
		{"anchors", "anchors", `{"expert":"ada","points":[]}`, "name the compositions"},
		{"anchors", "anchors", `{"expert":"ada","points":[{"x":0.5,"salt":1},{}]}`, "points[1] is empty"},
	} {
		var answers []string
		for _, way := range []struct{ path, body string }{
			{f.operation, f.body},
			{"control/v1/requests", `{"campaign":"bench","request":{"actor":"person:ada","` + f.part + `":` + f.body + `}}`},
		} {
			status, _, text := c.do("POST", "/api/v1/campaigns/bench/"+way.path, "application/json", way.body)
			var answer struct {
				Code, Detail string
				Error        struct{ Code, Detail string }
			}
			if err := json.Unmarshal(text, &answer); err != nil {
				t.Fatalf("%s: %v: %s", way.body, err, text)
			}
			code, detail := answer.Code+answer.Error.Code, answer.Detail+answer.Error.Detail
			if status != http.StatusBadRequest || code != "invalid" || !strings.Contains(detail, f.says) {
				t.Errorf("%s to %s: %d %s", way.body, way.path, status, text)
			}
			answers = append(answers, detail)
		}
		if answers[0] != answers[1] {
			t.Errorf("%s: refused as %q and as %q", f.body, answers[0], answers[1])
		}
	}
	if after := c.sequence(); after != before {
		t.Errorf("%d events became %d", before, after)
	}
}

// Law: a composition that cannot be read is answered with its place, as a fault of what was sent.
func TestUnreadableCompositions(t *testing.T) {
	c := serve(t)
	c.begin(bench)
	before := c.sequence()
	for _, f := range []struct{ path, body, place string }{
		{"campaigns/bench/tell", `{"parameters":{"x":0.5,"salt":true},"value":1}`, "parameters.salt"},
		{"campaigns/bench/tell", `{"experiment":"e1","value":1,"actual":{"x":null}}`, "actual.x"},
		{"campaigns/bench/tell", `{"experiment":null,"parameters":{"x":[],"a":{}},"value":null}`, "parameters.a"},
		{"campaigns/bench/import", `[{"parameters":{"x":0.5,"salt":1},"value":1},{"parameters":{"x":"","salt":1},"value":1}]`, "row 2: parameters.x"},
		{"campaigns/bench/correct", `{"experiment":"e1","actual":{"x":{}},"reason":"x"}`, "actual.x"},
		{"campaigns/bench/resolve", `{"experiment":"e1","resolution":"measured","value":1,"actual":{"x":""}}`, "actual.x"},
		{"campaigns/bench/exclude", `{"point":{"x":false},"reason":"x"}`, "point.x"},
		{"campaigns/bench/anchors", `{"expert":"ada","points":[{"x":0.5,"salt":1},{"x":[1]}]}`, "points[1].x"},
	} {
		status, _, text := c.do("POST", "/api/v1/"+f.path, "application/json", f.body)
		want := `"detail":"` + f.place + ` is neither a number nor the name of a category"`
		if status != http.StatusBadRequest || !strings.Contains(string(text), want) {
			t.Errorf("%s: %d %s, want %s", f.body, status, text, want)
		}
	}
	if after := c.sequence(); after != before {
		t.Errorf("%d events became %d", before, after)
	}
}

// Law: a body has the fields of the engine's request, all of them and no others.
func TestBodiesAreTheRequests(t *testing.T) {
	c := serve(t)
	var document struct {
		Components struct {
			Schemas map[string]struct{ Properties map[string]any }
		}
	}
	c.get("/api/v1/openapi.json", &document)
	for name, request := range map[string]reflect.Type{
		"Tell": reflect.TypeFor[engine.Tell](), "Correction": reflect.TypeFor[engine.Correct](),
		"Resolution": reflect.TypeFor[engine.Resolve](), "Exclusion": reflect.TypeFor[engine.Exclude](),
		"Permission": reflect.TypeFor[engine.Allow](), "Anchors": reflect.TypeFor[engine.Anchors](),
		"Note": reflect.TypeFor[engine.Note](), "EngineTell": reflect.TypeFor[engine.Tell](),
	} {
		var fields []string
		for i := range request.NumField() {
			field, _, _ := strings.Cut(request.Field(i).Tag.Get("json"), ",")
			fields = append(fields, field)
		}
		var there []string
		for property := range document.Components.Schemas[name].Properties {
			there = append(there, property)
		}
		slices.Sort(fields)
		slices.Sort(there)
		if !slices.Equal(fields, there) {
			t.Errorf("%s has %v, the request %v", name, there, fields)
		}
	}
}
