package direct_test

import (
	"errors"
	"testing"

	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/events/memlog"
	"github.com/campaignd/campaignd/internal/files/builtin"
	"github.com/campaignd/campaignd/internal/study/studytest"
	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/policies"
	"github.com/campaignd/campaignd/policies/direct"
	"github.com/campaignd/campaignd/projections/space"
)

func ptr[T any](x T) *T { return &x }

// Law: where no composition can be drawn from what an expert prefers there is an error and no
// decision. Of the steps of 0.001 hardly any satisfy this constraint but those in the middle.
func TestSampleUndecided(t *testing.T) {
	def := must.Get(studytest.Define("branin", 1, 4, studytest.WithExpert(2), func(def *definition.Campaign) {
		def.Policy = policies.Alone(direct.Prior{}.Choice())
	}))(t)
	core := must.Get(studytest.Simulate(t.Context(), memlog.New(), def))(t)
	view := must.Get(core.View(t.Context()))(t)
	def.Budget.Experiments = 40
	p := must.Get(builtin.Registry().Methods.New(def))(t)
	if d, err := p.Decide(t.Context(), view, 7); err != nil || d.Rule != policies.RulePrior {
		t.Fatalf("it is to %q by %q (%s), %v", d.Action, d.Rule, d.Reason, err)
	}
	unit := func(name string) definition.Parameter {
		return definition.Parameter{Name: name, Min: ptr(0.0), Max: ptr(1.0)}
	}
	view.Space = must.Get(space.New(definition.Campaign{
		Parameters: []definition.Parameter{unit("a"), unit("b"), unit("c")},
		Constraints: []definition.Constraint{
			{Terms: map[string]float64{"a": 1, "b": 1.414213, "c": 1.732051}, Equals: ptr(2.073132)},
		},
		Instrument: definition.Instrument{Steps: map[string]float64{"a": 0.001, "b": 0.001, "c": 0.001}},
	}))(t)
	if d, err := p.Decide(t.Context(), view, 7); !errors.Is(err, space.ErrUndecided) || d.Made() {
		t.Errorf("it is to %q by %q (%s), %v", d.Action, d.Rule, d.Reason, err)
	}
}
