package formula

import (
	"math/rand/v2"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// Law: a formula that can never be a number is refused, with the part because of which it
// cannot, its column and a remedy; one that may be a number somewhere is not.
func TestNever(t *testing.T) {
	of := map[string]Range{"t": {0, 10}, "p": {1, 2}, "n": {-3, -1}, "z": {0, 0}, "big": {1e200, 1e210}}
	for text, want := range map[string]string{
		// A part that is the same in every experiment.
		"q/0":               "column 2: q/0 divides by 0",
		"q/(1 - 1)":         "column 2: q/(1 - 1) divides by 0",
		"0/0":               "column 2: 0/0 divides by 0",
		"1/(q/0)":           "column 5: q/0 divides by 0",
		"q + 2/0":           "column 6: 2/0 divides by 0",
		"1e308*1e308*q":     "column 6: 1e+308*1e+308 is too large for a number",
		"q/(1e308*1e308)":   "column 9: 1e+308*1e+308 is too large for a number",
		"q^9^9^9^9^9^9":     "column 10: 9^9^9 is too large for a number",
		"ln(-1)*q":          "column 1: ln(-1) is not defined at -1",
		"ln(0)":             "column 1: ln(0) is not defined at 0",
		"log10(0) + q":      "column 1: log10(0) is not defined at 0",
		"sqrt(-1) + q":      "column 1: sqrt(-1) is not defined at -1",
		"(-8)^(1/3)*q":      "column 5: (-8)^(1/3) is not defined at -8 to the power of 0.3333",
		"0^-1 + q":          "column 2: 0^-1 is not defined at 0 to the power of -1",
		"exp(1000)*q":       "column 1: exp(1000) is too large for a number",
		"q > 0 ? q : 1/0":   "column 14: 1/0 divides by 0",
		"min(q, 1/0)":       "column 9: 1/0 divides by 0",
		"q - (2 < 1/0?1:2)": "column 11: 1/0 divides by 0",
		// Nowhere in the ranges.
		"q*sqrt(n)":                      "column 3: sqrt(n) is a number nowhere (n from -3 to -1)",
		"q + ln(-t)":                     "column 5: ln(-t) is a number nowhere (t from 0 to 10)",
		"ln(t - 20)/q":                   "column 1: ln(t - 20) is a number nowhere (t from 0 to 10)",
		"exp(1000 + t)*q":                "column 1: exp(1000 + t) is a number nowhere (t from 0 to 10)",
		"exp(1000 + t) - exp(900 + t)":   "column 1: exp(1000 + t) is a number nowhere (t from 0 to 10)",
		"big*big*q":                      "column 4: big*big is a number nowhere (big from 1e+200 to 1e+210)",
		"-big*big":                       "column 5: -big*big is a number nowhere (big from 1e+200 to 1e+210)",
		"q - big^p^2":                    "",
		"q - big^(2*p)":                  "column 8: big^(2*p) is a number nowhere (big from 1e+200 to 1e+210, p from 1 to 2)",
		"q/z":                            "column 2: q/z is a number nowhere (z from 0 to 0)",
		"q/(t - t)":                      "column 2: q/(t - t) is a number nowhere (t from 0 to 10)",
		"q/(q - q)":                      "column 2: q/(q - q) is a number nowhere",
		"q/(0*t + -abs(z))":              "column 2: q/(0*t + -abs(z)) is a number nowhere (t from 0 to 10, z from 0 to 0)",
		"q/min(t, 0)":                    "column 2: q/min(t, 0) is a number nowhere (t from 0 to 10)",
		"n^p*sqrt(n)":                    "column 5: sqrt(n) is a number nowhere (n from -3 to -1)",
		"n^0.5":                          "column 2: n^0.5 is a number nowhere (n from -3 to -1)",
		"min(ln(n), sqrt(n))":            "column 5: ln(n) is a number nowhere (n from -3 to -1)",
		"t > 20 ? t : sqrt(n)":           "column 14: sqrt(n) is a number nowhere (n from -3 to -1)",
		"t < 20 ? sqrt(n) : t":           "column 10: sqrt(n) is a number nowhere (n from -3 to -1)",
		"t < 5 ? sqrt(n) : ln(n)":        "column 9: sqrt(n) is a number nowhere (n from -3 to -1)",
		"sqrt(n) < 5 ? 1 : q":            "column 9: sqrt(n) < 5 ? 1 : q is a number nowhere (n from -3 to -1)",
		"log10(exp(1000 + t) + q) + p*0": "column 7: exp(1000 + t) is a number nowhere (t from 0 to 10)",
		// Somewhere a number, or thought to be.
		"q": "", "5": "", "-q": "", "q/t": "", "q/ln(p)": "", "q/sqrt(t)": "", "ln(t - 5)": "", "sqrt(-t)": "", "sqrt(5 - t)": "",
		"q/(t - 5)": "", "q/(p - t)": "", "1e308*q": "", "1e308*10*0.1*t - t": "column 6: 1e+308*10 is too large for a number",
		"q^9^9": "", "q^-1": "", "z^0": "", "0/q": "", "0*q": "", "t > 20 ? sqrt(n) : q": "", "t > 5 ? sqrt(n) : q": "",
		"max(sqrt(t), q)": "", "q/exp(1000 + t)": "", "exp(-1000 - t)": "", "min(exp(1000 + t), q)": "", "1/(t + z)": "",
		"n^3": "", "n^-3": "", "abs(n)^0.5": "", "exp(t)^100": "", "big^p": "", "q > 1e308 ? 1 : q": "", "(q - 1)/(q - 2)": "",
	} {
		got := ""
		if err := parse(t, text).Never(of); err != nil {
			fault := err.(*Fault)
			if fault.Remedy == "" {
				t.Errorf("%s has no remedy", text)
			}
			got = strings.TrimSuffix(err.Error(), "; "+fault.Remedy)
		}
		if got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}

// Law: what is refused has a finite value at no point of the ranges, unless a part of it that is the same
// everywhere has none.
func TestNeverIsNever(t *testing.T) {
	refused := 0
	rapid.Check(t, func(t *rapid.T) {
		f, err := Parse(expressions(3).Draw(t, "formula"))
		if err != nil {
			return
		}
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		ranges := make([]Range, len(f.names))
		for i := range ranges {
			a, b := sample(rng, 1)[0], sample(rng, 1)[0]
			if ranges[i] = (Range{min(a, b), max(a, b)}); !finite(ranges[i].Lower) || !finite(ranges[i].Upper) {
				ranges[i] = Range{-2, -1}
			}
		}
		if f.root.never(ranges) == nil {
			return
		}
		refused++
		for range 50 {
			values := make([]float64, len(f.names))
			for i, r := range ranges {
				share := []float64{0, 1, rng.Float64(), rng.Float64()}[rng.IntN(4)]
				values[i] = min(max(r.Lower+share*(r.Upper-r.Lower), r.Lower), r.Upper)
			}
			if v := f.root.eval(values); finite(v) {
				t.Fatalf("%s is refused over %v, and %v at %v", f, ranges, v, values)
			}
		}
	})
	if refused == 0 {
		t.Error("no formula that was drawn is refused")
	}
}
