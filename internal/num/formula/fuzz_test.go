package formula

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/campaignd/campaignd/internal/num/jet"
	_ "github.com/campaignd/campaignd/internal/tests/draws"
)

// same reports whether two numbers are the same, bit for bit, but for the bits of NaN.
func same(a, b float64) bool {
	return math.Float64bits(a) == math.Float64bits(b) || math.IsNaN(a) && math.IsNaN(b)
}

// sample returns values of names, among them some at which something changes.
func sample(rng *rand.Rand, n int) []float64 {
	special := []float64{0, math.Copysign(0, -1), 1, -1, 0.5, 2, 1e-300, 1e300, math.Inf(1), math.NaN()}
	values := make([]float64, n)
	for i := range values {
		if values[i] = 10 * rng.NormFloat64(); rng.IntN(3) == 0 {
			values[i] = special[rng.IntN(len(special))]
		}
	}
	return values
}

// check holds a formula to the laws of the fuzzer.
func check(t interface{ Fatalf(string, ...any) }, f *Formula, seed uint64) {
	again, err := Parse(f.String())
	if err != nil {
		t.Fatalf("the canonical text %q is not a formula: %v", f, err)
	}
	if again.String() != f.String() {
		t.Fatalf("the canonical text %q is read as %q", f, again)
	}
	names := f.Names()
	a, err := f.Bind(names)
	if err != nil {
		t.Fatalf("%q: %v", f, err)
	}
	b, err := again.Bind(names)
	if err != nil {
		t.Fatalf("%q: %v", again, err)
	}
	random := min(len(names), jet.MaxRandom)
	s := jet.NewSpace(random, len(names)-random)
	s.Weigh([]float64{1, 0.5, 0.1, 2}[:random])
	arguments := make([]jet.Jet, len(names))
	for i := range arguments {
		arguments[i] = s.New()
	}
	rng := rand.New(rand.NewPCG(seed, 1))
	ranges := make(map[string]Range)
	for range 20 {
		values := sample(rng, len(names))
		for i, v := range values {
			s.Linear(arguments[i], i, v, 1)
			other := v + float64(rng.IntN(2))*rng.ExpFloat64()
			ranges[names[i]] = Range{min(v, other), max(v, other)}
		}
		v := a.Value(values)
		if w := b.Value(values); !same(v, w) {
			t.Fatalf("%q is %v at %v, and %v as it is read again", f, v, values, w)
		}
		if w := a.Jet(s, arguments).Value(); !same(v, w) {
			t.Fatalf("%q is %v at %v, and %v as a jet", f, v, values, w)
		}
		isFinite := func(x float64) bool { return x-x == 0 }
		if !isFinite(v) || slices.ContainsFunc(values, func(x float64) bool { return !isFinite(x) }) {
			continue
		}
		if r := f.Range(ranges); !(r.Lower <= v && v <= r.Upper) {
			t.Fatalf("%q is %v at %v, and in %v where its names are in %v", f, v, values, r, ranges)
		}
	}
	f.Linear()
	_, _ = f.Units(map[string]string{})
}

// Law: no text makes the parser fail but by saying so, the canonical text is a formula that has itself as
// its text and the same values, bit for bit, also as jets, and no value is outside the range.
func FuzzParse(f *testing.F) {
	for _, text := range []string{
		"conductivity / sqrt(viscosity)", "a^-b^c - (d - e)/2e-7", "a < b ? min(a, b, 1) : max(-a, pow(b, 3))",
		"1.1*reference.price", "ln(abs(a)) + log10(exp(b))", "--a", "a <= 5", "a // b", "1..2", "(((((a)))))", "a?b:c",
		"0x1p-2", "not in", "?.", "b'a'", "{a: 1}", "a | b", "min(a,)", "a.b.c()", "1e5e5", "2^0.5^x", "a ?? b",
		"2 + a", "2 - a", "2*a", "3/b", "2^a", "a - 2", "a/3", "a^3", "a^b", "a < 1 ? 2 : b", "1 < a ? b : 2",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if r, err := ParseRelation(text); err == nil {
			check(t, r.Excess(), 1)
			again, err := ParseRelation(r.String())
			if err != nil || again.String() != r.String() {
				t.Fatalf("the constraint %q is read as %v, %v", r, again, err)
			}
		}
		parsed, err := Parse(text)
		if err != nil {
			if fault, ok := err.(*Fault); !ok || fault.Column < 1 || fault.Message == "" || fault.Remedy == "" {
				t.Fatalf("%q is refused with %#v", text, err)
			}
			return
		}
		check(t, parsed, 2)
	})
}

// expressions draws formulas.
func expressions(depth int) *rapid.Generator[string] {
	leaf := rapid.SampledFrom([]string{"a", "b", "c", "d", "p", "0", "1", "2", "0.5", "3.25", "1e-5", "7e20", "reference.a"})
	if depth == 0 {
		return leaf
	}
	return rapid.Custom(func(t *rapid.T) string {
		part := expressions(depth - 1)
		x, y := part.Draw(t, "x"), part.Draw(t, "y")
		switch rapid.IntRange(0, 5).Draw(t, "kind") {
		case 0:
			return leaf.Draw(t, "leaf")
		case 1:
			return "-(" + x + ")"
		case 2:
			one := rapid.SampledFrom([]string{"abs", "sqrt", "exp", "ln", "log10"}).Draw(t, "function")
			return one + "(" + x + ")"
		case 3:
			several := rapid.SampledFrom([]string{"min", "max"}).Draw(t, "function")
			return several + "(" + x + ", " + y + ", " + leaf.Draw(t, "leaf") + ")"
		case 4:
			c := rapid.SampledFrom([]string{"<", "<=", ">", ">="}).Draw(t, "comparison")
			return "((" + x + ") " + c + " (" + y + ") ? (" + y + ") : (" + x + "))"
		}
		op := rapid.SampledFrom([]string{"+", "-", "*", "/", "^"}).Draw(t, "operator")
		return "(" + x + ")" + op + "(" + y + ")"
	})
}

// Law: that of FuzzParse, for formulas that are made of all there is.
func TestCanonicalTextKeepsTheValue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := expressions(4).Draw(t, "formula")
		f, err := Parse(text)
		if err != nil {
			if len(text) <= MaxLength {
				t.Fatalf("%q: %v", text, err)
			}
			return
		}
		check(t, f, rapid.Uint64().Draw(t, "seed"))
	})
}
