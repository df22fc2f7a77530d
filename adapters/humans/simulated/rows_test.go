package simulated_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/campaignd/campaignd/adapters/humans"
	"github.com/campaignd/campaignd/adapters/humans/simulated"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/tests/must"
)

// Law: an expert who knows a table judges a composition by the mean of its rows, ranks it
// among those of the table, and is not set up for candidates that the table does not hold.
func TestKnowsTable(t *testing.T) {
	const n = 3000
	folder := t.TempDir()
	csv := "x,taste,name\n1,4,a\n2,10,b\n2,20,c\n3,1,d\n"
	must.Do(t, os.WriteFile(filepath.Join(folder, "rows.csv"), []byte(csv), 0o600))
	at := func(x float64) definition.Point { return definition.Point{"x": definition.Number(x)} }
	for _, goal := range []string{definition.Maximize, definition.Minimize} {
		def := definition.Campaign{
			Name: "sim", Seed: 7, Parameters: []definition.Parameter{{Name: "x", Min: ptr(0.0), Max: ptr(5.0)}},
			Objective:  definition.Objective{Name: "taste", Goal: goal},
			Candidates: []definition.Point{at(1), at(2)},
		}
		ada := definition.Expert{Name: "ada", Channel: simulated.Choose(simulated.Settings{Table: "rows.csv"})}
		r, err := simulated.Channel.Open(t.Context(), ada, def, humans.Environment{Folder: folder})
		if err != nil {
			t.Fatal(err)
		}
		// Means 4, 15 and 1: on the scale of ranks, best −3, worst 3, 1 and 2 are 6·11/14 apart.
		counts := 0
		for i := range n {
			q := question("branin", i, nil)
			q.Form, q.Options = events.FormComparison, []events.Option{{Parameters: at(1)}, {Parameters: at(2)}}
			a := must.Get(r.Ask(t.Context(), q))(t)
			counts += a.Answer.Order[0]
		}
		want := 1 / (1 + 0.008968) // S(6·11/14), and e^(−6·11/14) = 0.008968
		if goal == definition.Minimize {
			want = 1 - want
		}
		within(t, goal, counts, n, want)
		def.Candidates = append(def.Candidates, at(2.5))
		_, err = simulated.Channel.Open(t.Context(), ada, def, humans.Environment{Folder: folder})
		if err == nil || !strings.Contains(err.Error(), "does not know a candidate: rows.csv holds no row with x = 2.5") {
			t.Errorf("a candidate that the table does not hold: %v", err)
		}
	}
}
