package simulate

import (
	"context"
	"testing"

	"github.com/campaignd/campaignd/adapters/humans"
	"github.com/campaignd/campaignd/adapters/humans/humantest"
	"github.com/campaignd/campaignd/adapters/instruments"
	"github.com/campaignd/campaignd/adapters/instruments/instrumenttest"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/events/memlog"
	"github.com/campaignd/campaignd/internal/study/studyfile"
	"github.com/campaignd/campaignd/internal/study/studytest"
	"github.com/campaignd/campaignd/internal/tests/must"
)

func storeTask(t *testing.T) (*Task, definition.Campaign) {
	t.Helper()
	def := must.Get(studytest.Define("branin", 4, 6))(t)
	log := memlog.New()
	must.Get(studytest.Simulate(t.Context(), log, def))(t)
	file := must.Get(studyfile.Parse("study.yaml",
		[]byte("name: s\nseeds: 1\ntasks: [{store: past}]\npolicies: {cobol: {next: lcb, trust: cobol}}\nexperts: {good: [{simulated: {accuracy: 2}}]}\n"),
		studyfile.Options{}))(t)
	s, err := New(t.Context(), file, Environment{OpenStore: func(context.Context, string, string) (events.Log, string, func() error, error) {
		return log, "branin", func() error { return nil }, nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	return s.Tasks[0], s.Units[0].Definition
}

// Law: what stands in for an instrument keeps the laws of instruments.
func TestSurrogateIsAnInstrument(t *testing.T) {
	task, def := storeTask(t)
	instrumenttest.Run(t, instrumenttest.Env{
		Open:       func(context.Context) (instruments.Instrument, error) { return task.Instrument(def) },
		Definition: def,
		Points: []definition.Point{{"x1": definition.Number(1), "x2": definition.Number(2)},
			{"x1": definition.Number(3), "x2": definition.Number(4)}},
	})
}

// Law: who knows a table or a surrogate keeps the laws of reviewers.
func TestKnowerIsAReviewer(t *testing.T) {
	task, def := storeTask(t)
	blank := humans.Question{Campaign: def.Name, Expert: "expert", Parameters: def.Parameters, Objective: def.Objective}
	first := events.Option{Parameters: definition.Point{"x1": definition.Number(1), "x2": definition.Number(2)}}
	second := events.Option{Parameters: definition.Point{"x1": definition.Number(3), "x2": definition.Number(4)}}
	question, other, pair, free := blank, blank, blank, blank
	question.Form, question.Options = events.FormLabel, []events.Option{first}
	other.Form, other.Options = events.FormLabel, []events.Option{second}
	pair.Form, pair.Options = events.FormComparison, []events.Option{first, second}
	free.Form = events.FormPinpoint
	several := pair
	several.Form, several.Scale = events.FormEstimate, events.ScaleOf(def.Objective, true)
	humantest.Run(t, humantest.Env{
		Open: func() humans.Reviewer {
			reviewers := must.Get(task.reviewers(def))(t)
			return reviewers["expert"]
		},
		Questions:   []humans.Question{question, other, pair, free, several},
		Unsupported: []events.Form{events.FormOutcomes}, // a study's expert knows one quantity
	})
}
