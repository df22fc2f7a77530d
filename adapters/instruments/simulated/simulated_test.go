package simulated_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/campaignd/campaignd/adapters/instruments"
	"github.com/campaignd/campaignd/adapters/instruments/instrumenttest"
	"github.com/campaignd/campaignd/adapters/instruments/simulated"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/study/tasks"
	"github.com/campaignd/campaignd/internal/tests/must"
)

// definition is a campaign over the whole space of a task.
func defined(t testing.TB, task string, seed uint64) definition.Campaign {
	t.Helper()
	k, ok := tasks.Lookup(task)
	if !ok {
		t.Fatalf("no task %q", task)
	}
	return definition.Campaign{
		Name: "sim", Seed: seed, Parameters: k.Parameters, Constraints: k.Constraints, Objective: k.Objective,
	}
}

func instrument(t testing.TB, cfg simulated.Settings, seed uint64) *simulated.Instrument {
	t.Helper()
	return must.Get(simulated.New(cfg, defined(t, cfg.Task, seed)))(t)
}

func command(task string, n int) instruments.Command {
	k, _ := tasks.Lookup(task)
	return instruments.Command{
		ID: fmt.Sprintf("sim/e%d", n), Campaign: "sim", Experiment: fmt.Sprintf("e%d", n),
		Parameters: k.Point(k.Best.At), Replicate: 1,
	}
}

func perform(t testing.TB, i *simulated.Instrument, cmd instruments.Command) instruments.Outcome {
	t.Helper()
	must.Do(t, i.Start(t.Context(), cmd))
	return must.Get(i.Await(t.Context(), cmd))(t)
}

// Without noise every task answers its value, and the answer passes the
// engine's check.
func TestAnswersTheTask(t *testing.T) {
	for _, name := range tasks.Names() {
		i := instrument(t, simulated.Settings{Task: name}, 1)
		o := perform(t, i, command(name, 1))
		if err := instruments.CheckOutcome(defined(t, name, 1), o); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		k, _ := tasks.Lookup(name)
		if want := k.Best.Value; math.Abs(o.Measurement.Objective.Value-want) > 1e-6 {
			t.Errorf("%s: %v, want %v", name, o.Measurement.Objective.Value, want)
		}
		if d, err := i.Describe(t.Context()); err != nil || d.Name != "simulated/"+name || !d.Simulated ||
			d.Capacity != 1 {
			t.Errorf("%s describes itself as %+v, %v", name, d, err)
		}
	}
}

// What it answers is a function of the seed and the command: not of the order
// of commands, nor of the process.
func TestOutcomeIsAFunctionOfSeedAndCommand(t *testing.T) {
	cfg := simulated.Settings{Task: "electrolyte", Noise: 0.27, FailureRate: 0.1, OutlierRate: 0.1}
	const n = 50
	first := instrument(t, cfg, 7)
	want := make([]instruments.Outcome, n)
	for k := range n {
		want[k] = perform(t, first, command("electrolyte", k))
	}
	second := instrument(t, cfg, 7)
	differ := 0
	for k := n - 1; k >= 0; k-- {
		cmd := command("electrolyte", k)
		if fate, err := second.Recover(t.Context(), cmd); err != nil || fate != instruments.FateNotStarted {
			t.Fatalf("recover: %v, %v", fate, err)
		}
		if _, err := second.Await(t.Context(), cmd); !errors.Is(err, instruments.ErrNotStarted) {
			t.Fatalf("await before start: %v", err)
		}
		got := perform(t, second, cmd)
		if !reflect.DeepEqual(got, want[k]) {
			t.Fatalf("command %d: %+v, want %+v", k, got, want[k])
		}
		if !reflect.DeepEqual(perform(t, instrument(t, cfg, 8), cmd), want[k]) {
			differ++
		}
	}
	if differ < n/2 {
		t.Errorf("another seed changed %d of %d outcomes", differ, n)
	}
	// Kept for ever: stored campaigns are audited against it.
	got := perform(t, instrument(t, simulated.Settings{Task: "electrolyte", Noise: 1}, 1), command("electrolyte", 1))
	const golden = 12.90716 // also computed with another program
	if v := got.Measurement.Objective.Value; math.Abs(v-golden) > 1e-5 {
		t.Errorf("sim/e1 at seed 1: %.5f, want %.5f", v, golden)
	}
}

// Law: an act for several experiments gives each its own value, the one that it has alone, and its
// identifier stands for that plate.
func TestTogether(t *testing.T) {
	sim := instrument(t, simulated.Settings{Task: "electrolyte", Noise: 0.3}, 1)
	one := command("electrolyte", 1)
	act := func(n int) instruments.Command {
		return instruments.Command{ID: fmt.Sprintf("sim/a%d", n), Campaign: "sim", Act: fmt.Sprintf("a%d", n), Stage: "measure", Gives: []string{"conductivity"}}
	}
	plate, well := act(1), act(2)
	for n := range 3 {
		plate.Experiments = append(plate.Experiments, instruments.Sample{
			Experiment: fmt.Sprintf("e%d", n+1), Position: n + 1, Parameters: one.Parameters})
	}
	well.Experiment, well.Parameters = "e2", one.Parameters
	all, alone := perform(t, sim, plate), perform(t, sim, well)
	value := func(n int) float64 { return all.Gave[n].Measurement.Objective.Value }
	if all.Status != instruments.Done || value(1) != alone.Measurement.Objective.Value || value(0) == value(1) || value(1) == value(2) {
		t.Errorf("a plate of one composition gives %+v, and one well by itself %+v", all.Gave, alone)
	}
	other := plate.Cloned()
	other.Experiments[1].Parameters = nil
	if err := sim.Start(t.Context(), other); !errors.Is(err, instruments.ErrRefused) {
		t.Errorf("the plate with another composition is started with %v", err)
	}
}

// Noise, failures and outliers have the distributions that were asked for.
func TestDistributions(t *testing.T) {
	cfg := simulated.Settings{Task: "electrolyte", Noise: 0.27, FailureRate: 0.2, OutlierRate: 0.1}
	i := instrument(t, cfg, 1)
	k, _ := tasks.Lookup("electrolyte")
	const n = 4000
	var failed, outliers, good int
	var sum, squares float64
	for c := range n {
		o := perform(t, i, command("electrolyte", c))
		if o.Status == instruments.Failed {
			failed++
			continue
		}
		v := o.Measurement.Objective.Value
		if v < 1 { // silently wrong: nothing in the outcome says so
			outliers++
			if math.Abs(v-0.0535) > 0.01 {
				t.Fatalf("an outlier reads %v", v)
			}
			continue
		}
		good++
		sum += v - k.Best.Value
		squares += (v - k.Best.Value) * (v - k.Best.Value)
	}
	within := func(what string, got, want, sd float64) {
		t.Helper()
		if math.Abs(got-want) > 4*sd {
			t.Errorf("%s: %v, want %v ± %v", what, got, want, sd)
		}
	}
	within("failures", float64(failed)/n, 0.2, math.Sqrt(0.2*0.8/n))
	within("outliers", float64(outliers)/float64(n-failed), 0.1, math.Sqrt(0.1*0.9/float64(n-failed)))
	within("mean error", sum/float64(good), 0, 0.27/math.Sqrt(float64(good)))
	within("noise", math.Sqrt(squares/float64(good)), 0.27, 0.27/math.Sqrt(2*float64(good)))
}

// Law: noise that is a part of the value comes on top of the other, as of an independent cause.
func TestRelativeNoise(t *testing.T) {
	cfg := simulated.Settings{Task: "electrolyte", Noise: 0.3, RelativeNoises: map[string]float64{"conductivity": 0.05}}
	i := instrument(t, cfg, 1)
	k, _ := tasks.Lookup("electrolyte")
	const n = 4000
	squares := 0.0
	for c := range n {
		e := perform(t, i, command("electrolyte", c)).Measurement.Objective.Value - k.Best.Value
		squares += e * e
	}
	want := math.Hypot(0.3, 0.05*k.Best.Value)
	if got := math.Sqrt(squares / n); math.Abs(got-want) > 4*want/math.Sqrt(2*n) {
		t.Errorf("the noise is %v, want %v", got, want)
	}
}

// Latency is honored by Await, which obeys its context; only Cancel ends a
// command early, and its outcome is final.
func TestLatencyAndCancel(t *testing.T) {
	i := instrument(t, simulated.Settings{Task: "branin", Latency: definition.Duration(time.Hour)}, 1)
	cmd := command("branin", 1)
	must.Do(t, i.Start(t.Context(), cmd))
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if _, err := i.Await(ctx, cmd); !errors.Is(err, context.Canceled) {
		t.Fatalf("await: %v", err)
	}
	if fate, err := i.Recover(t.Context(), cmd); err != nil || fate != instruments.FateRunning {
		t.Fatalf("an ended context stopped the experiment: %v, %v", fate, err)
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if o, err := i.Await(t.Context(), cmd); err != nil || o.Status != instruments.Cancelled {
				t.Errorf("await: %+v, %v", o, err)
			}
		})
	}
	for range 2 {
		must.Do(t, i.Cancel(t.Context(), cmd))
	}
	wg.Wait()
	if o := perform(t, i, cmd); o.Status != instruments.Cancelled {
		t.Errorf("started again after cancelling: %+v", o)
	}
	if err := i.Cancel(t.Context(), command("branin", 2)); err != nil {
		t.Errorf("cancelling what never started: %v", err)
	}
	if o := perform(t, i, command("branin", 2)); o.Status != instruments.Cancelled {
		t.Errorf("started after it was called off: %+v", o)
	}

	quick := instrument(t, simulated.Settings{Task: "branin", Latency: definition.Duration(time.Millisecond)}, 1)
	if o := perform(t, quick, cmd); o.Status != instruments.Measured {
		t.Errorf("after its latency: %+v", o)
	}
	must.Do(t, quick.Cancel(t.Context(), cmd))
	if o := perform(t, quick, cmd); o.Status != instruments.Measured {
		t.Errorf("cancelling what has ended changed it: %+v", o)
	}
}

// A command outside the task's space is certainly not performed, and an ID
// stands for one composition.
func TestRefuses(t *testing.T) {
	i := instrument(t, simulated.Settings{Task: "branin"}, 1)
	cmd := command("branin", 1)
	cmd.Parameters["x1"] = definition.Number(11)
	if err := i.Start(t.Context(), cmd); !errors.Is(err, instruments.ErrRefused) || !errors.Is(err, tasks.ErrPoint) {
		t.Errorf("outside: %v", err)
	}
	if fate, err := i.Recover(t.Context(), cmd); err != nil || fate != instruments.FateNotStarted {
		t.Errorf("recover of what was refused: %v, %v", fate, err)
	}
	cmd.Parameters["x1"] = definition.Number(1)
	perform(t, i, cmd)
	cmd.Parameters["x1"] = definition.Number(2)
	if err := i.Start(t.Context(), cmd); !errors.Is(err, instruments.ErrRefused) {
		t.Errorf("the same ID with another composition: %v", err)
	}
}

// What lies in an infeasible region is never measured, what lies outside is.
func TestInfeasibleRegion(t *testing.T) {
	five := 5.0
	i := instrument(t, simulated.Settings{Task: "branin", Infeasible: []definition.Region{
		{Name: "too thick", Where: map[string]definition.RegionSide{"x1": {Min: &five}}},
	}}, 1)
	for n, c := range []struct {
		x    float64
		want instruments.Status
	}{{4.99, instruments.Measured}, {5, instruments.Infeasible}, {9, instruments.Infeasible}} {
		cmd := command("branin", n)
		cmd.Parameters["x1"] = definition.Number(c.x)
		if o := perform(t, i, cmd); o.Status != c.want ||
			c.want == instruments.Infeasible && !strings.Contains(o.Cause, "too thick") {
			t.Errorf("x1 = %v: %+v", c.x, o)
		}
	}
}

// A campaign that is not one of the task is refused before anything starts.
func TestNewRefuses(t *testing.T) {
	mixture := simulated.Settings{Task: "mixture4"}
	for _, c := range []struct {
		name   string
		cfg    simulated.Settings
		change func(*definition.Campaign)
		want   string
	}{
		{"no task", simulated.Settings{Task: "gold"}, nil, "electrolyte"},
		{"negative noise", simulated.Settings{Task: "mixture4", Noise: -1}, nil, "noise"},
		{"region",
			simulated.Settings{
				Task:       "mixture4",
				Infeasible: []definition.Region{{Where: map[string]definition.RegionSide{"pc": {}}}},
			},
			nil, "pc"},
		{"rate", simulated.Settings{Task: "mixture4", OutlierRate: 2}, nil, "outlier_rate"},
		{"unit", mixture, func(d *definition.Campaign) { d.Parameters[0].Unit = "g" }, "ec is in g"},
		{"bounds", mixture, func(d *definition.Campaign) { *d.Parameters[0].Max = 0.9 }, "up to 0.9"},
		{"parameter", mixture, func(d *definition.Campaign) { d.Parameters[0].Name = "pc" }, "pc"},
		{"objective", mixture, func(d *definition.Campaign) { d.Objective.Unit = "S/m" }, "S/m"},
		{"constraint", mixture, func(d *definition.Campaign) { d.Constraints = nil }, "equals 1"},
	} {
		def := defined(t, "mixture4", 1)
		if c.change != nil {
			c.change(&def)
		}
		if _, err := simulated.New(c.cfg, def); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
	// The constraint may be written in any form that implies it.
	def := defined(t, "mixture4", 1)
	most, rest := 0.9, 0.1
	def.Constraints = []definition.Constraint{
		{Equals: &most, Terms: map[string]float64{"ec": 1, "dmc": 1, "emc": 1}}, {Equals: &rest,
			Terms: map[string]float64{"fec": 1}},
	}
	if _, err := simulated.New(mixture, def); err != nil {
		t.Errorf("two constraints that imply the task's: %v", err)
	}
}

// It passes the suite of all instruments, at once and slowly, with constraints
// and without.
func TestSuite(t *testing.T) {
	for _, cfg := range []simulated.Settings{
		{Task: "electrolyte", Noise: 0.27},
		{Task: "mixture4", Latency: definition.Duration(20 * time.Millisecond)},
	} {
		t.Run(cfg.Task, func(t *testing.T) {
			k, _ := tasks.Lookup(cfg.Task)
			instrumenttest.Run(t, instrumenttest.Env{
				Open: func(context.Context) (instruments.Instrument, error) {
					return instrument(t, cfg, 1), nil
				},
				Definition: defined(t, cfg.Task, 1),
				Points:     []definition.Point{k.Point(k.Best.At), k.Point(k.Worst.At)},
				Patience:   10 * time.Second,
			})
		})
	}
}

// Law: an instrument of a procedure that measures nothing needs no task: it takes its time, gives no
// value, and says so of itself. Where something is measured, a task has to be named.
func TestMeasuresNothing(t *testing.T) {
	def := defined(t, "branin", 1)
	def.Instruments = map[string]definition.Instrument{"arm": {Driver: simulated.Choose(simulated.Settings{})}}
	def.Procedure = []definition.Stage{{Name: "load", On: "arm"}, {Name: "measure", On: "meter", Gives: []string{def.Objective.Name}}}
	i := must.Get(simulated.New(simulated.Settings{}, *def.For("arm")))(t)
	cmd := instruments.Command{ID: "c/a1", Campaign: "c", Experiment: "e1", Parameters: definition.Point{"x1": definition.Number(1)}}
	must.Do(t, i.Start(t.Context(), cmd))
	out := must.Get(i.Await(t.Context(), cmd))(t)
	if out.Status != instruments.Measured || len(out.Measurement.All()) > 1 || out.Measurement.Objective.Name != "" {
		t.Errorf("it gave %+v", out)
	}
	if d := must.Get(i.Describe(t.Context()))(t); d.Outputs != nil || d.Parameters != nil || d.Capacity != 1 || !d.Simulated || instruments.CheckDescription(d) != nil {
		t.Errorf("it is %+v: %v", d, instruments.CheckDescription(d))
	}
	if _, err := simulated.New(simulated.Settings{}, def); err == nil {
		t.Error("a campaign that measures has no task")
	}
	if faults := new(simulated.Settings).Check(&def, definition.At("instrument", "simulated")); len(faults) != 1 {
		t.Errorf("%v", faults)
	}
}
