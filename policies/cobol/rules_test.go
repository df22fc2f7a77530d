package cobol_test

import (
	"cmp"
	"errors"
	"fmt"
	"math"
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
	"github.com/campaignd/campaignd/policies/cobol"
	"github.com/campaignd/campaignd/policies/trust"
	"github.com/campaignd/campaignd/projections/belief"
	"github.com/campaignd/campaignd/projections/campaign"
)

func ptr[T any](x T) *T { return &x }

// situation is a campaign after eight experiments, and what is to be decided in it.
type situation struct {
	def  definition.Campaign
	view policies.View
	seed uint64
}

// after returns the situation of a campaign that has run with a policy, in the middle of
// a budget of forty.
func after(t *testing.T, policy definition.Policy) situation {
	t.Helper()
	def, err := studytest.Define("branin", 1, 8, studytest.WithExpert(1), func(def *definition.Campaign) { def.Policy = policy })
	if err != nil {
		t.Fatal(err)
	}
	core := must.Get(studytest.Simulate(t.Context(), memlog.New(), def))(t)
	view := must.Get(core.View(t.Context()))(t)
	s := situation{def, view, 7}
	state := *s.view.Campaign
	state.Decisions++ // the one that asks what follows
	s.view.Campaign = &state
	s.def.Budget.Experiments = 40
	return s
}

// asked puts a question about a composition into the turn, with what became of it.
func (s *situation) asked(status campaign.QuestionStatus, label events.Label, at definition.Point) {
	state := s.view.Campaign
	state.Questions = append(slices.Clone(state.Questions), campaign.Question{
		ID: events.QuestionID(len(state.Questions) + 1), Decision: events.DecisionID(state.Decisions), Turn: state.Turns + 1,
		Status: status, Form: events.FormLabel, Expert: "ada",
		Options: []events.Option{{Parameters: at}}, Answer: events.Answer{Label: label},
	})
}

// decide makes the decision.
func (s *situation) decide(t *testing.T) policies.Decision {
	t.Helper()
	p := must.Get(builtin.Registry().Methods.New(s.def))(t)
	return must.Get(p.Decide(t.Context(), s.view, s.seed))(t)
}

// elsewhere is a composition that nothing else in the campaign is about.
var elsewhere = definition.Point{"x1": definition.Number(1.5), "x2": definition.Number(2.5)}

// Law: which rule settles a decision, and what it does. Each situation has every cause of
// the rules below it as well, as far as they can be had together: of two rules that
// apply, the earlier one settles it.
func TestRulesAndTheirOrder(t *testing.T) {
	accepts := func(s *situation) { s.asked(campaign.Answered, events.LabelAccept, elsewhere) }
	rejects := func(s *situation) { s.asked(campaign.Answered, events.LabelReject, elsewhere) }
	expires := func(s *situation) { s.asked(campaign.Expired, "", elsewhere) }
	spent := func(s *situation) { s.def.Budget.Experiments = s.view.Campaign.Spent() }
	late := func(s *situation) { s.def.Budget.Experiments = 9 }
	wordless := func(s *situation) { s.def.Budget.Labels = ptr(0) }
	unmodeled := func(s *situation) { s.view.Models = nil }
	infeasible := func(s *situation) { s.view.FeasibilityError = errors.New("no") }
	unbelieved := func(s *situation) {
		s.view.Beliefs, s.view.BeliefErrors = []*belief.Model{nil}, []error{errors.New("no")}
	}
	unknown := func(s *situation) {
		b := *s.view.Beliefs[0]
		b.Labels, b.X = nil, nil
		s.view.Beliefs = []*belief.Model{&b}
	}
	alone := func(s *situation) { s.def.Experts, s.view.Beliefs, s.view.BeliefErrors = nil, nil, nil }

	believed := func(f belief.Function) func(*situation) {
		return func(s *situation) {
			b := *s.view.Beliefs[0]
			b.Function = f
			s.view.Beliefs = []*belief.Model{&b}
		}
	}
	rejecting := believed(linear{1, 2, 0})      // everything, surely
	leaning := believed(linear{-3.5, -1.5, 50}) // they accept the left end of x1 alone
	unweighable := func(s *situation) {
		b := *s.view.Beliefs[0]
		b.X = slices.Clone(b.X)
		b.X[0] = []float64{math.NaN(), 0.5}
		s.view.Beliefs = []*belief.Model{&b}
	}
	inVain := func(n int) func(*situation) { // they named as many, and none of them was measured
		return func(s *situation) {
			state := s.view.Campaign
			state.Questions = slices.Clone(state.Questions)
			for i, q := range slices.Backward(state.Questions) {
				if q.Form != events.FormPinpoint {
					continue
				}
				state.Questions[i].Answer.Point = nil
				if n--; n >= 0 {
					state.Questions[i].Answer.Point = elsewhere
				}
			}
		}
	}
	misordered := func(s *situation) { // an option that is not a composition of the space
		state := s.view.Campaign
		state.Questions = slices.Insert(slices.Clone(state.Questions), 0, campaign.Question{
			Status: campaign.Answered, Form: events.FormComparison, Expert: "ada", Volunteered: true,
			Options: []events.Option{{Parameters: elsewhere}, {Parameters: definition.Point{"x1": definition.Number(1)}}},
			Answer:  events.Answer{Order: []int{0, 1}},
		})
	}

	plain := definition.Policy{Trust: cobol.COBOL{}.Choice()}
	ungated := definition.Policy{
		Trust: cobol.COBOL{}.Choice(), Handover: cobol.Width{Gate: ptr(false), MaxPerExperiment: ptr(2)}.Choice(),
	}
	silent := definition.Policy{Trust: cobol.COBOHL{}.Choice(), Handover: definition.NewChoice(policies.Never, nil)}
	pinpoint := cobol.COBOHL{Settings: belief.Settings{Feedback: belief.FeedbackPinpoint}}.Choice()
	naming := definition.Policy{Trust: pinpoint}
	namingOn := definition.Policy{Trust: pinpoint, Handover: cobol.Width{Gate: ptr(false)}.Choice()}
	ordering := definition.Policy{Trust: cobol.COBOHL{Settings: belief.Settings{Feedback: belief.FeedbackComparison}}.Choice()}
	cobohl := definition.Policy{Trust: cobol.COBOHL{}.Choice(), Handover: cobol.Width{Gate: ptr(false)}.Choice()}
	for _, c := range []struct {
		name   string
		policy definition.Policy
		causes []func(*situation)
		action events.Action
		rule   string
		chosen string
	}{
		{"the budget is spent", ungated, []func(*situation){spent, unmodeled, accepts}, events.ActionStop, policies.RuleBudget, ""},
		{"there is no model", ungated, []func(*situation){unmodeled, accepts}, events.ActionRun, policies.RuleDesign, policies.Design},
		{"the model cannot be used", ungated, []func(*situation){infeasible, accepts}, events.ActionRun, policies.RuleDesign, policies.Design},
		{"they accepted", ungated, []func(*situation){rejects, rejects, accepts, unbelieved}, events.ActionRun, policies.RuleAccepted, policies.Aided},
		{"there is nobody", ungated, []func(*situation){alone, rejects, rejects}, events.ActionRun, policies.RuleUnaided, policies.Unaided},
		{"there is no belief", ungated, []func(*situation){unbelieved, rejects, rejects, expires}, events.ActionRun, policies.RuleNoBelief, policies.Unaided},
		{"they did not answer", ungated, []func(*situation){rejects, rejects, expires}, events.ActionRun, policies.RuleNoAnswer, policies.Unaided},
		{"they answered often enough", ungated, []func(*situation){rejects, rejects}, events.ActionRun, policies.RuleCap, policies.Unaided},

		{"the rest is the model's", plain, []func(*situation){late, wordless}, events.ActionRun, policies.RuleHandedOver, policies.Unaided},
		{"they are judged", plain, nil, events.ActionAsk, policies.RuleJudge, policies.Unaided},
		{"they are trusted, and cannot be asked", plain, []func(*situation){wordless}, events.ActionRun, policies.RuleModelsTurn, policies.Unaided},
		{"they are unknown, and cannot be asked", plain, []func(*situation){unknown, wordless}, events.ActionRun, policies.RuleGate, policies.Unaided},

		{"nobody is asked", silent, []func(*situation){wordless}, events.ActionRun, policies.RuleNever, policies.Aided},
		{"they are to name it", naming, nil, events.ActionAsk, policies.RuleAsk, ""},
		{"they cannot name it", naming, []func(*situation){wordless}, events.ActionRun, policies.RuleLabelBudget, policies.Unaided},
		{"three that they named were not measured", naming, []func(*situation){inVain(3), wordless}, events.ActionRun, policies.RuleGate, policies.Unaided},
		{"two were not", naming, []func(*situation){inVain(2)}, events.ActionAsk, policies.RuleAsk, ""},
		{"three were not, and all the same", namingOn, []func(*situation){inVain(3)}, events.ActionAsk, policies.RuleAsk, ""},
		{"they would accept nothing", cobohl, []func(*situation){rejecting, wordless}, events.ActionRun, policies.RuleRejects, policies.Unaided},
		{"they would accept nothing, unasked", silent, []func(*situation){rejecting, wordless}, events.ActionRun, policies.RuleRejects, policies.Unaided},
		{"what they said cannot be weighed", plain, []func(*situation){unweighable, late, wordless}, events.ActionRun, policies.RuleNoBelief, policies.Unaided},
		{"they are to order two", ordering, []func(*situation){leaning}, events.ActionAsk, policies.RuleAsk, ""},
		{"they cannot order two", ordering, []func(*situation){leaning, wordless}, events.ActionRun, policies.RuleLabelBudget, policies.Unaided},
		{"what they ordered is not a composition", ordering, []func(*situation){misordered}, events.ActionRun, policies.RuleDesign, policies.Design},
		{"they named none", naming, []func(*situation){expires, wordless}, events.ActionRun, policies.RuleNoAnswer, policies.Unaided},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := after(t, c.policy)
			for _, cause := range c.causes {
				cause(&s)
			}
			if d := s.decide(t); d.Action != c.action || d.Rule != c.rule || d.Chosen != c.chosen {
				t.Errorf("it is to %s %q by the rule %q (%s), want %s %q by %q", d.Action, d.Chosen, d.Rule, d.Reason, c.action, c.chosen, c.rule)
			}
		})
	}
}

// linear is a belief whose bounds rise along the first parameter.
type linear struct{ lower, upper, slope float64 }

func (b linear) Bounds(x []float64) (lower, upper float64, err error) {
	return b.lower + b.slope*x[0], b.upper + b.slope*x[0], nil
}

func (b linear) Lower(x, grad []float64) (float64, error) { return b.rise(b.lower, x, grad), nil }
func (b linear) Upper(x, grad []float64) (float64, error) { return b.rise(b.upper, x, grad), nil }
func (b linear) MLEAt(x, grad []float64) float64          { return b.rise((b.lower+b.upper)/2, x, grad) }

func (b linear) rise(from float64, x, grad []float64) float64 {
	if grad != nil {
		clear(grad)
		grad[0] = b.slope
	}
	return from + b.slope*x[0]
}

// Law: who is judged is answered by measuring what they were asked about, whatever they
// said of it: an accept makes it no candidate of theirs.
func TestWhatIsJudgedIsMeasured(t *testing.T) {
	for _, label := range []events.Label{events.LabelAccept, events.LabelReject} {
		s := after(t, definition.Policy{Trust: cobol.COBOL{}.Choice()})
		asks := s.decide(t)
		s.asked(campaign.Answered, label, asks.Candidate().Parameters)
		d := s.decide(t)
		if d.Action != events.ActionRun || d.Rule != policies.RuleJudged || d.Chosen != policies.Unaided {
			t.Errorf("after %q it is to %s %q by the rule %q", label, d.Action, d.Chosen, d.Rule)
		}
		if !strings.Contains(d.Reason, string(label)) {
			t.Errorf("after %q the reason is %q", label, d.Reason)
		}
	}
}

// Law: in a ranking the expert orders the two candidates among the compositions that are
// expected to be best of those measured, each once, as many in all as the settings say. They
// are shown in no order of theirs, and what was measured has no acquisition.
func TestRanking(t *testing.T) {
	first := make(map[string]bool)
	s := after(t, definition.Policy{Trust: cobol.COBOL{}.Choice()}) // a campaign that asks for labels is simulated sooner
	s.view.Beliefs = []*belief.Model{{Expert: "ada", Function: linear{-3.5, -1.5, 50}}}
	for _, options := range []int{3, 5} {
		ranking, err := studytest.Define("branin", 1, 8, studytest.WithExpert(1), func(def *definition.Campaign) {
			settings := belief.Settings{Feedback: belief.FeedbackRanking, Options: &options}
			def.Policy = definition.Policy{Trust: cobol.COBOHL{Settings: settings}.Choice(), Handover: cobol.Width{Gate: ptr(false)}.Choice()}
		})
		if err != nil {
			t.Fatal(err)
		}
		s.def.Policy = ranking.Policy
		// What was measured, from the best mean on.
		m := s.view.Objective()
		var measured []string
		mean := make(map[string]float64)
		for i, o := range m.Observations {
			text := s.view.Space.Format(o.Point)
			if _, twice := mean[text]; !twice {
				measured = append(measured, text)
			}
			mean[text], _ = m.Posterior(m.X[i])
		}
		slices.SortFunc(measured, func(a, b string) int { return cmp.Compare(mean[a], mean[b]) })
		for seed := range uint64(4) {
			s.seed = seed
			d := s.decide(t)
			if d.Action != events.ActionAsk || d.Form != events.FormComparison || len(d.Candidates) != options {
				t.Fatalf("it is to %s a %q about %d (%s)", d.Action, d.Form, len(d.Candidates), d.Reason)
			}
			first[d.Candidates[0].Name] = true
			of := make(map[string]string)
			for _, c := range d.Candidates {
				of[c.Name] = s.view.Space.Format(c.Parameters)
				if weighed := c.Name == policies.Unaided || c.Name == policies.Aided; weighed != (c.Acquisition != nil) {
					t.Errorf("the acquisition of the %s one is %v", c.Name, c.Acquisition)
				}
			}
			for i := range options - 2 {
				if name := fmt.Sprintf("other %d", i+1); of[name] != measured[i] {
					t.Errorf("%s is %q, want %q", name, of[name], measured[i])
				}
			}
			if of[policies.Unaided] == "" || of[policies.Aided] == "" {
				t.Errorf("they are to order %v", of)
			}
		}
	}
	if len(first) < 3 {
		t.Errorf("what is shown first is always one of %v", first)
	}
}

// Law: the test of harm is that of the campaign's own η (Xu et al. 2024, Alg. 1 line 6): with η
// = 0 the model is always too sure of the expert's candidate, and with COBOHL there is none.
func TestHarmByItsOwnEta(t *testing.T) {
	for _, c := range []struct {
		trust definition.Choice
		rule  string // that settles it
		tests int    // of harm
	}{
		{cobol.COBOL{Eta: ptr(0.0), Zeta: ptr(0.0), Lambda0: ptr(0.0)}.Choice(), policies.RuleNoHarm, 2},
		{cobol.COBOL{Eta: ptr(1e6), Zeta: ptr(0.0), Lambda0: ptr(0.0)}.Choice(), policies.RuleNever, 2},
		{cobol.COBOHL{}.Choice(), policies.RuleNever, 0},
	} {
		s := after(t, definition.Policy{Trust: c.trust, Handover: definition.NewChoice(policies.Never, nil)})
		d := s.decide(t)
		var tests []events.Test
		for _, test := range d.Tests {
			if strings.HasPrefix(test.Name, trust.NoHarmPrefix) {
				tests = append(tests, test)
			}
		}
		if d.Rule != c.rule || len(tests) != c.tests {
			t.Errorf("%s: by %q (%s) after the tests %+v, want %q", c.trust.Name, d.Rule, d.Reason, tests, c.rule)
		}
	}
}
