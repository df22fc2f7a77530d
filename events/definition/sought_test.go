package definition_test

import (
	"math"
	"testing"

	"github.com/campaignd/campaignd/events/definition"
)

// Law: what is sought is compared in the sense of its goal, equals are not better than each
// other, and the sign makes smaller better without changing a bit.
func TestSought(t *testing.T) {
	for goal, greater := range map[string]bool{definition.Maximize: true, definition.Minimize: false} {
		def := definition.Campaign{Objective: definition.Objective{Name: "yield", Unit: "%", Goal: goal}}
		q := def.Sought()
		if q.Better(2, 1) != greater || q.Better(1, 2) == greater || q.Better(1, 1) {
			t.Errorf("%s: 2 is better than 1: %v, 1 than 2: %v, 1 than 1: %v",
				goal, q.Better(2, 1), q.Better(1, 2), q.Better(1, 1))
		}
		if smaller := q.Sign()*2 < q.Sign()*1; smaller != greater || math.Abs(q.Sign()) != 1 {
			t.Errorf("%s: with the sign %v the better is not the smaller", goal, q.Sign())
		}
		best, worse := 1.0, 2.0
		if greater {
			best, worse = 2, 1
		}
		// a regret of nothing is 0 in files, never -0
		if none := q.Regret(best, best); q.Regret(worse, best) != 1 || none != 0 || math.Signbit(none) {
			t.Errorf("%s: the regrets are %v and %v", goal, q.Regret(worse, best), none)
		}
		if word := q.Pick("highest", "lowest"); (word == "highest") != greater {
			t.Errorf("%s: the %s is sought", goal, word)
		}
	}
}

// Law: what is known of a quantity's noise is known of it as an objective, whether it is declared,
// sought or one of a trade-off; a part of the value gives each value its standard deviation.
func TestNoiseOfQuantities(t *testing.T) {
	part := 0.02
	c := definition.Campaign{
		Objective:  definition.Objective{Name: "a", Goal: definition.Maximize},
		Quantities: []definition.QuantityDef{{Name: "a", RelativeNoise: &part}, {Name: "b", RelativeNoise: &part}},
	}
	alone := definition.Campaign{Objective: definition.Objective{Name: "a", RelativeNoise: &part}}
	for name, o := range map[string]definition.Objective{
		"sought": c.Sought(), "traded off": c.ObjectiveOf(definition.Aim{Name: "b"}), "alone": alone.Sought(),
		"declared": {RelativeNoise: alone.Declared()[0].RelativeNoise},
	} {
		if sd := o.SD(-50); sd == nil || *sd != 1 {
			t.Errorf("%s: the standard deviation of -50 is %v", name, sd)
		}
	}
	in := 3.0
	if sd := (definition.Objective{Noise: &in}).SD(-50); sd != &in {
		t.Errorf("in the unit it is %v", sd)
	}
	if sd := (definition.Objective{}).SD(-50); sd != nil {
		t.Errorf("not known it is %v", *sd)
	}
}
