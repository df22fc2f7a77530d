package instrumenttest_test

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/campaignd/campaignd/adapters/instruments"
	"github.com/campaignd/campaignd/adapters/instruments/instrumenttest"
	"github.com/campaignd/campaignd/adapters/instruments/simulated"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/study/tasks"
	"github.com/campaignd/campaignd/internal/tests/must"
)

// plated says that it performs acts for several experiments, and spoils what it gives.
type plated struct {
	*simulated.Instrument
	spoil func(*instruments.Outcome)
}

func (plated) Batches() bool { return true }

func (p plated) Await(ctx context.Context, cmd instruments.Command) (instruments.Outcome, error) {
	o, err := p.Instrument.Await(ctx, cmd)
	if cmd.Experiments != nil && err == nil {
		p.spoil(&o)
	}
	return o, err
}

// Law: an act for several experiments may fail for one of them; what is missing without a word, or
// stands twice, is found.
func TestTogether(t *testing.T) {
	task, _ := tasks.Lookup("electrolyte")
	def := definition.Campaign{Name: "plates", Parameters: task.Parameters, Constraints: task.Constraints, Objective: task.Objective}
	best := task.Point(task.Best.At)
	points := []definition.Point{best}
	for k := range 3 {
		p := maps.Clone(best)
		x, _ := best[task.Parameters[0].Name].Float()
		p[task.Parameters[0].Name] = definition.Number(x * (0.8 - 0.1*float64(k)))
		points = append(points, p)
	}
	settings := simulated.Settings{Task: "electrolyte"}
	for name, c := range map[string]struct {
		spoil func(*instruments.Outcome)
		fault string
	}{
		"honest": {func(*instruments.Outcome) {}, ""},
		"one fails": {func(o *instruments.Outcome) {
			o.Gave[0] = events.Given{Experiment: o.Gave[0].Experiment, Status: "failed", Cause: "a bubble"}
		}, ""},
		"without a word": {func(o *instruments.Outcome) { o.Gave = o.Gave[1:] }, "gave nothing for"},
		"no cause": {func(o *instruments.Outcome) {
			o.Gave[0] = events.Given{Experiment: o.Gave[0].Experiment, Status: "failed"}
		}, "without a cause"},
		"twice":         {func(o *instruments.Outcome) { o.Gave = append(o.Gave, o.Gave[0]) }, "twice"},
		"what is wrong": {func(o *instruments.Outcome) { o.Remarks = []string{"gave 4 is for no experiment"} }, "gave 4"},
	} {
		report := must.Get(instrumenttest.Examine(t.Context(), instrumenttest.Env{
			Open: func(context.Context) (instruments.Instrument, error) {
				i, err := simulated.New(settings, def)
				return plated{i, c.spoil}, err
			},
			Definition: def, Points: points,
		}))(t)
		k := slices.IndexFunc(report.Results, func(r instrumenttest.Result) bool { return r.Check == "gave" })
		switch r := report.Results[k]; {
		case c.fault == "" && r.Verdict != instrumenttest.Pass, c.fault != "" && r.Verdict != instrumenttest.Fail,
			!strings.Contains(r.Reason, c.fault):
			t.Errorf("%s: %+v; want %q", name, r, c.fault)
		}
	}
}
