package drive_test

import (
	"context"
	"errors"
	"testing"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/files/builtin"
	"github.com/campaignd/campaignd/internal/tests/must"
)

// Law: whoever calls something off gets an error, never less than the whole, and leaves
// nothing behind: asked again, the core says what it would have said.
func TestCoreIsCancelled(t *testing.T) {
	log, live := simulate(t, electrolyte(t, 2, 8))
	cancelled, cancel := context.WithCancelCause(t.Context())
	why := errors.New("somebody pressed a key")
	cancel(why)
	core := must.Get(engine.Load(t.Context(), builtin.Registry(), log, live.State().Name))(t)
	if _, err := core.View(cancelled); !errors.Is(err, why) {
		t.Errorf("a view that was called off: %v", err)
	}
	if summary, err := core.Summarize(cancelled); !errors.Is(err, why) {
		t.Errorf("a summary that was called off: %+v, %v", summary, err)
	}
	if _, err := engine.Helps(cancelled, core.At(engine.World{})); !errors.Is(err, why) {
		t.Errorf("the weighing of labels that was called off: %v", err)
	}
	if d, err := core.Decide(cancelled, engine.Decide{Decision: "d99"}, events.Build{}, engine.World{Now: live.State().EndedAt}); !errors.Is(err, why) {
		t.Errorf("a decision that was called off: %v, %v", d, err)
	}
	for _, model := range []string{events.ModelObjective, events.ModelBelief} {
		fit, err := core.Fit(cancelled, engine.Fit{ModelName: events.ModelName{Model: model, Expert: "ada"}}, events.Build{})
		if !errors.Is(err, why) {
			t.Errorf("a fit of the %s that was called off: %v, %v", model, fit, err)
		}
	}

	again, err := core.Summarize(t.Context())
	if err != nil || again.BestByModel == nil {
		t.Fatalf("after it was called off the summary is %+v, %v", again, err)
	}
	want := must.Get(live.Summarize(t.Context()))(t)
	if again.BestByModel.Experiment != want.BestByModel.Experiment || again.BestByModel.Mean != want.BestByModel.Mean {
		t.Errorf("after it was called off the best is %+v, else %+v", again.BestByModel, want.BestByModel)
	}
}
