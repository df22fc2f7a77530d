package simulated_test

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/campaignd/campaignd/adapters/humans/simulated"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/files/builtin"
	"github.com/campaignd/campaignd/internal/files/campaignfile"
	"github.com/campaignd/campaignd/internal/num/reliability"
	"github.com/campaignd/campaignd/internal/study/tasks"
	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/policies/duel"
	"github.com/campaignd/campaignd/projections/space"
)

// anchored is a campaign on Branin's function whose expert has two anchors near one
// another, and its noise.
func anchored(
	t *testing.T, change func(*definition.Campaign),
) (definition.Expert, definition.Campaign, simulated.Noise) {
	t.Helper()
	k, _ := tasks.Lookup("branin")
	e := definition.Expert{Name: "ada", Channel: simulated.Choose(simulated.Settings{Anchored: true, Task: "branin"}),
		Anchors: []definition.Point{k.Point([]float64{2, 10}), k.Point([]float64{3, 11})}}
	def := defined("branin", 1)
	def.Policy.Duel, def.Experts = duel.EUBO{}.Choice(), []definition.Expert{e}
	if change != nil {
		change(&def)
	}
	def = campaignfile.Complete(builtin.Registry(), def)
	noise := must.Get(simulated.NoiseOf(e, def))(t)
	return e, def, noise
}

// The noise is the map that the campaign's model makes of the same anchors.
func TestNoiseIsTheModels(t *testing.T) {
	strength, level := 2.0, 25.0
	for name, c := range map[string]struct {
		utility definition.Utility
		cfg     reliability.Config
	}{
		"by default": {definition.Utility{}, reliability.Config{Level: 1, Strength: 4}},
		"as set": {definition.Utility{Noise: &level, Strength: &strength},
			reliability.Config{Level: 25, Strength: 2}},
		"as printed": {definition.Utility{Paper: true}, reliability.Config{Level: 1, Paper: true, Lower: 1, Upper: 2}},
	} {
		e, def, noise := anchored(t, func(def *definition.Campaign) { def.Model.Utility = c.utility })
		sp := must.Get(space.New(def))(t)
		var anchors [][]float64
		for _, p := range e.Anchors {
			x := must.Get(sp.Encode(p))(t)
			anchors = append(anchors, x)
		}
		want := must.Get(reliability.NewMap(anchors, c.cfg))(t)
		for _, p := range append(uniform("branin")(20, 3), e.Anchors...) {
			x := must.Get(sp.Encode(p))(t)
			if got, err := noise(p); err != nil || got != want.At(x, nil) {
				t.Errorf("%s at %v: %g, %v, want %g", name, p, got, err, want.At(x, nil))
			}
		}
	}
}

// Of two values f and f' of a minimized objective the lesser is preferred with
// probability Φ((f' − f)/√(σ² + σ'²)), σ² and σ'² being the noise at either: near an
// anchor nearly always, far from all by chance. Who is adverse takes the other side.
func TestAnchoredChoices(t *testing.T) {
	const n = 3000
	k, _ := tasks.Lookup("branin")
	level := 400.0
	for _, pair := range [][2][]float64{{{2, 10}, {3, 11}}, {{-3, 2}, {-2.5, 2}}, {{2, 10}, {8, 1}}} {
		for _, accuracy := range []float64{1, -1} {
			e, def, noise := anchored(t, func(def *definition.Campaign) { def.Model.Utility.Noise = &level })
			settings := must.Get(simulated.SettingsOf(e))(t)
			settings.Accuracy = &accuracy
			e.Channel = simulated.Choose(settings)
			r := must.Get(simulated.New(e, def, nil))(t)
			var difference, variance float64
			points := make([]definition.Point, 2)
			for i, x := range pair {
				points[i] = k.Point(x)
				v, _ := k.Value(points[i])
				difference += v * float64(2*i-1)
				s := must.Get(noise(points[i]))(t)
				variance += s
			}
			want := math.Erfc(-accuracy*difference/math.Sqrt(2*variance)) / 2
			within(t, fmt.Sprintf("%v, accuracy %g", pair, accuracy),
				orders(t, r, "branin", n, points...)["AB"], n, want)
		}
	}
}

// What cannot be anchored is refused.
func TestAnchoredRefuses(t *testing.T) {
	for want, change := range map[string]func(*definition.Expert, *definition.Campaign){
		"has no anchors": func(e *definition.Expert, _ *definition.Campaign) { e.Anchors = nil },
		"choice_noise": func(e *definition.Expert, _ *definition.Campaign) {
			e.Channel = simulated.Choose(simulated.Settings{Anchored: true, ChoiceNoise: ptr(0.1)})
		},
		"anchor 2": func(e *definition.Expert, _ *definition.Campaign) { delete(e.Anchors[1], "x2") },
		"x1 is not numeric": func(_ *definition.Expert, def *definition.Campaign) {
			def.Parameters[0] = definition.Parameter{
				Name:       "x1",
				Categories: []definition.CategoryDef{{Name: "a"}, {Name: "b"}},
			}
		},
	} {
		e, def, _ := anchored(t, nil)
		change(&e, &def)
		if _, err := simulated.New(e, def, nil); !errors.Is(err, simulated.ErrConfig) ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// Who knows something that is not a test problem answers by it, categories included.
func TestKnowing(t *testing.T) {
	def := definition.Campaign{
		Name: "sim", Seed: 1, Objective: definition.Objective{Goal: definition.Maximize},
		Parameters: []definition.Parameter{{Name: "salt", Categories: []definition.CategoryDef{{Name: "good"}, {Name: "bad"}}}},
	}
	good, bad := definition.Point{"salt": definition.Category("good")}, definition.Point{"salt": definition.Category("bad")}
	knows := simulated.Knowledge{Best: 2, Worst: 1, Sought: def.Sought(), Value: func(p definition.Point) (float64, error) {
		if p["salt"].Name() == "good" {
			return 2, nil
		}
		return 1, nil
	}}
	const n = 2000
	e := definition.Expert{Name: "ada", Channel: simulated.Choose(simulated.Settings{Accuracy: ptr(0.25)})}
	r := must.Get(simulated.Knowing(e, def, knows, nil))(t)
	within(t, "good before bad", orders(t, r, "branin", n, good, bad)["AB"], n, 1/(1+math.Exp(-0.25*6)))
	accepted, same := 0, 0
	for i := range n {
		a := must.Get(r.Ask(t.Context(), question("branin", i, good)))(t)
		b, _ := r.Ask(t.Context(), question("branin", i, bad))
		if a.Answer.Label == events.LabelAccept {
			accepted++
			if b.Answer.Label == events.LabelAccept {
				same++
			}
		}
	}
	within(t, "good accepted", accepted, n, 1/(1+math.Exp(-0.75)))
	within(t, "bad accepted, where good was", same, accepted, 1/(1+math.Exp(0.75))) // draws of their own
}
