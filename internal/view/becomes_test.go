package view_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/events/memlog"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/files/builtin"
	"github.com/campaignd/campaignd/internal/files/campaignfile"
	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/internal/view"
)

const boundedFile = `
name: bounded
seed: 1
parameters: [{name: salt, min: 0, max: 1}]
quantities: [{name: yield, unit: g}, {name: waste, unit: g, max: 10}]
objective: {maximize: yield}
constraints_on_outcomes: [waste <= 2]
budget: {experiments: 40}
initial: {experiments: 0}
instrument: manual
`

// Law: an amendment says what it makes of what was found: the best before and after, how
// many experiments keep the constraints, and which values a narrower range makes missing;
// before it is recorded as after, and nothing where it changes none of it.
func TestAmendmentSaysWhatBecomes(t *testing.T) {
	parse := func(source string) *campaignfile.File {
		return must.Get(campaignfile.Parse(builtin.Registry(), "bounded.yaml", []byte(source)))(t)
	}
	log := memlog.New()
	first := parse(boundedFile)
	if err := engine.Define(t.Context(), log, events.CampaignDefined{Definition: first.Definition}, "person:ada", time.Unix(0, 0), ""); err != nil {
		t.Fatal(err)
	}
	core := must.Get(engine.Load(t.Context(), builtin.Registry(), log, "bounded"))(t)
	for i := range 9 {
		salt := float64(i) / 8
		tell := engine.Tell{Parameters: definition.Point{"salt": definition.Number(salt)}, Quantities: []definition.Quantity{
			{Name: "yield", Value: 5 + salt}, {Name: "waste", Value: 4 * salt},
		}}
		if _, err := engine.Submit(t.Context(), log, core, engine.Request{Actor: "person:ada", Tell: &tell}, time.Unix(int64(i), 0)); err != nil {
			t.Fatal(err)
		}
	}
	amend := func(source string) (events.CampaignAmended, *view.Becomes) {
		file := parse(source)
		changes, err := campaignfile.Amend(builtin.Registry(), *core.State().Definition, file.Definition)
		if err != nil {
			t.Fatal(err)
		}
		a := events.CampaignAmended{Definition: file.Definition, Changes: changes, Source: file.Source}
		amended := must.Get(core.Amended(a))(t)
		b := must.Get(view.BecomesOf(t.Context(), core, amended))(t)
		return a, b
	}
	if _, b := amend(strings.Replace(boundedFile, "experiments: 40", "experiments: 50", 1)); b != nil {
		t.Errorf("a larger budget makes of what was found %+v", b)
	}
	source := strings.NewReplacer("waste <= 2", "waste <= 0.3", "max: 10", "max: 3").Replace(boundedFile)
	a, b := amend(source)
	if b == nil || b.Before.Best == "" || b.After.Best == b.Before.Best ||
		*b.Before.Constraints != (view.KeptBy{Measured: 9, Keep: 5}) || *b.After.Constraints != (view.KeptBy{Measured: 9, Keep: 1, Unknown: 2}) {
		t.Fatalf("it becomes %+v", b)
	}
	if len(b.Missing) != 2 || b.Missing[0] != (view.Uncounted{Quantity: "waste", Experiment: "e8", Value: 3.5, Unit: "g"}) {
		t.Errorf("values that count no more are %+v", b.Missing)
	}
	stored, err := engine.Submit(t.Context(), log, core, engine.Request{Actor: "person:ada", Amend: &a}, time.Unix(20, 0))
	if err != nil {
		t.Fatal(err)
	}
	after, err := view.BecomesOfAmendment(t.Context(), builtin.Registry(), log, "bounded", stored)
	if err != nil || after == nil || !slices.Equal(after.Lines(), b.Lines()) {
		t.Errorf("recorded it is\n%v\nand was to be\n%v, %v", after, b, err)
	}
}
