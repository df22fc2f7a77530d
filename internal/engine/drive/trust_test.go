package drive_test

import (
	"reflect"
	"testing"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/files/builtin"
	"github.com/campaignd/campaignd/internal/files/campaignfile"
	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/policies/answers"
)

// Law: what the answers are worth follows from the answers that count now: a core that has looked before a sitting
// was corrected says of it what one says that has not.
func TestTrustFollowsCorrections(t *testing.T) {
	def := electrolyte(t, 2, 8)
	def.Policy = definition.Policy{Trust: answers.Answers{}.Choice()}
	twelve, none := 12, 0
	def.Initial.Estimates, def.Initial.Labels, def.Initial.Comparisons = &twelve, &none, &none
	log, live := simulate(t, campaignfile.Complete(builtin.Registry(), def))
	load := func() *engine.Core {
		return must.Get(engine.Load(t.Context(), builtin.Registry(), log, live.State().Name))(t)
	}
	trust := func(core *engine.Core) any {
		helps, err := engine.Helps(t.Context(), core.At(engine.World{}))
		if err != nil || len(helps) == 0 {
			t.Fatalf("%+v, %v", helps, err)
		}
		return helps
	}
	looked, fresh := load(), load()
	before := trust(looked)
	q := looked.State().Question("q1")
	turned := events.QuestionSuperseded{Question: q.ID, Form: q.Form, Expert: q.Expert, Supersedes: q.Source, Scale: q.Scale}
	for _, o := range q.Options {
		turned.Options = append(turned.Options, o.Parameters)
	}
	for _, e := range q.Answer.Estimates {
		e.Value = -e.Value
		turned.Answer.Estimates = append(turned.Answer.Estimates, e)
	}
	e := must.Get(events.New(live.State().Name, &turned))(t)
	e.ID, e.Actor, e.Time, e.Sequence = "corrected", "person:ada", live.State().EndedAt, live.State().Sequence+1
	for _, core := range []*engine.Core{looked, fresh} {
		must.Do(t, core.Apply(e))
	}
	after := trust(looked)
	if reflect.DeepEqual(before, after) || !reflect.DeepEqual(after, trust(fresh)) {
		t.Errorf("before %+v, after %+v, and who looks for the first time sees %+v", before, after, trust(fresh))
	}
}
