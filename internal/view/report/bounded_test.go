package report

import (
	"math"
	"testing"

	"github.com/campaignd/campaignd/adapters/instruments/simulated"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/files/builtin"
	"github.com/campaignd/campaignd/internal/tests/must"
)

// Law: under a bound, each point of the best posterior mean is the best by the model that a campaign
// which is read up to the next decision has in its summary, with the models of all quantities by
// then; the curve has a gap where that is doubtful.
func TestProgressKeepsTheBounds(t *testing.T) {
	def := electrolyte(12)
	def.Experts, def.Policy.Trust, def.Seed = nil, definition.Choice{}, 3
	def.Objective = definition.Objective{Name: "conductivity", Goal: definition.Maximize}
	def.Quantities = []definition.QuantityDef{{Name: "conductivity", Unit: "mS/cm"}, {Name: "viscosity", Unit: "mPa·s", Scale: "log"}}
	def.ConstraintsOnOutcomes = []definition.OutcomeConstraint{{Require: "viscosity <= 1.7"}}
	def.Instrument.Driver = simulated.Choose(simulated.Settings{Task: "electrolyte", Noise: 0.14})
	trial := newTrial(t, def).run(nil)
	h := trial.history()
	points := map[int]progress{}
	for _, p := range h.progress {
		points[p.experiments] = p
	}
	sure, judged, measured := 0, 0, 0
	for e, err := range events.ReadCampaign(t.Context(), trial.log, "electrolyte", 0) {
		if err != nil {
			t.Fatal(err)
		}
		switch e.Kind {
		case events.KindExperimentMeasured:
			measured++
		case events.KindDecisionMade:
			point, ok := points[measured]
			if !ok {
				continue // nothing was fitted yet
			}
			core := engine.NewCore(builtin.Registry())
			each := func(events.Event, events.Payload) error { return nil }
			must.Do(t, core.Follow(t.Context(), trial.log, "electrolyte", e.Sequence-1, each))
			summary, err := core.Summarize(t.Context())
			if err != nil || summary.BestByModel == nil {
				t.Fatalf("%+v, %v", summary, err)
			}
			best := summary.BestByModel
			if judged++; best.Experiment != point.experiment || best.Mean != point.mean || best.Doubtful != point.doubtful {
				t.Errorf("after %d experiments the curve has %+v, and the summary %s with %v, doubtful: %t", measured, point,
					best.Experiment, best.Mean, best.Doubtful)
			}
		}
	}
	course := h.converge()
	for _, span := range course.spans() {
		for _, p := range span {
			if sure++; p.doubtful || math.IsNaN(p.mean) {
				t.Errorf("the curve has %+v", p)
			}
		}
	}
	if judged < 5 || sure == 0 || sure == len(h.progress) {
		t.Errorf("%d points are judged, %d of %d are not doubtful: the campaign has to have both", judged, sure, len(h.progress))
	}
}
