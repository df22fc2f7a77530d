package engine_test

import (
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/events/memlog"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/files/builtin"
	"github.com/campaignd/campaignd/internal/files/campaignfile"
	"github.com/campaignd/campaignd/internal/ground/problem"
	"github.com/campaignd/campaignd/internal/tests/must"
)

const platedFile = `
name: plated
seed: 1
parameters: [{name: salt, min: 0, max: 1}]
objective: {name: yield, unit: g, goal: maximize, max: 100}
budget: {experiments: 40}
parallel: 24
initial: {experiments: 24}
instrument: manual
`

// plated is a campaign with so many experiments that wait to be measured by hand.
func plated(t *testing.T, waiting int) (events.Log, *engine.Core) {
	t.Helper()
	file := must.Get(campaignfile.Parse(builtin.Registry(), "plated.yaml", []byte(platedFile)))(t)
	log := memlog.New()
	if err := engine.Define(t.Context(), log, events.CampaignDefined{Definition: file.Definition}, "person:ada", time.Unix(0, 0), ""); err != nil {
		t.Fatal(err)
	}
	core := must.Get(engine.Load(t.Context(), builtin.Registry(), log, "plated"))(t)
	var asked []events.Payload
	for i := range waiting {
		asked = append(asked, &events.ExperimentRequested{
			Experiment: events.ExperimentID(i + 1), Origin: events.OriginInitial, Replicate: 1,
			Parameters: definition.Point{"salt": definition.Number(float64(i) / float64(waiting))},
		})
	}
	batch, err := engine.NewBatch(core.State(), time.Unix(1, 0), engine.Envelope{Actor: "engine"}, asked...)
	if err != nil {
		t.Fatal(err)
	}
	stored := must.Get(log.Append(t.Context(), "plated", core.State().Sequence, batch...))(t)
	for _, e := range stored {
		must.Do(t, core.Apply(e))
	}
	return log, core
}

// payloadsOf is what a campaign has recorded.
func payloadsOf(t *testing.T, log events.Log) (all []events.Payload) {
	t.Helper()
	for e := range must.Each(t, events.ReadCampaign(t.Context(), log, "plated", 0)) {
		payload := must.Get(events.Decode(e))(t)
		all = append(all, payload)
	}
	return all
}

// Law: many results in one request record what as many requests for one each record, in their
// order, whatever one of them means for the next: a value that comes again, a composition that
// is repeated, an experiment that is asked for once more.
func TestManyResultsAreAsManyTells(t *testing.T) {
	yield := func(x float64) *float64 { return &x }
	rows := []engine.Tell{
		{Experiment: "e1", Value: yield(3)},
		{Experiment: "e3", Value: yield(3), Notes: []string{"cloudy"}},
		{Experiment: "e2", Again: "the argon ran out"},
		{Parameters: definition.Point{"salt": definition.Number(0)}, Value: yield(4)},
		{Experiment: "e5", Again: "the argon ran out"},
		{Parameters: definition.Point{"salt": definition.Number(0)}, Value: yield(5)},
		{Experiment: "e4", Failed: "it leaked"},
		{Experiment: "e6", Value: yield(6), Actual: definition.Point{"salt": definition.Number(0.1)}},
	}
	one, coreOfOne := plated(t, 6)
	many, coreOfMany := plated(t, 6)
	for _, row := range rows {
		if _, err := engine.Submit(t.Context(), one, coreOfOne, engine.Request{Actor: "person:ada", Tell: &row}, time.Unix(2, 0)); err != nil {
			t.Fatal(err)
		}
	}
	before := coreOfMany.State().Sequence
	stored, err := engine.Submit(t.Context(), many, coreOfMany, engine.Request{Actor: "person:ada", Results: rows}, time.Unix(2, 0))
	if err != nil {
		t.Fatal(err)
	}
	told, sent := payloadsOf(t, one), payloadsOf(t, many)
	if !reflect.DeepEqual(told, sent) {
		t.Errorf("one by one they record\n%v\ntogether\n%v", told, sent)
	}
	if len(stored) != len(sent)-int(before) {
		t.Errorf("they are %d events in %d", len(stored), len(sent)-int(before))
	}
	flagged := false
	for _, payload := range sent {
		_, is := payload.(*events.MeasurementFlagged)
		flagged = flagged || is
	}
	if !flagged {
		t.Error("a value that came again is not said to")
	}
}

// Law: where something is wrong with one of many results none is recorded, and each that is
// wrong is named by its row.
func TestManyResultsOrNone(t *testing.T) {
	_, core := plated(t, 6)
	before := must.Get(core.Digest())(t)
	yield := func(x float64) *float64 { return &x }
	for what, rows := range map[string][]engine.Tell{
		"judged": {
			{Experiment: "e1", Value: yield(3)}, {Experiment: "e2", Value: yield(300)},
			{Experiment: "e1", Value: yield(4)}, {Experiment: "e4", Value: yield(1)},
		},
		"in themselves": {
			{Experiment: "e1", Value: yield(3)}, {Experiment: "e2"},
			{Value: yield(4)}, {Experiment: "e4", Value: yield(1)},
		},
	} {
		_, err := core.Handle(engine.Request{Actor: "person:ada", Results: rows})
		var faults problem.RowFaults
		if !errors.As(err, &faults) || len(faults) != 2 || faults[0].Row != 2 || faults[1].Row != 3 {
			t.Errorf("%s: %v", what, err)
		} else if !strings.HasPrefix(err.Error(), "row 2: ") || !strings.Contains(err.Error(), "; row 3: ") {
			t.Errorf("%s: %v", what, err)
		}
	}
	if after, err := core.Digest(); after != before || err != nil {
		t.Errorf("the campaign is changed: %v", err)
	}
}
