package policies_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	humansim "github.com/campaignd/campaignd/adapters/humans/simulated"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/events/memlog"
	"github.com/campaignd/campaignd/internal/attest/decisions"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/files/builtin"
	"github.com/campaignd/campaignd/internal/study/studytest"
	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/policies"
	"github.com/campaignd/campaignd/policies/answers"
	"github.com/campaignd/campaignd/policies/cobol"
	"github.com/campaignd/campaignd/policies/coexbo"
	"github.com/campaignd/campaignd/policies/direct"
	"github.com/campaignd/campaignd/policies/duel"
	"github.com/campaignd/campaignd/policies/next"
	"github.com/campaignd/campaignd/policies/policytest"
	"github.com/campaignd/campaignd/projections/belief"
	"github.com/campaignd/campaignd/projections/campaign"
)

// method is a policy, and what its campaigns show.
type method struct {
	policy definition.Policy
	// form is what an expert is asked for in the course of the campaign; none for
	// policies that ask no one.
	form  events.Form
	asked bool
}

// methods are all policies that have a name, and the forms of feedback of App. H
// of Xu et al. 2024.
func methods() map[string]method {
	all := make(map[string]method)
	for _, m := range builtin.Registry().Methods.Methods() {
		if !m.Preference { // these have campaigns of their own, in package bope
			all[m.Name] = method{m.Policy, m.Form, m.Form != ""}
		}
	}
	forms := map[string]events.Form{
		belief.FeedbackComparison: events.FormComparison, belief.FeedbackRanking: events.FormComparison, belief.FeedbackPinpoint: events.FormPinpoint,
	}
	for feedback, form := range forms {
		settings := belief.Settings{Feedback: feedback}
		all["cobol by "+feedback] = method{definition.Policy{Trust: cobol.COBOL{Settings: settings}.Choice()}, form, true}
		all["cobohl by "+feedback] = method{definition.Policy{Trust: cobol.COBOHL{Settings: settings}.Choice()}, form, true}
		all["hcei by "+feedback] = method{definition.Policy{Trust: cobol.HCEI{Settings: settings}.Choice()}, form, true}
	}
	all["cobol by gaussian"] = method{policy: definition.Policy{Trust: cobol.COBOL{Settings: belief.Settings{Feedback: belief.FeedbackGaussian}}.Choice()}}
	all["answers worth asking for"] = method{definition.Policy{Trust: answers.Answers{}.Choice(), Handover: answers.Worth{}.Choice()}, events.FormLabel, true}
	window := 5
	all["cobol with a window"] = method{definition.Policy{Trust: cobol.COBOL{Settings: belief.Settings{Window: &window}}.Choice()}, events.FormLabel, true}
	for _, posterior := range []string{definition.PosteriorEP, definition.PosteriorHallucinate} {
		all["rahbo with "+posterior] = method{definition.Policy{Duel: duel.RAHBO{}.Choice()}, events.FormComparison, true}
	}
	return all
}

// Law: every method drives a whole campaign, of one and of two experts, that keeps the laws of
// policies at each decision, asks for what it says, and whose audit is clean.
func TestMethods(t *testing.T) {
	for name, m := range methods() {
		for experts := 1; experts <= 2; experts++ {
			t.Run(fmt.Sprintf("%s/%d", name, experts), func(t *testing.T) {
				t.Parallel()
				testMethod(t, name, m, experts)
			})
		}
	}
}

func testMethod(t *testing.T, name string, m method, experts int) {
	def := must.Get(studytest.Define("branin", 3, 9, func(def *definition.Campaign) {
		def.Policy = m.policy
		def.Initial.Comparisons = ptr(12)
		for i := range experts {
			studytest.WithExpert(2)(def)
			def.Experts[i].Name = []string{"ada", "bob"}[i]
			studytest.SimulatedExpert(def, i, func(s *humansim.Settings) { s.Task = "branin" })
		}
		if belief.Reads(m.policy.Trust, belief.FeedbackGaussian) {
			for i := range def.Experts {
				def.Experts[i].Belief = &definition.StatedBelief{
					Mean: definition.Point{"x1": definition.Number(3), "x2": definition.Number(3)}, SD: map[string]float64{"x1": 3, "x2": 3},
				}
			}
		}
		if !m.policy.Measures() {
			def.Instrument, def.Budget = definition.Instrument{}, definition.Budget{Comparisons: 24}
			def.Initial.Comparisons = ptr(4)
			def.Experts[0].Anchors = []definition.Point{{"x1": definition.Number(3), "x2": definition.Number(2)}, {"x1": definition.Number(4), "x2": definition.Number(3)}}
		}
		switch name {
		case "answers worth asking for":
			def.Initial.Comparisons = ptr(0) // else all is known that is worth asking for
		case "rahbo with ep":
			def.Model.Utility.Posterior = definition.PosteriorEP
		case "rahbo with hallucinate":
			def.Model.Utility.Posterior = definition.PosteriorHallucinate
		}
	}))(t)
	log := memlog.New()
	core := must.Get(studytest.Simulate(t.Context(), log, def))(t)
	asked := 0
	for _, q := range core.State().Questions {
		if q.Decision == "" {
			continue
		}
		if q.Form != m.form {
			t.Errorf("%s asked for a %q", q.Decision, q.Form)
		}
		if q.Status != campaign.Answered {
			t.Errorf("%s is %s", q.ID, q.Status)
		}
		asked++
	}
	if m.asked != (asked > 0) {
		t.Errorf("experts were asked %d times", asked)
	}
	summary, err := core.Summarize(t.Context())
	if err != nil || summary.Stopped == "" || (summary.BestByModel == nil) != !m.policy.Measures() || !m.policy.Measures() && len(summary.Preferred) != experts {
		t.Errorf("it ended as %+v, %v", summary, err)
	}
	report, err := decisions.Audit(t.Context(), builtin.Registry(), log, def.Name, events.Build{}, nil)
	if err != nil || len(report.Mismatches) > 0 || report.Decisions == 0 {
		t.Errorf("audit: %+v, %v", report, err)
	}
	if experts > 1 {
		return
	}
	views := viewsOf(t, log, engine.NewCore(builtin.Registry()))
	policytest.All(t, func() policies.Policy { return policyOf(t, def) }, views)
}

// Law: a policy that measures and whose method asks experts has a fault where a campaign has none,
// and the fault says that there are to be experts; with an expert it has no fault.
func TestMethodsWithoutExperts(t *testing.T) {
	registry := builtin.Registry()
	for _, m := range registry.Methods.Methods() {
		if !m.Policy.Measures() || m.Tradeoff || m.Preference {
			continue
		}
		for experts := range 2 {
			def, err := studytest.Define("branin", 3, 9, func(def *definition.Campaign) {
				studytest.WithExpert(2)(def)
				def.Policy = m.Policy
				def.Experts[0].Belief = &definition.StatedBelief{
					Mean: definition.Point{"x1": definition.Number(3), "x2": definition.Number(3)}, SD: map[string]float64{"x1": 3, "x2": 3},
				}
			})
			if err != nil {
				t.Fatal(m.Name, err)
			}
			def.Experts = def.Experts[:experts]
			var faults []definition.Fault
			for _, part := range policies.Parts(def.Policy) {
				settings, err := registry.Methods.Settings(def.Policy, part)
				if err != nil {
					t.Fatal(m.Name, err)
				}
				faults = append(faults, registry.Methods.Check(&def, part, settings, definition.At("policy"))...)
			}
			said := slices.ContainsFunc(faults, func(f definition.Fault) bool { return strings.Contains(f.Remedy, "experts") })
			if want := experts == 0 && m.Asks != ""; said != want || !want && len(faults) > 0 {
				t.Errorf("%s with %d experts: %v", m.Name, experts, faults)
			}
		}
	}
}

// Law: of a list each composition is measured once, also by an expert's choice of
// two; then the campaign ends and says that nothing is left.
func TestListsAreChosenFromOnce(t *testing.T) {
	var list []definition.Point
	for i := range 6 {
		list = append(list, definition.Point{"x1": definition.Number(float64(i)), "x2": definition.Number(float64(2 * i))})
	}
	for _, m := range coexbo.Family.Methods {
		if m.Policy.Next.Name == next.RandomName {
			continue // draws with repeats
		}
		def, err := studytest.Define("branin", 1, 9, studytest.WithExpert(2), func(def *definition.Campaign) {
			def.Policy, def.Candidates = m.Policy, list
			def.Initial.Experiments, def.Initial.Comparisons = ptr(2), ptr(4)
		})
		if err != nil {
			t.Fatal(m.Name, err)
		}
		core, err := studytest.Simulate(t.Context(), memlog.New(), def)
		if err != nil {
			t.Fatal(m.Name, err)
		}
		s := core.State()
		tried := make(map[string]bool)
		for _, x := range s.Experiments {
			key := fmt.Sprint(x.Parameters)
			if tried[key] {
				t.Errorf("%s: %s is tried again", m.Name, key)
			}
			tried[key] = true
		}
		if s.Status != campaign.Completed || s.Reason != events.CompletedExhausted || len(tried) != len(list) {
			t.Errorf("%s: after %d of %d it is %s (%s)", m.Name, len(tried), len(list), s.Status, s.Reason)
		}
	}
}

// Law: the family needs a rule of next that gives candidates; two at random will do where no
// prior bends one of them.
func TestTwoCandidates(t *testing.T) {
	for _, m := range coexbo.Family.Methods {
		def, err := studytest.Define("branin", 1, 9, studytest.WithExpert(2), func(def *definition.Campaign) { def.Policy = m.Policy })
		if err != nil {
			t.Fatal(m.Name, err)
		}
		bent := def.Policy.Trust.Name != policies.None
		for _, c := range []struct {
			next definition.Choice
			want bool
		}{
			{def.Policy.Next, true}, {next.LogEI{}.Choice(), true}, {next.Thompson{}.Choice(), true},
			{next.Random{}.Choice(), !bent}, {next.Sobol{}.Choice(), false}, {direct.Manual{}.Choice(), false}, {direct.Prior{}.Choice(), false},
		} {
			def.Policy.Next = c.next
			p, err := builtin.Registry().Methods.New(def)
			if (err == nil) != c.want || err != nil && (p != nil || !strings.Contains(err.Error(), fmt.Sprintf("%q", c.next.Name))) {
				t.Errorf("%s with next %s: %v", m.Name, c.next.Name, err)
			}
		}
	}
}
