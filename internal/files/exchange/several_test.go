package exchange

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/files/builtin"
	"github.com/campaignd/campaignd/internal/files/campaignfile"
	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/projections/campaign"
)

// seeking declares the quantities f and g, and seeks something of them.
func seeking(objective definition.Objective) func(*definition.Campaign) {
	return func(def *definition.Campaign) {
		def.Objective = objective
		def.Quantities = []definition.QuantityDef{{Name: "f", Unit: "V"}, {Name: "g"}}
		def.Policy.Next = definition.Choice{}
		*def = campaignfile.Complete(builtin.Registry(), *def)
	}
}

// objectives is what can be sought of the quantities f and g.
func objectives() map[string]definition.Objective {
	return map[string]definition.Objective{
		"a quantity": {Name: "f", Goal: definition.Maximize},
		"a formula":  {Name: "both", Goal: definition.Maximize, Formula: "f*g"},
		"a desirability": {Name: "desirability", Goal: definition.Maximize, Desirability: []definition.Desire{
			{Quantity: "f", From: new(0.0), To: new(10.0)}, {Quantity: "g", From: new(10.0), To: new(0.0)},
		}},
		"a trade-off": {Name: "f", Goal: definition.Maximize, Tradeoff: []definition.Aim{
			{Name: "f", Goal: definition.Maximize}, {Name: "g", Goal: definition.Minimize},
		}},
		"a preference": {Preference: &definition.Preference{Over: []string{"f", "g"}}},
	}
}

// ended is how an experiment ended that gave something, and what.
type ended struct {
	Status campaign.ExperimentStatus
	Cause  string
	kept
}

func endedOf(s *campaign.State) (list []ended) {
	for _, x := range s.Experiments {
		if x.Measurement != nil {
			list = append(list, ended{x.Status, x.Cause, kept{x.Parameters, *x.Measurement}})
		}
	}
	return list
}

// Law: whatever is sought, the table of a campaign is taken over by another one of the same file, quantity by
// quantity, with the experiments that failed and gave some all the same; read a second time nothing of it is taken
// twice, and one quantity that differs makes a row another one.
func TestWhateverIsSoughtRoundTrips(t *testing.T) {
	for name, objective := range objectives() {
		t.Run(name, func(t *testing.T) {
			log, core := opened(t, t, seeking(objective))
			submit := func(r engine.Request) {
				t.Helper()
				r.Actor = "person:ada"
				must.Get(engine.Submit(t.Context(), log, core, r, time.Unix(1, 0)))(t)
			}
			point := definition.Point{"a": definition.Number(0.25), "b": definition.Number(0.75),
				"t": definition.Number(25), "salt": definition.Category("LiPF6")}
			tell := func(f, g float64, failed string) {
				submit(engine.Request{Tell: &engine.Tell{Parameters: point, Failed: failed, Quantities: []definition.Quantity{
					{Name: "f", Value: f, Unit: "V", SD: new(0.5)}, {Name: "g", Value: g}}}})
			}
			tell(5, 2, "")
			tell(6, 3, "=the cell leaked")
			submit(engine.Request{Tell: &engine.Tell{Parameters: point, Failed: "nothing at all",
				Missing: []events.Missing{{Name: "g", Reason: "no light"}}}})
			tell(5, 4, "")
			var table bytes.Buffer
			must.Do(t, TableOf(core.State()).WriteCSV(&table))
			text, want := table.String(), endedOf(core.State())

			log, core = opened(t, t, seeking(objective))
			im := importInto(core)
			if err := im.Read("t.csv", &table); err != nil {
				t.Fatalf("%v\n%s", err, text)
			}
			if im.Left() != "1 row failed" {
				t.Errorf("left out: %s", im.Left())
			}
			rows := im.Rows
			submit(engine.Request{Import: rows})
			if diff := cmp.Diff(want, endedOf(core.State()), cmp.AllowUnexported(definition.Value{}, ended{})); diff != "" {
				t.Errorf("%s\n%s", diff, text)
			}
			im.Once, im.Rows = true, nil
			if err := im.Read("t.csv", strings.NewReader(text)); err == nil || len(im.Rows) > 0 {
				t.Errorf("read a second time: %d rows, %v", len(im.Rows), err)
			}
			if _, err := core.Handle(engine.Request{Actor: "person:ada", Import: rows, ImportOnce: true}); err == nil {
				t.Error("the same rows are recorded once more")
			}
			other := "a,b,t,salt,f,g\n0.25,0.75,25,LiPF6,5,2\n0.25,0.75,25,LiPF6,5,9\n"
			if err := im.Read("t.csv", strings.NewReader(other)); err != nil || len(im.Rows) != 1 {
				t.Errorf("another value of g: %d rows, %v", len(im.Rows), err)
			}
		})
	}
}

// Law: the unit and the standard deviation of each declared quantity may stand in columns with its name, also of the
// one that is sought by itself; where a column without it says something else, neither is guessed.
func TestColumnsOfWhatIsSought(t *testing.T) {
	for name, objective := range objectives() {
		_, core := opened(t, t, seeking(objective))
		im := importInto(core)
		if err := im.Read("t.csv", strings.NewReader("a,b,t,salt,f,unit_f,sd_f,g,unit_g,sd_g\n0.5,0.5,25,LiPF6,3,V,0.25,2,,\n")); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		row := im.Rows[0]
		byName := name != "a quantity"
		if !byName && (row.Value == nil || row.Unit != "V" || *row.SD != 0.25) ||
			byName && (row.Quantities[0].Unit != "V" || *row.Quantities[0].SD != 0.25) {
			t.Errorf("%s: %+v", name, row)
		}
		if err := im.Read("t.csv", strings.NewReader("a,b,t,salt,f,unit_f\n0.5,0.5,25,LiPF6,3,kg\n")); err == nil {
			t.Errorf("%s: another unit is taken", name)
		}
	}
	_, core := opened(t, t, seeking(objectives()["a quantity"]))
	err := importInto(core).Read("t.csv", strings.NewReader("a,b,t,salt,f,unit,unit_f\n0.5,0.5,25,LiPF6,3,V,mV\n"))
	if err == nil || !strings.Contains(err.Error(), "t.csv:2:22: it is mV, and in the column unit V") {
		t.Errorf("two units: %v", err)
	}
}
