package drive_test

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	humansim "github.com/campaignd/campaignd/adapters/humans/simulated"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/events/memlog"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/files/builtin"
	"github.com/campaignd/campaignd/internal/study/studytest"
	"github.com/campaignd/campaignd/internal/tests/must"
)

// One suggestion of the methods that learn from comparisons, d = 4: CoExBO's
// pair with its explanations after 50 measurements, and the duels on a utility
// with six anchors. "fitted" has the hyperparameters already, as most decisions of a campaign do;
// "cold" fits every model from nothing.
func BenchmarkSuggestion(b *testing.B) {
	for _, method := range []string{"coexbo", "eubo", "raeubo", "rahbo", "anpei"} {
		for _, n := range []int{50, 100, 150, 200, 400} {
			history := unsuggested(b, method, n)
			for _, cold := range []bool{false, true} {
				b.Run(fmt.Sprintf("%s/comparisons=%d/cold=%t", method, n, cold), func(b *testing.B) {
					benchmarkSuggestion(b, history, cold)
				})
			}
		}
	}
}

func benchmarkSuggestion(b *testing.B, history []events.Event, cold bool) {
	name := history[0].Campaign
	fitted := fits(b, name, history)
	for b.Loop() {
		b.StopTimer()
		core := engine.NewCore(builtin.Registry())
		feed := feeder(b, core)
		for _, e := range history {
			feed(e)
		}
		if !cold {
			for _, e := range fitted {
				feed(e)
			}
		}
		b.StartTimer()
		suggest(b, name, core, feed)
	}
}

// suggest fits and judges what the next decision of a campaign needs, and makes it.
func suggest(b *testing.B, name string, core *engine.Core, feed func(events.Event)) {
	for decided := false; !decided; {
		switch step := nextStep(b, core).(type) {
		case engine.Fit:
			feed(fit(b, name, core, step))
		case engine.Judge:
			feed(judge(b, name, core))
		case engine.Decide:
			must.Get(core.Decide(b.Context(), step, events.Build{}, engine.World{Now: time.Unix(0, 0)}))(b)
			decided = true
		default:
			b.Fatalf("unexpected step %T", step)
		}
	}
}

// feeder returns a function that folds events into a core, whatever places they
// had before.
func feeder(b *testing.B, core *engine.Core) func(events.Event) {
	sequence := events.Sequence(0)
	return func(e events.Event) {
		sequence++
		e.Sequence, e.ID = sequence, strconv.Itoa(int(sequence))
		must.Do(b, core.Apply(e))
	}
}

func nextStep(b *testing.B, core *engine.Core) engine.Step {
	return must.Get(core.Next(engine.World{Now: time.Unix(0, 0), Resources: engine.Only(engine.Resource{Capacity: 1})}))(b)
}

func fit(b *testing.B, name string, core *engine.Core, step engine.Fit) events.Event {
	payload := must.Get(core.Fit(b.Context(), step, events.Build{}))(b)
	return must.Get(events.New(name, payload))(b)
}

func judge(b *testing.B, name string, core *engine.Core) events.Event {
	made := must.Get(core.Make(b.Context(), engine.Judge{}, events.Build{}, engine.World{}))(b)
	return must.Get(events.New(name, made[0]))(b)
}

// fits returns the fits that a history calls for.
func fits(b *testing.B, name string, history []events.Event) (all []events.Event) {
	core := engine.NewCore(builtin.Registry())
	feed := feeder(b, core)
	for _, e := range history {
		feed(e)
	}
	for {
		step, ok := nextStep(b, core).(engine.Fit)
		if !ok {
			return all
		}
		e := fit(b, name, core, step)
		feed(e)
		all = append(all, e)
	}
}

// unsuggested returns the history of a campaign with n comparisons at random,
// up to the first fit.
func unsuggested(b *testing.B, method string, n int) []events.Event {
	b.Helper()
	def := must.Get(studytest.Define("ackley4", 1, 51, studytest.WithExpert(2), func(def *definition.Campaign) {
		m, _ := builtin.Registry().Methods.Method(method)
		def.Policy = m.Policy
		def.Initial = definition.Initial{Experiments: ptr(50), Design: definition.DesignRandom, Comparisons: ptr(n)}
		if !def.Measures() {
			def.Initial.Experiments = nil
			def.Instrument, def.Budget = definition.Instrument{}, definition.Budget{Comparisons: n + 1}
			studytest.SimulatedExpert(def, 0, func(s *humansim.Settings) { s.Task = "ackley4" })
			if method == "rahbo" || method == "anpei" {
				def.Model.Utility.Posterior = definition.PosteriorHallucinate
			}
			for i := range 6 {
				x := -0.5 + 0.2*float64(i)
				def.Experts[0].Anchors = append(def.Experts[0].Anchors,
					definition.Point{"x1": definition.Number(x), "x2": definition.Number(-x), "x3": definition.Number(x * x), "x4": definition.Number(0.1)})
			}
		}
	}))(b)
	log := memlog.New()
	must.Get(studytest.Simulate(b.Context(), log, def))(b)
	var all []events.Event
	for e := range must.Each(b, log.Read(b.Context(), 0)) {
		if e.Kind == events.KindModelFitted {
			break
		}
		all = append(all, e)
	}
	return all
}
