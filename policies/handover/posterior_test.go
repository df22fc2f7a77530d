package handover_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/campaignd/campaignd/policies/handover"
)

// Law: the gates' probabilities are the posterior mass of positive slopes of a logistic
// regression with normal priors (slope 1 ± 1, intercept 0 ± 2) on means shrunk by
// 1/(1 + sd²); here by summing over a grid. Laplace's approximation is within 0.05.
func TestGatesAreTheirPosteriors(t *testing.T) {
	const step = 0.05
	for seed := range uint64(12) {
		rng := rand.New(rand.NewPCG(seed, 9))
		n := 3 + rng.IntN(20)
		accuracy := []float64{-2, -0.5, 0, 0.7, 2}[rng.IntN(5)]
		mean, sd, reject := make([]float64, n), make([]float64, n), make([]bool, n)
		for i := range n {
			mean[i], sd[i] = 2*rng.NormFloat64(), 3*rng.Float64()
			reject[i] = rng.Float64() < 1/(1+math.Exp(-0.8-accuracy*mean[i]))
		}
		var labels, choices [2]float64 // posterior mass of slopes below and above zero
		for b := -5 + step/2; b < 7; b += step {
			side := 0
			if b > 0 {
				side = 1
			}
			likelihood := math.Exp(-(b - 1) * (b - 1) / 2)
			chosen := likelihood
			for i := range n {
				chosen /= 1 + math.Exp(-b*mean[i]/(1+sd[i]*sd[i]))
			}
			choices[side] += chosen
			for b0 := -10.0; b0 <= 10; b0 += 4 * step {
				p := likelihood * math.Exp(-b0*b0/8)
				for i := range n {
					u := b0 + b*mean[i]/(1+sd[i]*sd[i])
					if !reject[i] {
						u = -u
					}
					p /= 1 + math.Exp(-u)
				}
				labels[side] += p
			}
		}
		open, test := handover.OpenGate(mean, sd, reject)
		if want := labels[1] / (labels[0] + labels[1]); math.Abs(test.Left-want) > 0.05 || open != (test.Left >= 0.5) || test.Holds != open || test.Right != 0.5 {
			t.Errorf("seed %d, %d labels, accuracy %v: %+v, want %.3f", seed, n, accuracy, test, want)
		}
		open, test = handover.OpenChoice(mean, sd)
		if want := choices[1] / (choices[0] + choices[1]); math.Abs(test.Left-want) > 0.05 || open != (test.Left >= 0.5) || test.Holds != open || test.Right != 0.5 {
			t.Errorf("seed %d, %d choices: %+v, want %.3f", seed, n, test, want)
		}
	}
	// A mean that is not known counts as one that is known and 1 + sd² times as small.
	_, unknown := handover.OpenGate([]float64{2, -3, 1}, []float64{2, 3, 0.5}, []bool{true, false, false})
	_, known := handover.OpenGate([]float64{2. / 5, -3. / 10, 1 / 1.25}, make([]float64, 3), []bool{true, false, false})
	if math.Abs(unknown.Left-known.Left) > 1e-12 {
		t.Errorf("three labels of what is hardly known: %v, want %v", unknown.Left, known.Left)
	}
	// Before anything was said, it is the prior: P(N(1, 1) > 0).
	prior := 0.5 * math.Erfc(-1/math.Sqrt2)
	if open, test := handover.OpenGate(nil, nil, nil); !open || math.Abs(test.Left-prior) > 1e-12 {
		t.Errorf("without labels: %+v, want %v", test, prior)
	}
	if open, test := handover.OpenChoice(nil, nil); !open || math.Abs(test.Left-prior) > 1e-12 {
		t.Errorf("without choices: %+v, want %v", test, prior)
	}
}
