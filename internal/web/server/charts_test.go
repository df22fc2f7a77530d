package server_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// handmade is a campaign whose measurements come by import, of one parameter.
const handmade = `name: handmade
parameters: [{name: x, min: 0, max: 1}, {name: y, min: 0, max: 1}]
objective: {name: flow, unit: mL/s, goal: maximize}
initial: {experiments: 2}
budget: {experiments: 9}
instrument: manual
`

// Law: what charts are drawn from is kept until the log grows, and no longer: with another measurement it is
// another one. Before there is a model it is not possible yet, and what makes no sense is refused.
func TestChartsFollowTheLog(t *testing.T) {
	g := guard(t)
	g.begin(handmade)
	token := g.token("scientist")
	get := func(path string, want int) string {
		t.Helper()
		status, body := g.as(token, "GET", "/api/v1/campaigns/handmade/"+path, "", "")
		if status != want {
			t.Fatalf("%s: %d %s", path, status, body)
		}
		return string(body)
	}
	measure := func(rows string) {
		t.Helper()
		status, body := g.as(token, "POST", "/api/v1/campaigns/handmade/import", "application/json", rows)
		if status != http.StatusOK && status != http.StatusCreated {
			t.Fatalf("import: %d %s", status, body)
		}
	}
	get("slices", http.StatusConflict)
	measure(`[{"parameters": {"x": 0.2, "y": 0.3}, "value": 1}, {"parameters": {"x": 0.8, "y": 0.4}, "value": 3}, {"parameters": {"x": 0.5, "y": 0.9}, "value": 2}]`)
	at := "at=" + url.QueryEscape(`{"x": 0.5, "y": 0.5}`)
	paths := []string{"slices?" + at, "slices?move=x&to=0.25&" + at, "map?x=x&y=y&" + at, "importance", "course", "course/believed"}
	before := make(map[string]string)
	for _, path := range paths {
		before[path] = get(path, http.StatusOK)
		if again := get(path, http.StatusOK); again != before[path] {
			t.Errorf("%s is another one, and nothing has happened", path)
		}
	}
	var moved struct {
		Here struct{ Parameters map[string]float64 }
	}
	if err := json.Unmarshal([]byte(before[paths[1]]), &moved); err != nil || moved.Here.Parameters["x"] != 0.25 || moved.Here.Parameters["y"] != 0.5 {
		t.Errorf("moved to %v, %v", moved, err)
	}
	measure(`[{"parameters": {"x": 0.5, "y": 0.45}, "value": 9}]`)
	for _, path := range paths[:5] {
		if get(path, http.StatusOK) == before[path] {
			t.Errorf("%s is as before the last measurement", path)
		}
	}
	for path, word := range map[string]string{
		"map?x=x&y=z": "no parameter", "map?x=x&y=x": "not a map", "map?x=x&y=y&z=x": "mixture", "slices?at=%7B": "composition",
		"slices?at=%7B%22x%22%3A1%7D": "y", "slices?move=x&to=far": "number",
	} {
		if said := get(path, http.StatusBadRequest); !strings.Contains(said, word) {
			t.Errorf("%s: %s", path, said)
		}
	}
}
