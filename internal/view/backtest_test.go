package view_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/files/builtin"
	"github.com/campaignd/campaignd/internal/files/campaignfile"
	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/internal/view"
)

// Law: a backtest says what it is, which row is the best, as the campaign seeks it, and whether and when it was
// measured. Where the table is not there any more it says no more than what it is.
func TestBacktest(t *testing.T) {
	folder := t.TempDir()
	table := filepath.Join(folder, "rows.csv")
	write := func(text string) {
		t.Helper()
		must.Do(t, os.WriteFile(table, []byte(text), 0o600))
	}
	write("x,y\n1,5\n2,9\n3,7\n")
	for goal, want := range map[string][2]string{
		"maximize": {"has 9.000 V (x 2): not found in 1 measurement", "has 9.000 V (x 2): found in e3, the measurement 2"},
		"minimize": {"has 5.000 V (x 1): found in e2, the measurement 1", "has 5.000 V (x 1): found in e2, the measurement 1"},
	} {
		file := must.Get(campaignfile.Parse(builtin.Registry(), "rows.yaml", []byte(fmt.Sprintf(`
name: rows
parameters: [{name: x, min: 0, max: 10}]
objective: {name: y, unit: V, goal: %s}
budget: {experiments: 3}
instrument: {table: rows.csv}
`, goal))))(t)
		def := file.Definition
		at := func(x float64) definition.Point { return definition.Point{"x": definition.Number(x)} }
		for _, x := range []float64{1, 2, 3} {
			def.Candidates = append(def.Candidates, at(x))
		}
		all := []events.Payload{&events.CampaignDefined{Definition: def, Source: file.Source}}
		origin := events.OriginReference
		measure := func(n int, x, y float64) {
			id := events.ExperimentID(n)
			all = append(all,
				&events.ExperimentRequested{Experiment: id, Parameters: at(x), Origin: origin, Replicate: 1},
				&events.ExperimentDispatched{Experiment: id, Command: "c" + id, Instrument: "table/rows.csv"},
				&events.ExperimentMeasured{Experiment: id, Command: "c" + id, Instrument: "table/rows.csv", Requested: at(x),
					Measurement: events.Measurement{
						Actual: at(x), Objective: definition.Quantity{Name: "y", Value: y, Unit: "V"},
					}})
		}
		measure(1, 2, 9) // a reference finds nothing
		origin = events.OriginInitial
		measure(2, 1, 5)
		said := func(folder string) string {
			core := fold(t, all...)
			return view.Backtest(core, core.Registry().Foregone(core.State().Definition, folder))
		}
		if got := said(folder); !strings.HasPrefix(got, view.BacktestMeaning) || !strings.HasSuffix(got, want[0]) {
			t.Errorf("%s: %s, want %s", goal, got, want[0])
		}
		measure(3, 2, 9)
		if got := said(folder); !strings.HasSuffix(got, want[1]) {
			t.Errorf("%s: %s, want %s", goal, got, want[1])
		}
		if got := said(t.TempDir()); got != view.BacktestMeaning {
			t.Errorf("without its table: %s", got)
		}
	}
}
