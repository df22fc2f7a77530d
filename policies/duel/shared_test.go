package duel_test

import (
	"reflect"
	"sync"
	"testing"

	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/policies/duel"
)

// Law: a rule is shared by the readers of a campaign, each of which may see another part of
// it; all get what a rule of their own gives them. The race detector finds what they share.
func TestRuleIsShared(t *testing.T) {
	compared := [][2]definition.Point{{at(0.5, 0.5), at(0.1, 0.1)}, {at(0.9, 0.9), at(0.5, 0.5)}}
	list := []definition.Point{at(0.5, 0.5), at(0.1, 0.1), at(0.9, 0.9), at(0.2, 0.7)}
	for _, name := range []string{"mr-lpf", "maxmin-lcb"} {
		t.Run(name, func(t *testing.T) {
			def := taste(t, rules()[name], list...)
			shared := ruleOf(t, def)
			var readers sync.WaitGroup
			for n := range 3 {
				in := input(t, def, compared[:n])
				want := propose(t, ruleOf(t, def), in)
				best, known := must.Get2(ruleOf(t, def).Best(t.Context(), in))(t)
				readers.Go(func() { reads(t, shared, in, want, best.Parameters, known) })
			}
			readers.Wait()
		})
	}
}

// reads has a rule propose, and say what is best, again and again.
func reads(
	t *testing.T, r *duel.Rule, in duel.Input, want duel.Proposal, best definition.Point, known bool,
) {
	for range 20 {
		got, err := r.Propose(t.Context(), in)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("it proposes %+v, want %+v: %v", got, want, err)
		}
		now, ok, err := r.Best(t.Context(), in)
		if err != nil || ok != known || !reflect.DeepEqual(now.Parameters, best) {
			t.Errorf("the best is %v, %t, want %v, %t: %v", now.Parameters, ok, best, known, err)
		}
	}
}
