package duel_test

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/policies/search"
	"github.com/campaignd/campaignd/projections/campaign"
)

// saturated is a campaign whose posterior does not narrow: Laplace's, with a noise that is small
// beside a fixed output scale.
func saturated(t *testing.T, p definition.Policy, candidates ...definition.Point) definition.Campaign {
	t.Helper()
	def := taste(t, p, candidates...)
	def.Model.Utility.Posterior, def.Model.Utility.OutputScale = definition.PosteriorLaplace, definition.ScaleFixed
	def.Model.Utility.Noise = ptr(0.003)
	return def
}

// modeling are the rules that model a utility.
func modeling() []string {
	return []string{"anpei", "eubo", "raeubo", "rahbo", "utility-ei", "utility-ucb"}
}

// asks lets a rule ask n times after four comparisons, and answers by a utility, or not at all where
// that is nil. It returns the pairs, in the unit square, and the last reason.
func asks(
	t *testing.T, def definition.Campaign, n int, utility func(definition.Point) float64,
) (pairs [][2]definition.Point, reason string) {
	t.Helper()
	rule := ruleOf(t, def)
	compared := [][2]definition.Point{
		{at(0.6, 0.4), at(0.1, 0.9)}, {at(0.7, 0.2), at(0.9, 0.8)}, {at(0.3, 0.3), at(0, 0.1)}, {at(0.6, 0.4), at(0.3, 0.3)},
	}
	if len(def.Candidates) > 0 {
		compared = [][2]definition.Point{{def.Candidates[0], def.Candidates[1]}}
	}
	var unsure []campaign.Question
	for len(pairs) < n {
		in := input(t, def, compared)
		in.Questions = append(in.Questions, unsure...)
		in.Seed = uint64(len(pairs))
		p := propose(t, rule, in)
		pair := [2]definition.Point{p.Candidates[0].Parameters, p.Candidates[1].Parameters}
		pairs, reason = append(pairs, pair), p.Reason
		if utility == nil {
			unsure = append(unsure, campaign.Question{Status: campaign.Answered, Form: events.FormComparison, Expert: "ada",
				Options: []events.Option{{Parameters: pair[0]}, {Parameters: pair[1]}}})
			continue
		}
		if utility(pair[1]) > utility(pair[0]) {
			pair[0], pair[1] = pair[1], pair[0]
		}
		compared = append(compared, pair)
	}
	return pairs, reason
}

// most is how often the pair that is asked most is asked.
func most(t *testing.T, pairs [][2]definition.Point) (times int) {
	t.Helper()
	coordinates := func(p definition.Point) []float64 {
		a, _ := p["a"].Float()
		b, _ := p["b"].Float()
		return []float64{a, b}
	}
	for _, p := range pairs {
		n := 0
		for _, q := range pairs {
			x, y, u, v := coordinates(p[0]), coordinates(p[1]), coordinates(q[0]), coordinates(q[1])
			if search.Near(x, u) && search.Near(y, v) || search.Near(x, v) && search.Near(y, u) {
				n++
			}
		}
		times = max(times, n)
	}
	return times
}

func hill(p definition.Point) float64 {
	a, _ := p["a"].Float()
	b, _ := p["b"].Float()
	return -math.Hypot(a-0.55, b-0.35)
}

// Law: of somebody who always answers alike a rule asks no pair more than twice, however
// little its posterior learns from the answer; of somebody who cannot tell, none twice.
func TestNoPairForEver(t *testing.T) {
	for _, name := range modeling() {
		def := saturated(t, rules()[name])
		pairs, _ := asks(t, def, 12, hill)
		if n := most(t, pairs); n > 2 {
			t.Errorf("%s asks a pair whose answer is known %d times of %d", name, n, len(pairs))
		}
		pairs, reason := asks(t, def, 4, nil)
		if n := most(t, pairs); n > 1 {
			t.Errorf("%s asks %d times about a pair of which nobody can tell the better", name, n)
		}
		if name == "eubo" && !strings.Contains(reason, "answered often enough") {
			t.Errorf("it says %q", reason)
		}
	}
}

// Law: pairs of a list are open as long as their answers are; when all are settled the
// rule goes on asking, and says nothing of repetitions.
func TestListIsExhausted(t *testing.T) {
	list := []definition.Point{at(0.21, 0.2), at(0.2, 0.2), at(0.8, 0.7)} // two of them near each other
	for _, name := range modeling() {
		pairs, reason := asks(t, saturated(t, rules()[name], list...), 10, hill)
		asked := map[string]int{fmt.Sprint(list[1]) + " " + fmt.Sprint(list[0]): 1}
		for i, p := range pairs {
			key := []string{fmt.Sprint(p[0]), fmt.Sprint(p[1])}
			slices.Sort(key)
			asked[strings.Join(key, " ")]++
			if n := asked[strings.Join(key, " ")]; i < 5 && n > 2 {
				t.Errorf("%s asks a pair the %dth time while others are open", name, n)
			}
		}
		if len(pairs) != 10 || strings.Contains(reason, "enough") {
			t.Errorf("%s: %d questions, the last because %q", name, len(pairs), reason)
		}
	}
}

// Law: a pair is open until one of the two leads by two answers, or four are given: answers to
// it and to those that nobody can tell from it, in either order, by this expert.
func TestSettled(t *testing.T) {
	def := saturated(t, rules()["eubo"])
	alone := propose(t, ruleOf(t, def), input(t, def, [][2]definition.Point{{at(0.6, 0.4), at(0.1, 0.9)}}))
	a, b := alone.Candidates[0].Parameters, alone.Candidates[1].Parameters
	near := func(p definition.Point) definition.Point {
		x, _ := p["a"].Float()
		y, _ := p["b"].Float()
		return at(x+math.Copysign(0.01, 0.5-x), y+math.Copysign(0.01, 0.5-y))
	}
	for _, c := range []struct {
		name    string
		answers [][2]definition.Point // the better one first
		expert  string
		settled bool
	}{
		{"one answer", [][2]definition.Point{{a, b}}, "ada", false},
		{"two alike", [][2]definition.Point{{a, b}, {a, b}}, "ada", true},
		{"two alike for the other", [][2]definition.Point{{b, a}, {b, a}}, "ada", true},
		{"two alike, one nearby", [][2]definition.Point{{a, b}, {near(a), near(b)}}, "ada", true},
		{"one each", [][2]definition.Point{{a, b}, {b, a}}, "ada", false},
		{"two to one", [][2]definition.Point{{a, b}, {b, a}, {a, b}}, "ada", false},
		{"two each", [][2]definition.Point{{a, b}, {b, a}, {a, b}, {b, a}}, "ada", true},
		{"somebody else's", [][2]definition.Point{{a, b}, {a, b}}, "bob", false},
	} {
		in := input(t, def, [][2]definition.Point{{at(0.6, 0.4), at(0.1, 0.9)}})
		for _, pair := range c.answers { // questions of which the model has not heard
			in.Questions = append(in.Questions, campaign.Question{
				Status: campaign.Answered, Form: events.FormComparison, Expert: c.expert, Answer: events.Answer{Order: []int{1, 0}},
				Options: []events.Option{{Parameters: pair[1]}, {Parameters: pair[0]}},
			})
		}
		p := propose(t, ruleOf(t, def), in)
		same := reflect.DeepEqual(p.Candidates[0].Parameters, a) && reflect.DeepEqual(p.Candidates[1].Parameters, b)
		if same == c.settled {
			t.Errorf("%s: it asks again: %v", c.name, same)
		}
	}
}
