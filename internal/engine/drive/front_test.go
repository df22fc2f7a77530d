package drive_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/events/memlog"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/files/builtin"
	"github.com/campaignd/campaignd/internal/files/campaignfile"
	"github.com/campaignd/campaignd/internal/study/studytest"
	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/projections/campaign"
)

// saltFile is a campaign by hand of two quantities.
const saltFile = `
name: salt
seed: 1
parameters: [{name: salt, unit: mol/kg, min: 0.2, max: 2.1}]
quantities:
  - {name: conductivity, unit: mS/cm, min: 0, max: 30}
  - {name: viscosity, unit: mPa·s, min: 0, max: 99}
objective: {maximize: conductivity}
constraints_on_outcomes: [viscosity <= 5]
budget: {experiments: 20}
initial: {experiments: 0}
instrument: manual
`

// salted is that campaign, and what tells an experiment of it: without a viscosity
// where it is below 0.
func salted(t *testing.T, file string) (core *engine.Core, tell func(salt, conductivity, viscosity float64)) {
	t.Helper()
	parsed := must.Get(campaignfile.Parse(builtin.Registry(), "salt.yaml", []byte(file)))(t)
	_, core, ask := asked(t, parsed.Definition)
	return core, func(salt, conductivity, viscosity float64) {
		t.Helper()
		r := engine.Tell{
			Parameters: definition.Point{"salt": definition.Number(salt)},
			Quantities: []definition.Quantity{valueOf("conductivity", conductivity), valueOf("viscosity", viscosity)},
		}
		if viscosity < 0 {
			r.Quantities, r.Missing = r.Quantities[:1], []events.Missing{{Name: "viscosity", Reason: "no time"}}
		}
		must.Do(t, ask(engine.Request{Tell: &r}))
	}
}

// Law: the best measured value is the best of those that keep the constraints on
// outcomes, however good the others are; where none is known to, of those of which it
// is not known; and where all are known not to, of all, which is said.
func TestBestMeasuredKeepsTheConstraints(t *testing.T) {
	core, tell := salted(t, saltFile)
	is := func(experiment string, keeps campaign.Keeps) {
		t.Helper()
		if best := core.Counts().BestMeasured; best.Experiment != experiment || best.Keeps != keeps {
			t.Errorf("the best measured is %s (%s), and should be %s (%s)", best.Experiment, best.Keeps, experiment, keeps)
		}
	}
	tell(1.8, 12, 9)
	is("e1", campaign.KeepsNot)
	tell(1.9, 11, 10)
	is("e1", campaign.KeepsNot)
	tell(1.7, 8, -1)
	is("e3", campaign.KeepsUnknown)
	tell(0.5, 6, 2)
	is("e4", campaign.KeepsAll)
	tell(0.7, 7, 3)
	is("e5", campaign.KeepsAll)
}

// Law: the best by the model is one that keeps the constraints with confidence; where
// none does, the one that most probably keeps them, which is said with its probability.
func TestBestByModelKeepsTheConstraints(t *testing.T) {
	for bound, want := range map[string]struct {
		salt     float64
		doubtful bool
	}{
		"viscosity <= 5": {1.2, false}, "viscosity <= 50": {1.8, false}, "viscosity <= 0.5": {0.3, true},
	} {
		for _, salts := range [][]float64{{0.3, 0.6, 0.9, 1.2, 1.5, 1.8}, {1.8, 1.5, 1.2, 0.9, 0.6, 0.3}} {
			core, tell := salted(t, strings.Replace(saltFile, "viscosity <= 5", bound, 1))
			for _, salt := range salts {
				tell(salt, 4+3*salt, 1+1.7*salt*salt)
			}
			summary, err := core.Summarize(t.Context())
			if err != nil || summary.BestByModel == nil {
				t.Fatalf("%+v, %v", summary, err)
			}
			best := summary.BestByModel
			salt, _ := best.Parameters["salt"].Float()
			if salt != want.salt || best.Doubtful != want.doubtful || best.Feasible == nil || best.Doubtful == (best.Feasible.Probability >= 0.9) {
				t.Errorf("%s: %+v, %+v", bound, best, best.Feasible)
			}
		}
	}
}

// Law: what models say is worked out again when any quantity's model may have changed,
// also where the one that is sought has not.
func TestRevisionKnowsEveryQuantity(t *testing.T) {
	core, tell := salted(t, saltFile)
	for i := range 3 {
		tell(0.5+0.3*float64(i), 8+float64(i), 2+float64(i))
	}
	before := core.Revision()
	tell(1.6, 9, 4)
	if core.Revision() == before {
		t.Error("a measurement leaves the revision as it is")
	}
	before = core.Revision()
	fit := must.Get(core.Quantities().All()[1].Fit(t.Context(), 1))(t)
	fitted := &events.ModelFitted{Model: events.ModelQuantity, Quantity: "viscosity", Objective: &fit}
	must.Do(t, core.Quantities().Apply(events.Event{}, fitted))
	if core.Revision() == before {
		t.Error("a fit of the viscosity leaves the revision as it is")
	}
}

// Law: a trade-off has a front and no best; live, replayed and as readers see it that
// is the same, and what is shown changes nothing that is decided: the audit is clean.
func TestTradeoffIsSummarized(t *testing.T) {
	parsed := must.Get(campaignfile.Parse(builtin.Registry(), "tradeoff.yaml", []byte(`
name: tradeoff
seed: 1
parameters:
  - {name: lipf6, unit: mol/kg, min: 0.2, max: 2.1}
  - {name: ec, unit: kg/kg, min: 0.30, max: 0.52}
  - {name: dmc, min: 0, max: 1}
quantities:
  - {name: conductivity, unit: mS/cm, min: 0, max: 30}
  - {name: viscosity, unit: mPa·s, scale: log}
  - {name: eur, unit: EUR/kg, from: 3 + 30*0.15*lipf6}
objective:
  tradeoff: [{maximize: conductivity, worst: 4}, {minimize: viscosity}, {minimize: eur}]
constraints_on_outcomes: [viscosity <= 6]
budget: {experiments: 12}
instrument: {simulated: {task: electrolyte, noise: 0.14, noises: {viscosity: 0.05}}}
`)))(t)
	log := memlog.New()
	core := must.Get(studytest.Simulate(t.Context(), log, parsed.Definition))(t)
	coherent(t, log, core)
	summary := must.Get(core.Summarize(t.Context()))(t)
	f := summary.Tradeoff
	if summary.BestMeasured != nil || summary.BestByModel != nil || summary.NoModel != "" || f == nil || len(f.Members) < 3 ||
		len(f.Members)+len(f.Others) != 12 || len(f.Curve) != 12 || len(f.Expected) < 5 {
		t.Fatalf("the summary is %+v, of the front %+v", summary, f)
	}
	if leading, _ := summary.Leading(); f.Compromise == nil || leading != f.Compromise.Experiment || f.Member(leading) == nil {
		t.Errorf("%s leads, the compromise is %+v", leading, f.Compromise)
	}
	replayed := must.Get(engine.Load(t.Context(), builtin.Registry(), log, "tradeoff"))(t)
	again, err := replayed.Summarize(t.Context())
	if err != nil || !reflect.DeepEqual(again, summary) {
		t.Errorf("replayed it is summarized as %+v, %v", again.Tradeoff, err)
	}
	if _, err := json.Marshal(summary); err != nil {
		t.Error(err)
	}
	for _, e := range f.Expected {
		if e.Feasible.Probability < 0.5 || core.Space().Contains(e.Parameters) != nil {
			t.Errorf("expected on the front is %+v", e)
		}
	}
}

// Law: where several quantities are sought, or what is sought is computed from them, a
// value without a name is refused and the quantities are named: it could be of any.
// Where one is sought, it is of that one.
func TestNamelessValue(t *testing.T) {
	for objective, refusal := range map[string]string{
		"maximize: conductivity":                                      "",
		"maximize: conductivity/sqrt(viscosity)":                      "conductivity, viscosity",
		"tradeoff: [{maximize: conductivity}, {minimize: viscosity}]": "conductivity, viscosity",
	} {
		file := strings.Replace(saltFile, "maximize: conductivity", objective, 1)
		parsed := must.Get(campaignfile.Parse(builtin.Registry(), "salt.yaml", []byte(file)))(t)
		_, _, ask := asked(t, parsed.Definition)
		err := ask(engine.Request{Tell: &engine.Tell{
			Parameters: definition.Point{"salt": definition.Number(1)}, Value: new(9.0),
			Missing: []events.Missing{{Name: "viscosity", Reason: "no time"}},
		}})
		switch {
		case refusal == "" && err != nil:
			t.Errorf("%s: %v", objective, err)
		case refusal != "" && (err == nil || !strings.HasSuffix(err.Error(), refusal)):
			t.Errorf("%s: %v, want the names %s", objective, err, refusal)
		}
	}
}
