package lab_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/builtin"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/lab"
	"github.com/campaignd/campaignd/internal/problem"
	"github.com/campaignd/campaignd/policies"
	"github.com/campaignd/campaignd/projections/campaign"
)

// mistaken is a method with a mistake in it.
type mistaken struct{ def definition.Campaign }

func (p mistaken) Ref() events.PolicyRef { return policies.RefOf(p.def.Policy) }

func (mistaken) Needs() policies.Needs { return policies.Needs{} }

func (mistaken) Decide(context.Context, policies.View, uint64) (policies.Decision, error) {
	var best []float64
	return policies.Decision{}, errors.New("the best is " + string(rune(best[0])))
}

type noSettings struct{}

func (*noSettings) Complete(*definition.Campaign) {}

func (*noSettings) Check(*definition.Campaign, definition.Path) []definition.Fault { return nil }

func (*noSettings) Words(*definition.Campaign) string { return "as it likes" }

func (*noSettings) PartWords(policies.Part) string { return "nobody is asked" }

// Law: a mistake in a method ends the run of its own campaign, which says so and takes requests;
// others go on, and so does the lab.
func TestAMistakeStaysWithItsCampaign(t *testing.T) {
	private(t)
	registry := builtin.Registry()
	registry.Methods = append(registry.Methods, policies.Family{
		Name:  "mistaken",
		Rules: []policies.Rule{{Part: policies.Next, Name: "mistaken", Settings: func() definition.Settings { return new(noSettings) }}},
		Methods: []policies.Method{{
			Name: "mistaken", Summary: "fails", Asks: "nothing", Policy: policies.Alone(definition.NewChoice("mistaken", nil)),
		}},
		New: func(def definition.Campaign) (policies.Policy, error) { return mistaken{def}, nil },
	})
	l, err := lab.Open(t.Context(), lab.Options{Folder: t.TempDir(), Registry: registry, Log: t.Logf})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	const source = `
name: bench
parameters: [{name: x1, min: -5, max: 10}, {name: x2, min: 0, max: 15}]
objective: {name: value, goal: minimize}
initial: {experiments: 2}
budget: {experiments: 30}
instrument: {simulated: {task: branin}}
policy: sobol
`
	bad := define(t, l, strings.NewReplacer("name: bench", "name: bad", "sobol", "mistaken").Replace(source))
	good := define(t, l, source)
	for _, c := range []*lab.Campaign{bad, good} {
		if err := c.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	for deadline := time.Now().Add(30 * time.Second); bad.Standing().Trouble == nil; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("nothing is said of the mistake")
		}
	}
	if problem.CodeOf(bad.Standing().Trouble) != problem.Internal {
		t.Errorf("what is said of it is %v", bad.Standing().Trouble)
	}
	note := engine.Request{Actor: "person:ada", Note: &events.NoteAdded{Text: "what is it?"}}
	if _, err := bad.Submit(t.Context(), note); err != nil {
		t.Errorf("it takes no note: %v", err)
	}
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(time.Millisecond) {
		core, err := good.Load(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if core.State().Status == campaign.Completed {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("the other campaign is %s", core.State().Status)
		}
	}
}
