package preference_test

import (
	"fmt"
	"testing"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/builtin"
	"github.com/campaignd/campaignd/projections/preference"
)

// Law: up to 20 comparisons each new one calls for a fit of the choice form, of n
// comparisons ⌈n/20⌉ new ones do; in the utility form as many as the definition says.
// Without a comparison there is nothing to fit; the first fit waits for nothing else.
func TestStale(t *testing.T) {
	for _, c := range []struct {
		method      string
		refitEvery  int
		given, more int
		want        bool
	}{
		{"coexbo", 0, 20, 0, false}, {"coexbo", 0, 19, 1, true}, {"coexbo", 0, 20, 1, false}, {"coexbo", 0, 20, 2, true},
		{"coexbo", 0, 38, 2, true}, {"coexbo", 0, 39, 2, false}, {"eubo", 3, 5, 2, false}, {"eubo", 3, 5, 3, true},
	} {
		def := defined(t, c.method)
		if c.refitEvery > 0 {
			def.Model.Utility.RefitEvery = &c.refitEvery
		}
		p := preference.New()
		p.Configure(builtin.Registry().Methods.Needs(def).Preference)
		apply := func(payload events.Payload) {
			if err := p.Apply(events.Event{}, payload); err != nil {
				t.Fatal(err)
			}
		}
		apply(&events.CampaignDefined{Definition: def})
		if p.Stale("ada") {
			t.Errorf("%s: there is something to fit before the first comparison", c.method)
		}
		for q := 1; q <= c.given+c.more; q++ {
			apply(answered(q, "ada", []int{0, 1}))
			if q <= c.given && !p.Stale("ada") {
				t.Errorf("%s: %d comparisons without a fit call for none", c.method, q)
			}
			if q == c.given {
				apply(&events.ModelFitted{Model: events.ModelPreference, Expert: "ada", Preference: &events.PreferenceFit{}})
			}
		}
		if got := p.Stale("ada"); got != c.want {
			t.Errorf("%s: fitted to %d comparisons, %d more: stale %v", c.method, c.given, c.more, got)
		}
	}
}

// Law: who was preferred is the winner, whichever was shown first, and what is left
// out of an order lost to all in it. Rules that read the comparisons alone wait for no fit.
func TestWinnersAndLosers(t *testing.T) {
	options := []definition.Point{at(0.1, 0.2), at(0.3, 0.4), at(0.5, 0.6)}
	ordered := func(question string, options []definition.Point, order ...int) *events.QuestionAnswered {
		return &events.QuestionAnswered{
			Question: question, Form: events.FormComparison, Expert: "ada", Options: options, Answer: events.Answer{Order: order},
		}
	}
	for _, method := range []string{"mr-lpf", "maxmin-lcb", "random-duels"} {
		p := projection(t, method)
		for _, payload := range []events.Payload{
			&events.CampaignDefined{Definition: defined(t, method)}, ordered("q2", options[:2], 1, 0), ordered("q1", options, 2),
		} {
			if err := p.Apply(events.Event{}, payload); err != nil {
				t.Fatal(err)
			}
		}
		m, err := p.Model(t.Context(), "ada")
		if err != nil || m == nil || m.Form != "" || p.Stale("ada") {
			t.Fatalf("%s: %+v, %v, stale %v", method, m, err, p.Stale("ada"))
		}
		if got := fmt.Sprint(m.Winners, m.Losers); got != "[[0.5 0.6] [0.5 0.6] [0.3 0.4]] [[0.1 0.2] [0.3 0.4] [0.1 0.2]]" {
			t.Errorf("%s: winners and losers are %s", method, got)
		}
	}
}
