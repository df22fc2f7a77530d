package campaignfile_test

import (
	"testing"

	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/files/builtin"
	"github.com/campaignd/campaignd/internal/files/campaignfile"
	"github.com/campaignd/campaignd/internal/tests/must"
)

// Law: a campaign whose candidates come from its instrument, which no file may give, can be amended as any other;
// a fault that is new is refused.
func TestAmendListed(t *testing.T) {
	const source = `
name: bench
parameters: [{name: x, min: 0, max: 1}]
objective: {name: flow, unit: mL/s, goal: maximize}
budget: {experiments: 9}
instrument: {table: rows.csv}
`
	reg := builtin.Registry()
	file := must.Get(campaignfile.Parse(reg, "bench.yaml", []byte(source)))(t)
	old := file.Definition
	old.Candidates = []definition.Point{{"x": definition.Number(0.25)}, {"x": definition.Number(0.75)}}
	more := old
	more.Budget.Experiments = 12
	if changes, err := campaignfile.Amend(reg, old, more); err != nil || len(changes) != 1 {
		t.Errorf("changes %v, error %v", changes, err)
	}
	if err := campaignfile.Sound(reg, old, more); err != nil {
		t.Errorf("it cannot be run: %v", err)
	}
	more.Budget.Experiments = -1
	if _, err := campaignfile.Amend(reg, old, more); err == nil {
		t.Error("a budget of less than nothing is amended")
	}
}
