package decisions_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/campaignd/campaignd/adapters/humans"
	"github.com/campaignd/campaignd/adapters/instruments"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/events/memlog"
	"github.com/campaignd/campaignd/internal/attest/decisions"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/files/builtin"
	"github.com/campaignd/campaignd/internal/files/campaignfile"
	"github.com/campaignd/campaignd/internal/study/studytest"
	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/policies"
	"github.com/campaignd/campaignd/policies/next"
)

// continued are logs of what people ask of a campaign that no process runs, so that nothing is made: one
// of declared quantities, one of an objective, and golden ones that went on; and one of an instrument.
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
		file := must.Get(campaignfile.Parse(builtin.Registry(), "more.yaml", []byte(text)))(t)
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
		ran(t),
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
		wentOn(t, "0.4.0/label", 28, // for a simulated expert
			engine.Request{Answer: &engine.Answer{Question: "q11", Reply: humans.Reply{Answer: events.Answer{Label: events.LabelAccept}}}}),
		wentOn(t, "0.4.0/procedure", 56, engine.Request{Resolves: []engine.Resolve{
			{Experiment: "e4", Resolution: events.ResolvedDone, Reason: "it stood in the oven"},
			{Experiment: "e5", Resolution: events.ResolvedNotPerformed},
			{Experiment: "e6", Resolution: events.ResolvedInfeasible},
		}}),
		heard(t),
		heardAgain(t),
		takenUp(t),
		wentOn(t, "0.4.0/people", 63,
			engine.Request{Resolve: &engine.Resolve{Experiment: "e10", Resolution: events.ResolvedMeasured, Value: new(11.0), Reason: "read off"}}),
	}
}

// asked is the log of a campaign of which people ask something, a minute apart.
func asked(t *testing.T, text string, requests ...engine.Request) history {
	t.Helper()
	file := must.Get(campaignfile.Parse(builtin.Registry(), "campaign.yaml", []byte(text)))(t)
	log, now, name := memlog.New(), time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), file.Definition.Name
	defined := events.CampaignDefined{Instance: "ASKED", Definition: file.Definition, Source: file.Source}
	must.Do(t, engine.Define(t.Context(), log, defined, "person:ada", now, ""))
	return goOn(t, log, name, now, requests...)
}

// wentOn is what a golden log had been after n events, with something else that people then ask.
func wentOn(t *testing.T, name string, n int, requests ...engine.Request) history {
	t.Helper()
	before, log := named(t, name), memlog.New()
	before.all = before.all[:n]
	for _, e := range before.all {
		must.Get(log.Append(t.Context(), e.Campaign, e.Sequence-1, e))(t)
	}
	h := goOn(t, log, before.all[0].Campaign, before.all[len(before.all)-1].Time, requests...)
	h.name, h.build = fmt.Sprint("asked/", name, "/", n), before.build
	return h
}

// goOn is the history of a log after more requests.
func goOn(t *testing.T, log *memlog.Log, name string, now time.Time, requests ...engine.Request) history {
	t.Helper()
	core := must.Get(engine.Load(t.Context(), builtin.Registry(), log, name))(t)
	h := history{name: "asked/" + name, from: int(core.State().Sequence)}
	for i, r := range requests {
		r.Actor = "person:ada"
		now = now.Add(time.Minute)
		if _, err := engine.Submit(t.Context(), log, core, r.Identified(fmt.Sprint("request ", i)), now); err != nil {
			t.Fatalf("%s, request %d: %v", name, i, err)
		}
	}
	for e := range must.Each(t, log.Read(t.Context(), 0)) {
		h.all = append(h.all, e)
	}
	return h
}

// heard is a golden log in which the instrument then says of a command that was called off how it ended.
func heard(t *testing.T) history {
	t.Helper()
	ended := &instruments.Outcome{Status: instruments.Failed, Cause: "the line was cut"}
	return says(t, wentOn(t, "0.4.0/people", 74), "e11", 0, func(c engine.Now) []events.Payload {
		return engine.CalledOff(c, "e11", events.VoidedByInstrument, instruments.FateFinished, false, ended, mixing)
	})
}

// heardAgain is a golden log in which the instrument says twice at one instant, in two messages, that
// it does not know what became of a command.
func heardAgain(t *testing.T) history {
	t.Helper()
	h := wentOn(t, "0.4.0/people", 62)
	for message := range 2 {
		h = says(t, h, "e10", message, func(c engine.Now) []events.Payload {
			lost := instruments.Outcome{Status: instruments.Unknown, Cause: "the power was off"}
			return engine.Concluded(c, "e10", lost, nil, mixing)
		})
	}
	h.name = "heard again"
	return h
}

// takenUp is a golden log whose instrument then loses a command that a person declares as performed,
// and then as not performed, while the instrument is at work on it: its outcome is not too late.
func takenUp(t *testing.T) history {
	t.Helper()
	h := says(t, wentOn(t, "0.4.0/calledoff", 4), "e1", 0, func(c engine.Now) []events.Payload {
		lost := instruments.Outcome{Status: instruments.Unknown, Cause: "the power was off"}
		return engine.Concluded(c, "e1", lost, nil, mixing)
	})
	from, build := h.from, h.build
	h = goOn(t, logOf(t, h.all), h.all[0].Campaign, h.all[len(h.all)-1].Time,
		engine.Request{Resolve: &engine.Resolve{Experiment: "e1", Resolution: events.ResolvedFailed, Reason: "it fell"}},
		engine.Request{Correct: &engine.Correct{Experiment: "e1", Outcome: events.ResolvedNotPerformed, Reason: "e2 fell"}})
	h.name, h.from, h.build = "taken up", from, build
	ended := instruments.Outcome{Status: instruments.Failed, Cause: "a leak"}
	h = says(t, h, "e1", 0, func(c engine.Now) []events.Payload {
		return engine.CalledOff(c, "e1", events.VoidedByInstrument, instruments.FateRunning, false, &ended, mixing)
	})
	return says(t, h, "e1", 1, func(c engine.Now) []events.Payload {
		return engine.Concluded(c, "e1", ended, nil, mixing)
	})
}

// mixing is the instrument of golden logs.
var mixing = instruments.Description{Name: "acme/mixer"}

// says is a log in which the instrument then says something about a subject, a second after the last event
// or, as a message of its own, at its instant.
func says(
	t *testing.T, h history, subject string, message int, payloads func(engine.Now) []events.Payload,
) history {
	t.Helper()
	core := must.Get(engine.Load(t.Context(), builtin.Registry(), logOf(t, h.all), h.all[0].Campaign))(t)
	last, cause := h.all[len(h.all)-1], core.State().Order(subject).LastEvent
	at := last.Time
	if message == 0 {
		at = at.Add(time.Second)
	}
	first := len(h.all) + 1
	for _, p := range payloads(core.At(engine.World{})) {
		e := must.Get(events.New(last.Campaign, p))(t)
		n := len(h.all) + 1
		e.ID, e.Sequence, e.Position, e.Time = fmt.Sprint(n), events.Sequence(n), events.Position(n), at
		e.Actor, e.Cause = "instrument:"+core.State().Order(subject).Instrument, cause
		if e.Trace = h.all[0].Trace; message > 0 {
			e.Trace = strings.Replace(e.Trace, "2222", fmt.Sprintf("%04d", message), 1)
		}
		cause = fmt.Sprint(first)
		h.all = append(h.all, e)
	}
	if len(h.all) < first {
		t.Fatalf("%s: the instrument says nothing new", h.name)
	}
	return h
}

// logOf is a log of given events.
func logOf(t *testing.T, all []events.Event) *memlog.Log {
	t.Helper()
	log := memlog.New()
	must.Get(log.Append(t.Context(), all[0].Campaign, 0, all...))(t)
	return log
}

// mixer is an instrument that gives what a script says, one outcome after the other.
type mixer struct {
	outcomes []instruments.Outcome
	given    int
}

func (m *mixer) Describe(context.Context) (instruments.Description, error) {
	return instruments.Description{Name: "acme/mixer", Identity: "M2", Capacity: 1}, nil
}
func (m *mixer) Start(context.Context, instruments.Command) error  { return nil }
func (m *mixer) Cancel(context.Context, instruments.Command) error { return nil }
func (m *mixer) Await(ctx context.Context, cmd instruments.Command) (instruments.Outcome, error) {
	o := m.outcomes[m.given%len(m.outcomes)]
	m.given++
	if o.Measurement != nil && o.Measurement.Actual == nil {
		made := *o.Measurement
		made.Actual, o.Measurement = cmd.Parameters, &made
	}
	return o, ctx.Err()
}

// ran is the log of a campaign at random, which is quick to make again, with an instrument that gives
// the same value again, what is not plausible, and something else than was asked for.
func ran(t *testing.T) history {
	t.Helper()
	def := must.Get(studytest.Define("electrolyte", 2, 7, func(def *definition.Campaign) {
		def.Experts, def.Objective.Max = nil, new(100.0)
		def.Policy = definition.Policy{Next: next.Random{}.Choice(), Trust: definition.NewChoice(policies.None, nil)}
		def.Initial = definition.Initial{Experiments: new(1)}
	}))(t)
	gives := func(v float64) *events.Measurement {
		return &events.Measurement{Objective: definition.Quantity{Name: "conductivity", Value: v, Unit: "mS/cm"}}
	}
	elsewhere := gives(10.5)
	elsewhere.Actual = definition.Point{"lipf6": definition.Number(1), "ec": definition.Number(0.4), "dmc": definition.Number(0.5)}
	log := memlog.New()
	r := must.Get(studytest.Runner(t.Context(), log, def, &mixer{outcomes: []instruments.Outcome{
		{Status: instruments.Measured, Measurement: gives(7.25)},
		{Status: instruments.Measured, Measurement: gives(9)},
		{Status: instruments.Measured, Measurement: gives(9), Remarks: []string{"the same again"}},
		{Status: instruments.Measured, Measurement: elsewhere},
		{Status: instruments.Measured, Measurement: gives(1e6)},
		{Status: instruments.Failed, Cause: "a leak", Measurement: gives(8)},
		{Status: instruments.Infeasible, Cause: "a lump"},
		{Status: instruments.Deferred, Cause: "no argon"},
		{Status: instruments.Cancelled, Cause: "the door was opened"},
	}}))(t)
	must.Do(t, r.Run(t.Context()))
	h := history{name: "ran/random", from: 1}
	for e := range must.Each(t, log.Read(t.Context(), 0)) {
		h.all = append(h.all, e)
	}
	return h
}

// Law: what no program would have recorded is said of the event that says it, in which respect: of the
// logs above with another event at their end.
func TestRulesOfWhatIsSaid(t *testing.T) {
	logs := continued(t)
	log := func(name string) history {
		i := slices.IndexFunc(logs, func(h history) bool { return h.name == name })
		return logs[i]
	}
	several, single, random := log("asked/several"), log("asked/single"), log("ran/random")
	point := definition.Point{"x": definition.Number(0.25), "y": definition.Number(0.25)}
	measured := func(h history) events.Measurement {
		i := slices.IndexFunc(h.all, func(e events.Event) bool { return e.Kind == events.KindExperimentMeasured })
		return decode(t, h.all[i]).(*events.ExperimentMeasured).Measurement
	}
	taken := must.Get(json.Marshal(measured(random)))(t)
	arrived := func(reason, text string) events.Payload {
		return &events.QuantityArrived{Experiment: "e4", Instrument: "person", Missing: &events.Missing{Name: "viscosity", Reason: reason},
			Unread: []events.Unread{{Field: "viscosity", Text: text, Reason: reason}}}
	}
	const inSeconds = `{"name":"viscosity","value":3,"unit":"s"}`
	awaited := slices.IndexFunc(several.all, func(e events.Event) bool {
		return e.Kind == events.KindQuantityArrived && strings.Contains(string(e.Data), `"e4"`)
	})
	handed := slices.IndexFunc(random.all, func(e events.Event) bool { return e.Kind == events.KindExperimentMeasured })
	nothing := func(quantity string) events.Payload {
		return &events.QuantityArrived{Experiment: "e4", Missing: &events.Missing{Name: quantity, Reason: "it did not arrive in time"}}
	}
	for name, c := range map[string]struct {
		of      history
		n       int // events before
		payload events.Payload
		actor   string
		after   time.Duration
		says    string // of a mismatch
		remarks string
	}{
		"a note before the beginning": {single, 0, &events.NoteAdded{Text: "look"}, "person:ada", 0, "contradicts", ""},
		"an experiment for a decision": {single, 1, &events.ExperimentRequested{Experiment: "e1", Parameters: point, Origin: events.OriginPerson, Decision: "d1", Replicate: 1},
			"person:ada", time.Minute, "it names the decision d1", ""},
		"a parameter too few": {single, 1, &events.ExperimentRequested{Experiment: "e1", Parameters: definition.Point{
			"x": definition.Number(0)}, Origin: events.OriginPerson, Replicate: 1}, "person:ada", time.Minute, "its composition lacks y", "would not have taken it"},
		"a parameter too many": {single, 1, &events.ExperimentRequested{Experiment: "e1", Parameters: definition.Point{
			"x": definition.Number(0), "y": definition.Number(0), "z": definition.Number(0)}, Origin: events.OriginPerson, Replicate: 1},
			"person:ada", time.Minute, "names a parameter that the campaign does not have", ""},
		"a run too many": {single, 1, &events.ExperimentRequested{Experiment: "e1", Parameters: point, Origin: events.OriginPerson, Replicate: 2},
			"person:ada", time.Minute, "it says it is run 2 of its composition; it is run 1", ""},
		"a person's experiment by an instrument": {single, 1, &events.ExperimentRequested{Experiment: "e1", Parameters: point, Origin: events.OriginPerson, Replicate: 1},
			"instrument:x", time.Minute, "a person ran it, and its actor is", ""},
		"unusable, for the reason that it is": {several, awaited, arrived("viscosity is in s, the campaign's in mPa·s", inSeconds), "person:ada", time.Minute, "", ""},
		"unusable, for another reason":        {several, awaited, arrived("it is too hot", inSeconds), "person:ada", time.Minute, "", "was missing for another reason"},
		"unusable, and no quantity":           {several, awaited, arrived("it is too hot", "seven"), "person:ada", time.Minute, "is no quantity", ""},
		"no number":                           {several, awaited, arrived("viscosity is NaN", "{Name:viscosity Value:NaN}"), "person:ada", time.Minute, "", ""},
		"missing without a reason": {several, awaited, &events.QuantityArrived{Experiment: "e4", Instrument: "person",
			Missing: &events.Missing{Name: "viscosity"}}, "person:ada", time.Minute, "it does not say why viscosity is missing", ""},
		"not in time, too early":          {several, awaited, nothing("viscosity"), "engine", time.Hour, "there was time until", ""},
		"not in time, without a time":     {several, awaited, nothing("conductivity"), "engine", 100 * time.Hour, "or for as long as it takes", ""},
		"not in time, and not awaited":    {single, len(single.all), &events.QuantityArrived{Experiment: "e1", Missing: &events.Missing{Name: "yield"}}, "engine", time.Hour, "", ""},
		"refused, and fit to be taken":    {random, handed, &events.ExperimentFailed{Cause: "refused", Rejected: string(taken)}, "", time.Second, "", "this program would have taken it"},
		"the same value as of nothing":    {random, handed + 1, &events.MeasurementFlagged{Experiment: "e1", Verdict: events.VerdictSame}, "+", 0, "its value is not that of the one before", ""},
		"made elsewhere, and as asked":    {random, handed + 1, &events.MeasurementFlagged{Experiment: "e1", Verdict: events.VerdictElsewhere}, "+", 0, "what was made is what was asked for", ""},
		"nothing to be had, and no doubt": {random, handed, &events.ExperimentCancelled{Reason: "only once", Once: true}, "", time.Second, "it was to settle no doubt", ""},
		"a device lost":                   {random, handed + 1, &events.CampaignPaused{Device: "M3", Reason: "it is gone"}, "engine", time.Second, `the campaign lost "M3", and had "M2"`, ""},
		"a device lost, for nothing":      {random, handed + 1, &events.CampaignPaused{Device: "M2"}, "engine", time.Second, "it gives no reason", ""},
		"a device lost, at work by hand":  {single, 1, &events.CampaignPaused{Device: "M2", Reason: "it is gone"}, "engine", time.Second, "nothing before it calls for it", ""},
		"a further value of a correction": {several, len(several.all) - 1, &events.MeasurementCorrected{Experiment: "e2", Reason: "a slip",
			Values:  []events.QuantityCorrected{{Name: "viscosity", New: &definition.Quantity{Name: "viscosity", Value: 5, Unit: "mPa·s"}}},
			Further: []definition.Quantity{{Name: "ph", Value: 1e150}}}, "person:ada", time.Minute, "", "would not have taken it"},
		"an odd fate":                {random, handed, &events.RecoveryDone{Commands: []events.RecoveredCommand{{Experiment: "e1", Command: "electrolyte/e1", Fate: "lost"}}}, "engine", time.Second, "is not a fate of a command", ""},
		"a command that was another": {random, handed, &events.RecoveryDone{Commands: []events.RecoveredCommand{{Experiment: "e1", Command: "x", Fate: "running"}}}, "engine", time.Second, "its command is \"x\"", ""},
		"none of the commands":       {random, handed, &events.RecoveryDone{Commands: []events.RecoveredCommand{}}, "engine", time.Second, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			all := slices.Clone(c.of.all[:c.n])
			before := c.of.all[max(c.n-1, 0)]
			x := ""
			if c.actor == "" { // of the instrument, which was handed e1
				x = "e1"
				switch p := c.payload.(type) {
				case *events.ExperimentFailed:
					p.Experiment, p.Command, p.Instrument = x, "electrolyte/e1", "acme/mixer"
				case *events.ExperimentCancelled:
					p.Experiment, p.Command = x, "electrolyte/e1"
				}
				c.actor = "instrument:acme/mixer"
			}
			e := must.Get(events.New(c.of.all[0].Campaign, c.payload))(t)
			if e.Actor, e.Cause = c.actor, before.ID; c.actor == "+" { // with the event before it
				e.Actor, e.Cause = before.Actor, before.ID
			}
			e.Time, e.Sequence, e.Position = before.Time.Add(c.after), events.Sequence(c.n+1), events.Position(c.n+1)
			report, err, _ := c.of.audit(t, append(all, e))
			if err != nil {
				t.Fatal(err)
			}
			for _, list := range []struct {
				found []decisions.Mismatch
				says  string
			}{{report.Mismatches, c.says}, {report.Remarks, c.remarks}} {
				there := slices.ContainsFunc(list.found, func(m decisions.Mismatch) bool {
					return m.Position == e.Position && strings.Contains(m.Problem, list.says)
				})
				if list.says != "" && !there {
					t.Errorf("%+v", report)
				}
			}
		})
	}
}
