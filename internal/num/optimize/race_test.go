package optimize

import (
	"context"
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/campaignd/campaignd/internal/tests/must"
)

// hollows is minimal, with the values −depth, at the points of a row, among which it is 0.
func hollows(at, depth []float64) Func {
	return func(x, grad []float64) float64 {
		f := 0.0
		clear(grad)
		for i, c := range at {
			e := -depth[i] * math.Exp(-50*(x[0]-c)*(x[0]-c))
			f += e
			if grad != nil {
				grad[0] -= 100 * (x[0] - c) * e
			}
		}
		return f
	}
}

// Law: the deepest basin that a start lies in is found, though starts in others are lower; no start is
// better than the result; a search that is held and resumed is the one that is not, bit for bit.
func TestRace(t *testing.T) {
	region := mustRegion(t, Box([]float64{0}, []float64{1}))
	at, depth := []float64{0.1, 0.35, 0.6, 0.9}, []float64{1, 2, 3, 2.5}
	f := hollows(at, depth)
	starts := [][]float64{{0.12}, {0.11}, {0.36}, {0.72}, {0.88}, {0.09}}
	cfg := RaceConfig{Searches: 6, Round: 2, Apart: 0.05, Same: 1e-3, Local: Config{FirstStep: 0.01}}
	r, err := Race(t.Context(), f, region, starts, cfg)
	if err != nil || r.Start != 3 || math.Abs(r.X[0]-0.6) > 1e-2 || r.Screened != 6 {
		t.Fatalf("%+v, %v", r, err)
	}
	if slices.Contains(r.Searched, 5) || len(r.Searched) != 4 {
		t.Errorf("it searched from %v, some of them side by side", r.Searched)
	}
	cfg.Searches, cfg.Always = 1, 1
	if r, err = Race(t.Context(), f, region, starts, cfg); err != nil || !slices.Equal(r.Searched, []int{0, 4}) {
		t.Errorf("with the first always it searched from %v (%v), want it and the best", r.Searched, err)
	}
	for _, x := range starts {
		if v := f(x, nil); v < r.F {
			t.Errorf("the start %v has %v, the result %v", x, v, r.F)
		}
	}

	s, err := NewSearch(rosenbrock, mustRegion(t, Box([]float64{-2, -2}, []float64{2, 2})), []float64{-1, 1.5}, Config{})
	if err != nil {
		t.Fatal(err)
	}
	for !s.Ended() {
		must.Do(t, s.Advance(t.Context(), 3))
	}
	whole, err := Minimize(t.Context(), rosenbrock, mustRegion(t, Box([]float64{-2, -2}, []float64{2, 2})), []float64{-1, 1.5}, Config{})
	if got := s.Result(); err != nil || !slices.Equal(got.X, whole.X) || got.F != whole.F || got.Evaluations != whole.Evaluations {
		t.Errorf("resumed %+v, at once %+v (%v)", got, whole, err)
	}
}

func TestRaceRefusesAndCancels(t *testing.T) {
	region := mustRegion(t, Box([]float64{0}, []float64{1}))
	nowhere := func(x, grad []float64) float64 { return math.NaN() }
	if _, err := Race(t.Context(), nowhere, region, [][]float64{{0.5}}, RaceConfig{}); !errors.Is(err, ErrStart) {
		t.Errorf("defined nowhere: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	evaluations := 0
	f := func(x, grad []float64) float64 {
		if evaluations++; evaluations == 5 {
			cancel()
		}
		return hollows([]float64{0.5}, []float64{1})(x, grad)
	}
	if _, err := Race(ctx, f, region, [][]float64{{0.3}, {0.6}}, RaceConfig{}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}
