package diagnose_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/internal/view/diagnose"
)

const (
	tradedFile = `
name: several
seed: 1
parameters: [{name: salt, min: 0, max: 1}]
quantities: [{name: yield, unit: g}, {name: waste, unit: g}, {name: dust, unit: g}]
objective: {tradeoff: [{maximize: yield}, {minimize: waste}]}
budget: {experiments: 40}
initial: {experiments: 0}
instrument: manual
`
	formulaFile = `
name: several
seed: 1
parameters: [{name: salt, min: 0, max: 1}]
quantities: [{name: yield, unit: g}, {name: waste, unit: g}, {name: limit, unit: g, from: "1 + 0*salt"}]
objective: {maximize: ln((yield - waste)/limit)}
budget: {experiments: 40}
initial: {experiments: 0}
instrument: manual
`
)

// found is the finding of a code, nil where there is none.
func found(d diagnose.Diagnosis, code string) *diagnose.Finding {
	i := slices.IndexFunc(d.Findings, func(f diagnose.Finding) bool { return f.Code == code })
	if i < 0 {
		return nil
	}
	return &d.Findings[i]
}

// Law: a quantity that is sought and that not one measured experiment has is what is
// wrong, by its name; one on which nothing rests is a note, whatever its model is.
func TestSoughtQuantityThatNeverCame(t *testing.T) {
	v := measuring(t, tradedFile, 8, func(salt, noise float64) []definition.Quantity {
		return []definition.Quantity{{Name: "yield", Value: 5 + 3*salt}, {Name: "dust", Value: noise}}
	})
	d := must.Get(diagnose.Run(t.Context(), v))(t)
	f := found(d, diagnose.MissingQuantity)
	if f == nil || d.Verdict != diagnose.Unusable || !strings.Contains(d.Headline, "waste is missing in all 8 measured experiments") {
		t.Errorf("it is %s: %s %+v", d.Verdict, d.Headline, d.Findings)
	}
	if d.Valueless == nil || d.Valueless.Measured != 8 || len(d.Valueless.Missing) != 1 || len(d.Valueless.Missing[0].Experiments) != 8 {
		t.Errorf("it lists %+v", d.Valueless)
	}
	if f := found(d, diagnose.LowR2); f == nil || f.Level != diagnose.Note || !strings.Contains(f.Text, "depends on it") {
		t.Errorf("of a quantity on which nothing rests it says %+v", f)
	}
}

// Law: experiments with all quantities of a formula and no finite value of it are
// counted, each with the operation that has none.
func TestFormulaWithoutFiniteValue(t *testing.T) {
	n := 0
	v := measuring(t, formulaFile, 12, func(salt, noise float64) []definition.Quantity {
		n++
		yield := 3 + salt
		if n <= 3 {
			yield = 0.5
		}
		return []definition.Quantity{{Name: "yield", Value: yield}, {Name: "waste", Value: 1}}
	})
	d := must.Get(diagnose.Run(t.Context(), v))(t)
	if d.Valueless == nil || len(d.Valueless.NotFinite) != 3 || len(d.Valueless.Missing) != 0 {
		t.Fatalf("it lists %+v", d.Valueless)
	}
	if why := d.Valueless.NotFinite[0]; why.Experiment != "e1" || why.Why != "ln((yield - waste)/limit) is not defined at -0.5" {
		t.Errorf("it says %+v", why)
	}
	if f := found(d, diagnose.NotFinite); f == nil || !strings.HasPrefix(f.Text, "3 of 12 measured experiments") || len(f.Experiments) != 3 {
		t.Errorf("it finds %+v", d.Findings)
	}
}
