package drive_test

import (
	"context"
	"testing"

	"github.com/campaignd/campaignd/adapters/humans"
	humanprocess "github.com/campaignd/campaignd/adapters/humans/process"
	"github.com/campaignd/campaignd/adapters/methods"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/events/memlog"
	"github.com/campaignd/campaignd/internal/study/studytest"
	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/policies/process"
)

// chooser is a program that is the method: it says nothing at first, and then moves along.
type chooser struct{ asked int }

func (c *chooser) Describe(context.Context) (methods.Description, error) {
	return methods.Description{Name: "chooser"}, nil
}

func (c *chooser) Close() error { return nil }

func (c *chooser) Propose(context.Context, methods.Question) (events.MethodAnswered, error) {
	a := events.MethodAnswered{Took: 0.25, Program: events.Program{Name: "chooser", Version: "3", Files: "0af3", Deterministic: true}}
	if c.asked++; c.asked%2 == 1 {
		a.Cause, a.Rejected = "its answer cannot be read", "{"
		return a, nil
	}
	a.Parameters = definition.Point{"x1": definition.Number(float64(c.asked)), "x2": definition.Number(4)}
	a.Reason, a.Numbers = "it is next", []events.Number{{Name: "gain", Value: 0.5}}
	return a, nil
}

// adviser is a program in an expert's place.
type adviser struct{}

func (adviser) Describe() humans.Description { return humans.Description{Expert: "llm"} }

func (adviser) Ask(_ context.Context, q humans.Question) (humans.Reply, error) {
	by := q.Shown
	by.Name, by.Version, by.Files = "oracle", "2", "77ab"
	r := humans.Reply{Comment: "as far as I know", Took: 1.5, Program: &by}
	for i := range q.Options {
		r.Answer.Estimates = append(r.Answer.Estimates, events.Estimate{Option: i, Value: float64(10 + i)})
	}
	return r, nil
}

// programmed is the history of a campaign whose method is a program, with another one in an expert's place.
func programmed(t *testing.T) []events.Event {
	def := must.Get(studytest.Define("branin", 3, 5, func(def *definition.Campaign) {
		def.Policy.Next = definition.NewChoice(process.Name, process.Settings{Command: []string{"chooser"}})
		def.Experts = []definition.Expert{{
			Name: "llm", Channel: definition.NewChoice(humanprocess.Name, humanprocess.Settings{Command: []string{"oracle"}}),
		}}
		def.Initial.Estimates = ptr(2)
		def.Initial.Experiments = ptr(2)
		def.Outliers.Action = definition.OutlierIgnore
	}))(t)
	log := memlog.New()
	r := must.Get(studytest.Runner(t.Context(), log, def, nil))(t)
	r.Method = new(chooser)
	r.Reviewers = map[string]humans.Reviewer{"llm": adviser{}}
	must.Do(t, r.Run(t.Context()))
	return history(t, log)
}
