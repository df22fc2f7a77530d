package quantity_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/projections"
	"github.com/campaignd/campaignd/projections/campaign"
	"github.com/campaignd/campaignd/projections/projectiontest"
	"github.com/campaignd/campaignd/projections/quantity"
)

// Law: the events alone make the observations of each quantity, one that is declared by an
// amendment among them, which was reported before; live, replayed and restored they are the same.
func TestSetIsFoldedFromEvents(t *testing.T) {
	def := line(definition.Minimize)
	def.Quantities = []definition.QuantityDef{{Name: "y", Unit: "V"}, {Name: "z", Unit: "s"}}
	amended := def
	amended.Quantities = append([]definition.QuantityDef{{Name: "w", Unit: "g"}}, def.Quantities...)
	payloads := []events.Payload{&events.CampaignDefined{Definition: def}}
	for n := range 4 {
		m := measured(n+1, at(float64(n)), float64(n))
		m.Measurement.Objective.Unit, m.Requested = "V", m.Measurement.Actual
		m.Measurement.Further = []definition.Quantity{{Name: "z", Value: 1, Unit: "s"}}
		if n == 3 {
			m.Measurement.Further = []definition.Quantity{{Name: "w", Value: 2, Unit: "g"}}
		}
		payloads = append(payloads, &events.ExperimentRequested{
			Experiment: m.Experiment, Parameters: m.Requested, Origin: events.OriginInitial, Replicate: 1,
		}, m)
	}
	fit := fitted("rbf", 0, 1, 0.01, 0, 1, 0.3)
	fit.Model, fit.Quantity = events.ModelQuantity, "z"
	payloads = append(payloads, &events.MeasurementCorrected{
		Experiment: "e2", Corrects: "i4", Old: definition.Quantity{Name: "y", Value: 1, Unit: "V"}, Excluded: true,
	}, fit, &events.CampaignAmended{Definition: amended})
	create := func() []projections.Projection {
		c := campaign.New()
		return []projections.Projection{c, quantity.NewSet(c)}
	}
	all := create()
	var history []events.Event
	stages := make(map[events.Kind]string) // after the last event of each
	for i, p := range payloads {
		e := must.Get(events.New("line", p))(t)
		e.Sequence, e.ID = events.Sequence(i+1), fmt.Sprint("i", i)
		history = append(history, e)
		for _, of := range all {
			if err := of.Apply(e, p); err != nil {
				t.Fatalf("%s: %v", of.Name(), err)
			}
		}
		var counts []string
		for _, q := range all[1].(*quantity.Set).All() {
			counts = append(counts, fmt.Sprint(q.Name(), " ", q.Observed(), " ", q.Fitted()))
		}
		stages[e.Kind] = strings.Join(counts, ", ")
	}
	for kind, want := range map[events.Kind]string{
		events.KindExperimentMeasured:   "objective 4 false, quantity z 3 false",
		events.KindMeasurementCorrected: "objective 3 false, quantity z 2 false",
		events.KindModelFitted:          "objective 3 false, quantity z 2 true",
		events.KindCampaignAmended:      "objective 3 false, quantity w 1 false, quantity z 2 false",
	} {
		if stages[kind] != want {
			t.Errorf("after %s: %s, want %s", kind, stages[kind], want)
		}
	}
	projectiontest.Run(t, create, history)
}
