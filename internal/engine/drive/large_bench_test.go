package drive_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"syscall"
	"testing"
	"time"

	"github.com/campaignd/campaignd/adapters/instruments/simulated"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/events/memlog"
	"github.com/campaignd/campaignd/internal/attest/decisions"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/files/builtin"
	"github.com/campaignd/campaignd/internal/files/campaignfile"
	"github.com/campaignd/campaignd/internal/study/studytest"
	"github.com/campaignd/campaignd/internal/study/tasks"
	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/internal/view"
	"github.com/campaignd/campaignd/projections/space"
)

// One decision of the default method after many measurements, d = 4, from the moment the last one has arrived:
// it is judged, the hyperparameters are fitted, from the fit to the first nine tenths, and a composition is
// chosen. Where "fitted", as most decisions of such a campaign are, the last fit is of all but the last one.
func BenchmarkLarge(b *testing.B) {
	for _, n := range []int{100, 400, 1000, 2000, 5000} {
		for _, fitted := range []bool{true, false} {
			b.Run(fmt.Sprintf("measurements=%d/fitted=%t", n, fitted), func(b *testing.B) {
				benchmarkSuggestion(b, manyMeasured(b, n, fitted), true)
			})
		}
	}
}

// noisyAckley is a campaign on Ackley's function with noise that is not known.
func noisyAckley(b *testing.B, experiments int) definition.Campaign {
	b.Helper()
	def := must.Get(studytest.Define("ackley4", 1, experiments, func(def *definition.Campaign) {
		studytest.Simulated(def, func(s *simulated.Settings) { s.Noise = 0.1 })
	}))(b)
	return def
}

// manyMeasured returns the history of a campaign with n measurements at random, all but the last measured
// before it began, with a fit to the first nine tenths, or to all but the last.
func manyMeasured(b *testing.B, n int, fitted bool) (all []events.Event) {
	b.Helper()
	def := noisyAckley(b, 2)
	sp := must.Get(space.New(def))(b)
	points := must.Get(sp.Sample(n, 1))(b)
	task, _ := tasks.Lookup("ackley4")
	core := engine.NewCore(builtin.Registry())
	feed := feeder(b, core)
	add := func(payload events.Payload) {
		e := must.Get(events.New(def.Name, payload))(b)
		feed(e)
		all = append(all, e)
	}
	add(&events.CampaignDefined{Definition: def})
	fits := n * 9 / 10
	if fitted {
		fits = n - 1
	}
	rng := rand.New(rand.NewPCG(1, 1))
	for i, point := range points {
		if i == fits {
			all = append(all, fit(b, def.Name, core, engine.Fit{ModelName: events.ModelName{Model: events.ModelObjective}, Seed: 1}))
			feed(all[len(all)-1])
		}
		value := must.Get(task.Value(point))(b)
		origin, id := events.OriginImport, events.ExperimentID(i+1)
		if i == n-1 {
			origin = events.OriginPerson
		}
		add(&events.ExperimentRequested{Experiment: id, Parameters: point, Origin: origin, Replicate: 1})
		add(&events.ExperimentMeasured{
			Experiment: id, Instrument: "person", Requested: point, Measurement: events.Measurement{
				Actual: point, Objective: definition.Quantity{Value: value + 0.1*rng.NormFloat64()},
			},
		})
	}
	return all
}

// BenchmarkCampaign is a whole campaign of the default method, d = 4, and its audit.
func BenchmarkCampaign(b *testing.B) {
	for _, n := range []int{100, 200, 400, 1000} {
		log, def := memlog.New(), noisyAckley(b, n)
		b.Run(fmt.Sprintf("experiments=%d/run", n), func(b *testing.B) {
			for b.Loop() {
				log = memlog.New()
				must.Get(studytest.Simulate(b.Context(), log, def))(b)
			}
		})
		b.Run(fmt.Sprintf("experiments=%d/audit", n), func(b *testing.B) {
			for b.Loop() {
				report, err := decisions.Audit(b.Context(), builtin.Registry(), log, def.Name, events.Build{}, nil)
				if err != nil || report.Decisions != report.Reproduced || report.Decisions == 0 {
					b.Fatal(report, err)
				}
			}
		})
	}
}

// BenchmarkDesign is a whole campaign whose decisions read no model, d = 4, with all that
// shows how it goes.
func BenchmarkDesign(b *testing.B) {
	for _, n := range []int{100, 1000} {
		for _, method := range []string{"sobol", "random"} {
			b.Run(fmt.Sprintf("experiments=%d/%s", n, method), func(b *testing.B) {
				def := must.Get(studytest.Define("ackley4", 1, n, func(def *definition.Campaign) {
					def.Policy.Next.Name = method
				}))(b)
				for b.Loop() {
					r := must.Get(studytest.Runner(b.Context(), memlog.New(), def, nil))(b)
					r.Summarized = func(engine.Revision, engine.Summary) {}
					r.Observe = func(core *engine.Core, _ engine.Wait) { view.CampaignOf(core, view.Shown{}, "") }
					must.Do(b, r.Run(b.Context()))
				}
			})
		}
	}
}

// BenchmarkStatus is what `campaignd status` works out of a trade-off of two quantities,
// d = 4, after n measurements that were imported, and what a suggestion takes beside it, both
// with the fits that it needs. A status of many measurements is bounded by twice that:
// the front was drawn at all of them together, which took thrice as long and grew by the cube.
func BenchmarkStatus(b *testing.B) {
	for _, n := range []int{200, 1000, 2000, 5000} {
		b.Run(fmt.Sprintf("measurements=%d", n), func(b *testing.B) {
			history := importedTradeoff(b, n)
			name := history[0].Campaign
			var status, suggestion time.Duration
			b.ReportAllocs()
			for b.Loop() {
				for _, f := range []func(*engine.Core, func(events.Event)){
					func(core *engine.Core, feed func(events.Event)) {
						began := processorTime(b)
						suggest(b, name, core, feed)
						suggestion += processorTime(b) - began
					},
					func(core *engine.Core, _ func(events.Event)) {
						began := processorTime(b)
						must.Get(view.StatusOf(b.Context(), core, nil))(b)
						status += processorTime(b) - began
					},
				} {
					core := engine.NewCore(builtin.Registry())
					feed := feeder(b, core)
					for _, e := range history {
						feed(e)
					}
					f(core, feed)
				}
			}
			b.ReportMetric(status.Seconds()/float64(b.N), "status-cpu-s")
			b.ReportMetric(suggestion.Seconds()/float64(b.N), "suggestion-cpu-s")
			if n >= 2000 && status > 2*suggestion {
				b.Errorf("a status takes %.1f times as long as a suggestion", status.Seconds()/suggestion.Seconds())
			}
		})
	}
}

// processorTime is what this process has used.
func processorTime(b *testing.B) time.Duration {
	b.Helper()
	var usage syscall.Rusage
	must.Do(b, syscall.Getrusage(syscall.RUSAGE_SELF, &usage))
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// importedTradeoff is the history of a campaign by hand with n imported measurements.
func importedTradeoff(b *testing.B, n int) (all []events.Event) {
	b.Helper()
	parsed := must.Get(campaignfile.Parse(builtin.Registry(), "large.yaml", []byte(`
name: large
seed: 1
parameters:
  - {name: x1, min: 0, max: 1}
  - {name: x2, min: 0, max: 1}
  - {name: x3, min: 0, max: 1}
  - {name: x4, min: 0, max: 1}
quantities: [{name: crust}, {name: minutes}]
objective:
  tradeoff: [{maximize: crust}, {minimize: minutes}]
budget: {experiments: 9}
instrument: {manual: {}}
`)))(b)
	log, name := memlog.New(), parsed.Definition.Name
	if err := engine.Define(b.Context(), log, events.CampaignDefined{Definition: parsed.Definition}, "person:ada", time.Unix(0, 0), ""); err != nil {
		b.Fatal(err)
	}
	core := must.Get(engine.Load(b.Context(), builtin.Registry(), log, name))(b)
	rng := rand.New(rand.NewPCG(1, 1))
	rows := make([]engine.Tell, n)
	for i := range rows {
		at, crust, minutes := definition.Point{}, 0.1*rng.NormFloat64(), 0.03*rng.NormFloat64()
		for _, p := range parsed.Definition.Parameters {
			x := rng.Float64()
			at[p.Name] = definition.Number(x)
			crust, minutes = crust+math.Sin(5*x), minutes+(x-0.8)*(x-0.8)
		}
		rows[i] = engine.Tell{Parameters: at, Quantities: []definition.Quantity{{Name: "crust", Value: crust}, {Name: "minutes", Value: minutes}}}
	}
	if _, err := engine.Submit(b.Context(), log, core, engine.Request{Actor: "person:ada", Import: rows}, time.Unix(0, 0)); err != nil {
		b.Fatal(err)
	}
	for e := range must.Each(b, log.Read(b.Context(), 0)) {
		all = append(all, e)
	}
	return all
}
