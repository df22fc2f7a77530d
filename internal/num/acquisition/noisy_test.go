package acquisition

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// Law: the noisy expected improvement is the mean of the members' expected improvements, and of one
// member that is the expected improvement itself.
func TestNoisyIsTheMean(t *testing.T) {
	means, best, sd := []float64{0.3, -0.4, 1, 0}, []float64{-0.2, -0.1, 0.4, 0.1}, 0.7
	want := 0.0
	for s := range means { // by quadrature of E max(best − f, 0)
		const step = 1e-3
		for z := -9.0; z < 9; z += step {
			want += step * max(best[s]-means[s]-sd*z, 0) * math.Exp(-z*z/2) / math.Sqrt(2*math.Pi) / 4
		}
	}
	if got := math.Exp(NewNoisy(best).Log(means, sd)); math.Abs(got-want) > 1e-5 {
		t.Errorf("the improvement is %v, want %v", got, want)
	}
	for _, mean := range []float64{-3, 0.2, 50} {
		want := LogEI(nil, mean, sd, 0.1, nil, nil)
		if got := NewNoisy([]float64{0.1}).Log([]float64{mean}, sd); math.Abs(got-want) > 1e-12*math.Abs(want) {
			t.Errorf("of one member it is %v, want %v", got, want)
		}
	}
}

// Law: the derivatives are those by differences, however improbable the improvement, and the weights
// are shares.
func TestNoisyGradients(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const n = 3
		means, best := make([]float64, n), make([]float64, n)
		far := rapid.SampledFrom([]float64{0, 5, 60, 2000}).Draw(t, "far")
		for s := range n {
			means[s] = far + rapid.Float64Range(-2, 2).Draw(t, "mean")
			best[s] = rapid.Float64Range(-1, 1).Draw(t, "best")
		}
		sd := rapid.Float64Range(0.3, 2).Draw(t, "sd")
		nei := NewNoisy(best)
		value, dMean, dSD := nei.LogGrad(means, sd)
		weights := []float64{nei.Weight(0), nei.Weight(1), nei.Weight(2)}
		if plain := nei.Log(means, sd); plain != value || math.IsInf(value, 0) {
			t.Fatalf("it is %v with derivatives and %v without", value, plain)
		}
		first := LogEI(nil, means[0], sd, best[0], nil, nil)
		shares := 0.0 // of the members, by the first: no less than e⁻⁷⁰⁰, or nothing
		for s := range n {
			shares += math.Exp(LogEI(nil, means[s], sd, best[s], nil, nil) - first)
		}
		if want := first + math.Log(shares/n); !math.IsInf(want, 0) && math.Abs(value-want) > 1e-12*max(1, math.Abs(want)) {
			t.Fatalf("it is %v, want %v", value, want)
		}
		if sum := weights[0] + weights[1] + weights[2]; math.Abs(sum-1) > 1e-12 {
			t.Fatalf("the weights %v add up to %v", weights, sum)
		}
		check := func(what string, got float64, along func(h float64) float64) {
			h := 1e-4 / max(1, far)
			want := (along(h) - along(-h)) / (2 * h)
			if math.Abs(got-want) > 1e-4*(1+math.Abs(want))+1e-15*math.Abs(value)/h { // the last is rounding

				t.Fatalf("the derivative by %s is %v, by differences %v", what, got, want)
			}
		}
		for s := range n {
			check("a mean", dMean*weights[s], func(h float64) float64 {
				moved := append([]float64{}, means...)
				moved[s] += h
				return nei.Log(moved, sd)
			})
		}
		check("the standard deviation", dSD, func(h float64) float64 { return nei.Log(means, sd+h) })
	})
}

// Where nothing is uncertain and no member has anything to gain there is no slope, and no NaN.
func TestNoisyWithoutUncertainty(t *testing.T) {
	nei := NewNoisy([]float64{1, 2})
	value, dMean, dSD := nei.LogGrad([]float64{3, 3}, 0)
	if !math.IsInf(value, -1) || dMean != 0 || dSD != 0 || nei.Weight(0) != 0.5 {
		t.Errorf("it is %v, %v, %v with the weight %v", value, dMean, dSD, nei.Weight(0))
	}
	// One member gains 1, the other nothing.
	value, dMean, _ = nei.LogGrad([]float64{3, 1}, 0)
	if math.Abs(value-math.Log(0.5)) > 1e-15 || nei.Weight(0) != 0 || nei.Weight(1) != 1 || math.Abs(dMean+1) > 1e-15 {
		t.Errorf("it is %v with the slope %v of the weights %v and %v", value, dMean, nei.Weight(0), nei.Weight(1))
	}
}
