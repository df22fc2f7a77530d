package process_test

import (
	"context"
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/campaignd/campaignd/adapters/methods"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/events/memlog"
	"github.com/campaignd/campaignd/internal/attest/decisions"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/engine/shown"
	"github.com/campaignd/campaignd/internal/files/builtin"
	"github.com/campaignd/campaignd/internal/study/studytest"
	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/policies"
	"github.com/campaignd/campaignd/policies/process"
	"github.com/campaignd/campaignd/projections/campaign"
)

// program is a method in the test's own process.
type program func(q methods.Question, v shown.View) events.MethodAnswered

func (p program) Describe(context.Context) (methods.Description, error) {
	return methods.Description{Name: "test"}, nil
}

func (p program) Close() error { return nil }

func (p program) Propose(_ context.Context, q methods.Question) (events.MethodAnswered, error) {
	var v shown.View
	if err := json.Unmarshal(q.View, &v); err != nil {
		return events.MethodAnswered{}, err
	}
	a := p(q, v)
	if a.Program.Name == "" {
		a.Program = events.Program{Name: "test", Version: "1"}
	}
	return a, nil
}

// at proposes a composition of two numbers.
func at(x, y float64) events.MethodAnswered {
	return events.MethodAnswered{Parameters: definition.Point{"x1": definition.Number(x), "x2": definition.Number(y)}, Reason: "why not"}
}

// define is a campaign whose method is a program.
func define(t *testing.T, task string, experiments int, changes ...func(*definition.Campaign)) definition.Campaign {
	t.Helper()
	all := append([]func(*definition.Campaign){func(def *definition.Campaign) {
		def.Policy.Next = definition.NewChoice(process.Name, process.Settings{Command: []string{"test"}})
		def.Outliers.Action = definition.OutlierIgnore
		two := 2
		def.Initial.Experiments = &two
	}}, changes...)
	return must.Get(studytest.Define(task, 1, experiments, all...))(t)
}

// run runs a campaign to its end, audits it, and returns its decisions to run something and its state.
func run(t *testing.T, def definition.Campaign, p program) ([]*events.DecisionMade, []*events.MethodAnswered, *campaign.State) {
	t.Helper()
	log := memlog.New()
	r := must.Get(studytest.Runner(t.Context(), log, def, nil))(t)
	if p != nil {
		r.Method = p
	}
	must.Do(t, r.Run(t.Context()))
	made, said := told(t, log, def.Name)
	audited(t, log, def.Name, len(said))
	return made, said, r.Core().State()
}

// told are the decisions to run something in a log, and what the program said.
func told(t *testing.T, log events.Log, name string) (made []*events.DecisionMade, said []*events.MethodAnswered) {
	t.Helper()
	for e := range must.Each(t, events.ReadCampaign(t.Context(), log, name, 0)) {
		payload := must.Get(events.Decode(e))(t)
		switch p := payload.(type) {
		case *events.DecisionMade:
			if p.Action == events.ActionRun {
				made = append(made, p)
			}
		case *events.MethodAnswered:
			said = append(said, p)
		}
	}
	return made, said
}

func audited(t *testing.T, log events.Log, name string, proposals int) {
	t.Helper()
	report, err := decisions.Audit(t.Context(), builtin.Registry(), log, name, events.Build{}, nil)
	if err != nil || len(report.Mismatches) > 0 || report.Reproduced != report.Decisions || report.Proposals != proposals {
		t.Errorf("audit: %+v, %v", report, err)
	}
}

// Law: what the program proposes and can be measured is what is measured, for its reason; it is shown all that was
// measured, in order, and what is under way, and is told the seed.
func TestProposed(t *testing.T) {
	def := define(t, "branin", 8, func(def *definition.Campaign) { def.Parallel = 2 })
	var shownTo []shown.View
	made, said, s := run(t, def, func(q methods.Question, v shown.View) events.MethodAnswered {
		shownTo = append(shownTo, v)
		a := at(float64(len(shownTo)), 2)
		a.Numbers = []events.Number{{Name: "ei", Value: 0.25}}
		return a
	})
	if len(made) != 6 || len(said) != 6 || s.Reason != events.CompletedBudget {
		t.Fatalf("%d decisions on %d answers, and it ended by %q", len(made), len(said), s.Reason)
	}
	seeds := map[uint64]bool{}
	for i, d := range made {
		x := s.Experiment(events.ExperimentID(3 + i))
		if d.Rule != policies.RuleProposed || d.Chosen != policies.Proposed || d.Candidate(d.Chosen).Prediction == nil ||
			d.Reason != "The program test 1 proposes it: why not (ei 0.25)." {
			t.Errorf("%s is by %q: %s", d.Decision, d.Rule, d.Reason)
		}
		if x.Parameters["x1"] != definition.Number(float64(i+1)) {
			t.Errorf("%s is at %v", x.ID, x.Parameters)
		}
		seeds[said[i].Seed] = true
		v := shownTo[i]
		if len(v.Experiments)+len(v.UnderWay) != 2+i || v.Budget.Left != 6-i || len(v.UnderWay) > 1 {
			t.Errorf("at %s it was shown %d results and %d under way, %d left", d.Decision, len(v.Experiments), len(v.UnderWay), v.Budget.Left)
		}
		for _, x := range v.Experiments {
			if x.Value == nil || *x.Value != x.Quantities[0].Value || x.Made == nil {
				t.Errorf("it was shown %+v", x)
			}
		}
	}
	if len(seeds) != 6 {
		t.Errorf("%d different seeds in 6 questions", len(seeds))
	}
}

// Law: nothing that a program says ends a campaign. What cannot be measured is refused in words, which it is told when it
// is asked again; after as many answers as the file says the campaign chooses by itself, and says so.
func TestNothingItSaysEndsACampaign(t *testing.T) {
	under := func(v shown.View) events.MethodAnswered {
		p := v.UnderWay[0].Parameters
		return events.MethodAnswered{Parameters: p}
	}
	for name, c := range map[string]struct {
		says program
		why  string
	}{
		"silent": {func(methods.Question, shown.View) events.MethodAnswered {
			return events.MethodAnswered{Cause: "it did not answer"}
		}, "it did not answer"},
		"nothing at all": {func(methods.Question, shown.View) events.MethodAnswered { return events.MethodAnswered{} }, "no composition that can be recorded"},
		"outside":        {func(methods.Question, shown.View) events.MethodAnswered { return at(11, 2) }, "x1"},
		"far outside":    {func(methods.Question, shown.View) events.MethodAnswered { return at(1e300, 2) }, "no number that can be set"},
		"NaN":            {func(methods.Question, shown.View) events.MethodAnswered { return at(math.NaN(), 2) }, "no composition that can be recorded"},
		"infinite":       {func(methods.Question, shown.View) events.MethodAnswered { return at(1, math.Inf(1)) }, "no composition that can be recorded"},
		"a parameter off": {func(methods.Question, shown.View) events.MethodAnswered {
			return events.MethodAnswered{Parameters: definition.Point{"x1": definition.Number(1)}}
		}, "x2"},
		"one too many": {func(methods.Question, shown.View) events.MethodAnswered {
			a := at(1, 2)
			a.Parameters["y"] = definition.Number(1)
			return a
		}, "y"},
		"a name": {func(methods.Question, shown.View) events.MethodAnswered {
			a := at(1, 2)
			a.Parameters["x1"] = definition.Category("high")
			return a
		}, "x1"},
		"an escape": {func(methods.Question, shown.View) events.MethodAnswered {
			a := at(1, 2)
			a.Parameters["\x1b[2J"] = definition.Number(1)
			return a
		}, "no composition that can be recorded"},
		"under way": {func(_ methods.Question, v shown.View) events.MethodAnswered {
			if len(v.UnderWay) == 0 {
				return at(1, float64(len(v.Experiments)))
			}
			return under(v)
		}, "is under way as e"},
	} {
		t.Run(name, func(t *testing.T) {
			parallel := 1
			if name == "under way" {
				parallel = 2
			}
			var refused []string
			made, said, s := run(t, define(t, "branin", 5, func(def *definition.Campaign) { def.Parallel = parallel }),
				func(q methods.Question, v shown.View) events.MethodAnswered {
					if len(q.Refused) != q.Attempt-1 {
						t.Errorf("attempt %d is told %q", q.Attempt, q.Refused)
					}
					refused = append(refused, q.Refused...)
					return c.says(q, v)
				})
			if s.Reason != events.CompletedBudget || len(made) != 3 {
				t.Fatalf("it ended by %q after %d decisions", s.Reason, len(made))
			}
			fallbacks := 0
			for _, d := range made {
				if d.Rule == policies.RuleFallback {
					fallbacks++
					if !strings.HasPrefix(d.Reason, "The program proposed nothing that can be measured, in 3 answers; the last: ") ||
						!strings.Contains(d.Reason, c.why) || d.Chosen != policies.Unaided {
						t.Errorf("%s: %q at %s", d.Rule, d.Reason, d.Chosen)
					}
				}
			}
			if want := 3 / parallel; fallbacks < want-parallel+1 || parallel == 1 && len(said) != 9 {
				t.Errorf("%d of its own choices, on %d answers", fallbacks, len(said))
			}
			for _, why := range refused {
				if !strings.Contains(why, c.why) {
					t.Errorf("it is told %q", why)
				}
			}
		})
	}
}

// Law: a program that is wrong once is asked again and no more.
func TestAskedAgain(t *testing.T) {
	made, said, _ := run(t, define(t, "branin", 4), func(q methods.Question, _ shown.View) events.MethodAnswered {
		if q.Attempt == 1 {
			return at(99, 99)
		}
		return at(float64(q.Seed%10), 1)
	})
	if len(made) != 2 || len(said) != 4 || made[0].Rule != policies.RuleProposed || said[0].Seed == said[1].Seed {
		t.Errorf("%d decisions on %d answers", len(made), len(said))
	}
}

// Law: where there is no program the campaign goes on by itself.
func TestNobodyThere(t *testing.T) {
	made, said, _ := run(t, define(t, "branin", 4), nil)
	if len(made) != 2 || len(said) != 6 || made[0].Rule != policies.RuleFallback {
		t.Errorf("%d decisions on %d answers", len(made), len(said))
	}
}

// Law: what is off by rounding, or between the steps of the instrument, is taken to what can be made, and the decision says
// so; what is further off is refused.
func TestRounded(t *testing.T) {
	def := define(t, "branin", 5, func(def *definition.Campaign) {
		def.Instrument.Steps = map[string]float64{"x2": 0.5}
	})
	answers := []events.MethodAnswered{at(10+1e-7, 3.3), at(2.25, 4), at(10.1, 4), at(3, 5)}
	n := 0
	made, _, s := run(t, def, func(methods.Question, shown.View) events.MethodAnswered { n++; return answers[n-1] })
	got := func(i int) (float64, float64) {
		p := s.Experiments[2+i].Parameters
		x, _ := p["x1"].Float()
		y, _ := p["x2"].Float()
		return x, y
	}
	if x, y := got(0); x != 10 || y != 3.5 || !strings.Contains(made[0].Reason, "It said x1 10, x2 3.3: what can be made is nearest to it.") {
		t.Errorf("%v, %v: %s", x, y, made[0].Reason)
	}
	if x, y := got(1); x != 2.25 || y != 4 || strings.Contains(made[1].Reason, "It said") {
		t.Errorf("%v, %v: %s", x, y, made[1].Reason)
	}
	if x, y := got(2); x != 3 || y != 5 || n != 4 {
		t.Errorf("%v, %v after %d answers", x, y, n)
	}
}

// Law: of a list each composition is tried once, and the program is not asked when none is left.
func TestList(t *testing.T) {
	var list []definition.Point
	for i := range 4 {
		list = append(list, at(float64(i), float64(i)).Parameters)
	}
	asked := 0
	made, _, s := run(t, define(t, "branin", 9, func(def *definition.Campaign) { def.Candidates = list }),
		func(_ methods.Question, v shown.View) events.MethodAnswered {
			asked++
			return events.MethodAnswered{Parameters: v.Candidates[asked%4]}
		})
	if s.Reason != events.CompletedExhausted || len(s.Experiments) != 4 || len(made) != 2 {
		t.Errorf("it ended by %q with %d experiments", s.Reason, len(s.Experiments))
	}
}

// Law: after a crash between a question and its record the program is asked again, and one answer counts; an answer to a
// campaign that was amended meanwhile counts for nothing.
func TestCrashBetween(t *testing.T) {
	def := define(t, "branin", 5)
	log := memlog.New()
	asked := 0
	ctx, cancel := context.WithCancel(t.Context())
	r := must.Get(studytest.Runner(ctx, log, def, nil))(t)
	r.Method = program(func(methods.Question, shown.View) events.MethodAnswered {
		if asked++; asked == 2 {
			cancel() // the process is gone before it hears
		}
		return at(float64(asked), 1)
	})
	if err := r.Run(ctx); err == nil {
		t.Fatal("the run did not end")
	}
	_, before := told(t, log, def.Name)
	if len(before) != 1 {
		t.Fatalf("%d answers are recorded", len(before))
	}
	again := must.Get(studytest.Runner(t.Context(), log, def, nil))(t)
	again.Method = program(func(q methods.Question, _ shown.View) events.MethodAnswered {
		a := at(8, float64(q.Seed%7))
		a.Program = events.Program{Name: "test", Version: "2"} // it was updated meanwhile
		return a
	})
	must.Do(t, again.Run(t.Context()))
	made, said := told(t, log, def.Name)
	if len(made) != 3 || len(said) != 3 || said[0].Program.Version != "1" || said[1].Program.Version != "2" {
		t.Errorf("%d decisions on %d answers: %+v", len(made), len(said), said)
	}
	audited(t, log, def.Name, 3)
}

// Law: an answer that nothing calls for any more is not recorded.
func TestNotCalledFor(t *testing.T) {
	def := define(t, "branin", 5)
	log := memlog.New()
	r := must.Get(studytest.Runner(t.Context(), log, def, nil))(t)
	core := r.Core()
	step, _, ok := engine.Consultation(core.At(engine.World{}))
	if !ok {
		t.Fatal("the program is not called for")
	}
	if _, payload := engine.Proposed(core.At(engine.World{}), step, at(1, 2)); payload == nil {
		t.Error("the answer that is called for is not recorded")
	}
	for name, other := range map[string]engine.Consult{
		"another decision": {Decision: "d2", Seed: step.Seed, Attempt: 1},
		"another attempt":  {Decision: "d1", Seed: step.Seed, Attempt: 2},
		"another seed":     {Decision: "d1", Seed: step.Seed + 1, Attempt: 1},
	} {
		if _, payload := engine.Proposed(core.At(engine.World{}), other, at(1, 2)); payload != nil {
			t.Errorf("%s: %+v is recorded", name, payload)
		}
	}
	def.Policy = definition.Policy{}
	amended, err := core.Amended(events.CampaignAmended{Definition: def})
	if err == nil {
		if _, payload := engine.Proposed(amended.At(engine.World{}), step, at(1, 2)); payload != nil {
			t.Error("an answer of a program that is not the method any more is recorded")
		}
	}
}
