package duel_test

import (
	"testing"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/policies/duel"
	"github.com/campaignd/campaignd/projections/campaign"
	"github.com/campaignd/campaignd/projections/space"
)

// Law: where nothing is modeled the best is what won most often, less how often it
// lost, the earliest of equals; by this expert's answers to pairs alone.
func TestMostWins(t *testing.T) {
	def := taste(t, rules()["random-duels"])
	sp, err := space.New(def)
	if err != nil {
		t.Fatal(err)
	}
	a, b, c, d := at(0.1, 0), at(0.2, 0), at(0.3, 0), at(0.4, 0)
	question := func(order []int, points ...definition.Point) campaign.Question {
		q := campaign.Question{
			Status: campaign.Answered, Form: events.FormComparison, Expert: "ada", Answer: events.Answer{Order: order},
		}
		for _, p := range points {
			q.Options = append(q.Options, events.Option{Parameters: p})
		}
		return q
	}
	with := func(q campaign.Question, change func(*campaign.Question)) campaign.Question {
		change(&q)
		return q
	}
	for _, test := range []struct {
		name      string
		questions []campaign.Question
		best      definition.Point
		score     float64
	}{
		{"nothing", nil, nil, 0},
		{"can't tell", []campaign.Question{question(nil, a, b)}, nil, 0},
		{"the first wins", []campaign.Question{question([]int{0, 1}, a, b)}, a, 1},
		{"the second wins", []campaign.Question{question([]int{1, 0}, a, b)}, b, 1},
		{"wins less losses", []campaign.Question{question([]int{0, 1}, a, b), question([]int{0, 1}, a, c), question([]int{1, 0}, a, d), question([]int{1, 0}, a, d)}, d, 2},
		{"the earliest of equals", []campaign.Question{question([]int{1, 0}, a, b), question([]int{0, 1}, c, d)}, b, 1},
		{"of others, other forms and open questions nothing", []campaign.Question{
			with(question([]int{0, 1}, a, b), func(q *campaign.Question) { q.Expert = "bob" }),
			with(question([]int{0, 1}, a, b), func(q *campaign.Question) { q.Status = campaign.Expired }),
			with(question([]int{0, 1}, a, b), func(q *campaign.Question) { q.Form = events.FormLabel }),
			question([]int{0, 1, 2}, a, b, c), question([]int{1, 0}, c, d)}, d, 1},
	} {
		rule, err := duel.New(def)
		if err != nil {
			t.Fatal(err)
		}
		best, ok, err := rule.Best(t.Context(), duel.Input{Space: sp, Questions: test.questions, Expert: "ada"})
		if err != nil || ok != (test.best != nil) || ok && (sp.Format(best.Parameters) != sp.Format(test.best) || best.Utility != test.score || best.Expert != "ada") {
			t.Errorf("%s: %+v, %v, %v; want %v with %v", test.name, best, ok, err, test.best, test.score)
		}
	}
}

// Law: whoever compares by one hidden order, and has compared all pairs of a list, has
// the first of that order for their best, by every rule that learns, whichever of a
// pair is shown first.
func TestBestIsTheHiddenBest(t *testing.T) {
	list := []definition.Point{at(0.1, 0.8), at(0.9, 0.1), at(0.5, 0.6), at(0.3, 0.2)}
	for name, p := range rules() {
		for hidden := range list {
			def := taste(t, p, list...)
			var compared [][2]definition.Point
			for range 3 {
				for i := range list {
					for j := range i {
						// The order is hidden, hidden + 1, … round the list.
						winner, loser := list[i], list[j]
						if (i-hidden+len(list))%len(list) > (j-hidden+len(list))%len(list) {
							winner, loser = loser, winner
						}
						compared = append(compared, [2]definition.Point{winner, loser})
					}
				}
			}
			in := input(t, def, compared)
			for i := range in.Questions { // half of them the other way round
				if q := &in.Questions[i]; i%2 == 1 {
					q.Options[0], q.Options[1] = q.Options[1], q.Options[0]
					q.Answer.Order = []int{1, 0}
				}
			}
			rule, err := duel.New(def)
			if err != nil {
				t.Fatal(err)
			}
			best, ok, err := rule.Best(t.Context(), in)
			if err != nil || !ok || in.Space.Format(best.Parameters) != in.Space.Format(list[hidden]) {
				t.Errorf("%s: the best is %v (%v, %v), want %v", name, best.Parameters, ok, err, list[hidden])
			}
		}
	}
}

// Law: a rule says why it asks, also when it has nothing to go by.
func TestRulesSayWhy(t *testing.T) {
	for name, p := range rules() {
		def := taste(t, p)
		rule, err := duel.New(def)
		if err != nil {
			t.Fatal(err)
		}
		if said := propose(t, rule, input(t, def, nil)); said.Reason == "" {
			t.Errorf("%s gives no reason", name)
		}
	}
}

// Law: a rule remembers to save time alone: after any change of what was said it
// proposes what a rule does that has never seen anything else. A composition that was
// compared with itself says nothing.
func TestMemoryDecidesNothing(t *testing.T) {
	list := []definition.Point{at(0.1, 0.8), at(0.9, 0.1), at(0.5, 0.6), at(0.3, 0.2), at(0.7, 0.7)}
	pair := func(i, j int) [2]definition.Point { return [2]definition.Point{list[i], list[j]} }
	for _, name := range []string{"mr-lpf", "maxmin-lcb"} {
		def := taste(t, rules()[name], list...)
		rule := newRule(t, def)
		sp := input(t, def, nil).Space // another space would be reason enough to begin anew
		for i, compared := range [][][2]definition.Point{
			{pair(0, 1), pair(0, 2), pair(0, 3)},
			{pair(0, 1), pair(0, 2), pair(0, 3), pair(0, 4)},
			{pair(1, 0), pair(2, 0), pair(3, 0), pair(4, 0)},
			{pair(1, 0)},
			{pair(1, 0), pair(2, 2), pair(2, 1), pair(2, 0), pair(2, 3)},
		} {
			in := input(t, def, compared)
			in.Space = sp
			best, _, err := rule.Best(t.Context(), in)
			if err != nil {
				t.Fatal(err)
			}
			want, _, err := newRule(t, def).Best(t.Context(), in)
			if err != nil {
				t.Fatal(err)
			}
			asked, fresh := propose(t, rule, in), propose(t, newRule(t, def), in)
			if in.Space.Format(best.Parameters) != in.Space.Format(want.Parameters) || asked.Reason != fresh.Reason ||
				in.Space.Format(asked.Candidates[0].Parameters) != in.Space.Format(fresh.Candidates[0].Parameters) {
				t.Errorf("%s, step %d: the best is %v and it proposes %+v; a new rule %v and %+v", name, i, best.Parameters, asked, want.Parameters, fresh)
			}
		}
	}
}

func newRule(t *testing.T, def definition.Campaign) *duel.Rule {
	t.Helper()
	rule, err := duel.New(def)
	if err != nil {
		t.Fatal(err)
	}
	return rule
}
