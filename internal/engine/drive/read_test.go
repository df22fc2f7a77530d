package drive_test

import (
	"math"
	"testing"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/attest/decisions"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/files/builtin"
	"github.com/campaignd/campaignd/internal/tests/must"
)

// Law: where no fit is recorded, a reader is given the model that the next decision fits. Reading changes nothing of
// the campaign: its digest and its next step stay.
func TestReadIsWhatTheNextDecisionFits(t *testing.T) {
	log, _ := simulate(t, electrolyte(t, 3, 6))
	all := history(t, log)
	k := find(t, all, events.KindModelFitted, "", 0) // none is recorded before the first
	core := mustLoad(t, refill(t, all[:k]))
	before := must.Get(core.Digest())(t)
	world := engine.World{Now: all[k].Time, Eager: true, Resources: engine.Only(engine.Resource{Capacity: 1})}
	step := must.Get(core.Next(world))(t)
	reading := must.Get(core.Read(t.Context()))(t)
	read, err := reading.View(t.Context())
	if err != nil || read.Objective() == nil {
		t.Fatalf("the reader has no model of the objective: %v, %v", read.ObjectiveError(), err)
	}
	if viewOf(t, core).Objective() != nil {
		t.Fatal("a decision is shown the model that was fitted for the reader")
	}
	after, err := core.Digest()
	if next, err2 := core.Next(world); err != nil || err2 != nil || before != after || next != step {
		t.Errorf("reading changes the digest from %s to %s, and the next step from %+v to %+v (%v, %v)",
			before, after, step, next, err, err2)
	}
	must.Do(t, core.Apply(all[k]))
	fitted := viewOf(t, core).Objective()
	i, mean := fitted.Best()
	j, shown := read.Objective().Best()
	if i != j || math.Float64bits(mean) != math.Float64bits(shown) ||
		fitted.Fit.LogPosterior != read.Objective().Fit.LogPosterior {
		t.Errorf("it is read as %+v, and fitted as %+v", read.Objective().Fit, fitted.Fit)
	}
	report, err := decisions.Audit(t.Context(), builtin.Registry(), log, core.State().Name, events.Build{}, nil)
	if err != nil || len(report.Mismatches) > 0 {
		t.Errorf("audit: %+v, %v", report.Mismatches, err)
	}
}
