package drive_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/campaignd/campaignd/adapters/instruments/simulated"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/events/memlog"
	"github.com/campaignd/campaignd/internal/attest/decisions"
	"github.com/campaignd/campaignd/internal/builtin"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/study/studytest"
	"github.com/campaignd/campaignd/internal/tasks"
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
	def, err := studytest.Define("ackley4", 1, experiments, func(def *definition.Campaign) {
		studytest.Simulated(def, func(s *simulated.Settings) { s.Noise = 0.1 })
	})
	if err != nil {
		b.Fatal(err)
	}
	return def
}

// manyMeasured returns the history of a campaign with n measurements at random, all but the last measured
// before it began, with a fit to the first nine tenths, or to all but the last.
func manyMeasured(b *testing.B, n int, fitted bool) (all []events.Event) {
	b.Helper()
	def := noisyAckley(b, 2)
	sp, err := space.New(def)
	if err != nil {
		b.Fatal(err)
	}
	points, err := sp.Sample(n, 1)
	if err != nil {
		b.Fatal(err)
	}
	task, _ := tasks.Lookup("ackley4")
	core := engine.NewCore(builtin.Registry())
	feed := feeder(b, core)
	add := func(payload events.Payload) {
		e, err := events.New(def.Name, payload)
		if err != nil {
			b.Fatal(err)
		}
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
		value, err := task.Value(point)
		if err != nil {
			b.Fatal(err)
		}
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
				if _, err := studytest.Simulate(b.Context(), log, def); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(fmt.Sprintf("experiments=%d/audit", n), func(b *testing.B) {
			for b.Loop() {
				report, err := decisions.Audit(b.Context(), builtin.Registry(), log, def.Name, events.Build{})
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
				def, err := studytest.Define("ackley4", 1, n, func(def *definition.Campaign) {
					def.Policy.Next.Name = method
				})
				if err != nil {
					b.Fatal(err)
				}
				for b.Loop() {
					r, err := studytest.Runner(b.Context(), memlog.New(), def, nil)
					if err != nil {
						b.Fatal(err)
					}
					r.Summarized = func(engine.Revision, engine.Summary) {}
					r.Observe = func(core *engine.Core, _ engine.Wait) { view.CampaignOf(core, view.Shown{}, "") }
					if err := r.Run(b.Context()); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
