package campaignfile

import (
	"os"
	"strings"
	"testing"

	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/files/builtin"
	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/policies/next"
)

// Law: what is sought of declared quantities can be changed into anything else that is sought of them, in every
// direction, and so can the constraints: the past is read again. What is measured keeps its name and its unit.
func TestWhatIsSoughtIsAmended(t *testing.T) {
	const head = `
name: amended
parameters: [{name: x, min: 0, max: 1}]
quantities:
  - {name: a, unit: mS/cm}
  - {name: b, unit: mS/cm}
  - {name: price, from: 2*x}
budget: {experiments: 20}
instrument: manual
`
	kinds := []string{
		"objective: {maximize: a}",
		"objective: {minimize: b}",
		"objective: {maximize: a/b}",
		"objective: {desirability: [{quantity: a, from: 1, to: 5}, {quantity: price, from: 2, to: 0}]}",
		"objective: {desirability: [{quantity: a, from: 1, to: 5, weight: 3}, {quantity: price, from: 1.5, to: 0}]}",
		"objective: {tradeoff: [{maximize: a}, {minimize: price}]}",
		"objective: {tradeoff: [{minimize: price, worst: 1}, {maximize: a, worst: 0.5}, {minimize: b}]}",
		"objective: {maximize: a}\nconstraints_on_outcomes: [b <= 3, a >= reference.a]\nreference: {experiment: e1}",
		"objective: {maximize: a}\nconstraints_on_outcomes: [{require: b <= 4, confidence: 0.5}]",
	}
	for i, from := range kinds {
		for j, to := range kinds {
			changes, err := Amend(builtin.Registry(), parsed(t, head+from), parsed(t, head+to))
			if err != nil || (len(changes) == 0) != (i == j) {
				t.Errorf("from %s\nto %s\n%v, %v", from, to, changes, err)
			}
		}
	}
	for _, from := range kinds {
		to := parsed(t, head+from)
		to.Quantities[0].Unit = "S/m"
		if _, err := Amend(builtin.Registry(), parsed(t, head+from), to); err == nil {
			t.Errorf("from %s: the unit of what was measured can be changed", from)
		}
	}
}

// Law: what is computed of more measured quantities than can be computed with is sought by the model of its values,
// and is refused where it has to be compared by its quantities.
func TestOfManyQuantities(t *testing.T) {
	const head = `
name: many
parameters: [{name: x, min: 0, max: 1}]
quantities: [{name: a}, {name: b}, {name: c}, {name: d}, {name: e}]
budget: {experiments: 20}
instrument: manual
`
	for text, want := range map[string]bool{
		"objective: {maximize: a + b + c + d}":                                              true,
		"objective: {maximize: a + b + c + d + e}":                                          false,
		"objective: {maximize: a + b + c + d + a + x}":                                      true,
		"objective: {maximize: a}":                                                          false,
		"objective: {desirability: [{quantity: a, from: 1, to: 5}]}":                        true,
		"objective: {tradeoff: [{maximize: a}, {minimize: b}]}":                             false,
		"objective: {maximize: a + b + c + d + e}\npolicy: lcb\n":                           false,
		"objective: {maximize: a * b}\nconstraints_on_outcomes: [c + d + e <= 3, b <= x]\n": true,
	} {
		def := parsed(t, head+text)
		if settings, _ := definition.SettingsIf[next.LogNEI](def.Policy.Next, next.LogNEIName); settings.Quantities != want {
			t.Errorf("%s: by its quantities: %t", text, settings.Quantities)
		}
		if faults := Validate(builtin.Registry(), def); len(faults) > 0 {
			t.Errorf("%s: %v", text, faults)
		}
	}
	for _, text := range []string{
		"objective: {maximize: a + b + c + d + e}\nconstraints_on_outcomes: [a <= 3]",
		"objective: {maximize: a + b + c + d + e}\npolicy: {next: {lognei: {quantities: true}}}",
		"objective: {maximize: a}\nconstraints_on_outcomes: [a + b + c + d + e <= 3]",
	} {
		if _, err := Parse(builtin.Registry(), "x.yaml", []byte(head+text)); err == nil {
			t.Errorf("%s is taken", text)
		}
	}
}

// Law: another spelling of a unit is not a change, of a parameter, a quantity or what is sought: what goes with it is
// amended, and the campaign keeps the spelling of what it has measured. A simulated task takes any spelling.
func TestRespelledUnitIsNoChange(t *testing.T) {
	const old = `
name: respelled
parameters: [{name: x, unit: mol.kg-1, min: 0, max: 1}]
quantities: [{name: a, unit: mPa·s}, {name: b, unit: µS/cm}]
objective: {maximize: a}
budget: {experiments: 20}
instrument: manual
`
	was := parsed(t, old)
	is := parsed(t, strings.NewReplacer("mol.kg-1", "mol/kg", "mPa·s", "mPa.s", "µS", "uS").Replace(old))
	if changes, err := Amend(builtin.Registry(), was, is); err != nil || changes != nil {
		t.Errorf("it is a change: %v, %v", changes, err)
	}
	is.Budget.Experiments = 30
	changes, err := Amend(builtin.Registry(), was, is)
	if err != nil || len(changes) != 1 || changes[0].Path != "/budget/experiments" {
		t.Errorf("the budget: %v, %v", changes, err)
	}
	if kept := Respelled(was, is); kept.Quantities[0].Unit != "mPa·s" || kept.Parameters[0].Unit != "mol.kg-1" || is.Quantities[0].Unit != "mPa.s" {
		t.Errorf("it is in %v", kept.Quantities)
	}
	text := must.Get(os.ReadFile("../../../examples/electrolyte-tradeoff.yaml"))(t)
	simulated := strings.NewReplacer("mPa·s", "mPa.s", "mol/kg", "mol.kg-1").Replace(string(text))
	if simulated == string(text) || Validate(builtin.Registry(), parsed(t, simulated)) != nil {
		t.Errorf("a simulated task refuses another spelling: %v", Validate(builtin.Registry(), parsed(t, simulated)))
	}
}
