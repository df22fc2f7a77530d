package policies_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/events/memlog"
	"github.com/campaignd/campaignd/internal/files/builtin"
	"github.com/campaignd/campaignd/internal/files/campaignfile"
	"github.com/campaignd/campaignd/internal/files/registry"
	"github.com/campaignd/campaignd/internal/study/studytest"
	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/policies"
	"github.com/campaignd/campaignd/policies/answers"
	"github.com/campaignd/campaignd/policies/cobol"
	"github.com/campaignd/campaignd/policies/coexbo"
	"github.com/campaignd/campaignd/policies/next"
	"github.com/campaignd/campaignd/policies/unaided"
	"github.com/campaignd/campaignd/projections/quantity"
)

// nearest is an acquisition that no package of this repository has: the squared distance from a
// place.
type nearest struct {
	Place []float64 `json:"place"`
}

func (*nearest) Complete(*definition.Campaign)                                      {}
func (*nearest) Check(*definition.Campaign, definition.Path) (f []definition.Fault) { return f }
func (*nearest) Words(*definition.Campaign) string                                  { return "the nearest to a place" }
func (*nearest) Name() string                                                       { return "nearest" }
func (*nearest) Rationale() string                                                  { return "the least distance from the place" }
func (n *nearest) Acquisition(*quantity.Model, uint64) (next.Acquisition, error) {
	return func(x, grad []float64) (sum float64) {
		for i, v := range x {
			sum += (v - n.Place[i]) * (v - n.Place[i])
			if grad != nil {
				grad[i] = 2 * (v - n.Place[i])
			}
		}
		return sum
	}, nil
}

// weighing is nearest as −log of a merit, drawing as a draw.
type (
	weighing struct{ nearest }
	drawing  struct{ nearest }
)

func (*weighing) Logarithm() {}
func (*drawing) Draws()      {}

// foreign is the program's table with a family whose one row is the rule "nearest".
func foreign(row policies.Rule) registry.Registry {
	reg := builtin.Registry()
	row.Part, row.Name = policies.Next, "nearest"
	if row.Settings == nil {
		row.Settings = func() definition.Settings { return new(nearest) }
	}
	reg.Methods = append(reg.Methods, policies.Family{
		Name: "foreign", Version: 1, Rules: []policies.Rule{row}, New: unaided.New,
	})
	return reg
}

// Law: an acquisition of another package is searched as those of this repository are: alone, by
// a row and the family unaided, and beside every rule of trust.
func TestForeignAcquisition(t *testing.T) {
	place := []float64{0.3, 0.7}
	rule := definition.NewChoice("nearest", nearest{Place: place})
	for name, p := range map[string]definition.Policy{
		"alone":   policies.Alone(rule),
		"cobol":   {Next: rule, Trust: cobol.COBOL{}.Choice()},
		"answers": {Next: rule, Trust: answers.Answers{}.Choice()},
		"pibo":    {Next: rule, Trust: coexbo.PiBO{}.Choice()},
		"batch":   {Next: rule, Trust: definition.NewChoice(policies.None, nil), Handover: coexbo.Choose{}.Choice()},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			def := must.Get(studytest.Define("branin", 1, 4, studytest.WithExpert(2)))(t)
			def.Policy = p
			def = campaignfile.Complete(foreign(policies.Rule{}), def)
			if faults := campaignfile.Validate(foreign(policies.Rule{}), def); len(faults) > 0 {
				t.Fatal(faults)
			}
			measured := def
			measured.Policy = policies.Alone(next.Sobol{}.Choice())
			core, err := studytest.Simulate(t.Context(), memlog.New(), campaignfile.Complete(builtin.Registry(), measured))
			if err != nil {
				t.Fatal(err)
			}
			view := must.Get(core.View(t.Context()))(t)
			policy, err := foreign(policies.Rule{}).Methods.New(def)
			if err != nil || !policy.Needs().Objective {
				t.Fatal(policy, err)
			}
			def.Budget.Experiments = 9
			policy = must.Get(foreign(policies.Rule{}).Methods.New(def))(t)
			d, err := policy.Decide(t.Context(), view, 1)
			i := slices.IndexFunc(d.Candidates, func(c events.Candidate) bool { return c.Name == policies.Unaided })
			if err != nil || i < 0 {
				t.Fatalf("it decides %+v, %v", d, err)
			}
			x, err := view.Space.Encode(d.Candidates[i].Parameters)
			if err != nil || math.Hypot(x[0]-place[0], x[1]-place[1]) > 1e-3 {
				t.Errorf("it finds %v (%v), want %v", x, err, place)
			}
		})
	}
}

// Law: what a rule of another package can do is in its row and its settings, and nowhere else:
// a campaign that asks for it is accepted with it and refused without.
func TestForeignAbilities(t *testing.T) {
	const head = `
name: c
parameters: [{name: x, min: 0, max: 1}]
quantities: [{name: q, unit: g}, {name: w, unit: g}]
instrument: manual
experts: [{name: ada, web: {}}]
policy: {next: {nearest: {place: [1]}}, trust: TRUST, handover: never}
budget: {experiments: 9}
`
	one := "objective: {maximize: q}\n"
	settings := func(s definition.Settings) policies.Rule {
		return policies.Rule{Settings: func() definition.Settings { return s }}
	}
	for name, c := range map[string]struct {
		further, trust string
		able, unable   policies.Rule
		fault          string
	}{
		"a trade-off": {"objective: {tradeoff: [{maximize: q}, {minimize: w}]}\n", "none",
			policies.Rule{Tradeoff: true}, policies.Rule{}, "the objective is a trade-off"},
		"a gain": {"objective: {tradeoff: [{maximize: q}, {minimize: w}]}\nstop: {gain: 1%}\n", "none",
			policies.Rule{Tradeoff: true}, policies.Rule{}, "expects no gain"},
		"a preference": {"objective: {preference: {over: [q, w]}}\n", "none",
			policies.Rule{Preference: true}, policies.Rule{}, "what an expert prefers"},
		"a cost": {one + "cost: {of: 1 + x, unit: h}\n", "none",
			settings(new(weighing)), policies.Rule{}, "cannot be weighed"},
		"fidelities": {one + "cost: {of: 1 + x, unit: h}\nfidelity: {parameter: x, target: 1}\n", "none",
			policies.Rule{Fidelity: true}, policies.Rule{}, "does not choose between fidelities"},
		"answers": {one, "answers", policies.Rule{}, settings(new(drawing)), "cannot enter a draw"},
		"trust":   {one, "cobol", policies.Rule{}, settings(new(still)), "and next has none"},
	} {
		t.Run(name, func(t *testing.T) {
			text := strings.Replace(head, "TRUST", c.trust, 1) + c.further
			said := func(row policies.Rule) string {
				_, err := campaignfile.Parse(foreign(row), "c.yaml", []byte(text))
				if err == nil {
					return ""
				}
				return err.Error()
			}
			if got := said(c.able); strings.Contains(got, c.fault) {
				t.Errorf("where the row says it can: %s", got)
			}
			if got := said(c.unable); !strings.Contains(got, c.fault) {
				t.Errorf("where it does not: %q, want %q", got, c.fault)
			}
		})
	}
}

// still is a rule that searches nothing.
type still struct {
	Place []float64 `json:"place"`
}

func (*still) Complete(*definition.Campaign)                                      {}
func (*still) Check(*definition.Campaign, definition.Path) (f []definition.Fault) { return f }
func (*still) Words(*definition.Campaign) string                                  { return "a place" }
