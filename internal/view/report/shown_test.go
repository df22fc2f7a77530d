package report

import (
	"testing"

	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/files/builtin"
	"github.com/campaignd/campaignd/internal/tests/must"
)

// Law: what the models were found to say already is taken where it is of the campaign as
// the log has it, and worked out otherwise.
func TestShownIsTaken(t *testing.T) {
	c := newTrial(t, electrolyte(6)).run(nil)
	now := c.history()
	found := func(at engine.Revision) *engine.ModelBest {
		t.Helper()
		in := Input{Registry: builtin.Registry(), Log: c.log, Campaign: c.def.Name}
		in.Shown.Keep(at, engine.Summary{Bests: engine.Bests{BestByModel: &engine.ModelBest{Experiment: "e99"}}})
		h := must.Get(read(t.Context(), in))(t)
		return h.summary.BestByModel
	}
	if best := found(now.core.Revision()); best == nil || best.Experiment != "e99" {
		t.Errorf("of the present revision it is not taken: %+v", best)
	}
	if best := found(engine.Revision{}); best == nil || best.Experiment != now.summary.BestByModel.Experiment {
		t.Errorf("of another revision it is taken: %+v", best)
	}
}
