package campaignfile

import (
	"testing"

	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/files/builtin"
	"github.com/campaignd/campaignd/internal/tests/must"
)

// Law: several bounds on one measured quantity are judged as one interval, and so is a bound on what is sought; one
// bound on another quantity has no such setting, and a campaign that began before there was one goes on without it.
func TestExactBounds(t *testing.T) {
	const head = `
name: bounds
parameters: [{name: x, min: 0, max: 1}]
quantities: [{name: a}, {name: b}, {name: price, from: 2*x}]
budget: {experiments: 20}
instrument: manual
`
	exact := func(def definition.Campaign) (which string) {
		for _, c := range def.ConstraintsOnOutcomes {
			if c.Exact {
				which += "x"
			} else {
				which += "-"
			}
		}
		return which
	}
	for text, want := range map[string]string{
		"objective: {maximize: a}\nconstraints_on_outcomes: [b <= 5]":                            "-",
		"objective: {maximize: a}\nconstraints_on_outcomes: [b <= 5, 2*b >= 4]":                  "xx",
		"objective: {maximize: a}\nconstraints_on_outcomes: [b <= 5, a >= 2, a - b <= 3]":        "-x-",
		"objective: {maximize: a*b}\nconstraints_on_outcomes: [a <= 5, b <= 2]":                  "--",
		"objective: {tradeoff: [{maximize: a}, {maximize: b}]}\nconstraints_on_outcomes: [a>=2]": "-",
		"objective: {maximize: a}\nconstraints_on_outcomes: [b <= 5*x, b >= 1]":                  "--",
	} {
		def := parsed(t, head+text)
		if got := exact(def); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
		begun := parsed(t, head+text)
		for i := range begun.ConstraintsOnOutcomes {
			begun.ConstraintsOnOutcomes[i].Exact = false
		}
		file := must.Get(Parse(builtin.Registry(), "x.yaml", []byte(head+text)))(t)
		if changes := Diff(begun, file.Begun(builtin.Registry(), def, begun)); len(changes) > 0 {
			t.Errorf("%s: a campaign that began earlier is changed: %v", text, changes)
		}
	}
}
