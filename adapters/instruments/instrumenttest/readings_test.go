package instrumenttest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// judged runs the check "fresh" on a device that is a function of the composition
// and of that of the run before, and says what it comes to.
func judged(device func(own, before int) float64) (origin, int) {
	readings := []reading{{own: 0, before: -1, value: device(0, 1)}}
	before := 0
	for _, which := range order {
		readings = append(readings, reading{own: which, before: before, value: device(which, before)})
		before = which
		if len(readings) < leastReadings {
			continue
		}
		if o := origins(readings); o != unsure {
			return o, len(readings)
		}
	}
	return unsure, len(readings)
}

// Law: the check "fresh" accuses no honest instrument, whatever its noise, more often
// than once in 500 times; one whose noise is a fifth of what it measures passes
// nearly always, and one that returns the run before is accused nearly always.
func TestFreshnessIsJudgedWithNoise(t *testing.T) {
	const campaigns = 1_000
	noises := map[string]func(r *rand.Rand) float64{
		"normal":      func(r *rand.Rand) float64 { return r.NormFloat64() },
		"heavy tails": func(r *rand.Rand) float64 { return r.NormFloat64() / math.Abs(r.NormFloat64()) },
		"two levels":  func(r *rand.Rand) float64 { return float64(r.IntN(2)) },
		"three":       func(r *rand.Rand) float64 { return float64(r.IntN(3)) },
	}
	for name, noise := range noises {
		for _, signal := range []float64{0, 1, 5, 20} {
			r := rand.New(rand.NewPCG(16, 1))
			honest, stale := map[origin]int{}, map[origin]int{}
			runs := 0
			for range campaigns {
				o, n := judged(func(own, _ int) float64 { return 50 + signal*float64(own) + noise(r) })
				honest[o]++
				runs += n
			}
			for range campaigns / 5 {
				o, _ := judged(func(_, before int) float64 { return 50 + signal*float64(before) + noise(r) })
				stale[o]++
			}
			what := fmt.Sprintf("noise %s, signal %g: honest %v with %.1f measurements, stale %v",
				name, signal, honest, float64(runs)/campaigns, stale)
			t.Log(what)
			if honest[ofBefore] > campaigns/500 {
				t.Errorf("accused too often: %s", what)
			}
			if signal >= 5 && name == "normal" && (honest[ofOwn] < campaigns*99/100 || stale[ofOwn] > campaigns/500) {
				t.Errorf("not told apart: %s", what)
			}
			if signal == 20 && name == "normal" && stale[ofBefore] < campaigns/5*99/100 {
				t.Errorf("not found: %s", what)
			}
		}
	}
}
