package instrumenttest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
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
		if len(readings) < LeastReadings {
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
	t.Parallel()
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

// runs takes the readings of the check "fresh", and those that confirm what swapped has found. The
// device is given the number of the run, its composition and that of the run before.
func runs(device func(n, own, before int) float64) (readings []reading, accused bool) {
	n := 0
	before := 0
	take := func(own int) reading {
		r := reading{own: own, before: before, follows: n > 0, value: device(n, own, before)}
		n++
		before = own
		return r
	}
	readings = append(readings, take(0))
	confirmed := false
	for _, which := range order[:Readings-1] {
		readings = append(readings, take(which))
		if len(readings) < LeastReadings || confirmed || len(swapped(readings)) == 0 {
			continue
		}
		confirmed = true
		var more []reading
		for k := range confirmations {
			more = append(more, take(3*k%8))
		}
		accused = len(swapped(more)) > 1
	}
	return readings, accused
}

// Law: a value in five that is that of the run before is found, wherever the device begins to count,
// and so is a part that is carried over; no honest instrument is accused of the first more often than once in
// 100 times, one with fine digits never, and of the second than once in 250 times, whatever its noise.
func TestSwappedAndCarried(t *testing.T) {
	t.Parallel()
	if readings, _ := runs(func(int, int, int) float64 { return 10 }); len(swapped(readings)) > 0 {
		t.Error("a device that measures the same at both is accused of a swap")
	}
	const campaigns = 1_000
	noises := map[string]func(r *rand.Rand) float64{
		"none":        func(*rand.Rand) float64 { return 0 },
		"normal":      func(r *rand.Rand) float64 { return r.NormFloat64() },
		"heavy tails": func(r *rand.Rand) float64 { return r.NormFloat64() / math.Abs(r.NormFloat64()) },
		"two levels":  func(r *rand.Rand) float64 { return float64(r.IntN(2)) },
		"rare level":  func(r *rand.Rand) float64 { return math.Floor(1.05 * r.Float64()) },
		"ten levels":  func(r *rand.Rand) float64 { return float64(r.IntN(10)) },
		"a drift":     nil,
	}
	for name, noise := range noises {
		for _, signal := range []float64{0, 1, 5, 20} {
			r := rand.New(rand.NewPCG(33, 1))
			var n int
			honest := func(k, own, _ int) float64 {
				if noise == nil {
					return 50 + signal*float64(own) + 0.01*float64(k) + 0.1*r.NormFloat64()
				}
				return 50 + signal*float64(own) + noise(r)
			}
			count := func(device func(n, own, before int) float64) (swaps, carries int) {
				for n = range campaigns {
					readings, accused := runs(device)
					if accused {
						swaps++
					}
					if carried(readings) != 0 {
						carries++
					}
				}
				return swaps, carries
			}
			swaps, carries := count(honest)
			var last float64
			swapped, _ := count(func(k, own, before int) float64 {
				value := honest(k, own, before)
				if (k+n)%5 == 4 {
					return last
				}
				last = value
				return value
			})
			_, rinse := count(func(k, own, before int) float64 {
				return honest(k, own, before) + 0.4*signal*float64(before-own)
			})
			_, mixed := count(func(k, own, before int) float64 {
				value := honest(k, own, before)
				if k > 0 {
					value = 0.6*value + 0.4*last
				}
				last = value
				return value
			})
			what := fmt.Sprintf("noise %s, signal %g: of %d honest ones %d are accused of a swap and %d of carrying over; "+
				"found are %d that swap, %d and %d that carry over", name, signal, campaigns, swaps, carries, swapped, rinse, mixed)
			t.Log(what)
			if swaps > campaigns/100 || carries > campaigns/250 || swaps > 0 && !strings.Contains(name, "level") {
				t.Errorf("accused too often: %s", what)
			}
			fine := name == "none" || signal == 20 && (name == "normal" || name == "a drift")
			if fine && signal > 0 && (swapped < campaigns || rinse < campaigns*99/100 || mixed < campaigns*99/100) {
				t.Errorf("not found: %s", what)
			}
		}
	}
}
