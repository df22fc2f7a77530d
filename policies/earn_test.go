package policies_test

import (
	"fmt"
	"testing"

	humansim "github.com/campaignd/campaignd/adapters/humans/simulated"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/events/memlog"
	"github.com/campaignd/campaignd/internal/study/studytest"
	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/policies"
	"github.com/campaignd/campaignd/policies/next"
	"github.com/campaignd/campaignd/projections/campaign"
)

// campaignRun is a campaign that has run to its end.
type campaignRun struct {
	state     *campaign.State
	decisions []events.DecisionMade
}

func simulate(t *testing.T, task string, seed uint64, experiments int, changes ...func(*definition.Campaign)) campaignRun {
	t.Helper()
	def := must.Get(studytest.Define(task, seed, experiments, changes...))(t)
	log := memlog.New()
	core := must.Get(studytest.Simulate(t.Context(), log, def))(t)
	s := campaignRun{state: core.State()}
	for e := range must.Each(t, log.Read(t.Context(), 0)) {
		if e.Kind == events.KindDecisionMade {
			payload := must.Get(events.Decode(e))(t)
			s.decisions = append(s.decisions, *payload.(*events.DecisionMade))
		}
	}
	return s
}

// asked counts questions put before experiments from the first to, but not
// with, the last.
func (s campaignRun) asked(first, last int) (n int) {
	for i := range s.state.Questions {
		if q := &s.state.Questions[i]; !q.Volunteered && q.Experiments >= first && q.Experiments < last {
			n++
		}
	}
	return n
}

func (s campaignRun) settled(rule string) (n int) {
	for _, d := range s.decisions {
		if d.Rule == rule {
			n++
		}
	}
	return n
}

// firstDifference returns the index of the first experiment in which two
// campaigns differ, bit for bit.
func firstDifference(a, b campaignRun) int {
	for i := range a.state.Experiments {
		if fmt.Sprint(a.state.Experiments[i].Parameters) != fmt.Sprint(b.state.Experiments[i].Parameters) {
			return i
		}
	}
	return len(a.state.Experiments)
}

const (
	budget  = 33 // experiments of a campaign of these tests
	initial = 3
	fifth   = (budget - initial) / 5
)

// Until the first fifth is over no expert changes anything: the campaign is, bit
// for bit, the one without them and with the same acquisition. One who is never trusted changes nothing at all.
func TestAnExpertWhoIsNotTrustedChangesNothing(t *testing.T) {
	for seed := uint64(1); seed <= 2; seed++ {
		alone := simulate(t, "ackley4", seed, budget, func(def *definition.Campaign) { def.Policy = policies.Alone(next.LCB{}.Choice()) })
		for _, a := range []float64{2, 0, -2} {
			s := simulate(t, "ackley4", seed, budget, studytest.WithExpert(a))
			same := firstDifference(alone, s)
			if same < initial+fifth {
				t.Errorf("seed %d, a = %v: experiment %d differs from the campaign without an expert", seed, a, same+1)
			}
			if followed := s.settled(policies.RuleAccepted) + s.settled(policies.RuleAccepts) + s.settled(policies.RuleSure); followed == 0 && same < budget {
				t.Errorf("seed %d, a = %v: nobody was followed, yet experiment %d differs", seed, a, same+1)
			}
		}
	}
}

// Helpful experts come to be followed in most campaigns, adversaries in few, and
// are asked little; and whoever the expert is, the last fifth belongs to the model alone.
func TestTrustIsEarnedAndHandedOver(t *testing.T) {
	const seeds = 6
	for _, c := range []struct {
		accuracy        float64
		followed, asked func(n int) bool // in how many campaigns, how often over all
	}{
		{2, func(n int) bool { return n >= seeds/2 }, func(n int) bool { return n >= fifth*seeds }},
		{-2, func(n int) bool { return n <= seeds/3 }, func(n int) bool { return n <= 10*seeds }},
	} {
		followed, turns, asked, first, last := 0, 0, 0, 0, 0
		for seed := range uint64(seeds) {
			s := simulate(t, "holder2", seed+1, budget, studytest.WithExpert(c.accuracy))
			if s.settled(policies.RuleAccepted)+s.settled(policies.RuleAccepts) > 0 {
				followed++
			}
			turns += s.settled(policies.RuleModelsTurn)
			asked += s.asked(0, budget)
			first += s.asked(initial, initial+fifth)
			last += s.asked(budget-fifth, budget)
		}
		t.Logf("a = %v: followed in %d of %d campaigns, asked %d times, %d in the first fifths and %d in the last", c.accuracy, followed, seeds, asked, first, last)
		if !c.followed(followed) {
			t.Errorf("a = %v: followed in %d of %d campaigns", c.accuracy, followed, seeds)
		}
		if !c.asked(asked) {
			t.Errorf("a = %v: asked %d times in %d campaigns", c.accuracy, asked, seeds)
		}
		if c.accuracy > 0 && turns == 0 {
			t.Error("no experiment was the model's while the expert was trusted")
		}
		if first == 0 || last*20 > first {
			t.Errorf("a = %v: asked %d times in the first fifths and %d in the last", c.accuracy, first, last)
		}
	}
}

// Each expert earns their own trust: beside an adversary a helpful expert is
// still followed, and oftener.
func TestEachExpertEarnsTheirOwnTrust(t *testing.T) {
	followed := map[string]int{}
	for seed := uint64(1); seed <= 4; seed++ {
		s := simulate(t, "holder2", seed, budget, studytest.WithExpert(2), func(def *definition.Campaign) {
			bob := def.Experts[0]
			bob.Name = "bob"
			bob.Channel = humansim.Choose(humansim.Settings{Accuracy: ptr(-2.0)})
			def.Experts = append(def.Experts, bob)
		})
		for _, d := range s.decisions {
			if d.Rule == policies.RuleAsk {
				followed[d.Expert]++
			}
		}
	}
	t.Logf("asked about their own candidates: %v", followed)
	if followed["ada"] == 0 || followed["ada"] <= followed["bob"] {
		t.Errorf("asked about their own candidates: %v", followed)
	}
}
