package quantity_test

import (
	"math"
	"testing"

	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/projections/campaign"
	"github.com/campaignd/campaignd/projections/quantity"
)

// Law: a known noise in per cent is what an instrument would have said of each value, for the
// model and for what is expected of a measurement; where the logarithm is modelled it is the
// standard deviation of that.
func TestRelativeNoise(t *testing.T) {
	const part = 0.05
	values := []float64{3, 40, 5, 22, 9, 60, 14, 2, 31}
	build := func(def definition.Campaign, said bool, noise float64) *fold {
		f := begin(t, def)
		for i, y := range values {
			m := measured(i+1, at(float64(i)), y)
			if said {
				m.Objective.SD = ptr(part * y)
			}
			m.Objective.Unit = "V"
			if !def.Several() {
				f.apply(m)
				continue
			}
			x := campaign.Experiment{ID: m.Experiment, Status: campaign.Measured, Measurement: &m.Measurement}
			quantity.Read(f.Projection, &campaign.State{Definition: &def}, &x, false)
		}
		fit := fitted("rbf", shift, scale, noise, prior, space, 0.3)
		fit.Objective.Log = def.Several()
		f.apply(fit)
		return f
	}
	same := func(name string, got, want *fold) {
		t.Helper()
		a := must.Get(got.Model(t.Context()))(t)
		b := must.Get(want.Model(t.Context()))(t)
		for _, x := range []float64{0, 0.13, 0.5, 0.77, 1} {
			mean, sd := a.Posterior([]float64{x})
			if wantMean, wantSD := b.Posterior([]float64{x}); !near(mean, wantMean) || !near(sd, wantSD) {
				t.Errorf("%s: at %v it is %v ± %v, want %v ± %v", name, x, mean, sd, wantMean, wantSD)
			}
		}
	}
	linear := line(definition.Minimize)
	relative := linear
	relative.Objective.RelativeNoise = ptr(part)
	got, want := build(relative, false, noise), build(linear, true, noise)
	same("as measured", got, want)
	e, ok, err := got.LeaveOneOut(t.Context(), *got.Of("e4"), 1)
	said, wantOK, wantErr := want.LeaveOneOut(t.Context(), *want.Of("e4"), 1)
	if !ok || !wantOK || err != nil || wantErr != nil || !near(e.Noise, said.Noise) || !near(e.Predicted.SD, said.Predicted.SD) {
		t.Errorf("e4 is expected to be %+v (%v), want %+v", e, err, said)
	}

	logarithmic := line(definition.Minimize)
	logarithmic.Quantities = []definition.QuantityDef{{Name: "y", Unit: "V", Scale: definition.ScaleLog}}
	known := logarithmic
	known.Quantities = []definition.QuantityDef{{Name: "y", Unit: "V", Scale: definition.ScaleLog, RelativeNoise: ptr(part)}}
	same("as a logarithm", build(known, false, noise), build(logarithmic, false, math.Pow(part/scale, 2)))
}
