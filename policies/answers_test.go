package policies_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/campaignd/campaignd/adapters/humans"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/events/memlog"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/engine/drive"
	"github.com/campaignd/campaignd/internal/files/builtin"
	"github.com/campaignd/campaignd/internal/study/studytest"
	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/projections"
	"github.com/campaignd/campaignd/projections/campaign"
	"github.com/campaignd/campaignd/projections/projectiontest"
)

// reticent answers some questions as it should, cannot tell at others, and
// cannot be asked at the rest.
type reticent struct {
	humans.Reviewer
	asked int
}

func (r *reticent) Ask(ctx context.Context, q humans.Question) (humans.Reply, error) {
	r.asked++
	switch r.asked % 3 {
	case 1:
		return humans.Reply{}, nil
	case 2:
		return humans.Reply{}, fmt.Errorf("the line is dead")
	}
	return r.Reviewer.Ask(ctx, q)
}

// Examples and Comparisons are those of the reviewer behind it.
func (r *reticent) Examples(ctx context.Context, n int, balanced bool) ([]humans.Example, error) {
	return r.Reviewer.(humans.InitialLabeler).Examples(ctx, n, balanced)
}

func (r *reticent) Comparisons(ctx context.Context, n, options int) ([]humans.Ranking, error) {
	return r.Reviewer.(humans.InitialComparer).Comparisons(ctx, n, options)
}

// Law: experts who cannot tell, or cannot be asked, do not stop a campaign of any
// family: it goes on to its end and can be audited, and every projection in it is
// live as it is replayed and restored.
func TestReticentExperts(t *testing.T) {
	for _, duels := range []bool{false, true} {
		names, policy := amendable(duels)
		for _, name := range names {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				def := changing(t, policy[name], 9)
				log := memlog.New()
				r := must.Get(studytest.Runner(t.Context(), log, def, nil))(t)
				for expert, reviewer := range r.Reviewers {
					r.Reviewers[expert] = &reticent{Reviewer: reviewer}
				}
				must.Do(t, r.Run(t.Context()))
				if s := r.Core().State(); s.Status != campaign.Completed {
					t.Errorf("it is %s (%s)", s.Status, s.Reason)
				}
				audited(t, log, def)
				var all []events.Event
				for e := range must.Each(t, log.Read(t.Context(), 0)) {
					all = append(all, e)
				}
				projectiontest.Run(t, func() []projections.Projection { return engine.NewCore(builtin.Registry()).Projections() }, all)
			})
		}
	}
}

// Law: once the budget of questions is spent nobody is asked any more, by any policy.
func TestQuestionBudget(t *testing.T) {
	names, policy := amendable(false)
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			def := changing(t, policy[name], 9, func(def *definition.Campaign) { def.Budget.Labels = ptr(1) })
			core := must.Get(studytest.Simulate(t.Context(), memlog.New(), def))(t)
			if s := core.State(); s.AskedCount() > 1 || s.Status != campaign.Completed {
				t.Errorf("%d questions were asked, and it is %s (%s)", s.AskedCount(), s.Status, s.Reason)
			}
		})
	}
}

// Law: once an expert's time is spent they are asked no more, by any policy; the last question began within it. Another
// expert, whose time is not limited, is asked as before, and the campaign goes on to its end.
func TestTimeOfExperts(t *testing.T) {
	for _, duels := range []bool{false, true} {
		names, policy := amendable(duels)
		for _, name := range names {
			t.Run(strings.ReplaceAll(name, " ", "_"), func(t *testing.T) {
				t.Parallel()
				simulate := func(limit time.Duration) *campaign.State {
					def := changing(t, policy[name], 12, func(def *definition.Campaign) {
						def.Experts[0].Time, def.Experts[0].AnswerTakes = definition.Duration(limit), definition.Duration(7*time.Second)
						if duels {
							def.Initial.Comparisons = ptr(0)
						}
					})
					core := must.Get(studytest.Simulate(t.Context(), memlog.New(), def))(t)
					return core.State()
				}
				asked := func(s *campaign.State, expert int) (sizes []int) {
					for _, q := range s.Questions {
						if q.Expert == s.Definition.Experts[expert].Name && !q.Volunteered {
							sizes = append(sizes, max(1, len(q.Options)))
						}
					}
					return sizes
				}
				free, limited := simulate(time.Hour), simulate(20*time.Second)
				taken := 0
				for k, size := range asked(limited, 0) {
					if 7*taken+7 > 20 {
						t.Errorf("question %d is asked after %d compositions", k+1, taken)
					}
					taken += size
				}
				if before, now := len(asked(free, 0)), len(asked(limited, 0)); before > 2 && (now == 0 || now >= before) {
					t.Errorf("ada was asked %d questions, without a limit %d", now, before)
				}
				if len(asked(free, 1)) > 2 && len(asked(limited, 1)) == 0 {
					t.Error("bob is asked nothing")
				}
				if limited.Status != campaign.Completed {
					t.Errorf("it is %s (%s)", limited.Status, limited.Reason)
				}
			})
		}
	}
}

// Law: a campaign that only compares pauses, goes on, and goes on again past its
// end once its budget is raised; it says which budget ended it.
func TestComparisonsRaised(t *testing.T) {
	names, policy := amendable(true)
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			none := func(def *definition.Campaign) { // which rules on candidates would not count
				if name == "mr-lpf" || name == "maxmin-lcb" {
					def.Initial.Comparisons = ptr(0)
				}
			}
			def := changing(t, policy[name], 7, none)
			whole := memlog.New()
			must.Get(studytest.Simulate(t.Context(), whole, def))(t)
			log := untilAsked(t, whole)
			request(t, log, def, engine.Request{Pause: &events.CampaignPaused{Reason: "lunch"}})
			request(t, log, def, engine.Request{Resume: &events.CampaignResumed{}})
			core := must.Get(studytest.Simulate(t.Context(), log, def))(t)
			if s := core.State(); s.Status != campaign.Completed || s.Comparisons() != 7 || s.Reason != events.CompletedBudget {
				t.Errorf("it is %s (%s) after %d comparisons", s.Status, s.Reason, s.Comparisons())
			}
			raised := changing(t, policy[name], 10, none)
			request(t, log, def, engine.Request{Amend: &events.CampaignAmended{Definition: raised}})
			core = must.Get(studytest.Simulate(t.Context(), log, raised))(t)
			if s := core.State(); s.Status != campaign.Completed || s.Comparisons() != 10 {
				t.Errorf("raised, it is %s (%s) after %d comparisons", s.Status, s.Reason, s.Comparisons())
			}
			audited(t, log, raised)
		})
	}
}

// Law: an answer that is changed changes the model of what the expert prefers, in
// its direction; taken back it counts no more.
func TestChangedAnswer(t *testing.T) {
	_, policy := amendable(false)
	def := changing(t, policy["coexbo"], 5)
	log := memlog.New()
	core := must.Get(studytest.Simulate(t.Context(), log, def))(t)
	questions := slices.Clone(core.State().Questions)
	i := slices.IndexFunc(questions, func(q campaign.Question) bool { return q.Expert == "ada" && len(q.Answer.Order) == 2 })
	if i < 0 {
		t.Fatal("ada has compared nothing")
	}
	q := &questions[i]
	wins := func(r *drive.Runner) float64 { // the probability that the answer as it first was would be given again
		better := must.Get(r.Core().Space().Encode(q.Options[q.Answer.Order[0]].Parameters))(t)
		worse := must.Get(r.Core().Space().Encode(q.Options[q.Answer.Order[1]].Parameters))(t)
		return viewOf(t, r.Core()).Preferences[0].Choice.Preference(better, worse).Mean
	}
	runner := must.Get(studytest.Runner(t.Context(), log, def, nil))(t)
	comparisons := runner.Core().State().Comparisons()
	probability := []float64{wins(runner)}
	turned := events.Answer{Order: []int{q.Answer.Order[1], q.Answer.Order[0]}}
	for i, said := range []events.Answer{turned, {}} {
		changed := &engine.Answer{Question: q.ID, Reply: humans.Reply{Answer: said}}
		answer := engine.Request{Actor: "person:ada", Answer: changed}
		if _, err := engine.Submit(t.Context(), log, runner.Core(), answer, time.Date(2026, 1, 2, 0, 0, i, 0, time.UTC)); err != nil {
			t.Fatal(err)
		}
		probability = append(probability, wins(runner))
		if got := runner.Core().State().Comparisons(); got != comparisons-i {
			t.Errorf("%d comparisons count", got)
		}
	}
	if p := probability; p[0] < 0.6 || p[1] > 0.4 || p[2] <= p[1] || p[2] >= p[0] {
		t.Errorf("given, turned round and taken back the choice has the probabilities %.2f", p)
	}
	raised := changing(t, policy["coexbo"], 6)
	request(t, log, def, engine.Request{Amend: &events.CampaignAmended{Definition: raised}})
	must.Get(studytest.Simulate(t.Context(), log, raised))(t)
	audited(t, log, raised)
}
