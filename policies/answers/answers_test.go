package answers_test

import (
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/events/memlog"
	"github.com/campaignd/campaignd/internal/study/studytest"
	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/policies"
	"github.com/campaignd/campaignd/policies/answers"
	"github.com/campaignd/campaignd/policies/next"
)

func ptr[T any](x T) *T { return &x }

// decisions simulates a campaign and returns those of its decisions that run an experiment.
func decisions(t *testing.T, changes ...func(*definition.Campaign)) (made []events.DecisionMade) {
	t.Helper()
	for _, d := range all(t, 16, changes...) {
		if d.Action == events.ActionRun {
			made = append(made, d)
		}
	}
	return made
}

// all simulates a campaign of so many experiments and returns its decisions.
func all(t *testing.T, experiments int, changes ...func(*definition.Campaign)) (made []events.DecisionMade) {
	t.Helper()
	def := must.Get(studytest.Define("branin", 4, experiments, changes...))(t)
	log := memlog.New()
	must.Get(studytest.Simulate(t.Context(), log, def))(t)
	for e := range must.Each(t, log.Read(t.Context(), 0)) {
		payload := must.Get(events.Decode(e))(t)
		if d, ok := payload.(*events.DecisionMade); ok {
			made = append(made, *d)
		}
	}
	return made
}

// by makes it the policy, with an expert of some accuracy who labels so many compositions.
func by(s answers.Answers, labels int, accuracy float64) func(*definition.Campaign) {
	return func(def *definition.Campaign) {
		studytest.WithExpert(accuracy)(def)
		def.Policy = definition.Policy{Next: next.LogEI{}.Choice(), Trust: s.Choice()}
		def.Initial.Labels, def.Initial.Comparisons = ptr(labels), ptr(0)
	}
}

// Law: a campaign whose experts say nothing, whose answers are sure to mean nothing, or which follows
// nobody, is the campaign without experts, bit for bit.
func TestNothingSaidIsTheBase(t *testing.T) {
	alone := decisions(t, func(def *definition.Campaign) { def.Policy = policies.Alone(next.LogEI{}.Choice()) })
	for name, change := range map[string]func(*definition.Campaign){
		"nothing said":       by(answers.Answers{}, 0, 1),
		"nothing meant":      by(answers.Answers{Guess: ptr(1.0), Against: ptr(0.0)}, 10, 2),
		"nobody is followed": by(answers.Answers{Own: ptr(1)}, 10, 2),
	} {
		made := decisions(t, change)
		if len(made) != len(alone) || len(made) < 10 {
			t.Fatalf("%s: %d experiments are chosen, alone %d", name, len(made), len(alone))
		}
		for i, d := range made {
			c, want := d.Candidates[len(d.Candidates)-1], alone[i].Candidates[0]
			if d.Chosen != c.Name {
				c = d.Candidates[0]
			}
			for parameter, v := range want.Parameters {
				if c.Parameters[parameter] != v {
					t.Errorf("%s: %s is at %v, alone at %v", name, d.Decision, c.Parameters, want.Parameters)
					break
				}
			}
		}
	}
}

// changes are the words in which a decision says what the answers change.
var changes = regexp.MustCompile(`With them it is expected to be (\S+) (higher|lower), and the unaided candidate (\S+) (higher|lower)`)

// parts are the words in which it says what single answers say.
var parts = regexp.MustCompile(`\([^()]+ (for|against) it\)`)

// Law: one experiment in Own is the base's own, the others are those of the informed model; each decision
// says what the answers are worth, and what each model predicts. The part of one answer of several is not
// what all say together.
func TestDecisions(t *testing.T) {
	moved, several, apart := 0, 0, 0
	for i, d := range decisions(t, by(answers.Answers{Own: ptr(3)}, 20, 3)) {
		want := policies.Aided
		if (i+1)%3 == 0 {
			want = policies.Unaided
		}
		if d.Chosen != want {
			t.Errorf("%s runs the %s candidate, want the %s", d.Decision, d.Chosen, want)
		}
		if len(d.Answers) != 1 || d.Answers[0].Expert != "ada" || d.Answers[0].Answers != 20 || d.Answers[0].Helps < 0.3 {
			t.Errorf("%s weighs %+v", d.Decision, d.Answers)
		}
		for _, c := range d.Candidates {
			if c.Informed == nil || c.Prediction == nil || *c.Informed == *c.Prediction {
				t.Errorf("%s predicts %+v, and with answers %+v", d.Decision, c.Prediction, c.Informed)
			}
		}
		if strings.Contains(d.Reason, "most is said by ") {
			moved++
			if amounts := parts.FindAllString(d.Reason, -1); len(amounts) > 1 {
				several++
				slices.Sort(amounts)
				if len(slices.Compact(amounts)) > 1 {
					apart++
				}
			}
		}
		if said := changes.FindStringSubmatch(d.Reason); said != nil {
			for k, name := range []string{policies.Aided, policies.Unaided} {
				c := d.Candidates[slices.IndexFunc(d.Candidates, func(c events.Candidate) bool { return c.Name == name })]
				want := c.Informed.Mean - c.Prediction.Mean
				got, err := strconv.ParseFloat(said[1+2*k], 64)
				if said[2+2*k] == "lower" {
					got = -got
				}
				if err != nil || math.Abs(got-want) > 0.06*math.Abs(want) {
					t.Errorf("%s says that the answers change the %s candidate by %s %s: by %v", d.Decision, name, said[1+2*k], said[2+2*k], want)
				}
			}
		}
	}
	if moved == 0 {
		t.Error("no decision says which answers moved it")
	}
	if several == 0 || apart == 0 {
		t.Errorf("of %d decisions that name several answers, %d give them parts of their own", several, apart)
	}
}

// Law: whoever says the opposite of everything is turned over, and is worth as much.
func TestTurnedOver(t *testing.T) {
	for accuracy, right := range map[float64]func(events.AnswersWeighed) bool{
		3:  func(w events.AnswersWeighed) bool { return w.Helps > 0.8 && w.Misleads < 0.05 && w.Worth > 0.2 },
		-3: func(w events.AnswersWeighed) bool { return w.Misleads > 0.8 && w.Helps < 0.05 && w.Worth > 0.2 },
		0:  func(w events.AnswersWeighed) bool { return w.Helps+w.Misleads < 0.7 },
	} {
		made := decisions(t, by(answers.Answers{}, 30, accuracy))
		if last := made[len(made)-1].Answers[0]; !right(last) {
			t.Errorf("with accuracy %v: %+v", accuracy, last)
		}
	}
}

// Law: an expert is asked where the answer is worth it, less and less in the course of a campaign, at most as
// often before one experiment as the file says; a least value that nothing reaches asks nothing.
func TestWorth(t *testing.T) {
	with := func(w answers.Worth) func(*definition.Campaign) {
		return func(def *definition.Campaign) {
			by(answers.Answers{}, 6, 3)(def)
			def.Policy.Handover = w.Choice()
		}
	}
	asked, run := []int{0, 0, 0}, 0
	inTurn := 0
	for _, d := range all(t, 33, with(answers.Worth{})) {
		switch d.Action {
		case events.ActionAsk:
			if d.Chosen != policies.Queried || !d.Tests[0].Holds || d.Tests[0].Left < 0.002 {
				t.Errorf("%s asks about the %s candidate, %+v", d.Decision, d.Chosen, d.Tests)
			}
			asked[min(run/10, 2)]++
			if inTurn++; inTurn > 2 {
				t.Errorf("%s is question %d before one experiment", d.Decision, inTurn)
			}
		case events.ActionRun:
			run, inTurn = run+1, 0
		}
	}
	if asked[0] < 3 || asked[2] >= asked[0] {
		t.Errorf("%v questions are asked in each third", asked)
	}
	asks, said := 0, false
	for _, d := range all(t, 16, with(answers.Worth{}), func(def *definition.Campaign) {
		def.Experts[0].Time, def.Experts[0].AnswerTakes = definition.Duration(45*time.Second), definition.Duration(20*time.Second)
	}) {
		if d.Action == events.ActionAsk {
			asks++
		}
		said = said || strings.Contains(d.Reason, "Nobody is asked: the time of ada is spent.")
	}
	if asks != 2 || !said {
		t.Errorf("%d questions of 20 s fit into 45 s; the reason is given: %v", asks, said)
	}
	for _, d := range all(t, 16, with(answers.Worth{Least: ptr(100.0)})) {
		if d.Action == events.ActionRun && d.Chosen == policies.Aided && !strings.Contains(d.Reason, "Nobody is asked: ") {
			t.Errorf("%s does not say why nobody is asked: %s", d.Decision, d.Reason)
		}
		if d.Action == events.ActionAsk {
			t.Errorf("%s asks: %s", d.Decision, d.Reason)
		}
	}
}

// Law: each of the initial comparisons puts as many compositions in order as options says, two by default, nothing
// else is asked for beside them, and all that are placed are heard.
func TestInitialRankings(t *testing.T) {
	for options, placed := range map[int]int{0: 2, 7: 7} {
		rank := func(def *definition.Campaign) {
			studytest.WithExpert(2)(def)
			s := answers.Answers{}
			if options > 0 {
				s.Options = &options
			}
			def.Policy = definition.Policy{Next: next.LogEI{}.Choice(), Trust: s.Choice()}
			def.Initial.Comparisons = ptr(3)
		}
		def := must.Get(studytest.Define("branin", 4, 6, rank))(t)
		core := must.Get(studytest.Simulate(t.Context(), memlog.New(), def))(t)
		questions := core.State().Questions
		if len(questions) != 3 {
			t.Errorf("%d questions, want 3", len(questions))
		}
		for _, q := range questions {
			if q.Form != events.FormComparison || len(q.Options) != placed || len(q.Answer.Order) != placed {
				t.Errorf("options %d: a %s of %d compositions, ordered %v", options, q.Form, len(q.Options), q.Answer.Order)
			}
		}
		for _, d := range all(t, 6, rank) {
			for _, w := range d.Answers {
				if w.Answers != 3 {
					t.Errorf("%d answers are heard, want 3", w.Answers)
				}
			}
		}
	}
}
