package decisions_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/events/memlog"
	"github.com/campaignd/campaignd/internal/builtin"
	"github.com/campaignd/campaignd/internal/campaignfile"
	"github.com/campaignd/campaignd/internal/engine"
)

// continued are logs of what people ask of a campaign that no process runs, so that nothing is made: one
// of declared quantities, one of an objective, and golden ones that went on.
func continued(t *testing.T) []history {
	t.Helper()
	const several = `name: several
parameters: [{name: x, min: 0, max: 1}, {name: salt, categories: [lipf6, licl]}]
quantities:
  - {name: conductivity, unit: mS/cm, min: 0, max: 30, arrives: later}
  - {name: viscosity, unit: mPa·s, arrives: later, answer_within: 3d}
  - {name: colour, record: true}
objective: {maximize: conductivity}
budget: {experiments: 30}
instrument: manual
experts: [{name: ada, web: {}}]
policy: cobol
`
	const single = `name: single
parameters: [{name: x, min: 0, max: 1}, {name: y, min: 0, max: 1}]
objective: {name: yield, unit: "%", min: 0, max: 100, goal: maximize}
budget: {experiments: 30}
instrument: manual
experts: [{name: ada, web: {}}]
policy: cobol
`
	made := func(x float64, salt string) definition.Point {
		return definition.Point{"x": definition.Number(x), "salt": definition.Category(salt)}
	}
	at := func(x, y float64) definition.Point {
		return definition.Point{"x": definition.Number(x), "y": definition.Number(y)}
	}
	conductivity := func(v float64) definition.Quantity {
		return definition.Quantity{Name: "conductivity", Value: v, Unit: "mS/cm"}
	}
	viscosity := func(v float64) definition.Quantity {
		return definition.Quantity{Name: "viscosity", Value: v, Unit: "mPa·s"}
	}
	tell := func(r engine.Tell) engine.Request { return engine.Request{Tell: &r} }
	correct := func(r engine.Correct) engine.Request {
		r.Reason = "calibration"
		return engine.Request{Correct: &r}
	}
	amended := func(text string) engine.Request {
		file, err := campaignfile.Parse(builtin.Registry(), "more.yaml", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		def := file.Definition
		def.Budget.Experiments++
		return engine.Request{Amend: &events.CampaignAmended{
			Definition: def, Reason: "go on", Changes: []events.Change{{Path: "/budget/experiments", From: "30", To: "31"}},
		}}
	}
	missing := []events.Missing{{Name: "viscosity", Reason: "it was spilt"}}
	both := func(c, v float64) []definition.Quantity { return []definition.Quantity{conductivity(c), viscosity(v)} }
	outside := definition.Quantity{Name: "ph", Value: 7}
	attach := func(experiment, quantity string) engine.Request {
		return engine.Request{Attach: &engine.Attach{Experiment: experiment, Attachment: events.Attachment{
			Name: "run.h5", URI: "https://data.example.org/run.h5", Quantity: quantity}}}
	}
	exclude := func(r engine.Exclude) engine.Request { return engine.Request{Exclude: &r} }
	return []history{
		asked(t, several,
			tell(engine.Tell{Parameters: made(0.1, "lipf6"), Quantities: both(9, 2), Notes: []string{"cloudy"}}),
			tell(engine.Tell{Parameters: made(0.1, "lipf6"), Quantities: []definition.Quantity{conductivity(9.2)}, Missing: missing}),
			tell(engine.Tell{Parameters: made(0.2, "licl"), Later: true}),
			tell(engine.Tell{Experiment: "e3", Quantities: []definition.Quantity{conductivity(9.5)}, Notes: []string{"at last"}}),
			tell(engine.Tell{Experiment: "e3", Missing: missing}),
			tell(engine.Tell{Parameters: made(0.3, "licl"), Later: true}),
			tell(engine.Tell{Experiment: "e4", Quantities: both(10, 3)}),
			engine.Request{Import: []engine.Tell{
				{Parameters: made(0.5, "licl"), Quantities: both(8, 3), Notes: []string{"batch: 7"}},
				{Parameters: made(0.6, "licl"), Failed: "a leak"},
				{Parameters: made(0.7, "licl"), Infeasible: "a lump"},
			}},
			correct(engine.Correct{Experiment: "e1", Quantities: []definition.Quantity{conductivity(9.1)}}),
			correct(engine.Correct{Experiment: "e1", LeaveOut: []string{"viscosity"}}),
			correct(engine.Correct{Experiment: "e1", Actual: made(0.15, "lipf6")}),
			correct(engine.Correct{Experiment: "e2", Quantities: []definition.Quantity{viscosity(4)}, Further: []definition.Quantity{outside}}),
			correct(engine.Correct{Experiment: "e5", Exclude: true}),
			correct(engine.Correct{Experiment: "e6", Outcome: events.ResolvedMeasured, Quantities: both(7, 5)}),
			correct(engine.Correct{Experiment: "e7", Outcome: events.ResolvedFailed}),
			correct(engine.Correct{Experiment: "e4-e5", Outcome: events.ResolvedNotPerformed}),
			attach("e1", "viscosity"),
			exclude(engine.Exclude{Region: map[string]definition.RegionSide{"salt": {Is: "licl"}, "x": {Min: new(0.9)}}, Reason: "it clouds"}),
			amended(several),
		),
		asked(t, single,
			tell(engine.Tell{Parameters: at(0.1, 0.2), Value: new(50.0), SD: new(0.5), Notes: []string{"cloudy"}, Further: []definition.Quantity{outside}}),
			tell(engine.Tell{Parameters: at(0.1, 0.2), Value: new(51.0), Actual: at(0.3, 0.2)}),
			tell(engine.Tell{Parameters: at(0.1, 0.3), Value: new(51.0)}),
			engine.Request{Import: []engine.Tell{
				{Parameters: at(0.5, 0.35), Value: new(9.0), Notes: []string{"batch: 7", "by: ada"}},
				{Parameters: at(0.5, 0.35), Failed: "a leak", Notes: []string{"batch: 8"}},
				{Parameters: at(0.6, 0.35), Infeasible: "a lump"},
			}},
			correct(engine.Correct{Experiment: "e1", Value: new(52.0), SD: new(0.4)}),
			correct(engine.Correct{Experiment: "e2", Actual: at(0.4, 0.2), Further: []definition.Quantity{outside}}),
			correct(engine.Correct{Experiment: "e3", Exclude: true}),
			correct(engine.Correct{Experiment: "e5", Outcome: events.ResolvedMeasured, Value: new(60.0)}),
			correct(engine.Correct{Experiment: "e6", Outcome: events.ResolvedNotPerformed}),
			exclude(engine.Exclude{About: "e1", Reason: "it clouds"}),
			exclude(engine.Exclude{Point: at(0.9, 0.9), Reason: "it glows"}),
			engine.Request{Allow: &engine.Allow{Exclusion: "n1", Reason: "no more"}},
			engine.Request{Note: &engine.Note{Text: "look", About: "e1"}},
			engine.Request{Pause: &events.CampaignPaused{Reason: "lunch"}},
			engine.Request{Resume: &events.CampaignResumed{Reason: "go"}},
			engine.Request{Stop: &events.CampaignStopped{Reason: "enough"}},
		),
		wentOn(t, "0.4.0/duel", 21,
			engine.Request{Anchors: &engine.Anchors{Expert: "ada", Points: []definition.Point{
				{"x1": definition.Number(1), "x2": definition.Number(2)}}, Reason: "it is the best"}},
			engine.Request{Anchors: &engine.Anchors{Expert: "ada", Instead: true}},
		),
		wentOn(t, "0.4.0/calledoff", 2, engine.Request{Cancel: &engine.Cancel{Experiment: "e1", Reason: "a leak"}}),
		wentOn(t, "0.4.0/calledoff", 3,
			engine.Request{Cancel: &engine.Cancel{Experiment: "e1", Reason: "a leak"}},
			engine.Request{Cancel: &engine.Cancel{Experiment: "e1", Reason: "a leak", EndProgram: true}},
			engine.Request{Cancel: &engine.Cancel{Experiment: "e1", Reason: "no power", Voided: events.VoidedByPower}}),
		wentOn(t, "0.4.0/calledoff", 4, engine.Request{Abort: &engine.Abort{Reason: "fire"}}),
		wentOn(t, "0.4.0/calledoff", 5, engine.Request{Abort: &engine.Abort{Stop: true, Reason: "fire"}}),
		wentOn(t, "0.4.0/people", 63,
			engine.Request{Resolve: &engine.Resolve{Experiment: "e10", Resolution: events.ResolvedMeasured, Value: new(11.0), Reason: "read off"}}),
	}
}

// asked is the log of a campaign of which people ask something, a minute apart.
func asked(t *testing.T, text string, requests ...engine.Request) history {
	t.Helper()
	file, err := campaignfile.Parse(builtin.Registry(), "campaign.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	log, now, name := memlog.New(), time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), file.Definition.Name
	defined := events.CampaignDefined{Instance: "ASKED", Definition: file.Definition, Source: file.Source}
	if err := engine.Define(t.Context(), log, defined, "person:ada", now, ""); err != nil {
		t.Fatal(err)
	}
	return goOn(t, log, name, now, requests...)
}

// wentOn is what a golden log had been after n events, with something else that people then ask.
func wentOn(t *testing.T, name string, n int, requests ...engine.Request) history {
	t.Helper()
	before, log := named(t, name), memlog.New()
	before.all = before.all[:n]
	for _, e := range before.all {
		if _, err := log.Append(t.Context(), e.Campaign, e.Sequence-1, e); err != nil {
			t.Fatal(err)
		}
	}
	h := goOn(t, log, before.all[0].Campaign, before.all[len(before.all)-1].Time, requests...)
	h.name, h.build = fmt.Sprint("asked/", name, "/", n), before.build
	return h
}

// goOn is the history of a log after more requests.
func goOn(t *testing.T, log *memlog.Log, name string, now time.Time, requests ...engine.Request) history {
	t.Helper()
	core, err := engine.Load(t.Context(), builtin.Registry(), log, name)
	if err != nil {
		t.Fatal(err)
	}
	h := history{name: "asked/" + name, from: int(core.State().Sequence)}
	for i, r := range requests {
		r.Actor = "person:ada"
		now = now.Add(time.Minute)
		if _, err := engine.Submit(t.Context(), log, core, r.Identified(fmt.Sprint("request ", i)), now); err != nil {
			t.Fatalf("%s, request %d: %v", name, i, err)
		}
	}
	for e, err := range log.Read(t.Context(), 0) {
		if err != nil {
			t.Fatal(err)
		}
		h.all = append(h.all, e)
	}
	return h
}
