package duel_test

import (
	"fmt"
	"testing"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/files/builtin"
	"github.com/campaignd/campaignd/internal/files/campaignfile"
	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/policies/duel"
	"github.com/campaignd/campaignd/projections/campaign"
	"github.com/campaignd/campaignd/projections/preference"
	"github.com/campaignd/campaignd/projections/space"
)

func ptr[T any](x T) *T { return &x }

// rules are all rules of duels by name.
func rules() map[string]definition.Policy {
	all := make(map[string]definition.Policy)
	for _, m := range builtin.Registry().Methods.Methods() {
		if !m.Policy.Measures() {
			all[m.Name] = m.Policy
		}
	}
	return all
}

// ruleOf returns the rule of a definition.
func ruleOf(t *testing.T, def definition.Campaign) *duel.Rule {
	t.Helper()
	return must.Get(duel.New(def))(t)
}

// taste is a campaign of comparisons over the unit square, or over a list.
func taste(t *testing.T, p definition.Policy, candidates ...definition.Point) definition.Campaign {
	t.Helper()
	return campaignfile.Complete(builtin.Registry(), definition.Campaign{
		Name: "taste", Seed: 7, Objective: definition.Objective{Name: "taste", Goal: definition.Maximize}, Policy: p, Candidates: candidates,
		Parameters: []definition.Parameter{{Name: "a", Min: ptr(0.0), Max: ptr(1.0)}, {Name: "b", Min: ptr(0.0), Max: ptr(1.0)}},
		Budget:     definition.Budget{Comparisons: 20}, Experts: []definition.Expert{{Name: "ada"}},
	})
}

func at(a, b float64) definition.Point {
	return definition.Point{"a": definition.Number(a), "b": definition.Number(b)}
}

// input is what a rule sees after the given comparisons, each of which its first
// option won; refused are regions that people have refused since.
func input(t *testing.T, def definition.Campaign, compared [][2]definition.Point, refused ...definition.Region) duel.Input {
	t.Helper()
	bounded := def
	bounded.Excluded = append(bounded.Excluded, refused...)
	sp := must.Get(space.New(bounded))(t)
	p := preference.New()
	p.Configure(builtin.Registry().Methods.Needs(def).Preference)
	apply := func(payload events.Payload) {
		must.Do(t, p.Apply(events.Event{}, payload))
	}
	apply(&events.CampaignDefined{Definition: def})
	in := duel.Input{Space: sp, Expert: "ada", Seed: 3}
	for i, pair := range compared {
		id := fmt.Sprintf("q%d", i+1)
		in.Questions = append(in.Questions, campaign.Question{
			ID: id, Status: campaign.Answered, Form: events.FormComparison, Expert: "ada", Answer: events.Answer{Order: []int{0, 1}},
			Options: []events.Option{{Parameters: pair[0]}, {Parameters: pair[1]}},
		})
		apply(&events.QuestionAnswered{
			Question: id, Form: events.FormComparison, Expert: "ada", Options: pair[:], Answer: events.Answer{Order: []int{0, 1}},
		})
	}
	if p.Stale("ada") {
		fit := must.Get(p.Fit(t.Context(), "ada", 1))(t)
		apply(&events.ModelFitted{Model: events.ModelPreference, Expert: "ada", Preference: &fit})
	}
	in.Model = must.Get(p.Model(t.Context(), "ada"))(t)
	return in
}

// propose returns a pair that may be asked about: two compositions of the space.
func propose(t *testing.T, r *duel.Rule, in duel.Input) duel.Proposal {
	t.Helper()
	p, err := r.Propose(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	if p.Identified || p.Spent {
		return p
	}
	if len(p.Candidates) != 2 {
		t.Fatalf("it proposes %d compositions", len(p.Candidates))
	}
	var keys [2]string
	for i, c := range p.Candidates {
		if err := in.Space.Contains(c.Parameters); err != nil {
			t.Errorf("the %s one: %v", c.Name, err)
		}
		if keys[i], err = in.Space.Key(c.Parameters); err != nil {
			t.Error(err)
		}
	}
	if keys[0] == keys[1] {
		t.Errorf("%s is to be compared with itself", in.Space.Format(p.Candidates[0].Parameters))
	}
	return p
}

// Law: what has been refused since is not put to the expert again, the last
// winner neither.
func TestRefusedSince(t *testing.T) {
	compared := [][2]definition.Point{{at(0.5, 0.5), at(0.1, 0.1)}, {at(0.6, 0.5), at(0.9, 0.1)}, {at(0.9, 0.9), at(0.6, 0.5)}}
	refused := definition.Region{Name: "no", Where: map[string]definition.RegionSide{"a": {Min: ptr(0.85)}}}
	for name, p := range rules() {
		t.Run(name, func(t *testing.T) {
			def := taste(t, p)
			propose(t, ruleOf(t, def), input(t, def, compared, refused))
			whole := definition.Region{Name: "all that was compared", Where: map[string]definition.RegionSide{"b": {Max: ptr(0.95)}}}
			propose(t, ruleOf(t, def), input(t, def, compared, whole))
		})
	}
}

// Law: of a list that refusals leave one composition of, that one is the best and
// nothing more is asked.
func TestShortLists(t *testing.T) {
	list := []definition.Point{at(0.2, 0.2), at(0.8, 0.8)}
	refused := definition.Region{Name: "no", Where: map[string]definition.RegionSide{"a": {Max: ptr(0.5)}}}
	for name, p := range rules() {
		t.Run(name, func(t *testing.T) {
			def := taste(t, p, list...)
			rule, compared := ruleOf(t, def), [][2]definition.Point{{list[0], list[1]}}
			propose(t, rule, input(t, def, compared))
			in := input(t, def, compared, refused)
			if p := propose(t, rule, in); !p.Identified {
				t.Errorf("it proposes %+v", p)
			}
			best, ok, err := rule.Best(t.Context(), in)
			if err != nil || !ok || best.Parameters["a"] != list[1]["a"] {
				t.Errorf("the best is %+v, %v, %v", best, ok, err)
			}
		})
	}
}

// Law: what experts take back does not count: with nothing left a rule begins
// again, and knows of no best.
func TestAllTakenBack(t *testing.T) {
	for name, p := range rules() {
		t.Run(name, func(t *testing.T) {
			def := taste(t, p)
			in := input(t, def, [][2]definition.Point{{at(0.5, 0.5), at(0.1, 0.1)}})
			in.Questions[0].Answer.Order = nil
			if in.Model.Form != "" {
				taken := preference.New()
				taken.Configure(builtin.Registry().Methods.Needs(def).Preference)
				for _, payload := range []events.Payload{
					&events.CampaignDefined{Definition: def},
					&events.ModelFitted{Model: events.ModelPreference, Expert: "ada", Preference: &in.Model.Fit},
				} {
					must.Do(t, taken.Apply(events.Event{}, payload))
				}
				var err error
				if in.Model, err = taken.Model(t.Context(), "ada"); err != nil {
					t.Fatal(err)
				}
			}
			propose(t, ruleOf(t, def), in)
			if best, ok, err := ruleOf(t, def).Best(t.Context(), in); err != nil || ok && in.Model.Form != "" {
				t.Errorf("the best is %+v, %v", best, err)
			}
		})
	}
}

// Law: a refusal takes candidates away; what was said of the others still counts.
func TestRefusalKeepsComparisons(t *testing.T) {
	for _, name := range []string{"mr-lpf", "maxmin-lcb"} {
		def := taste(t, rules()[name])
		rule := ruleOf(t, def)
		first := propose(t, rule, input(t, def, nil)).Candidates
		compared := [][2]definition.Point{{first[0].Parameters, first[1].Parameters}}
		corner := definition.Region{Name: "no", Where: map[string]definition.RegionSide{"a": {Max: ptr(0.02)}, "b": {Max: ptr(0.02)}}}
		p := propose(t, rule, input(t, def, compared, corner))
		_, ok, err := rule.Best(t.Context(), input(t, def, compared, corner))
		if err != nil || !ok || p.Elimination == nil || p.Elimination.Made < 1 && p.Elimination.Round > 0 {
			t.Errorf("%s has forgotten the comparison: %+v, %v", name, p.Elimination, err)
		}
	}
}

// Law: however much is refused, what was said of the compositions that are left still counts
// for a rule on candidates: they are the Sobol points of the space as it was defined.
func TestRefusalOfHalfKeepsComparisons(t *testing.T) {
	for _, name := range []string{"mr-lpf", "maxmin-lcb"} {
		def := taste(t, rules()[name])
		design := must.Get(input(t, def, nil).Space.Design(definition.DesignSobol, 256, def.Seed))(t)
		var left []definition.Point
		for _, p := range design {
			if a, _ := p["a"].Float(); a > 0.6 {
				left = append(left, p)
			}
		}
		in := input(t, def, [][2]definition.Point{{left[3], left[5]}}, definition.Region{
			Name: "no", Where: map[string]definition.RegionSide{"a": {Max: ptr(0.6)}},
		})
		best, ok, err := ruleOf(t, def).Best(t.Context(), in)
		if err != nil || !ok || in.Space.Contains(best.Parameters) != nil {
			t.Errorf("%s has forgotten the comparison: the best is %+v, %v, %v", name, best, ok, err)
		}
	}
}

// Law: "can't tell" says the same whichever of the two was shown first, and is not a win: it
// makes nothing the best that another comparison has won.
func TestCannotTellHasNoSide(t *testing.T) {
	list := []definition.Point{at(0.1, 0.8), at(0.9, 0.1), at(0.5, 0.6)}
	for _, name := range []string{"mr-lpf", "maxmin-lcb"} {
		def := taste(t, rules()[name], list...)
		var proposed, best []string
		for _, pair := range [][2]definition.Point{{list[0], list[1]}, {list[1], list[0]}} {
			in := input(t, def, [][2]definition.Point{pair, pair, pair, {list[2], list[1]}})
			for i := range 3 {
				in.Questions[i].Answer.Order = nil
			}
			p := propose(t, ruleOf(t, def), in)
			proposed = append(proposed, fmt.Sprint(p.Candidates, p.Reason))
			b, ok, err := ruleOf(t, def).Best(t.Context(), in)
			if err != nil || !ok {
				t.Fatal(ok, err)
			}
			best = append(best, in.Space.Format(b.Parameters))
		}
		if proposed[0] != proposed[1] || best[0] != best[1] || best[0] != input(t, def, nil).Space.Format(list[2]) {
			t.Errorf("%s: the best is %q, and it proposes %q", name, best, proposed)
		}
	}
}
