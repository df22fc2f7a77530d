package formula

import (
	"math"
	"testing"
)

// Law: a range is as wide as the values are, and no wider than by rounding, where each name stands once.
func TestRange(t *testing.T) {
	inf := math.Inf(1)
	of := map[string]Range{
		"a": {2, 3}, "b": {-1, 2}, "c": {0, 4}, "n": {-3, -2}, "u": {0, inf}, "e": {0.5, 2}, "m": {-2, 1},
	}
	for text, want := range map[string]Range{
		"a + b":                 {1, 5},
		"a - b":                 {0, 4},
		"a*b":                   {-3, 6},
		"n*b":                   {-6, 3},
		"b*u":                   {-inf, inf},
		"c*u":                   {0, inf},
		"a/n":                   {-1.5, -2.0 / 3},
		"a/b":                   {-inf, inf},
		"u/a":                   {0, inf},
		"u/(1 + c*u)":           {0, inf}, // u stands twice
		"-a":                    {-3, -2},
		"abs(b)":                {0, 2},
		"abs(n)":                {2, 3},
		"min(a, b)":             {-1, 2},
		"max(a, b, 2.5)":        {2.5, 3},
		"sqrt(c)":               {0, 2},
		"sqrt(b)":               {0, math.Sqrt2},
		"sqrt(n)":               nothing,
		"1 + sqrt(n)":           nothing,
		"ln(c)":                 {-inf, math.Log(4)},
		"ln(n)":                 nothing,
		"exp(b)":                {math.Exp(-1), math.Exp(2)},
		"log10(a)":              {math.Log10(2), math.Log10(3)},
		"b^2":                   {0, 4},
		"n^2":                   {4, 9},
		"n^3":                   {-27, -8},
		"b^3":                   {-1, 8},
		"b^0":                   {1, 1},
		"n^-1":                  {-0.5, -1.0 / 3},
		"n^-2":                  {1.0 / 9, 0.25},
		"a^-2":                  {1.0 / 9, 0.25},
		"b^-2":                  {-inf, inf}, // as 1/b², which has a 0 in its range
		"c^0.5":                 {0, 2},
		"c^-0.5":                {0.5, inf},
		"b^0.5":                 {0, math.Sqrt2},
		"n^0.5":                 nothing,
		"a^b":                   {1.0 / 3, 9},
		"e^m":                   {0.25, 4},
		"c^a":                   {0, 64},
		"c^m":                   {-inf, inf},
		"n^a":                   {-inf, inf},
		"a^1e13":                {-inf, inf},
		"(-u)^0.5":              {-inf, inf},
		"a < 4 ? b : n":         {-1, 2},
		"a < 3 ? b : n":         {-3, 2},
		"a < 2 ? b : n":         {-3, -2},
		"a <= 3 ? b : n":        {-1, 2},
		"a <= 1.9 ? b : n":      {-3, -2},
		"a > 1 ? b : n":         {-1, 2},
		"a > 2 ? b : n":         {-3, 2},
		"a > 3 ? b : n":         {-3, -2},
		"a >= 2 ? b : n":        {-1, 2},
		"a >= 2.5 ? b : n":      {-3, 2},
		"a >= 3.1 ? b : n":      {-3, -2},
		"b > 0 ? a : sqrt(n)":   {2, 3},
		"b > 0 ? sqrt(n) : a":   {2, 3},
		"sqrt(n) > 0 ? a : b":   nothing,
		"0 > sqrt(n) ? a : b":   nothing,
		"b > 0 ? ln(n) : ln(n)": nothing,
		"other":                 everything,
		"a/(b - 1.5)":           {-inf, inf},
		"min(b, 0)^0.5":         {0, 0},
		"b^-0.5":                {math.Sqrt2 / 2, inf},
	} {
		got := parse(t, text).Range(of)
		near := func(x, y float64) bool { return x == y || math.Abs(x-y) <= 1e-10*math.Max(1, math.Abs(y)) }
		if got.Empty() != want.Empty() || !got.Empty() && !(near(got.Lower, want.Lower) && near(got.Upper, want.Upper)) {
			t.Errorf("%s is in %v, want %v", text, got, want)
		}
		if !got.Empty() && (got.Lower > want.Lower || got.Upper < want.Upper) {
			t.Errorf("%s is in %v, which is too narrow for %v", text, got, want)
		}
	}
}
