package report

import (
	"strings"
	"testing"
	"time"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/view/figure"
	"github.com/campaignd/campaignd/projections/campaign"
)

// Law: each value of a reference experiment is on its control chart, with a link to it; one outside of the
// limits is marked. A reference without a value has no chart.
func TestControlFigures(t *testing.T) {
	standard := definition.Point{"x": definition.Number(1)}
	s := &campaign.State{Definition: &definition.Campaign{
		Objective: definition.Objective{Name: "rise", Unit: "mm", Goal: definition.Maximize},
		ReferenceExperiments: map[string]definition.ReferenceExperiment{
			"standard": {Composition: standard, Every: 2, Limits: map[string]definition.ControlLimits{"rise": {Target: 5, Tolerance: 1}}},
			"unused":   {Composition: definition.Point{"x": definition.Number(2)}, Every: 2},
		},
	}}
	for i, y := range []float64{5.5, 4.5, 7.25} {
		s.Experiments = append(s.Experiments, campaign.Experiment{
			ID: events.ExperimentID(i + 1), Status: campaign.Measured, Origin: events.OriginReference, Parameters: standard,
			EndedAt:     time.Date(2026, 1, 1, i, 0, 0, 0, time.UTC),
			Measurement: &events.Measurement{Actual: standard, Objective: definition.Quantity{Name: "rise", Value: y, Unit: "mm"}},
		})
	}
	all := ControlFigures(s, figure.Page{Link: func(id string) string { return "#" + id }})
	if len(all) != 1 || all[0].Title != "rise of the reference experiment standard" {
		t.Fatalf("the figures are %+v", all)
	}
	svg := string(all[0].SVG)
	for text, n := range map[string]int{"e1: 5.500 mm": 1, "e3: 7.250 mm": 1, "outside the limits": 1, "#e2": 1} {
		if got := strings.Count(svg, text); got != n {
			t.Errorf("%q is there %d times, want %d:\n%s", text, got, n, svg)
		}
	}
	if !strings.Contains(all[0].Caption, "as the campaign defines them") || !strings.Contains(all[0].Caption, "A diamond") {
		t.Errorf("the caption is %q", all[0].Caption)
	}
}
