package duel_test

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/num/dueling"
	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/policies/duel"
	"github.com/campaignd/campaignd/projections/campaign"
	"github.com/campaignd/campaignd/projections/space"
)

// Law: where nothing is modeled the best is what won most often, less how often it
// lost, the earliest of equals; by this expert's answers to pairs alone.
func TestMostWins(t *testing.T) {
	def := taste(t, rules()["random-duels"])
	sp := must.Get(space.New(def))(t)
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
		rule := must.Get(duel.New(def))(t)
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
			rule := must.Get(duel.New(def))(t)
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
		rule := must.Get(duel.New(def))(t)
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
			best, _ := must.Get2(rule.Best(t.Context(), in))(t)
			want, _ := must.Get2(newRule(t, def).Best(t.Context(), in))(t)
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
	return must.Get(duel.New(def))(t)
}

// Law: a context that is cancelled, at whatever moment, is an error or has no influence: it
// never makes a rule propose something else, or forget what it knows.
func TestCancelledRules(t *testing.T) {
	list := []definition.Point{at(0.1, 0.8), at(0.9, 0.1), at(0.5, 0.6), at(0.3, 0.2), at(0.7, 0.7)}
	compared := [][2]definition.Point{{list[0], list[1]}, {list[0], list[2]}, {list[3], list[1]}, {list[4], list[2]}}
	for name, p := range rules() {
		for _, made := range []int{2, 4} { // four of four: the budget is spent
			def := taste(t, p, list...)
			def.Budget.Comparisons = 4
			in := input(t, def, compared[:made])
			want := propose(t, newRule(t, def), in)
			wantBest, wantOK, err := newRule(t, def).Best(t.Context(), in)
			if err != nil || !wantOK {
				t.Fatalf("%s: %v, %v", name, wantOK, err)
			}
			proposed, known := false, false
			for checks := 0; checks < 10_000 && !(proposed && known); checks += 1 + checks/4 {
				got, err := newRule(t, def).Propose(&expiring{Context: t.Context(), checks: checks}, in)
				if proposed = err == nil; proposed && !reflect.DeepEqual(got, want) {
					t.Errorf("%s, cancelled at check %d: it proposes %+v, want %+v", name, checks, got, want)
				}
				best, ok, errBest := newRule(t, def).Best(&expiring{Context: t.Context(), checks: checks}, in)
				if known = errBest == nil; known && (!ok || !reflect.DeepEqual(best, wantBest)) {
					t.Errorf("%s, cancelled at check %d: the best is %+v, %v, want %+v", name, checks, best, ok, wantBest)
				}
				for _, err := range []error{err, errBest} {
					if err != nil && !errors.Is(err, context.Canceled) {
						t.Errorf("%s, cancelled at check %d: %v", name, checks, err)
					}
				}
			}
			if !proposed || !known {
				t.Errorf("%s: it never ends", name)
			}
		}
	}
}

// expiring is a context that is cancelled after so many looks at it.
type expiring struct {
	context.Context
	checks int
}

func (e *expiring) Err() error {
	if e.checks--; e.checks < 0 {
		return context.Canceled
	}
	return nil
}

// Law: what cannot be compared is an error of the rules that would compare it: a question
// about what is not a composition of the space, and a space with room for one alone.
func TestNothingToCompare(t *testing.T) {
	for _, name := range []string{"mr-lpf", "maxmin-lcb", "random-duels"} {
		def := taste(t, rules()[name])
		in := input(t, def, nil)
		in.Questions = []campaign.Question{asked("ada", campaign.Answered, 0, 1)}
		in.Questions[0].Options[1].Parameters = definition.Point{"a": definition.Number(0.5)}
		if best, ok, err := newRule(t, def).Best(t.Context(), in); !errors.Is(err, space.ErrOutside) {
			t.Errorf("%s: the best is %+v, %v, %v", name, best, ok, err)
		}
	}
	for _, name := range []string{"mr-lpf", "maxmin-lcb"} {
		def := taste(t, rules()[name])
		def.Constraints = []definition.Constraint{{Terms: map[string]float64{"a": 1, "b": 1}, Equals: ptr(2.0)}}
		if p, err := newRule(t, def).Propose(t.Context(), input(t, def, nil)); !errors.Is(err, dueling.ErrCandidates) {
			t.Errorf("%s proposes %+v, %v", name, p, err)
		}
	}
}

// Law: a rule that eliminates in rounds says in which one it is, and one that has none speaks of
// no round; both say how many candidates may still be the best.
func TestRoundsInWords(t *testing.T) {
	for name, says := range map[string]string{"mr-lpf": "comparison 1 of 5 in round 1", "maxmin-lcb": "strongest rival"} {
		def := taste(t, rules()[name]) // of 20 comparisons ⌈√20⌉ are the first round
		reason := propose(t, newRule(t, def), input(t, def, nil)).Reason
		if !strings.Contains(reason, says) || !strings.Contains(reason, "256") || strings.Contains(reason, "round") != (name == "mr-lpf") {
			t.Errorf("%s: %q, want %q", name, reason, says)
		}
	}
}

// Law: once comparisons are modelled a pair is proposed by the model, with what it holds of
// each of the two. The rules that search for one composition compare it with the winner of
// the expert's last comparison, whichever of the two that was.
func TestPairsByTheModel(t *testing.T) {
	compared := [][2]definition.Point{{at(0.2, 0.9), at(0.9, 0.1)}, {at(0.25, 0.8), at(0.8, 0.2)}, {at(0.1, 0.6), at(0.15, 0.1)}}
	winner := map[string]bool{"utility-ei": true, "utility-ucb": true, "anpei": true, "rahbo": true}
	for name, p := range rules() {
		if p.Duel.Name == "mr-lpf" || p.Duel.Name == "maxmin-lcb" || p.Duel.Name == "random" {
			continue
		}
		for last := range 2 { // the winner is shown first, or second
			def := taste(t, p)
			in := input(t, def, compared)
			if last == 1 {
				c := &in.Model.Comparisons[len(in.Model.Comparisons)-1]
				c.Options, c.Order = []definition.Point{c.Options[1], c.Options[0]}, []int{1, 0}
			}
			proposal := propose(t, newRule(t, def), in)
			if strings.Contains(proposal.Reason, "random") {
				t.Errorf("%s: %s", name, proposal.Reason)
			}
			for _, c := range proposal.Candidates {
				if c.Score == nil || !(c.Score.SD > 0) {
					t.Errorf("%s: of the %s one it holds %+v", name, c.Name, c.Score)
				}
			}
			if second := in.Space.Format(proposal.Candidates[1].Parameters); winner[name] && second != in.Space.Format(at(0.1, 0.6)) {
				t.Errorf("%s: the last winner is compared with %s", name, second)
			}
		}
	}
}
