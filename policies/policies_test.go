package policies_test

import (
	"iter"
	"sync"
	"testing"

	humansim "github.com/campaignd/campaignd/adapters/humans/simulated"
	"github.com/campaignd/campaignd/adapters/instruments/simulated"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/events/memlog"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/files/builtin"
	"github.com/campaignd/campaignd/internal/study/studytest"
	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/policies"
	"github.com/campaignd/campaignd/policies/cobol"
	"github.com/campaignd/campaignd/policies/next"
	"github.com/campaignd/campaignd/policies/policytest"
	"github.com/campaignd/campaignd/projections/belief"
)

// policyOf returns the policy of a definition.
func policyOf(t *testing.T, def definition.Campaign) policies.Policy {
	t.Helper()
	return must.Get(builtin.Registry().Methods.New(def))(t)
}

func ptr[T any](x T) *T { return &x }

// kinds of campaigns the laws are checked on.
var campaigns = map[string]struct {
	task    string
	changes []func(*definition.Campaign)
}{
	"cobol":    {"ackley4", []func(*definition.Campaign){studytest.WithExpert(1)}},
	"paper":    {"holder2", []func(*definition.Campaign){studytest.WithExpert(2), func(def *definition.Campaign) { def.Policy.Trust = cobol.COBOL{Paper: true}.Choice() }}},
	"logei":    {"branin", []func(*definition.Campaign){func(def *definition.Campaign) { def.Policy.Next = next.LogEI{}.Choice() }}},
	"thompson": {"branin", []func(*definition.Campaign){func(def *definition.Campaign) { def.Policy.Next = next.Thompson{}.Choice() }}},
	"sobol":    {"branin", []func(*definition.Campaign){func(def *definition.Campaign) { def.Policy.Next = next.Sobol{}.Choice() }}},
	"random":   {"branin", []func(*definition.Campaign){func(def *definition.Campaign) { def.Policy.Next = next.Random{}.Choice() }}},
	"mixture with steps": {"mixture4", []func(*definition.Campaign){studytest.WithExpert(1), func(def *definition.Campaign) {
		def.Instrument.Steps = map[string]float64{"ec": 0.01, "dmc": 0.01, "emc": 0.01, "fec": 0.01}
	}}},
	"failures and unsure experts": {"electrolyte", []func(*definition.Campaign){studytest.WithExpert(0), func(def *definition.Campaign) {
		studytest.Simulated(def, func(s *simulated.Settings) { s.FailureRate = 0.3 })
		studytest.SimulatedExpert(def, 0, func(s *humansim.Settings) { s.UnsureRate = 0.5 })
		def.Policy.Trust = cobol.COBOL{Settings: belief.Settings{Confidence: ptr(0.5)}}.Choice()
		def.Policy.Handover = cobol.Width{MaxPerExperiment: ptr(2)}.Choice()
		def.Budget.Labels = ptr(12)
	}}},
	"no gate": {"ackley4", []func(*definition.Campaign){studytest.WithExpert(2), func(def *definition.Campaign) {
		def.Policy.Trust = cobol.COBOL{Settings: belief.Settings{Confidence: ptr(0.5)}}.Choice()
		def.Policy.Handover = cobol.Width{MaxPerExperiment: ptr(1), Gate: ptr(false)}.Choice()
		studytest.SimulatedExpert(def, 0, func(s *humansim.Settings) { s.UnsureRate = 0.3 })
	}}},
	"two experts": {"branin", []func(*definition.Campaign){studytest.WithExpert(1), func(def *definition.Campaign) {
		bob := def.Experts[0]
		bob.Name = "bob"
		def.Experts = append(def.Experts, bob)
	}}},
	"target": {"branin", []func(*definition.Campaign){func(def *definition.Campaign) { def.Stop.Target = ptr(5.0) }}},
	"window": {"branin", []func(*definition.Campaign){func(def *definition.Campaign) { def.Stop.Window = 3 }}},
}

// The laws hold at every decision of whole campaigns of every policy.
func TestPolicies(t *testing.T) {
	var mu sync.Mutex
	settled := make(map[string]bool) // rules that settled a decision
	for name, c := range campaigns {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			def := must.Get(studytest.Define(c.task, 2, 10, c.changes...))(t)
			log := memlog.New()
			must.Get(studytest.Simulate(t.Context(), log, def))(t)
			policy := policyOf(t, def)
			core := engine.NewCore(builtin.Registry())
			rules := make(map[string]int)
			for _, d := range policytest.All(t, func() policies.Policy { return policy }, viewsOf(t, log, core)) {
				rules[d.Rule]++
			}
			t.Logf("rules: %v", rules)
			mu.Lock()
			defer mu.Unlock()
			for rule := range rules {
				settled[rule] = true
			}
		})
	}
	t.Cleanup(func() {
		for _, rule := range []string{policies.RuleBudget, policies.RuleTarget, policies.RuleDesign, policies.RuleUnaided, policies.RuleAccepted,
			policies.RuleNoAnswer, policies.RuleCap, policies.RuleGate, policies.RuleNoHarm, policies.RuleAskedBefore, policies.RuleAccepts, policies.RuleAsk,
			policies.RuleJudge, policies.RuleJudged, policies.RuleHandedOver} {
			if !settled[rule] {
				t.Errorf("no campaign above reaches the rule %q", rule)
			}
		}
	})
}

// viewOf is what a policy may see of a campaign.
// viewsOf yields what each decision in a log was made from, with its seed. It brings
// core forward.
func viewsOf(t *testing.T, log events.Log, core *engine.Core) iter.Seq2[policies.View, uint64] {
	return func(yield func(policies.View, uint64) bool) {
		for e := range must.Each(t, log.Read(t.Context(), 0)) {
			if payload, _ := events.Decode(e); e.Kind == events.KindDecisionMade {
				if !yield(viewOf(t, core), payload.(*events.DecisionMade).Seed) {
					return
				}
			}
			must.Do(t, core.Apply(e))
		}
	}
}

func viewOf(t *testing.T, core *engine.Core) policies.View {
	t.Helper()
	return must.Get(core.View(t.Context()))(t)
}

// Law: no version of campaignd's own families is used twice: programs of 0.1.0 recorded 3,
// later ones 1 and 2.
func TestVersionsOfFamilies(t *testing.T) {
	for _, f := range builtin.Registry().Methods {
		if f.Version < 2 || f.Version == 3 {
			t.Errorf("the family %s has version %d: 1 to 3 are taken, next is 4", f.Name, f.Version)
		}
	}
}
