package drive_test

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/campaignd/campaignd/adapters/instruments"
	"github.com/campaignd/campaignd/adapters/instruments/manual"
	"github.com/campaignd/campaignd/adapters/instruments/simulated"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/events/memlog"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/files/builtin"
	"github.com/campaignd/campaignd/internal/files/campaignfile"
	"github.com/campaignd/campaignd/internal/ground/problem"
	"github.com/campaignd/campaignd/internal/study/studytest"
	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/policies/next"
	"github.com/campaignd/campaignd/projections/campaign"
)

// learned writes what the model of each quantity is made from: "e1 9, e2 8.5".
func learned(core *engine.Core) string {
	var lines []string
	for _, p := range core.Quantities().All() {
		var values []string
		for i := range core.State().Experiments {
			if o := p.Of(events.ExperimentID(i + 1)); o != nil && !o.Excluded {
				values = append(values, fmt.Sprint(o.Experiment, " ", o.Value))
			}
		}
		lines = append(lines, p.Name()+": "+strings.Join(values, ", "))
	}
	return strings.Join(lines, "\n")
}

// valueOf is a value as a person types it, without a unit.
func valueOf(name string, value float64) definition.Quantity {
	return definition.Quantity{Name: name, Value: value}
}

// asked is a campaign that nobody runs, and eve's requests of it.
func asked(t *testing.T, def definition.Campaign) (*memlog.Log, *engine.Core, func(engine.Request) error) {
	t.Helper()
	log := memlog.New()
	if err := engine.Define(t.Context(), log, events.CampaignDefined{Definition: def}, "person:ada", time.Unix(0, 0), ""); err != nil {
		t.Fatal(err)
	}
	core := must.Get(engine.Load(t.Context(), builtin.Registry(), log, def.Name))(t)
	return log, core, func(r engine.Request) error {
		r.Actor = "person:eve"
		_, err := engine.Submit(t.Context(), log, core, r, time.Unix(100, 0))
		return err
	}
}

// Law: each declared quantity is measured, missing, corrected and left out by itself; one that
// is declared later counts from what was reported before it was; what nothing can be learned
// from is refused. The log replays to the same, and its audit is clean.
func TestQuantitiesOneByOne(t *testing.T) {
	def := electrolyte(t, 4, 20, unaided, func(def *definition.Campaign) {
		def.Policy.Next = next.Sobol{}.Choice()
		def.Initial.Experiments = ptr(0)
		def.Quantities = []definition.QuantityDef{
			{Name: "viscosity", Unit: "mPa·s", Scale: definition.ScaleLog},
			{Name: "colour", Record: true},
		}
		def.Instrument = definition.Instrument{Driver: manual.Choose(manual.Settings{})}
	})
	log, core, ask := asked(t, def)
	tell := func(r engine.Tell) error { return ask(engine.Request{Tell: &r}) }
	refused := func(why string, err error) {
		t.Helper()
		if err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("it is not refused for %q: %v", why, err)
		}
	}
	is := func(want ...string) {
		t.Helper()
		if got := learned(core); got != strings.Join(want, "\n") {
			t.Errorf("the models learn from\n%s\nand should from\n%s", got, strings.Join(want, "\n"))
		}
		coherent(t, log, core)
	}

	ph := definition.Quantity{Name: "ph", Value: 7, Unit: "1"}
	must.Do(t, tell(engine.Tell{Parameters: at(1, 0.35, 0.5), Value: ptr(9.0), Further: []definition.Quantity{ph},
		Quantities: []definition.Quantity{valueOf("viscosity", 3), valueOf("colour", 1)}}))
	must.Do(t, tell(engine.Tell{Parameters: at(1.2, 0.4, 0.8), Quantities: []definition.Quantity{valueOf("viscosity", 4)},
		Missing: []events.Missing{{Name: "conductivity", Reason: "the cell leaked"}}}))
	is("objective: e1 9", "quantity viscosity: e1 3, e2 4")

	refused("none of the quantities that the campaign learns from", tell(engine.Tell{Parameters: at(0.5, 0.5, 0.2), Quantities: []definition.Quantity{valueOf("colour", 2)}}))
	refused("viscosity is in Pa·s, the campaign's in mPa·s", tell(engine.Tell{Parameters: at(0.5, 0.5, 0.2), Value: ptr(8.0),
		Quantities: []definition.Quantity{{Name: "viscosity", Value: 3, Unit: "Pa·s"}}}))
	refused("no logarithm", tell(engine.Tell{Parameters: at(0.5, 0.5, 0.2), Value: ptr(8.0),
		Quantities: []definition.Quantity{valueOf("viscosity", 0)}}))
	refused("given twice", tell(engine.Tell{Parameters: at(0.5, 0.5, 0.2), Value: ptr(8.0),
		Quantities: []definition.Quantity{valueOf("conductivity", 9)}}))
	refused("declares no quantity", tell(engine.Tell{Parameters: at(0.5, 0.5, 0.2), Value: ptr(8.0),
		Missing: []events.Missing{{Name: "density", Reason: "no time"}}}))
	must.Do(t, tell(engine.Tell{Parameters: at(0.5, 0.5, 0.2), Failed: "it froze"}))

	correct := func(id string, c engine.Correct) error {
		c.Experiment, c.Reason = id, "looked again"
		return ask(engine.Request{Correct: &c})
	}
	must.Do(t, correct("e2", engine.Correct{Value: ptr(8.5)}))
	is("objective: e1 9, e2 8.5", "quantity viscosity: e1 3, e2 4")
	must.Do(t, correct("e1", engine.Correct{LeaveOut: []string{"viscosity"}}))
	is("objective: e1 9, e2 8.5", "quantity viscosity: e2 4")
	must.Do(t, correct("e1", engine.Correct{Value: ptr(9.5)})) // and what is left out stays out
	is("objective: e1 9.5, e2 8.5", "quantity viscosity: e2 4")
	must.Do(t, correct("e1", engine.Correct{Quantities: []definition.Quantity{valueOf("viscosity", 3.5)}}))
	is("objective: e1 9.5, e2 8.5", "quantity viscosity: e1 3.5, e2 4")
	must.Do(t, correct("e3", engine.Correct{Quantities: []definition.Quantity{valueOf("viscosity", 5)}}))
	is("objective: e1 9.5, e2 8.5", "quantity viscosity: e1 3.5, e2 4, e3 5")
	must.Do(t, correct("e2", engine.Correct{Outcome: events.ResolvedFailed}))
	is("objective: e1 9.5", "quantity viscosity: e1 3.5, e3 5")
	must.Do(t, correct("e2", engine.Correct{Outcome: events.ResolvedMeasured}))
	is("objective: e1 9.5, e2 8.5", "quantity viscosity: e1 3.5, e2 4, e3 5")

	// Another quantity is sought, and one is declared that was reported all along.
	amended := *core.State().Definition
	amended.Quantities = append(slices.Clone(amended.Quantities),
		definition.QuantityDef{Name: "ph", Unit: "1"}, definition.QuantityDef{Name: "conductivity", Unit: "mS/cm"})
	amended.Objective = definition.Objective{Name: "viscosity", Goal: definition.Minimize}
	must.Get(campaignfile.Amend(builtin.Registry(), def, amended))(t)
	must.Do(t, ask(engine.Request{Amend: &events.CampaignAmended{Definition: amended}}))
	is("objective: e1 3.5, e2 4, e3 5", "quantity ph: e1 7", "quantity conductivity: e1 9.5, e2 8.5")
	renamed := amended
	renamed.Quantities = slices.Clone(amended.Quantities)
	renamed.Quantities[0].Unit = "Pa·s" // cP would be the same
	refused("the values so far are in this unit", ask(engine.Request{Amend: &events.CampaignAmended{Definition: renamed}}))
}

// viscometer is an instrument that reports a viscosity besides what it measures, but for every
// third command.
type viscometer struct {
	instruments.Instrument
	answered *int
}

// simulationOf is the device of a campaign, which knows nothing of its further quantities.
func simulationOf(t *testing.T, def definition.Campaign) instruments.Instrument {
	t.Helper()
	def.Quantities = nil
	return must.Get(simulated.Driver.Open(t.Context(), def, instruments.Environment{}))(t)
}

func (v viscometer) Describe(ctx context.Context) (instruments.Description, error) {
	d, err := v.Instrument.Describe(ctx)
	d.Outputs = append(d.Outputs, instruments.OutputSpec{Name: "viscosity", Unit: "mPa·s"})
	return d, err
}

func (v viscometer) Await(ctx context.Context, cmd instruments.Command) (instruments.Outcome, error) {
	o, err := v.Instrument.Await(ctx, cmd)
	if *v.answered++; o.Measurement == nil || *v.answered%3 == 0 {
		return o, err
	}
	lipf6, _ := cmd.Parameters["lipf6"].Float()
	m := *o.Measurement
	m.Further = append(m.Further, definition.Quantity{Name: "viscosity", Value: math.Exp(lipf6), Unit: "mPa·s"})
	o.Measurement = &m
	return o, err
}

// Law: a campaign of several quantities runs by itself where one is missing here and there, fits
// each from what it has, and is audited bit for bit.
func TestQuantitiesRun(t *testing.T) {
	def := electrolyte(t, 4, 12, unaided, func(def *definition.Campaign) {
		def.Quantities = []definition.QuantityDef{{Name: "viscosity", Unit: "mPa·s", Scale: definition.ScaleLog}}
		studytest.Simulated(def, func(s *simulated.Settings) { s.FailureRate = 0 })
	})
	simulation := simulationOf(t, def)
	log := memlog.New()
	r := must.Get(studytest.Runner(t.Context(), log, def, viscometer{simulation, new(int)}))(t)
	must.Do(t, r.Run(t.Context()))
	view := viewOf(t, r.Core())
	viscosity := view.Models.Of("viscosity")
	if viscosity == nil || !viscosity.Fit.Log || viscosity.Fit.Observations != 8 || view.Objective().Fit.Observations != 12 {
		t.Fatalf("the model of the viscosity is %+v, that of the conductivity is made from %d measurements",
			viscosity, view.Objective().Fit.Observations)
	}
	got, err := viscosity.Predict(at(1.1, 0.4, 0.6))
	if err != nil || math.Abs(got.Mean-math.Exp(1.1)) > 0.1 || got.Unit != "mPa·s" {
		t.Errorf("it expects %+v, %v; %.2f is right", got, err, math.Exp(1.1))
	}
	coherent(t, log, r.Core())
}

// Law: what a formula of quantities is worth follows from what was measured, under the present
// definition: it is there where each of its quantities is, and another formula is that of all that
// was measured before. No value of it is taken from anybody.
func TestFormulaIsComputed(t *testing.T) {
	text := `{name: figure, parameters: [{name: salt, min: 0, max: 2}],
		quantities: [{name: conductivity, unit: mS/cm}, {name: viscosity, unit: mPa·s, scale: log}],
		objective: {maximize: FORMULA}, initial: {experiments: 0}, policy: sobol, budget: {experiments: 9}, instrument: manual}`
	defined := func(formula string) definition.Campaign {
		t.Helper()
		file, err := campaignfile.Parse(builtin.Registry(), "figure.yaml", []byte(strings.Replace(text, "FORMULA", formula, 1)))
		if err != nil {
			t.Fatal(err)
		}
		return file.Definition
	}
	def := defined("conductivity / sqrt(viscosity)")
	if o := def.Sought(); o.Unit != "mS/cm·(mPa·s)^-0.5" || o.Goal != definition.Maximize {
		t.Errorf("it seeks %+v", o)
	}
	log, core, ask := asked(t, def)
	for i, q := range [][]definition.Quantity{
		{valueOf("conductivity", 9), valueOf("viscosity", 9)}, {valueOf("conductivity", 8), valueOf("viscosity", 4)},
		{valueOf("conductivity", 7)}, {valueOf("conductivity", 6), valueOf("viscosity", 1)},
	} {
		tell := engine.Tell{Parameters: definition.Point{"salt": definition.Number(float64(i) / 2)}, Quantities: q}
		must.Do(t, ask(engine.Request{Tell: &tell}))
	}
	is := func(want, best string) {
		t.Helper()
		if got, _, _ := strings.Cut(learned(core), "\n"); got != "objective: "+want {
			t.Errorf("the objective is %q, want %q", got, want)
		}
		if x, value := core.State().Best(); x.ID != best {
			t.Errorf("the best is %s with %v, want %s", x.ID, value, best)
		}
		coherent(t, log, core)
	}
	is("e1 3, e2 4, e4 6", "e4")
	if err := ask(engine.Request{Correct: &engine.Correct{Experiment: "e4", LeaveOut: []string{"viscosity"}, Reason: "why"}}); err != nil {
		t.Fatal(err)
	}
	is("e1 3, e2 4", "e2")
	value := engine.Tell{Parameters: definition.Point{"salt": definition.Number(1)}, Value: ptr(5.0)}
	if err := ask(engine.Request{Tell: &value}); err == nil || !strings.Contains(err.Error(), "conductivity, viscosity") {
		t.Errorf("a value of what is computed: %v", err)
	}
	if err := ask(engine.Request{Amend: &events.CampaignAmended{Definition: defined("conductivity * (1 + salt)")}}); err != nil {
		t.Fatal(err)
	}
	is("e1 9, e2 12, e3 14, e4 15", "e4")
}

// Law: a campaign that an earlier version began with a formula that can never be a number is read, goes on, is
// amended otherwise, and is audited; it takes no other formula of the kind.
func TestFormulaThatIsNeverANumberGoesOn(t *testing.T) {
	formula := func(text string) func(def *definition.Campaign) {
		return func(def *definition.Campaign) {
			def.Objective = definition.Objective{Name: text, Goal: definition.Maximize, Formula: text, Unit: "mS/cm·(mPa·s)^-0.5"}
		}
	}
	def := electrolyte(t, 3, 5, unaided, func(def *definition.Campaign) {
		def.Quantities = []definition.QuantityDef{{Name: "conductivity", Unit: "mS/cm"}, {Name: "viscosity", Unit: "mPa·s"}}
		studytest.Simulated(def, func(s *simulated.Settings) { s.FailureRate = 0 })
	})
	simulation := simulationOf(t, def)
	formula("conductivity/sqrt(viscosity)/0")(&def)
	log := memlog.New()
	run := func(want int) {
		t.Helper()
		r := must.Get(studytest.Runner(t.Context(), log, def, viscometer{simulation, new(int)}))(t)
		must.Do(t, r.Run(t.Context()))
		if got := r.Core().State().Count(campaign.Measured); got != want {
			t.Fatalf("%d experiments are measured, want %d", got, want)
		}
		coherent(t, log, r.Core())
	}
	run(5)
	core := must.Get(engine.Load(t.Context(), builtin.Registry(), log, def.Name))(t)
	amend := func(change func(*definition.Campaign)) error {
		amended := *core.State().Definition
		change(&amended)
		_, err := engine.Submit(t.Context(), log, core, engine.Request{Actor: "person:eve", Amend: &events.CampaignAmended{Definition: amended}}, core.Last())
		return err
	}
	if err := amend(formula("conductivity/sqrt(viscosity)*ln(-1)")); err == nil || !strings.Contains(err.Error(), "ln(-1) is not defined at -1") {
		t.Errorf("another formula that is never a number: %v", err)
	}
	must.Do(t, amend(func(def *definition.Campaign) { def.Budget.Experiments = 7 }))
	run(7)
}

// several is a campaign of several quantities: one is missing here and there, corrected and left
// out, and another is declared and a formula sought while it is under way.
func several(t *testing.T) []events.Event {
	def := electrolyte(t, 4, 8, unaided, func(def *definition.Campaign) {
		def.Quantities = []definition.QuantityDef{{Name: "viscosity", Unit: "mPa·s", Scale: definition.ScaleLog}}
		studytest.Simulated(def, func(s *simulated.Settings) { s.FailureRate = 0 })
	})
	simulation := simulationOf(t, def)
	log := memlog.New()
	run := func() {
		t.Helper()
		r := must.Get(studytest.Runner(t.Context(), log, def, viscometer{simulation, new(int)}))(t)
		must.Do(t, r.Run(t.Context()))
	}
	run()
	core := must.Get(engine.Load(t.Context(), builtin.Registry(), log, def.Name))(t)
	amended := *core.State().Definition
	amended.Budget.Experiments += 2
	amended.Quantities = append(slices.Clone(amended.Quantities), definition.QuantityDef{Name: "conductivity", Unit: "mS/cm"})
	amended.Objective = definition.Objective{Goal: definition.Maximize, Formula: "conductivity / sqrt(viscosity)"}
	amended = campaignfile.Complete(builtin.Registry(), amended)
	for _, r := range []engine.Request{
		{Correct: &engine.Correct{Experiment: "e1", Quantities: []definition.Quantity{valueOf("viscosity", 3)}, Reason: "misread"}},
		{Correct: &engine.Correct{Experiment: "e2", LeaveOut: []string{"viscosity"}, Reason: "worn"}},
		{Amend: &events.CampaignAmended{Definition: amended, Reason: "it is to be thin, too"}},
	} {
		r.Actor = "person:eve"
		must.Get(engine.Submit(t.Context(), log, core, r, core.Last()))(t)
	}
	run()
	return history(t, log)
}

// Law: a quantity that a person names is a declared one, measured and not computed, and has a value or is missing,
// whatever the request; one that is not declared is a further one only where they say so. What is refused says what
// is meant, and a result that is to be reported names its quantities.
func TestPeopleNameDeclaredQuantities(t *testing.T) {
	def := electrolyte(t, 4, 20, unaided, func(def *definition.Campaign) {
		def.Initial.Experiments = ptr(2)
		def.Quantities = []definition.QuantityDef{
			{Name: "conductivity", Unit: "mS/cm"}, {Name: "viscosity", Unit: "mPa·s"}, {Name: "price", From: "30*lipf6"},
			{Name: "capacity", Arrives: definition.ArrivesLater},
		}
		def.Objective = definition.Objective{Name: "conductivity", Goal: definition.Maximize, Tradeoff: []definition.Aim{
			{Name: "conductivity", Goal: definition.Maximize}, {Name: "viscosity", Goal: definition.Minimize}}}
		def.Policy.Next = next.Sobol{}.Choice()
		def.Instrument = definition.Instrument{Driver: manual.Choose(manual.Settings{})}
	})
	log, core, ask := asked(t, def)
	refused := func(why string, r engine.Request) {
		t.Helper()
		sequence := core.State().Sequence
		err := ask(r)
		if err == nil {
			t.Errorf("it is not refused for %q", why)
			return
		}
		text := err.Error()
		for _, remedy := range problem.RemediesOf(err) {
			text += fmt.Sprintf("; %s %s %q", remedy.Text, remedy.Action, remedy.Ways)
		}
		if !strings.Contains(text, why) || core.State().Sequence != sequence {
			t.Errorf("it is refused for %q, not for %q", text, why)
		}
	}
	said := func(names ...string) (list []definition.Quantity) {
		for _, name := range names {
			list = append(list, valueOf(name, 2))
		}
		return list
	}
	for _, r := range []engine.Tell{
		{Parameters: at(1, 0.35, 0.5), Quantities: said("conductivity", "viscosity"), Further: said("colour")},
		{Parameters: at(1, 0.35, 0.6), Later: true, Quantities: said("conductivity")},
		{Parameters: at(1, 0.35, 0.7), Failed: "it leaked"},
	} {
		must.Do(t, ask(engine.Request{Tell: &r}))
	}
	if m := core.State().Experiment("e2").Measurement.Missing; !slices.Equal(m, []events.Missing{{Name: "viscosity", Reason: "it is still to come"}}) {
		t.Errorf("of one that gives the rest later is missing %v", m)
	}
	mistaken := map[string][]definition.Quantity{
		`no quantity "conductivty"; is conductivity meant?; one that it does not declare is given as a further one, complete ["further"]`: said("conductivity", "conductivty"),
		`no quantity "zz"; it declares conductivity, viscosity, capacity`:                                                                 said("zz"),
		`price follows from the parameters, as 30*lipf6, and is never measured; change its formula amend`:                                 said("price"),
	}
	for why, list := range mistaken {
		refused(why, engine.Request{Tell: &engine.Tell{Parameters: at(1, 0.4, 0.5), Quantities: list}})
		refused(why, engine.Request{Tell: &engine.Tell{Parameters: at(1, 0.4, 0.5), Failed: "it leaked", Quantities: list}})
		refused(why, engine.Request{Tell: &engine.Tell{Experiment: "e2", Quantities: list[len(list)-1:]}})
		refused(why, engine.Request{Import: []engine.Tell{{Parameters: at(1, 0.4, 0.5), Quantities: list}}})
		refused(why, engine.Request{Correct: &engine.Correct{Experiment: "e1", Quantities: list, Reason: "a slip"}})
		refused(why, engine.Request{Resolve: &engine.Resolve{Experiment: "e1", Resolution: events.ResolvedMeasured, Quantities: list}})
	}
	refused("price follows", engine.Request{Correct: &engine.Correct{Experiment: "e1", Further: said("price"), Reason: "a slip"}})
	both := []events.Missing{{Name: "viscosity", Reason: "the spindle broke"}}
	refused("viscosity has a value, and is said to be missing",
		engine.Request{Tell: &engine.Tell{Parameters: at(1, 0.4, 0.5), Quantities: said("conductivity", "viscosity"), Missing: both}})
	refused("viscosity is given twice", engine.Request{Tell: &engine.Tell{Experiment: "e2", Quantities: said("viscosity"), Missing: both}})
	refused(`tell it tell ["conductivity" "viscosity"]`,
		engine.Request{Import: []engine.Tell{{Experiment: "e3", Quantities: said("viscosity")}}})
	file := func(name string) engine.Request {
		return engine.Request{Attach: &engine.Attach{Experiment: "e1", Attachment: events.Attachment{Name: "e1.h5", URI: "https://lab.example.org/e1.h5", Quantity: name}}}
	}
	refused(`no quantity "viscsity"; is viscosity meant?`, file("viscsity"))
	for _, name := range []string{"viscosity", "price", "colour", ""} {
		if err := ask(file(name)); err != nil {
			t.Errorf("a file about %q: %v", name, err)
		}
	}
	if err := ask(engine.Request{Correct: &engine.Correct{Experiment: "e1", Further: said("density"), Reason: "weighed"}}); err != nil {
		t.Errorf("a further quantity: %v", err)
	}
	coherent(t, log, core)
}
