package engine

import (
	"fmt"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/projections/campaign"
)

// coarse is the number of repeated values from which an instrument counts as one that repeats
// them: it counts, rounds or is at a limit, and two equal values mean nothing.
const coarse = 3

// Same is the engine's word that a measurement equals, bit for bit, the one
// that the instrument gave before, of another composition: a program that reads
// a value before it is renewed does that. It says so and nothing else; whether
// the value is in doubt is judged as that of any other. An instrument that gave
// this value for an earlier composition too, with other values in between, is
// not accused of it.
func Same(c Now, x *campaign.Experiment, instrument string, m *events.Measurement) []events.Payload {
	measured, ok := m.Of(sought(c.State).Name)
	if !ok {
		return nil
	}
	value := measured.Value
	runs := runsOfValues(c.State, instrument, x.ID)
	last := len(runs) - 1
	if last < 0 || runs[last].value != value ||
		sameComposition(c, m.Actual, runs[last].newest.Measurement.Actual) {
		return nil
	}
	seen := make(map[float64]bool)
	again := 0
	for _, r := range runs[:last] {
		if seen[r.value] {
			again++
		}
		seen[r.value] = true
	}
	if seen[value] || again >= coarse {
		return nil
	}
	return []events.Payload{&events.MeasurementFlagged{Experiment: x.ID, Verdict: events.VerdictSame,
		Predicted: events.Prediction{Unit: sought(c.State).Unit},
		Reason: fmt.Sprintf(
			"It is %s, to the last digit what %s of another composition was just before. It counts; look whether it is a value of its own.",
			amount(c.State, value), runs[last].newest.ID,
		),
		Quantity: doubted(c.State)}}
}

// run is a value that an instrument gave one or several times in a row. Runs of
// equal values count as one: a program that repeats itself says nothing new.
type run struct {
	value  float64
	newest *campaign.Experiment
}

// runsOfValues returns an instrument's measurements, but for one experiment, in the order of
// their ends. The values are those that count now, corrections included; imported measurements
// have no instrument that could repeat itself.
func runsOfValues(s *campaign.State, instrument, but string) (runs []run) {
	var ended []*campaign.Experiment
	for y := range among(s) {
		if y.Status == campaign.Measured && y.ID != but && y.Origin != events.OriginImport &&
			y.Command.Instrument == instrument {
			ended = append(ended, y)
		}
	}
	sortByEnd(ended)
	for _, y := range ended {
		value, ok := s.Value(y)
		if !ok {
			continue
		}
		if n := len(runs); n > 0 && runs[n-1].value == value.Value {
			runs[n-1].newest = y
			continue
		}
		runs = append(runs, run{value.Value, y})
	}
	return runs
}

// sameComposition reports whether two compositions are one.
func sameComposition(c Now, a, b definition.Point) bool {
	one, err := c.space.Key(a)
	if err != nil {
		return false
	}
	other, err := c.space.Key(b)
	return err == nil && one == other
}
