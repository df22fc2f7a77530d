package campaign_test

import (
	"slices"
	"testing"
	"time"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/projections/campaign"
)

// Law: the outcome of a reference experiment is in no model, whatever a person corrects of it, and is not
// among the results.
func TestReferenceIsLeftOut(t *testing.T) {
	f := begin(t)
	asked := request(1)
	asked.Origin = events.OriginReference
	m := result(1, 5)
	fixed := definition.Quantity{Name: "y", Value: 6}
	f.must(asked, &events.ExperimentMeasured{Experiment: "e1", Instrument: "i", Requested: asked.Parameters, Measurement: m})
	if x := f.State().Experiment("e1"); !x.Excluded {
		t.Errorf("it counts: %+v", *x)
	}
	source := f.State().Experiment("e1").Source
	f.must(&events.MeasurementCorrected{Experiment: "e1", Corrects: source, New: &fixed, Reason: "a slip"})
	x := f.State().Experiment("e1")
	if !x.Excluded || x.Counts("y") || x.Measurement.Objective.Value != 6 {
		t.Errorf("it counts: %+v", *x)
	}
	if best, _ := f.State().Best(); best != nil || f.State().Spent() != 0 {
		t.Errorf("the best is %v, and %d are spent", best, f.State().Spent())
	}
	if s := f.State().Searched().Experiment("e1"); s.Status != campaign.Cancelled || s.Measurement != nil || x.Measurement == nil {
		t.Errorf("decisions are made from %+v", *s)
	}
}

// Law: a chart has the values of its own composition, as they count now: none that was made elsewhere,
// failed, or is of an experiment. One quantity has known limits and the other those that follow.
func TestControls(t *testing.T) {
	at := func(hour int) time.Time { return time.Date(2026, 1, 1, hour, 0, 0, 0, time.UTC) }
	standard, other := definition.Point{"x": definition.Number(1)}, definition.Point{"x": definition.Number(2)}
	s := &campaign.State{Definition: &definition.Campaign{
		Objective:  definition.Objective{Name: "y", Goal: definition.Maximize},
		Quantities: []definition.QuantityDef{{Name: "y", Unit: "mS"}, {Name: "z"}},
		ReferenceExperiments: map[string]definition.ReferenceExperiment{"standard": {
			Composition: standard, Every: 1, Limits: map[string]definition.ControlLimits{"z": {Target: 1, Tolerance: 0.5}},
		}},
	}}
	add := func(origin events.Origin, point definition.Point, y, z float64) *campaign.Experiment {
		n := len(s.Experiments) + 1
		s.Experiments = append(s.Experiments, campaign.Experiment{
			ID: events.ExperimentID(n), Status: campaign.Measured, Origin: origin, Parameters: point, EndedAt: at(n),
			Measurement: &events.Measurement{Actual: point, Quantities: []definition.Quantity{
				{Name: "y", Value: y, Unit: "mS"}, {Name: "z", Value: z},
			}},
		})
		return &s.Experiments[n-1]
	}
	for i := range 8 {
		add(events.OriginReference, standard, 10+float64(i%2), 1)
	}
	add(events.OriginReference, other, 100, 100)
	add(events.OriginInitial, standard, 100, 100)
	add(events.OriginReference, standard, 100, 100).Elsewhere = true
	add(events.OriginReference, standard, 100, 100).Status = campaign.Failed
	add(events.OriginReference, standard, 100, 1).Without = []string{"y"}
	add(events.OriginReference, standard, 20, 1.5)
	charts := s.Controls()
	if len(charts) != 2 || charts[0].Quantity != "y" || charts[1].Quantity != "z" || len(charts[0].Points) != 9 || len(charts[1].Points) != 10 {
		t.Fatalf("the charts are %+v", charts)
	}
	y, z := charts[0].Points[8], charts[1].Points[9]
	if y.Experiment != "e14" || !y.Out() || z.Out() || z.Limits.Upper != 1.5 || charts[0].Points[7].Limits != nil || charts[1].Points[0].Limits == nil {
		t.Errorf("the last values are %+v and %+v", y, z)
	}

	// An alarm is the last value alone, until a person has said a word on it, or resumed the campaign.
	known := func() bool {
		t.Helper()
		drifts := s.Drifts()
		if len(drifts) != 1 || drifts[0].Experiment != "e14" || drifts[0].Quantity != "y" {
			t.Fatalf("drifts: %+v", drifts)
		}
		return drifts[0].Known
	}
	note := func(about string, hour int) { s.Notes = []campaign.Note{{About: about, Time: at(hour)}} }
	got := []bool{known()}
	note("e13", 15)
	got = append(got, known())
	note("e14", 13) // while it was under way
	got = append(got, known())
	note("e14", 15)
	got = append(got, known())
	s.Notes = nil
	s.ResumedOn = at(13)
	got = append(got, known())
	s.ResumedOn = at(15)
	got = append(got, known())
	if want := []bool{false, false, false, true, false, true}; !slices.Equal(got, want) {
		t.Errorf("known: %v, want %v", got, want)
	}
	add(events.OriginReference, standard, 10, 1)
	if drifts := s.Drifts(); drifts != nil {
		t.Errorf("after a value within the limits: %+v", drifts)
	}
}
