package events_test

import (
	"testing"
	"time"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/tests/must"
)

// measuredEvent is an experiment.measured of about 500 bytes of payload.
func measuredEvent(tb testing.TB) events.Event {
	tb.Helper()
	point := definition.Point{"lipf6": definition.Number(1.1091734), "ec": definition.Number(0.3405281), "dmc": definition.Number(0.98125)}
	began := time.Date(2026, 3, 1, 9, 30, 0, 0, time.UTC)
	e := must.Get(events.New("electrolyte", &events.ExperimentMeasured{
		Experiment: "e17", Command: "electrolyte/7XKQ2M4PZB/e17", Instrument: "process/mixer", Requested: point,
		Measurement: events.Measurement{
			Actual: point, Objective: definition.Quantity{Name: "conductivity", Value: 13.80531, Unit: "mS/cm"},
			Further:  []definition.Quantity{{Name: "temperature", Value: 26.4, Unit: "degC"}},
			Identity: "Metrohm 912, serial 10045, cell constant 0.8912/cm", Began: began, Ended: began.Add(48 * time.Second),
		},
	}))(tb)
	return e
}

// Decoding a payload: what a replay costs beyond reading envelopes.
func BenchmarkDecode(b *testing.B) {
	e := measuredEvent(b)
	b.SetBytes(int64(len(e.Data)))
	b.ReportAllocs()
	for b.Loop() {
		must.Get(events.Decode(e))(b)
	}
}
