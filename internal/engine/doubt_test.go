package engine_test

import (
	"strings"
	"testing"
	"time"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/events/memlog"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/files/builtin"
	"github.com/campaignd/campaignd/internal/files/campaignfile"
	"github.com/campaignd/campaignd/internal/tests/must"
)

const doubtedFile = `
name: doubted
seed: 1
parameters: [{name: salt, min: 0, max: 1}]
quantities: [{name: yield}, {name: waste}]
objective: {maximize: yield}
budget: {experiments: 40}
initial: {experiments: 0}
instrument: manual
`

// Law: a result in doubt is out of the models of all quantities; once it is overturned, the
// quantity that was doubted alone, and of a formula, where it is not known which quantity
// is wrong, the whole result.
func TestWhatADoubtLeavesOut(t *testing.T) {
	for _, c := range []struct {
		objective, quantity           string
		suspect, yielding, wasted, of int
	}{
		{"{maximize: yield}", "yield", 2, 2, 3, 3},
		{"{maximize: yield - waste}", "", 2, 2, 2, 3},
	} {
		file, err := campaignfile.Parse(builtin.Registry(), "doubted.yaml", []byte(strings.Replace(doubtedFile, "{maximize: yield}", c.objective, 1)))
		if err != nil {
			t.Fatal(err)
		}
		log := memlog.New()
		if err := engine.Define(t.Context(), log, events.CampaignDefined{Definition: file.Definition}, "person:ada", time.Unix(0, 0), ""); err != nil {
			t.Fatal(err)
		}
		core := must.Get(engine.Load(t.Context(), builtin.Registry(), log, "doubted"))(t)
		for i := range c.of {
			tell := engine.Tell{
				Parameters: definition.Point{"salt": definition.Number(float64(i) / 4)},
				Quantities: []definition.Quantity{{Name: "yield", Value: float64(i)}, {Name: "waste", Value: 1}},
			}
			if _, err := engine.Submit(t.Context(), log, core, engine.Request{Actor: "person:ada", Tell: &tell}, time.Unix(int64(i), 0)); err != nil {
				t.Fatal(err)
			}
		}
		flag := func(verdict events.Verdict) {
			t.Helper()
			e, err := events.New("doubted", &events.MeasurementFlagged{Experiment: "e2", Verdict: verdict, Quantity: c.quantity, Reason: "it is off"})
			if err != nil {
				t.Fatal(err)
			}
			e.Time = time.Unix(20, 0)
			next := must.Get(events.Assign("doubted", core.State().Sequence, []events.Event{e}))(t)
			must.Do(t, core.Apply(next[0]))
		}
		counted := func(name string) int {
			if q := core.Quantities().Of(events.ModelName{Model: events.ModelQuantity, Quantity: name}); q != nil {
				return q.Observed()
			}
			return core.Quantities().Objective().Observed()
		}
		flag(events.VerdictSuspect)
		if counted("yield") != c.suspect || counted("waste") != c.suspect {
			t.Errorf("%s: in doubt, %d and %d count", c.objective, counted("yield"), counted("waste"))
		}
		flag(events.VerdictOverturned)
		if counted("yield") != c.yielding || counted("waste") != c.wasted {
			t.Errorf("%s: overturned, %d and %d count", c.objective, counted("yield"), counted("waste"))
		}
	}
}
