package preference_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"testing"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/files/builtin"
	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/projections/preference"
)

// Law: up to 20 comparisons each new one calls for a fit of the choice form, of n
// comparisons ⌈n/20⌉ new ones do; in the utility form as many as the definition says.
// Without a comparison there is nothing to fit; the first fit waits for nothing else, and one
// that has seen no comparison was the first as well.
func TestStale(t *testing.T) {
	for _, c := range []struct {
		method      string
		refitEvery  int
		given, more int
		want        bool
	}{
		{"coexbo", 0, 20, 0, false}, {"coexbo", 0, 19, 1, true}, {"coexbo", 0, 20, 1, false}, {"coexbo", 0, 20, 2, true},
		{"coexbo", 0, 38, 2, true}, {"coexbo", 0, 39, 2, false}, {"eubo", 3, 5, 2, false}, {"eubo", 3, 5, 3, true},
		{"eubo", 3, 0, 2, false}, {"eubo", 3, 0, 3, true},
	} {
		def := defined(t, c.method)
		if c.refitEvery > 0 {
			def.Model.Utility.RefitEvery = &c.refitEvery
		}
		p := preference.New()
		p.Configure(builtin.Registry().Methods.Needs(def).Preference)
		apply := func(payload events.Payload) {
			must.Do(t, p.Apply(events.Event{}, payload))
		}
		apply(&events.CampaignDefined{Definition: def})
		if p.Stale("ada") {
			t.Errorf("%s: there is something to fit before the first comparison", c.method)
		}
		for q := range c.given + c.more + 1 {
			if q > 0 {
				apply(answered(q, "ada", []int{0, 1}))
			}
			if 0 < q && q <= c.given && !p.Stale("ada") {
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
			must.Do(t, p.Apply(events.Event{}, payload))
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

// Law: a model is of the campaign as it is defined now: after an amendment compositions have
// their places in the cube of the new bounds. A rule that reads comparisons alone waits for no
// fit to see them there.
func TestAmendedBounds(t *testing.T) {
	for _, method := range []string{"mr-lpf", "random-duels"} {
		p, def := projection(t, method), defined(t, method)
		places := func() string {
			m, err := p.Model(t.Context(), "ada")
			if err != nil || m == nil {
				t.Fatalf("%s: %v, %v", method, m, err)
			}
			return fmt.Sprint(m.Winners, m.Losers)
		}
		apply := func(payload events.Payload) {
			must.Do(t, p.Apply(events.Event{}, payload))
		}
		apply(&events.CampaignDefined{Definition: def})
		apply(&events.QuestionAnswered{
			Question: "q1", Form: events.FormComparison, Expert: "ada",
			Options: []definition.Point{at(0.25, 0.5), at(0.5, 0.75)}, Answer: events.Answer{Order: []int{0, 1}},
		})
		if got := places(); got != "[[0.25 0.5]] [[0.5 0.75]]" {
			t.Errorf("%s: winners and losers are %s", method, got)
		}
		def.Parameters[0].Max = ptr(2.0)
		apply(&events.CampaignAmended{Definition: def})
		if got := places(); got != "[[0.125 0.5]] [[0.25 0.75]]" {
			t.Errorf("%s: with twice the range of a winners and losers are %s", method, got)
		}
	}
}

// Law: a fit that is cancelled, at whatever moment, is an error and gives nothing; whatever
// is given is the fit.
func TestCancelledFit(t *testing.T) {
	for _, method := range []string{"coexbo", "raeubo"} {
		p := projection(t, method)
		for _, payload := range []events.Payload{
			&events.CampaignDefined{Definition: defined(t, method)}, answered(1, "ada", []int{0, 1}), answered(2, "ada", []int{1, 0}),
		} {
			must.Do(t, p.Apply(events.Event{}, payload))
		}
		want := must.Get(p.Fit(t.Context(), "ada", 1))(t)
		ended, failures := false, 0
		for checks := 0; checks < 1_000_000 && !ended; checks += 1 + checks/2 {
			fit, err := p.Fit(&expiring{Context: t.Context(), checks: checks}, "ada", 1)
			switch ended = err == nil; {
			case ended && !reflect.DeepEqual(fit, want):
				t.Errorf("%s, cancelled at check %d: %+v, want %+v", method, checks, fit, want)
			case !ended:
				failures++
				if !errors.Is(err, context.Canceled) || !reflect.DeepEqual(fit, events.PreferenceFit{}) {
					t.Errorf("%s, cancelled at check %d: %+v, %v", method, checks, fit, err)
				}
			}
		}
		if !ended || failures == 0 {
			t.Errorf("%s: ended %v after %d failures", method, ended, failures)
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

// Law: an expert's judgment is reliable around their own anchors, those of the definition and
// those that they declared, and not around a colleague's; without any it is as noisy everywhere.
func TestAnchorsAreTheirOwn(t *testing.T) {
	p := projection(t, "raeubo")
	apply := func(payload events.Payload) {
		must.Do(t, p.Apply(events.Event{}, payload))
	}
	noise := func(expert string, a, b float64) float64 {
		if p.Stale(expert) {
			fit := must.Get(p.Fit(t.Context(), expert, 1))(t)
			apply(&events.ModelFitted{Model: events.ModelPreference, Expert: expert, Preference: &fit})
		}
		m := must.Get(p.Model(t.Context(), expert))(t)
		return m.Utility.Noise([]float64{a, b}, nil)
	}
	apply(&events.CampaignDefined{Definition: defined(t, "raeubo")}) // ada's anchor is the middle
	for q, expert := range []string{"ada", "bob"} {
		apply(answered(q+1, expert, []int{0, 1}))
	}
	if near, far := noise("ada", 0.5, 0.5), noise("ada", 0.05, 0.95); !(near < far) {
		t.Errorf("ada's noise is %v at her anchor and %v far away", near, far)
	}
	if near, far := noise("bob", 0.5, 0.5), noise("bob", 0.05, 0.95); near != far {
		t.Errorf("bob's noise is %v at ada's anchor and %v far away", near, far)
	}
	ada := noise("ada", 0.05, 0.95)
	apply(&events.AnchorsDeclared{Expert: "bob", Points: []definition.Point{at(0.05, 0.95)}})
	if near, far := noise("bob", 0.05, 0.95), noise("bob", 0.5, 0.5); !(near < far) {
		t.Errorf("bob's noise is %v where he declared an anchor, and %v far away", near, far)
	}
	if got := noise("ada", 0.05, 0.95); got != ada {
		t.Errorf("ada's noise is %v at bob's anchor, and was %v", got, ada)
	}
}
