package coexbo_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/events/memlog"
	"github.com/campaignd/campaignd/internal/files/builtin"
	"github.com/campaignd/campaignd/internal/study/studytest"
	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/policies"
	"github.com/campaignd/campaignd/policies/coexbo"
	"github.com/campaignd/campaignd/projections/campaign"
)

// Law: an expert whose choices cannot be compared with what is measured, because one was between
// compositions that the space does not know, is not asked: a point of a design is taken, which
// says what is wrong.
func TestChoicesThatCannotBeRead(t *testing.T) {
	def := must.Get(studytest.Define("branin", 1, 4, studytest.WithExpert(2), func(def *definition.Campaign) {
		def.Policy.Trust, def.Policy.Handover = coexbo.CoExBO{}.Choice(), coexbo.Choose{}.Choice()
	}))(t)
	core := must.Get(studytest.Simulate(t.Context(), memlog.New(), def))(t)
	view := must.Get(core.View(t.Context()))(t)
	state, half := *view.Campaign, definition.Point{"x1": definition.Number(1)}
	state.Questions = append(slices.Clone(state.Questions), campaign.Question{
		Status: campaign.Answered, Form: events.FormComparison, Expert: "ada", Answer: events.Answer{Order: []int{0, 1}},
		Options: []events.Option{{Parameters: half}, {Parameters: half}},
	})
	view.Campaign, def.Budget.Experiments = &state, 40
	p := must.Get(builtin.Registry().Methods.New(def))(t)
	d, err := p.Decide(t.Context(), view, 7)
	if err != nil || d.Action != events.ActionRun || d.Rule != policies.RuleDesign || !strings.Contains(d.Reason, `"x2" is missing`) {
		t.Errorf("it is to %q by %q (%s), %v", d.Action, d.Rule, d.Reason, err)
	}
}
