package formula

import (
	"errors"
	"math"
	"strings"
	"testing"
)

func relation(t testing.TB, text string) *Relation {
	t.Helper()
	r, err := ParseRelation(text)
	if err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	return r
}

// Law: a constraint is g ≤ 0, and a bound on a name where it is one.
func TestRelation(t *testing.T) {
	inf := math.Inf(1)
	for text, want := range map[string]struct {
		text, excess, name string
		bound              Range
	}{
		"viscosity<=5":                      {"viscosity <= 5", "viscosity - 5", "viscosity", Range{-inf, 5}},
		"5 >= viscosity":                    {"5 >= viscosity", "viscosity - 5", "viscosity", Range{-inf, 5}},
		"2*a >= 3":                          {"2*a >= 3", "3 - 2*a", "a", Range{1.5, inf}},
		"1 - a <= 0.25":                     {"1 - a <= 0.25", "1 - a - 0.25", "a", Range{0.75, inf}},
		"capacity_100 >= 0.8*capacity_1":    {"capacity_100 >= 0.8*capacity_1", "0.8*capacity_1 - capacity_100", "", Range{}},
		"price <= 1.1*reference.price":      {"price <= 1.1*reference.price", "price - 1.1*reference.price", "", Range{}},
		"a - b >= c - d":                    {"a - b >= c - d", "c - d - (a - b)", "", Range{}},
		"a*a <= 2":                          {"a*a <= 2", "a*a - 2", "", Range{}},
		"a <= a + 1":                        {"a <= a + 1", "a - (a + 1)", "", Range{}},
		"(a < b ? a : b) <= (a < b ? 1: 2)": {"(a < b ? a : b) <= (a < b ? 1 : 2)", "(a < b ? a : b) - (a < b ? 1 : 2)", "", Range{}},
	} {
		r := relation(t, text)
		if r.Excess().String() != want.excess {
			t.Errorf("%q is %q ≤ 0, want %q", text, r.Excess(), want.excess)
		}
		if parse(t, r.Excess().String()).Digest() != r.Excess().Digest() {
			t.Errorf("%q is read again as another formula", r.Excess())
		}
		name, bound, ok := r.Bound()
		if name != want.name || ok != (want.name != "") || ok && bound != want.bound {
			t.Errorf("%q bounds %q by %v, want %q by %v", text, name, bound, want.name, want.bound)
		}
		if r.String() != want.text {
			t.Errorf("%q is written %q, want %q", text, r, want.text)
		}
		if again := relation(t, r.String()); again.String() != r.String() || again.Excess().String() != want.excess {
			t.Errorf("%q is read again as %q", r, again)
		}
	}
}

// Law: what is not a constraint is refused at its place, with what to do.
func TestRelationRefused(t *testing.T) {
	for text, want := range map[string]struct {
		column int
		says   string
	}{
		"a":              {1, "compares two sides"},
		"a + b":          {3, "compares two sides"},
		"a < 5":          {3, "cannot tell < from <="},
		"a <= b <= c":    {8, "compares two sides"},
		"a <= b ? 1 : 2": {3, "compares two sides"},
		"a <= len(b)":    {6, "no function"},
		"a ≤ 5":          {3, "write <="},
		"<= 5":           {1, "cannot stand here"},
		"":               {1, "is empty"},
	} {
		r, err := ParseRelation(text)
		fault := (*Fault)(nil)
		if !errors.As(err, &fault) {
			t.Errorf("%q is taken as %v", text, r)
		} else if fault.Column != want.column || !strings.Contains(err.Error(), want.says) || fault.Remedy == "" {
			t.Errorf("%q: column %d, %q; want column %d, %q", text, fault.Column, err, want.column, want.says)
		}
	}
}

// Law: what no values can meet, and what all do, is found where each name stands once; the rest is
// possible and not certain.
func TestWithin(t *testing.T) {
	of := map[string]Range{"a": {2, 3}, "b": {-1, 1}, "c": {0.5, math.Inf(1)}}
	for text, want := range map[string][2]bool{
		"a <= 1.9":              {false, false},
		"a <= 2":                {true, false},
		"a <= 3":                {true, false}, // rounded outwards
		"a <= 3.001":            {true, true},
		"a*b <= -3.1":           {false, false},
		"a*b <= -2.9":           {true, false},
		"a/b >= 100":            {true, false},
		"1/c <= 2.1":            {true, true},
		"exp(-c) >= 1":          {false, false},
		"b^2 <= 1.01":           {true, true},
		"b^3 >= 1.01":           {false, false},
		"a^-2 >= 0.26":          {false, false},
		"c^0.5 >= 0.7":          {true, true},
		"sqrt(b) <= -0.1":       {false, false},
		"ln(b - 2) <= 0":        {false, false},
		"abs(b - 3) >= 1.9":     {true, true},
		"log10(a) >= 0.5":       {false, false},
		"min(a, b) >= 1.1":      {false, false},
		"max(a, c) >= 2":        {true, false},
		"(a < 1 ? 5 : b) <= 2":  {true, true},
		"(a > 1 ? 5 : b) <= 2":  {false, false},
		"(b < 0 ? 5 : b) <= 2":  {true, false},
		"(b >= 0 ? 5 : 6) <= 2": {false, false},
		"unknown <= 1":          {true, false},
		"a^b >= 3.1":            {false, false},
		"b^c <= 1":              {true, false},
	} {
		possible, certain := relation(t, text).Within(of)
		if got := [2]bool{possible, certain}; got != want {
			t.Errorf("%s: possible, certain = %v, want %v (excess in %v)", text, got, want, relation(t, text).Excess().Range(of))
		}
	}
}
