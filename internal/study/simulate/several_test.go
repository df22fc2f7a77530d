package simulate

import (
	"context"
	"math"
	"path/filepath"
	"testing"

	"github.com/campaignd/campaignd/adapters/instruments"
	"github.com/campaignd/campaignd/adapters/instruments/instrumenttest"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/events/memlog"
	"github.com/campaignd/campaignd/internal/files/builtin"
	"github.com/campaignd/campaignd/internal/files/campaignfile"
	"github.com/campaignd/campaignd/internal/study/studyfile"
	"github.com/campaignd/campaignd/internal/study/studytest"
	"github.com/campaignd/campaignd/internal/study/tasks"
	"github.com/campaignd/campaignd/internal/tests/must"
)

// pastFront is a study of the store of examples/electrolyte-tradeoff.yaml, shortened to 14
// experiments: the seed it was run with, and another.
func pastFront(t *testing.T) *Study {
	t.Helper()
	file, err := campaignfile.Read(builtin.Registry(), filepath.Join("..", "..", "..", "examples", "electrolyte-tradeoff.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	def := file.Definition
	def.Budget.Experiments = 14
	log := memlog.New()
	must.Get(studytest.Simulate(t.Context(), log, def))(t)
	study := must.Get(studyfile.Parse("study.yaml", []byte(`name: whatif
seeds: 2
tasks: [{store: past, noises: {viscosity: 0.1}}]
policies: {as it was: {}, random: random}
`), studyfile.Options{}))(t)
	s := must.Get(New(t.Context(), study, Environment{
		OpenStore: func(context.Context, string, string) (events.Log, string, func() error, error) {
			return log, def.Name, func() error { return nil }, nil
		},
	}))(t)
	return s
}

// Law: a trade-off that is simulated as it was, with its seed, is answered by its log from end to end; another seed by
// models of each quantity. What is judged is their mean, whatever was measured, and no campaign covers more than all.
func TestStoreOfATradeoff(t *testing.T) {
	s := pastFront(t)
	for _, u := range s.Units {
		result := must.Get(s.campaign(t.Context(), u, events.Build{}))(t)
		want := ""
		if u.Seed == 1 && u.Arm == 0 {
			want = fromLog
		} else if u.Seed == 2 {
			want = fromSurrogate
		}
		for i, step := range result.Trajectory {
			if want != "" && step.Source != want {
				t.Errorf("%s, seed %d, experiment %d: from %q, want %q", result.Arm, u.Seed, i+1, step.Source, want)
			}
		}
		if end := last(result); len(result.Trajectory) != 14 || !(end.Best > 0 && end.Best < 100) {
			t.Errorf("%s, seed %d: %d experiments cover %g %%", result.Arm, u.Seed, len(result.Trajectory), end.Best)
		}
	}
}

// Law: what stands in for an instrument of several quantities keeps the laws of instruments, and gives each of them with
// a noise of its own: viscosities with that of the task, whose mean over many experiments is the truth, which is near
// what was measured.
func TestSurrogateOfSeveral(t *testing.T) {
	s := pastFront(t)
	task, def := s.Tasks[0], s.Units[0].Definition
	open := func(context.Context) (instruments.Instrument, error) { return task.Instrument(def) }
	at := func(salt float64) definition.Point {
		return definition.Point{"lipf6": definition.Number(salt), "ec": definition.Number(0.4), "dmc": definition.Number(0.5)}
	}
	instrumenttest.Run(t, instrumenttest.Env{Open: open, Definition: def, Points: []definition.Point{at(0.7), at(1.1)}, AllowUnjudged: true})

	instrument := must.Get(open(t.Context()))(t)
	truth := must.Get(task.Truth.quantities(at(1)))(t)
	want, _ := truth.Of("viscosity")
	problem, _ := tasks.LookupTradeoff("electrolyte")
	really := must.Get(problem.Values(at(1)))(t)
	if math.Abs(want.Value/really[1]-1) > 0.1 {
		t.Errorf("the model of 14 viscosities says %g at the middle of the space, where it is %g", want.Value, really[1])
	}
	const n = 2000
	var sum, squares, cross float64
	for i := range n {
		id := events.ExperimentID(i + 1)
		cmd := instruments.Command{ID: id, Campaign: def.Name, Experiment: id, Parameters: at(1), Replicate: 1}
		must.Do(t, instrument.Start(t.Context(), cmd))
		outcome := must.Get(instrument.Await(t.Context(), cmd))(t)
		viscosity, _ := outcome.Measurement.Of("viscosity")
		conductivity, _ := outcome.Measurement.Of("conductivity")
		true1, _ := truth.Of("conductivity")
		off := viscosity.Value - want.Value
		sum, squares = sum+off/n, squares+off*off/n
		cross += off / 0.1 * (conductivity.Value - true1.Value) / instrument.(*surrogate).noises["conductivity"].sd / n
	}
	// Standard errors are 0.1/√2000 = 0.0022, 0.1/√4000 = 0.0016 and 1/√2000 = 0.022: five of each.
	if math.Abs(sum) > 0.011 || math.Abs(math.Sqrt(squares)-0.1) > 0.008 || math.Abs(cross) > 0.11 {
		t.Errorf("the noise of viscosity has mean %g, standard deviation %g, and correlation %g with that of conductivity",
			sum, math.Sqrt(squares), cross)
	}
}

// Law: the best value of a formula, of a desirability, and under a bound on outcomes that a search over the space finds is
// that which another search has found.
func TestSearchedValue(t *testing.T) {
	electrolyte, _ := tasks.Lookup("electrolyte")
	for sought, want := range map[string]float64{
		"objective: {maximize: conductivity / sqrt(viscosity)}": 9.117632289240005,
		"objective: {desirability: [{quantity: conductivity, from: 6, to: 14, weight: 2}, " +
			"{quantity: viscosity, from: 5, to: 1}, {quantity: price, from: 5, to: 2}]}": 0.6564024138040215,
		"objective: {maximize: conductivity}\nconstraints_on_outcomes: [viscosity <= 1.2]":  7.537269406235588,
		"objective: {minimize: viscosity}\nconstraints_on_outcomes: [conductivity >= 12.8]": 1.9817386705662434,
	} {
		file := must.Get(campaignfile.Parse(builtin.Registry(), "electrolyte.yaml", []byte(`name: electrolyte
parameters:
  - {name: lipf6, unit: mol/kg, min: 0.2, max: 2.1}
  - {name: ec, unit: kg/kg, min: 0.30, max: 0.52}
  - {name: dmc, min: 0, max: 1}
quantities:
  - {name: conductivity, unit: mS/cm}
  - {name: viscosity, unit: mPa·s}
  - {name: price, unit: EUR/kg, from: (30*0.15191*lipf6 + 1.5*ec + (1-ec)*(2-dmc))/(1+0.15191*lipf6)}
budget: {experiments: 9}
instrument: {simulated: {task: electrolyte}}
`+sought+"\n")))(t)
		truth := must.Get(truthOf(file.Definition, ofFunction(file.Definition, electrolyte), 0))(t)
		got, counts, err := truth.counts(truth.BestAt)
		if err != nil || !counts || math.Abs(got-want) > 1e-3*want {
			t.Errorf("%s: %g at %v (%t, %v), want %g", sought, got, truth.BestAt, counts, err, want)
		}
	}
}
