package engine_test

import (
	"math"
	"testing"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/builtin"
	"github.com/campaignd/campaignd/internal/engine"
)

// Law: the model that whoever looks is given where none is recorded is the one that the next decision fits, and looking
// changes nothing of the campaign: its digest and its next step stay.
func TestReadIsWhatTheNextDecisionFits(t *testing.T) {
	log, _ := simulate(t, electrolyte(t, 3, 6))
	all := history(t, log)
	k := find(t, all, events.KindModelFitted, "", 0) // none is recorded before the first
	core := mustLoad(t, refill(t, all[:k]))
	before, err := core.Digest()
	if err != nil {
		t.Fatal(err)
	}
	world := engine.World{Now: all[k].Time, Eager: true, Capacity: 1}
	step, err := core.Next(world)
	if err != nil {
		t.Fatal(err)
	}
	read, err := core.Read(t.Context())
	if err != nil || read.Objective == nil || viewOf(t, core).Objective != nil {
		t.Fatalf("whoever looks has %v, a decision %v, %v", read.Objective, viewOf(t, core).Objective, err)
	}
	after, err := core.Digest()
	if next, err2 := core.Next(world); err != nil || err2 != nil || before != after || next != step {
		t.Errorf("looking changes the digest from %s to %s, and the next step from %+v to %+v (%v, %v)", before, after, step, next, err, err2)
	}
	if err := core.Apply(all[k]); err != nil {
		t.Fatal(err)
	}
	fitted := viewOf(t, core).Objective
	i, mean := fitted.Best()
	j, read2 := read.Objective.Best()
	if i != j || math.Float64bits(mean) != math.Float64bits(read2) || fitted.Fit.LogPosterior != read.Objective.Fit.LogPosterior {
		t.Errorf("it is read as %+v, and fitted as %+v", read.Objective.Fit, fitted.Fit)
	}
	report, err := engine.Audit(t.Context(), builtin.Registry(), log, core.State().Name, events.Build{})
	if err != nil || len(report.Mismatches) > 0 {
		t.Errorf("audit: %+v, %v", report.Mismatches, err)
	}
}
