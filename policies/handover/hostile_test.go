package handover_test

import (
	"math"
	"testing"

	"github.com/campaignd/campaignd/policies/handover"
)

// greatest returns where a concave function is greatest, by thirds.
func greatest(low, high float64, f func(float64) float64) float64 {
	for range 90 {
		a, b := low+(high-low)/3, high-(high-low)/3
		if f(a) < f(b) {
			low = a
		} else {
			high = b
		}
	}
	return (low + high) / 2
}

// byThirds is Laplace's probability of a positive slope at the mode, found without derivatives; shift is the largest
// intercept that is looked at.
func byThirds(mean []float64, yes []bool, shift float64) float64 {
	value := func(b0, b1 float64) float64 {
		v := -b0*b0/8 - (b1-1)*(b1-1)/2
		for i, z := range mean {
			u := b0 + b1*z
			if yes[i] {
				u = -u
			}
			v -= math.Max(u, 0) + math.Log1p(math.Exp(-math.Abs(u)))
		}
		return v
	}
	intercept := func(b1 float64) float64 {
		return greatest(-shift, shift, func(b0 float64) float64 { return value(b0, b1) })
	}
	b1 := greatest(-12, 14, func(b1 float64) float64 { return value(intercept(b1), b1) })
	b0 := intercept(b1)
	h00, h01, h11 := 0.25, 0.0, 1.0
	for _, z := range mean {
		e := math.Exp(-math.Abs(b0 + b1*z))
		v := e / ((1 + e) * (1 + e))
		h00, h01, h11 = h00+v, h01+v*z, h11+v*z*z
	}
	precision := h11
	if shift > 0 {
		precision -= h01 * h01 / h00
	}
	return 0.5 * math.Erfc(-b1*math.Sqrt(precision/2))
}

// Law: whatever the labels and however far apart the means, the gates' probabilities are those at the mode of the
// posterior. Experts whose labels go against all that is known, without exception, close the gate.
func TestGatesOfHostileLabels(t *testing.T) {
	for _, size := range []float64{0.1, 1, 3, 10, 100, 1e4} {
		for _, n := range []int{1, 5, 40} {
			mean, sd := make([]float64, n), make([]float64, n)
			labels := map[string][]bool{}
			for i := range n {
				mean[i] = size * (float64(i%5) - 1.8)
				labels["with it"] = append(labels["with it"], mean[i] > 0)
				labels["against it"] = append(labels["against it"], mean[i] <= 0)
				labels["of one kind"] = append(labels["of one kind"], true)
				labels["all accepted"] = append(labels["all accepted"], false)
				labels["in turn"] = append(labels["in turn"], i%2 == 0)
			}
			for name, reject := range labels {
				open, test := handover.OpenGate(mean, sd, reject)
				if want := byThirds(mean, reject, 20); !(math.Abs(test.Left-want) < 1e-3) {
					t.Errorf("%d labels %s, means of %v: %v, want %v", n, name, size, test.Left, want)
				}
				if name == "against it" && n >= 40 && size >= 1 && open {
					t.Errorf("%d labels against means of %v leave the gate open: %v", n, size, test.Left)
				}
			}
			all := make([]bool, n)
			for i := range all {
				all[i] = true
			}
			_, test := handover.OpenChoice(mean, sd)
			if want := byThirds(mean, all, 0); !(math.Abs(test.Left-want) < 1e-3) {
				t.Errorf("%d choices, means of %v: %v, want %v", n, size, test.Left, want)
			}
		}
	}
	// Beyond all reason it is still a probability.
	for _, size := range []float64{1e150, math.MaxFloat64} {
		_, gate := handover.OpenGate([]float64{-size, size, size}, make([]float64, 3), []bool{true, true, false})
		_, choice := handover.OpenChoice([]float64{-size, size, -size}, make([]float64, 3))
		for _, p := range []float64{gate.Left, choice.Left} {
			if !(p >= 0 && p <= 1) {
				t.Errorf("means of %v: %v", size, p)
			}
		}
	}
}
