package bope_test

import (
	"fmt"
	"math"
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
	"github.com/campaignd/campaignd/internal/files/campaignfile"
	"github.com/campaignd/campaignd/internal/study/studytest"
	"github.com/campaignd/campaignd/internal/study/tasks"
	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/policies"
	"github.com/campaignd/campaignd/policies/bope"
	"github.com/campaignd/campaignd/policies/next"
	"github.com/campaignd/campaignd/projections/campaign"
)

// lived is a campaign that was run to its end, with the audit of it.
type lived struct {
	core      *engine.Core
	decisions []*events.DecisionMade
	report    decisions.Report
}

// live runs a campaign that seeks what an expert prefers among outcomes of the electrolyte, and audits it.
func live(t testing.TB, seed uint64, experiments int, expert humansim.Settings, changes ...func(*definition.Campaign)) *lived {
	t.Helper()
	changes = slices.Insert(changes, 0, studytest.WithPreference(expert))
	def, err := studytest.Define("electrolyte", seed, experiments, changes...)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range campaignfile.Validate(builtin.Registry(), def) {
		t.Fatalf("%v: %s", f.Path, f.Message)
	}
	log := memlog.New()
	l := new(lived)
	l.core = must.Get(studytest.Simulate(t.Context(), log, def))(t)
	for e := range must.Each(t, log.Read(t.Context(), 0)) {
		payload := must.Get(events.Decode(e))(t)
		if d, ok := payload.(*events.DecisionMade); ok {
			l.decisions = append(l.decisions, d)
		}
	}
	l.report, err = decisions.Audit(t.Context(), builtin.Registry(), log, def.Name, l.decisions[0].Build, nil)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// rules are the rules of the decisions, one letter for each: s a question of the first sitting, a a later
// question, P measured by EIUU, S the same where no question is worth asking, N without an answer, B without budget,
// E the end.
func (l *lived) rules() string {
	letters := map[string]string{
		bope.RuleSitting: "s", policies.RuleAsk: "a", bope.RulePreferred: "P", bope.RuleSettled: "S",
		policies.RuleNoAnswer: "N", policies.RuleLabelBudget: "B", policies.RuleNever: "-", policies.RuleBudget: "E",
	}
	var b strings.Builder
	for _, d := range l.decisions {
		b.WriteString(letters[d.Rule])
		if letters[d.Rule] == "" {
			fmt.Fprintf(&b, "[%s: %s]", d.Rule, d.Reason)
		}
	}
	return b.String()
}

// sound reports what the audit found.
func (l *lived) sound(t *testing.T) {
	t.Helper()
	if r := l.report; len(r.Mismatches) > 0 || r.Reproduced != r.Decisions || r.Decisions != len(l.decisions) {
		t.Errorf("of %d decisions %d were made again: %v", r.Decisions, r.Reproduced, r.Mismatches)
	}
}

// Law: a whole campaign asks ten times in one sitting after the initial experiments, then at most once before each
// experiment, and only where that is worth it; its decisions and fits are made again bit for bit; and what is
// preferred in the end is of next to the greatest utility, which no one has said.
func TestWholeCampaign(t *testing.T) {
	l := live(t, 1, 16, humansim.Settings{})
	l.sound(t)
	rules := l.rules()
	if !strings.HasPrefix(rules, strings.Repeat("s", 10)+"P") || !strings.HasSuffix(rules, "E") || strings.Contains(rules, "aa") ||
		strings.Count(rules, "s") != 10 || !strings.Contains(rules, "aP") || len(strings.Trim(rules, "saPSE")) > 0 {
		t.Errorf("the decisions are %s", rules)
	}
	for _, d := range l.decisions {
		if d.Rule == policies.RuleAsk && !(len(d.Tests) == 1 && d.Tests[0].Holds && d.Tests[0].Left > d.Tests[0].Right) {
			t.Errorf("%s: asked though %+v", d.Decision, d.Tests)
		}
		if d.Rule == bope.RuleSettled && !(len(d.Tests) == 1 && !d.Tests[0].Holds) {
			t.Errorf("%s: not asked, and the test is %+v", d.Decision, d.Tests)
		}
	}
	summary, err := l.core.Summarize(t.Context())
	if err != nil || len(summary.Ranking) != 16 || summary.BestByModel != nil || summary.BestMeasured != nil {
		t.Fatalf("%d are ranked (%v); by one value %v, %v", len(summary.Ranking), err, summary.BestByModel, summary.BestMeasured)
	}
	best, worst := attainable(t)
	if u := utility(t, summary.Ranking[0].Parameters); u < best-0.03*(best-worst) {
		t.Errorf("what is preferred has the utility %v, of %v to %v", u, worst, best)
	}
	for i, x := range summary.Ranking[1:] {
		before := summary.Ranking[i]
		if x.Utility.Mean > before.Utility.Mean || *before.Before < 0.5 {
			t.Errorf("%s comes after %s (%v)", x.Experiment, before.Experiment, *before.Before)
		}
	}
}

// utility is that of a composition without noise, to the expert of the tests.
func utility(t testing.TB, p definition.Point) float64 {
	t.Helper()
	problem, _ := tasks.LookupTradeoff("electrolyte")
	values := must.Get(problem.Values(p))(t)
	var o events.Outcome
	for i, x := range problem.Objectives {
		o.Quantities = append(o.Quantities, definition.Quantity{Name: x.Name, Value: values[i]})
	}
	return humansim.Utility(studytest.Valued(), o)
}

// attainable are the greatest and the least utility over a grid of the space.
func attainable(t testing.TB) (best, worst float64) {
	t.Helper()
	problem, _ := tasks.LookupTradeoff("electrolyte")
	best, worst = math.Inf(-1), math.Inf(1)
	const n = 24
	for i := range n * n * n {
		u := utility(t, problem.At([]float64{float64(i%n) / (n - 1), float64(i/n%n) / (n - 1), float64(i/n/n) / (n - 1)}))
		best, worst = max(best, u), min(worst, u)
	}
	return best, worst
}

// Law: what is asked is which of two outcomes, each with all quantities and its origin; the first sitting is about
// what was measured, unless it is known which is better; no pair of measured outcomes is asked about twice.
func TestQuestions(t *testing.T) {
	undirected := func(def *definition.Campaign) {
		for i := range def.Quantities {
			def.Quantities[i].Better = ""
		}
	}
	five := 5
	unsure := live(t, 2, 6, humansim.Settings{UnsureRate: 1}, undirected, func(def *definition.Campaign) { def.Initial.Experiments = &five })
	if pairs := measuredPairs(unsure); len(pairs) != 10 {
		t.Errorf("of five outcomes %d pairs are shown to who cannot tell", len(pairs))
	}
	l := live(t, 2, 9, humansim.Settings{UnsureRate: 0.3}, undirected)
	l.sound(t)
	seen := make(map[string]bool)
	expected := 0
	for _, q := range l.core.State().Questions {
		if q.Form != events.FormOutcomes || len(q.Outcomes()) != 2 {
			t.Fatalf("%s is a %s about %d outcomes", q.ID, q.Form, len(q.Outcomes()))
		}
		key := ""
		for i, o := range q.Outcomes() {
			x := l.core.State().Experiment(o.Experiment)
			switch {
			case !o.Of([]string{"conductivity", "viscosity", "price"}):
				t.Errorf("%s is about %v", q.ID, o.Quantities)
			case x != nil && (o.Quantities[0].Value != gave(x) || o.Quantities[0].SD != nil):
				t.Errorf("%s shows %v of %s, which gave %v", q.ID, o.Quantities[0], x.ID, gave(x))
			case x == nil && (o.Quantities[0].SD == nil || o.Quantities[2].SD != nil):
				t.Errorf("%s shows %v of what is expected", q.ID, o.Quantities)
			}
			if x == nil {
				expected++
			}
			key += fmt.Sprint(min(i, 1), o.Experiment)
		}
		turned := fmt.Sprint(0, q.Outcomes()[1].Experiment, 1, q.Outcomes()[0].Experiment)
		if known := q.Outcomes()[0].Experiment != "" && q.Outcomes()[1].Experiment != ""; known && (seen[key] || seen[turned]) {
			t.Errorf("%s is asked again", q.ID)
		}
		seen[key] = true
	}
	if n := len(l.core.State().Questions); n < 10 || expected == 0 {
		t.Errorf("%d questions, %d outcomes that are expected", n, expected)
	}
}

// measuredPairs are the pairs of measured outcomes that were asked about.
func measuredPairs(l *lived) map[string]bool {
	pairs := make(map[string]bool)
	for _, q := range l.core.State().Questions {
		names := []string{q.Outcomes()[0].Experiment, q.Outcomes()[1].Experiment}
		slices.Sort(names)
		if names[0] != "" {
			pairs[strings.Join(names, " ")] = true
		}
	}
	return pairs
}

// gave is the conductivity that an experiment gave.
func gave(x *campaign.Experiment) float64 {
	value, _ := x.Measurement.Of("conductivity")
	return value.Value
}

// Law: an expert who is not asked costs no decision: no questions are put without a budget of them, and with handover
// never; EIUU then goes by the directions that are declared.
func TestNoOneIsAsked(t *testing.T) {
	none := 0
	for want, change := range map[string]func(*definition.Campaign){
		"BBE": func(def *definition.Campaign) { def.Budget.Labels = &none },
		"--E": func(def *definition.Campaign) {
			def.Policy = policies.Alone(bope.EIUU{}.Choice())
		},
	} {
		l := live(t, 3, 5, humansim.Settings{}, change)
		l.sound(t)
		if got := l.rules(); got != want {
			t.Errorf("the decisions are %s, want %s", got, want)
		}
		for _, d := range l.decisions[:2] {
			if d.Chosen != policies.Unaided || d.Candidate(d.Chosen).Score == nil || len(d.Standard) != 3 {
				t.Errorf("%s: %+v", d.Decision, d.Candidates)
			}
		}
	}
}

// Law: a person who does not answer holds nothing up: what is known decides the experiment, and no further question is put
// before it; in the next turn the first sitting goes on where it was.
func TestAbsentExpert(t *testing.T) {
	none := 0
	l := live(t, 5, 5, humansim.Settings{}, func(def *definition.Campaign) { def.Budget.Labels = &none })
	view := must.Get(l.core.View(t.Context()))(t)
	def := *view.Campaign.Definition
	def.Budget = definition.Budget{Experiments: 20}
	policy := must.Get(builtin.Registry().Methods.New(def))(t)
	outcomes := []events.Option{{Outcome: &events.Outcome{Experiment: "e1"}}, {Outcome: &events.Outcome{Experiment: "e2"}}}
	for name, c := range map[string]struct {
		statuses     []campaign.QuestionStatus
		turns        int // since the first of the questions
		action, rule string
	}{
		"at first":        {nil, 0, "ask", bope.RuleSitting},
		"answered":        {[]campaign.QuestionStatus{campaign.Answered}, 0, "ask", bope.RuleSitting},
		"expired":         {[]campaign.QuestionStatus{campaign.Expired}, 0, "run", policies.RuleNoAnswer},
		"withdrawn":       {[]campaign.QuestionStatus{campaign.Answered, campaign.Withdrawn}, 0, "run", policies.RuleNoAnswer},
		"in the next":     {[]campaign.QuestionStatus{campaign.Expired}, 1, "ask", bope.RuleSitting},
		"ten in the next": {slices.Repeat([]campaign.QuestionStatus{campaign.Expired}, 10), 1, "ask", bope.RuleSitting},
		"still to answer": {[]campaign.QuestionStatus{campaign.Asked}, 1, "run", policies.RuleLabelBudget},
		"after ten":       {slices.Repeat([]campaign.QuestionStatus{campaign.Answered}, 10), 0, "run", bope.RulePreferred},
		"after ten away":  {append(slices.Repeat([]campaign.QuestionStatus{campaign.Answered}, 10), campaign.Expired), 0, "run", policies.RuleNoAnswer},
	} {
		state := *view.Campaign
		state.Definition = &def
		for i, status := range c.statuses {
			state.Questions = append(state.Questions, campaign.Question{
				ID: events.QuestionID(i + 1), Decision: "d1", Turn: state.Turns + 1, Status: status, Form: events.FormOutcomes,
				Expert: "ada", Options: outcomes,
			})
		}
		state.Turns += c.turns
		v := view
		v.Campaign = &state
		d, err := policy.Decide(t.Context(), v, 3)
		if err != nil || string(d.Action) != c.action || d.Rule != c.rule {
			t.Errorf("%s: it is to %s by %q (%v), want %s by %q", name, d.Action, d.Rule, err, c.action, c.rule)
		}
	}
}

// Law: who contradicts themselves, and who says the opposite of what is declared, ends no campaign: it asks no more than it
// would ask another, and is as sound.
func TestContradictoryExpert(t *testing.T) {
	against := -1.0
	for name, expert := range map[string]humansim.Settings{
		"at random": {UtilityNoise: 100}, "against": {Accuracy: &against}, "can't tell": {UnsureRate: 1},
	} {
		l := live(t, 4, 8, expert)
		l.sound(t)
		if s := l.core.State(); s.Status != campaign.Completed || len(s.Questions) < 10 || len(s.Questions) > 10+5 {
			t.Errorf("%s: it is %s after %d questions", name, s.Status, len(s.Questions))
		}
	}
}

// Law: a composition at which a formula has no value is part of no question, and ends no campaign.
func TestFormulaWithoutValue(t *testing.T) {
	l := live(t, 2, 8, humansim.Settings{}, func(def *definition.Campaign) {
		def.Quantities[2].From = "1 + sqrt(lipf6 - 0.8)"
	})
	l.sound(t)
	asked := 0
	for _, q := range l.core.State().Questions {
		for _, o := range q.Options {
			if asked++; len(o.Outcome.Quantities) != 3 {
				t.Errorf("%s shows %v", q.ID, o.Outcome.Quantities)
			}
		}
	}
	if s := l.core.State(); s.Status != campaign.Completed || asked == 0 {
		t.Errorf("it is %s, and showed %d outcomes, by %s", s.Status, asked, l.rules())
	}
}

// Law: the policy seeks what no rule of one value does, and a file says so: what needs a preference does not go without,
// nor a preference with what needs one value.
func TestWhatGoesTogether(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*definition.Campaign)
		at     string
	}{
		"another rule": {func(def *definition.Campaign) { def.Policy.Next = next.LogNEI{}.Choice() }, "policy.next"},
		"no one":       {func(def *definition.Campaign) { def.Experts = nil }, "experts"},
		"two people": {func(def *definition.Campaign) {
			def.Experts = append(def.Experts, studytest.Expert("bob", humansim.Settings{Utility: studytest.Valued()}))
		}, "experts"},
		"what is none": {func(def *definition.Campaign) { def.Objective.Preference.Over[1] = "colour" }, "objective.preference.over[1]"},
		"twice":        {func(def *definition.Campaign) { def.Objective.Preference.Over[1] = "conductivity" }, "objective.preference.over[1]"},
		"nothing sought": {func(def *definition.Campaign) {
			def.Objective = definition.Objective{Name: "conductivity", Goal: definition.Maximize}
			def.Policy = policies.Alone(bope.EIUU{}.Choice())
		}, "policy.next.eiuu"},
		"a direction": {func(def *definition.Campaign) { def.Objective.Preference.Over = def.Objective.Preference.Over[:2] }, "quantities[2].better"},
		"a target":    {func(def *definition.Campaign) { def.Stop.Target = new(float64) }, "stop"},
	} {
		def, err := studytest.Define("electrolyte", 1, 9, studytest.WithPreference(humansim.Settings{}), c.change)
		if err != nil {
			t.Fatal(err)
		}
		var places []string
		for _, f := range campaignfile.Validate(builtin.Registry(), def) {
			places = append(places, fmt.Sprint(f.Path))
		}
		if !slices.Contains(places, c.at) {
			t.Errorf("%s: faults at %q, want one at %s", name, places, c.at)
		}
	}
}
