package policies_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	humansim "github.com/campaignd/campaignd/adapters/humans/simulated"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/events/memlog"
	"github.com/campaignd/campaignd/internal/attest/decisions"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/files/builtin"
	"github.com/campaignd/campaignd/internal/study/studytest"
	"github.com/campaignd/campaignd/internal/tests/draws"
	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/projections/belief"
	"github.com/campaignd/campaignd/projections/campaign"
)

// changing is a campaign of two experts that every policy of its kind can drive.
func changing(t *testing.T, p definition.Policy, budget int, changes ...func(*definition.Campaign)) definition.Campaign {
	t.Helper()
	def := must.Get(studytest.Define("branin", 3, budget, func(def *definition.Campaign) {
		def.Policy = p
		def.Initial.Labels, def.Initial.Comparisons, def.Initial.Experiments = ptr(3), ptr(4), ptr(3)
		for i, name := range []string{"ada", "bob"} {
			studytest.WithExpert(2)(def)
			def.Experts[i].Name = name
			studytest.SimulatedExpert(def, i, func(s *humansim.Settings) { s.Task = "branin" })
			if belief.Reads(p.Trust, belief.FeedbackGaussian) {
				def.Experts[i].Belief = &definition.StatedBelief{
					Mean: definition.Point{"x1": definition.Number(3), "x2": definition.Number(3)}, SD: map[string]float64{"x1": 3, "x2": 3},
				}
			}
		}
		if !p.Measures() {
			def.Instrument, def.Budget, def.Initial = definition.Instrument{}, definition.Budget{Comparisons: budget}, definition.Initial{Comparisons: ptr(2)}
		}
		for _, change := range changes {
			change(def)
		}
	}))(t)
	return def
}

// untilAsked returns the events of a log up to the last one of a question that the
// policy asked and nobody has answered yet, all of them where it asked none.
func untilAsked(t *testing.T, log events.Log) *memlog.Log {
	t.Helper()
	var all []events.Event
	asked := 0
	for e := range must.Each(t, log.Read(t.Context(), 0)) {
		all = append(all, e)
		switch e.Kind {
		case events.KindQuestionAsked:
			asked = len(all)
		}
	}
	if asked > 0 {
		all = all[:asked]
	}
	short := memlog.New()
	for _, e := range all {
		must.Get(short.Append(t.Context(), e.Campaign, e.Sequence-1, e))(t)
	}
	return short
}

// request fulfils a person's request on a campaign that nobody runs.
func request(t *testing.T, log events.Log, def definition.Campaign, r engine.Request) *campaign.State {
	t.Helper()
	runner := must.Get(studytest.Runner(t.Context(), log, def, nil))(t)
	r.Actor = "person:eve"
	must.Get(engine.Submit(t.Context(), log, runner.Core(), r, time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC)))(t)
	return runner.Core().State()
}

// audited fails the test where an audit of the log finds anything.
func audited(t *testing.T, log events.Log, def definition.Campaign) {
	t.Helper()
	report, err := decisions.Audit(t.Context(), builtin.Registry(), log, def.Name, events.Build{}, nil)
	if err != nil || len(report.Mismatches) > 0 || report.Decisions == 0 {
		t.Errorf("audit: %+v, %v", report, err)
	}
}

// amendable are policies of every family, of campaigns that measure or that do not.
func amendable(duels bool) (names []string, all map[string]definition.Policy) {
	wanted := []string{"lcb", "cobol", "cobol by ranking", "cobol by pinpoint", "hcei", "coexbo", "pibo", "batch-thompson", "random-choice", "prior-sampling", "manual"}
	if duels {
		wanted = []string{"mr-lpf", "maxmin-lcb", "raeubo", "utility-ei", "random-duels"}
	}
	all = make(map[string]definition.Policy)
	for name, m := range methods() {
		if slices.Contains(wanted, name) {
			all[name] = m.policy
		}
	}
	return wanted, all
}

// Law: a campaign under way may change from any policy to any other of its
// kind, also while a question of the old one is open: it goes on to its end, what
// follows can be audited, and nothing in it depends on what is remembered.
func TestAmendedPolicy(t *testing.T) {
	for _, duels := range []bool{false, true} {
		names, policy := amendable(duels)
		if len(policy) != len(names) {
			t.Fatalf("%d policies of %v", len(policy), names)
		}
		before, after := 5, 7
		if duels {
			before, after = 9, 13
		}
		for i, from := range names {
			t.Run(strings.ReplaceAll(from, " ", "_"), func(t *testing.T) {
				t.Parallel()
				first := changing(t, policy[from], before)
				whole := memlog.New()
				must.Get(studytest.Simulate(t.Context(), whole, first))(t)
				for j, to := range names {
					if !draws.Whole() && (i+j)%3 != 0 { // from each and to each
						continue
					}
					t.Run(strings.ReplaceAll(to, " ", "_"), func(t *testing.T) {
						log := untilAsked(t, whole)
						second := changing(t, policy[to], after)
						request(t, log, first, engine.Request{Amend: &events.CampaignAmended{Definition: second}})
						core := must.Get(studytest.Simulate(t.Context(), log, second))(t)
						s := core.State()
						if s.Status != campaign.Completed || !duels && s.Spent() != after {
							t.Errorf("it is %s (%s) after %d experiments", s.Status, s.Reason, s.Spent())
						}
						audited(t, log, second)
					})
				}
			})
		}
	}
}
