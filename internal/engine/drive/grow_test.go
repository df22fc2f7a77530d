package drive_test

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/events/memlog"
	"github.com/campaignd/campaignd/internal/attest/decisions"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/engine/drive"
	"github.com/campaignd/campaignd/internal/files/builtin"
	"github.com/campaignd/campaignd/internal/files/campaignfile"
	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/projections"
	"github.com/campaignd/campaignd/projections/campaign"
	"github.com/campaignd/campaignd/projections/projectiontest"
)

// Law: a choice can grow under way: a category, with its descriptors or without, a value, wider bounds. What was
// measured stays and counts, its model is fitted anew, and the new choice is tried. Decisions of before follow from the
// definition of their time: the audit makes them again, and replayed = live at each event.
func TestChoicesGrow(t *testing.T) {
	const small = `
name: coupling
parameters:
  - {name: solvent, categories: [THF, dioxane]}
  - {name: base, categories: [{name: K2CO3, descriptors: {pKa: 10.3}}, {name: K3PO4, descriptors: {pKa: 12.3}}]}
  - {name: time, values: [1, 2]}
  - {name: temperature, min: 40, max: 60}
objective: {name: yield, goal: maximize}
initial: {experiments: 4}
budget: {experiments: 20}
instrument: manual
`
	const grown = `
name: coupling
parameters:
  - {name: solvent, categories: [DMF, THF, dioxane]}
  - name: base
    categories:
      - {name: K2CO3, descriptors: {pKa: 10.3}}
      - {name: K3PO4, descriptors: {pKa: 12.3}}
      - {name: DBU, descriptors: {pKa: 13.5}}
  - {name: time, values: [1, 2, 4]}
  - {name: temperature, min: 30, max: 90}
objective: {name: yield, goal: maximize}
initial: {experiments: 4}
budget: {experiments: 20}
instrument: manual
`
	for _, method := range []string{"lognei", "lcb", "thompson", "sobol", "random"} {
		t.Run(method, func(t *testing.T) {
			read := func(text string) (definition.Campaign, string) {
				text += "policy: " + method + "\n"
				file := must.Get(campaignfile.Parse(builtin.Registry(), "coupling.yaml", []byte(text)))(t)
				return file.Definition, text
			}
			def, source := read(small)
			def.Seed = 1
			log := memlog.New()
			now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
			tick := func() time.Time { now = now.Add(time.Minute); return now }
			defined := events.CampaignDefined{Definition: def, Source: source, Instance: "ABCDEFGHIJ"}
			must.Do(t, engine.Define(t.Context(), log, defined, "person:eve", tick(), ""))
			yield := func(p definition.Point) float64 {
				y, _ := p["temperature"].Float()
				hours, _ := p["time"].Float()
				y = 60 - math.Abs(y-80)/2 + 3*hours
				if p["solvent"].Name() == "DMF" {
					y += 20
				}
				return y
			}
			measure := func(until int) *engine.Core {
				for {
					r := &drive.Runner{Registry: builtin.Registry(), Log: log, Campaign: def.Name, Now: tick}
					suggestion := must.Get(r.Suggest(t.Context()))(t)
					if suggestion.Ended || len(r.Core().State().Experiments) > until {
						return r.Core()
					}
					x := suggestion.Experiments[0]
					result := &engine.Tell{Experiment: x.ID, Value: new(yield(x.Parameters))}
					tell := engine.Request{Actor: "person:eve", Tell: result}
					must.Get(engine.Submit(t.Context(), log, r.Core(), tell, tick()))(t)
				}
			}
			core := measure(8)
			wider, source := read(grown)
			wider.Seed = 1
			growth := &events.CampaignAmended{Definition: wider, Source: source, Reason: "on the shelf"}
			amend := engine.Request{Actor: "person:eve", Amend: growth}
			must.Get(engine.Submit(t.Context(), log, core, amend, tick()))(t)
			reading := must.Get(core.Read(t.Context()))(t)
			v, err := reading.View(t.Context())
			if err != nil || v.Objective() == nil || len(v.Objective().Observations) != 8 {
				t.Fatalf("the model of the 8 measurements is %+v (%v, %v)", v.Objective(), v.ObjectiveError(), err)
			}
			s := measure(30).State()
			if len(s.Experiments) != 20 {
				t.Fatalf("there are %d experiments of 20", len(s.Experiments))
			}
			later := s.Experiments[9:] // the ninth was waiting when the choice grew
			for what, tried := range map[string]func(definition.Point) bool{
				"category": func(p definition.Point) bool { return p["solvent"].Name() == "DMF" || p["base"].Name() == "DBU" },
				"value":    func(p definition.Point) bool { hours, _ := p["time"].Float(); return hours == 4 },
				"bounds":   func(p definition.Point) bool { y, _ := p["temperature"].Float(); return y < 40 || y > 60 },
			} {
				if !slices.ContainsFunc(later, func(x campaign.Experiment) bool { return tried(x.Parameters) }) {
					t.Errorf("none of the %d experiments after it tries the new %s", len(later), what)
				}
			}
			report, err := decisions.Audit(t.Context(), builtin.Registry(), log, def.Name, events.Build{}, nil)
			if err != nil || len(report.Mismatches) > 0 || report.Decisions < 16 {
				t.Errorf("audit: %+v, %v", report, err)
			}
			live := func() []projections.Projection { return engine.NewCore(builtin.Registry()).Projections() }
			projectiontest.Run(t, live, history(t, log))
		})
	}
}
