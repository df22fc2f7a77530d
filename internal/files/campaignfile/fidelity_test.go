package campaignfile

import (
	"reflect"
	"testing"

	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/files/builtin"
)

const sourced = `
name: sourced
parameters: [{name: x, min: 0, max: 1}]
objective: {maximize: yield}
fidelity: {sources: [{name: simulation, cost: 0.1}, {name: cell, cost: 1}], unit: d}
budget: {experiments: 20}
instrument: manual
`

// Law: sources declare the choice between them, its last is the target, and each has its cost; a definition that says all
// of it is complete.
func TestSourcesAreShort(t *testing.T) {
	def := parsed(t, sourced)
	want := definition.Parameter{Name: "source", Categories: []definition.CategoryDef{{Name: "simulation"}, {Name: "cell"}}}
	if got := def.Parameters[len(def.Parameters)-1]; !reflect.DeepEqual(got, want) {
		t.Errorf("the parameter is %+v", got)
	}
	if def.Fidelity.Target.Name() != "cell" || def.Fidelity.Parameter != "source" || def.Cost != (definition.Cost{Of: "source", Unit: "d"}) {
		t.Errorf("%+v, %+v", def.Fidelity, def.Cost)
	}
	if again := Complete(builtin.Registry(), def); !reflect.DeepEqual(again, def) {
		t.Errorf("completed again it is %+v", again)
	}
}

// Law: what a source costs can change while the campaign is under way; the sources, and what is sought of them, cannot.
func TestFidelityIsAmended(t *testing.T) {
	for name, c := range map[string]struct {
		change func(f *definition.Fidelity)
		may    bool
	}{
		"cost":     {func(f *definition.Fidelity) { f.Sources[0].Cost = 0.3 }, true},
		"target":   {func(f *definition.Fidelity) { target := definition.Category("simulation"); f.Target = &target }, false},
		"name":     {func(f *definition.Fidelity) { f.Sources[0].Name = "model" }, false},
		"fidelity": {func(f *definition.Fidelity) { *f = definition.Fidelity{} }, false},
	} {
		to := parsed(t, sourced)
		c.change(&to.Fidelity)
		if _, err := Amend(builtin.Registry(), parsed(t, sourced), to); (err == nil) != c.may {
			t.Errorf("%s: %v", name, err)
		}
	}
}
