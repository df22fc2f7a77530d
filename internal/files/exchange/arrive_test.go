package exchange

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/tests/must"
)

// later declares a quantity that arrives later, and two that do not.
func later(def *definition.Campaign) {
	def.Quantities = []definition.QuantityDef{
		{Name: "capacity", Unit: "mAh", Arrives: definition.ArrivesLater}, {Name: "pH"}, {Name: "colour"},
		{Name: "mobility", Unit: "m²/s"},
	}
}

// Law: a row that names a measured experiment brings what it has not yet, and counts once; another value of what is
// there is refused in its column, with all of the file; a row with a composition of another experiment is one of its
// own, as tables of other campaigns have it.
func TestRowsBringWhatArrives(t *testing.T) {
	log, core := opened(t, t, later)
	submit := func(r engine.Request) {
		t.Helper()
		r.Actor = "person:ada"
		must.Get(engine.Submit(t.Context(), log, core, r, time.Unix(1, 0)))(t)
	}
	for _, a := range []float64{0.25, 0.5} {
		point := definition.Point{"a": definition.Number(a), "b": definition.Number(1 - a),
			"t": definition.Number(25), "salt": definition.Category("LiPF6")}
		submit(engine.Request{Tell: &engine.Tell{Parameters: point,
			Quantities: []definition.Quantity{{Name: "=y", Value: a, Unit: "@V"}, {Name: "pH", Value: 7}}}})
	}
	for _, c := range []struct {
		table, want string // faults, or the rows that are new and those that are known
	}{
		{"experiment,capacity\ne1,148\ne2,150\n", "2 new, 0 known"},
		{"experiment,capacity,unit_capacity\ne1,148,mAh\ne1,148,mAh\n", "2 new, 0 known"},
		{"experiment,capacity,pH\ne1,148,7\ne2,,7\n", "1 new, 1 known"},
		{"experiment,capacity,mobility,unit_mobility\ne1,148,2,m2.s-1\ne2,148,2,m²/s\n", "2 new, 0 known"},
		{"experiment,capacity,pH\ne1,148,7\ne2,,8\n", "t.csv:3:5: pH of e2 is there already: 7"},
		{"experiment,capacity\ne1,148 V\n", "t.csv:2:4: capacity"},
		{"experiment,capacity,unit_capacity\ne1,148,V\n", "t.csv:2:1: capacity is in V, the campaign's in mAh"},
		{"experiment,capacity\ne9,148\n", `t.csv:2:1: there is no experiment "e9"`},
		{"experiment,capacity\n,148\n", "it names no experiment"},
		{"experiment,capacity\ne1,\n", "the row has no value for e1"},
		{"experiment,missing\ne1,capacity: the cell was lost\n", "1 new, 0 known"},
		{"experiment,a,b,t,salt,=y,capacity\ne1,0.25,0.75,25,LiPF6,0.25,148\n", "1 new, 0 known"},
		{"experiment,a,b,t,salt,=y,capacity\ne1,0.75,0.25,25,LiPF6,0.3,148\n", "1 of its own"},
		{"experiment,a,b,t,salt,=y,capacity\ne1,0.25,0.75,25,LiPF6,0.3,148\n", "=y of e1 is there already"},
	} {
		im := importInto(core)
		p, err := im.Preview("t.csv", strings.NewReader(c.table))
		if err != nil {
			t.Fatalf("%s: %v", c.table, err)
		}
		readErr := im.Read("t.csv", strings.NewReader(c.table))
		if !strings.Contains(c.want, " new, ") && !strings.Contains(c.want, "own") {
			if readErr == nil || !strings.Contains(readErr.Error(), c.want) || p.Count(FateWrong) != 1 {
				t.Errorf("%s: %v, want %s", c.table, readErr, c.want)
			}
			continue
		}
		got := fmt.Sprintf("%d new, %d known", p.Count(FateNew), p.Count(FateKnown))
		if len(im.Rows) > 0 && im.Rows[0].Experiment == "" {
			got = "1 of its own"
		}
		if readErr != nil || got != c.want {
			t.Errorf("%s: %s, %v, want %s", c.table, got, readErr, c.want)
		}
	}
	im := importInto(core)
	must.Do(t, im.Read("t.csv", strings.NewReader("experiment,capacity\ne1,148\ne1,148\ne2,150\n")))
	submit(engine.Request{Import: im.Rows})
	for id, want := range map[string]float64{"e1": 148, "e2": 150} {
		if q, ok := core.State().Experiment(id).Measurement.Of("capacity"); !ok || q.Value != want || q.Unit != "mAh" {
			t.Errorf("the capacity of %s is %v", id, q)
		}
	}
	sequence := core.State().Sequence
	if _, err := core.Handle(engine.Request{Actor: "person:ada", Import: im.Rows}); err == nil {
		t.Error("what is there already is recorded once more")
	}
	if err := im.Read("t.csv", strings.NewReader("experiment,capacity\ne1,148\n")); err == nil ||
		!strings.Contains(err.Error(), "1 row in the campaign already") || core.State().Sequence != sequence {
		t.Errorf("a file that was read before: %v", err)
	}
	contradiction := []engine.Tell{
		{Experiment: "e1", Quantities: []definition.Quantity{{Name: "colour", Value: 1}}},
		{Experiment: "e1", Quantities: []definition.Quantity{{Name: "colour", Value: 2}}},
	}
	if _, err := core.Handle(engine.Request{Actor: "person:ada", Import: contradiction}); err == nil ||
		!strings.Contains(err.Error(), "row 2: colour of e1 is given twice") {
		t.Errorf("two rows that contradict each other: %v", err)
	}
}
