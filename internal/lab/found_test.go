package lab

import (
	"context"
	"errors"
	"testing"

	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/files/builtin"
	"github.com/campaignd/campaignd/internal/view"
	"github.com/campaignd/campaignd/policies"
)

// Law: what the models say is shown of the state that it was worked out for; how far experts
// are trusted stays shown in between where the campaign is run here, and nowhere else.
func TestFoundIsOfItsState(t *testing.T) {
	of := func(n uint64) engine.Revision { return engine.Revision{Answers: n} }
	var f found
	f.keep(of(1), engine.Summary{
		Bests: engine.Bests{BestByModel: &engine.ModelBest{Experiment: "e1"}},
		Helps: []policies.Help{{Expert: "ada"}},
	}, nil)
	for _, c := range []struct {
		at          uint64
		here        bool
		best, trust bool
	}{{1, false, true, true}, {1, true, true, true}, {2, false, false, false}, {2, true, false, true}} {
		var s Standing
		s.Revision = of(c.at)
		s.Here = c.here
		f.fill(&s)
		if (s.BestByModel != nil) != c.best || (s.Helps != nil) != c.trust {
			t.Errorf("at %d, run here %t: the best is %v, the trust %v", c.at, c.here, s.BestByModel, s.Helps)
		}
	}
}

// Law: what was worked out for a state that the campaign has left meanwhile takes the place of nothing.
func TestFoundTooLate(t *testing.T) {
	c := &Campaign{record: view.NewRecord(builtin.Registry(), "bench", new(view.Past))}
	now, left := engine.Revision{}, engine.Revision{Answers: 1}
	c.keep(now, engine.Summary{}, nil)
	c.keep(left, engine.Summary{}, nil)
	if f := &c.cache.found; !f.shown.Of(now) || f.shown.Of(left) {
		t.Error("what was worked out too late is kept")
	}
}

// Law: a campaign is run where a process runs it, this one or another.
func TestRuns(t *testing.T) {
	for _, c := range []struct {
		driven Driven
		want   bool
	}{{Driven{}, false}, {Driven{Here: true}, true}, {Driven{Run: Running{PID: 7}}, true}} {
		if got := c.driven.Runs(); got != c.want {
			t.Errorf("%+v is run: %t", c.driven, got)
		}
	}
}

// Law: who asks for a status that another one works out waits no longer than their context
// lets them.
func TestStatusIsNotWaitedForEver(t *testing.T) {
	lab := &Lab{options: Options{Registry: builtin.Registry()}}
	c := newCampaign(&member{lab: lab}, "bench")
	c.cache.busy <- struct{}{} // another caller works it out
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.Status(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("it says %v", err)
	}
}
