package server_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/campaignd/campaignd/internal/tests/must"
)

// Law: what if is asked over the API and worked out beside; what comes of it has the decision that was really
// made, what would have been decided, and says in words what stood in for the lab; it is found again in its
// campaign alone; the campaign's log is as it was.
func TestWhatIf(t *testing.T) { bothWays(t, asksWhatIf) }

func asksWhatIf(t *testing.T) {
	c := serve(t)
	source := "name: branin\nparameters: [{name: x1, min: -5, max: 10}, {name: x2, min: 0, max: 15}]\n" +
		"objective: {name: value, goal: minimize}\ninitial: {experiments: 3}\nbudget: {experiments: 6}\ninstrument: {simulated: branin}\npolicy: logei\n"
	c.begin(source)
	c.begin(strings.Replace(source, "name: branin", "name: other", 1))
	var campaign struct {
		Status string
		Events int
	}
	for began := time.Now(); campaign.Status != "completed"; time.Sleep(10 * time.Millisecond) {
		if c.get("/api/v1/campaigns/branin", &campaign); time.Since(began) > time.Minute {
			t.Fatalf("it does not end: %+v", campaign)
		}
	}
	type run struct {
		ID, State, Method string
		Done, Of          int
		Caveats           []string
		Answer            *struct {
			Decided, Suggested struct {
				Decision string
				Policy   struct{ Next string }
			}
			StandIn  string `json:"stand_in"`
			Imagined []struct{ Value *float64 }
		}
		Problem *struct{ Code string }
	}
	count := func() int { return strings.Count(string(c.text("/api/v1/campaigns/branin/events")), "\n") }
	before := count()
	var begun, done run
	c.post("/api/v1/campaigns/branin/decisions/d1/what-if", `{"method": "sobol", "experiments": 2}`, http.StatusAccepted, &begun)
	c.get("/api/v1/campaigns/branin/what-ifs/"+begun.ID+"?wait=60", &done)
	a := done.Answer
	if done.State != "done" || done.Done != 2 || done.Of != 2 || a == nil || a.Decided.Policy.Next != "logei" || a.Suggested.Policy.Next != "sobol" ||
		a.Suggested.Decision != "d1" || a.StandIn != "simulator" || len(a.Imagined) != 2 || a.Imagined[0].Value == nil ||
		!strings.Contains(strings.Join(done.Caveats, " "), "is a simulation") {
		t.Errorf("%+v, %+v", done, a)
	}
	c.post("/api/v1/campaigns/branin/decisions/d99/what-if", `{"method": "sobol"}`, http.StatusNotFound, nil)
	c.post("/api/v1/campaigns/branin/decisions/d1/what-if", `{"method": "magic"}`, http.StatusNotFound, nil)
	c.post("/api/v1/campaigns/branin/decisions/d1/what-if", `{"without": "nobody"}`, http.StatusAccepted, &begun) // they may have been one
	c.get("/api/v1/campaigns/branin/what-ifs/"+begun.ID+"?wait=60", &done)
	if done.State != "failed" || done.Problem == nil || done.Problem.Code != "not_found" {
		t.Errorf("without somebody who never was an expert: %+v", done)
	}
	c.post("/api/v1/campaigns/branin/what-ifs/"+begun.ID+"/cancel", "", http.StatusOK, &done)
	if done.State != "failed" {
		t.Errorf("one that is over was cancelled: %+v", done)
	}
	var list struct {
		WhatIfs []run `json:"what_ifs"`
	}
	if c.get("/api/v1/campaigns/branin/what-ifs", &list); len(list.WhatIfs) != 2 || list.WhatIfs[0].ID != begun.ID || list.WhatIfs[1].Answer != nil {
		t.Errorf("the list: %+v", list)
	}
	if c.get("/api/v1/campaigns/other/what-ifs", &list); len(list.WhatIfs) != 0 {
		t.Errorf("the list of another campaign: %+v", list)
	}
	if status, _, text := c.do("GET", "/api/v1/campaigns/other/what-ifs/"+begun.ID, "", ""); status != http.StatusNotFound {
		t.Errorf("in another campaign: %d %s", status, text)
	}
	if after := count(); after != before {
		t.Errorf("the log grew from %d to %d events", before, after)
	}
}

// Law: another bound, worst value, objective or file is asked for over the API in fields of their own, and judged by both;
// what an amendment would refuse is refused with its fields.
func TestWhatIfElseIsSought(t *testing.T) {
	c := serve(t)
	source := "name: several\nparameters: [{name: lipf6, unit: mol/kg, min: 0.2, max: 2.1}, {name: ec, unit: kg/kg, min: 0.3, max: 0.52}, {name: dmc, min: 0, max: 1}]\n" +
		"quantities: [{name: conductivity, unit: mS/cm}, {name: viscosity, unit: mPa·s, scale: log}]\n" +
		"objective: {tradeoff: [{maximize: conductivity, worst: 6}, {minimize: viscosity}]}\nconstraints_on_outcomes: [viscosity <= 5]\n" +
		"initial: {experiments: 4}\nbudget: {experiments: 6}\ninstrument: {simulated: {task: electrolyte, noise: 0.14}}\n"
	c.begin(source)
	var campaign struct{ Status string }
	for began := time.Now(); campaign.Status != "completed"; time.Sleep(10 * time.Millisecond) {
		if c.get("/api/v1/campaigns/several", &campaign); time.Since(began) > time.Minute {
			t.Fatalf("it does not end: %+v", campaign)
		}
	}
	type run struct {
		ID, State string
		Answer    *struct {
			Changes []struct{ Path, From, To string }
			Judged  []struct {
				By     string
				Really struct {
					Keep        *int `json:"keep_constraints"`
					Hypervolume *float64
				}
			}
			Imagined []struct{ Quantities []struct{ Name, Unit string } }
		}
		Problem *struct {
			Code   string
			Faults []struct{ Field, Message string }
		}
	}
	ask := func(body any) (done run) {
		t.Helper()
		text := must.Get(json.Marshal(body))(t)
		c.post("/api/v1/campaigns/several/decisions/d1/what-if", string(text), http.StatusAccepted, &done)
		c.get("/api/v1/campaigns/several/what-ifs/"+done.ID+"?wait=60", &done)
		return done
	}
	for _, body := range []map[string]any{
		{"require": []string{"viscosity <= 4"}}, {"without_constraints": []string{"viscosity <= 5"}}, {"worst": map[string]any{"conductivity": 8}},
		{"maximize": "conductivity / sqrt(viscosity)"}, {"minimize": "viscosity"}, {"definition": strings.Replace(source, "<= 5", "<= 3", 1)},
	} {
		body["experiments"] = 1
		a := ask(body).Answer
		if a == nil || len(a.Changes) == 0 || len(a.Judged) != 2 || a.Judged[0].Really.Hypervolume == nil || a.Judged[0].Really.Keep == nil ||
			len(a.Imagined) != 1 || len(a.Imagined[0].Quantities) < 2 {
			t.Errorf("%v: %+v", body, a)
		}
	}
	refused := ask(map[string]any{"weight": map[string]any{"conductivity": 2}, "minimize": "colour"})
	if p := refused.Problem; refused.State != "failed" || p == nil || p.Code != "not_possible" || len(p.Faults) != 2 ||
		p.Faults[0].Field != "objective" || p.Faults[1].Field != "objective.desirability" {
		t.Errorf("%+v, %+v", refused, refused.Problem)
	}
	for _, body := range []string{`{"require": ["viscosity < 4"]}`, `{"definition": "name: 1"}`} {
		c.post("/api/v1/campaigns/several/decisions/d1/what-if", body, http.StatusUnprocessableEntity, nil)
	}
}

func (c *client) text(path string) []byte {
	c.t.Helper()
	status, _, text := c.do("GET", path, "", "")
	if status != http.StatusOK {
		c.t.Fatalf("%s: %d %s", path, status, text)
	}
	return text
}
