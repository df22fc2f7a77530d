package formula

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/campaignd/campaignd/internal/tests/must"
)

func parse(t testing.TB, text string) *Formula {
	t.Helper()
	f, err := Parse(text)
	if err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	return f
}

// Law: a formula has one canonical text, with as few parentheses as the order of operations allows, and
// one spelling of each number.
func TestCanonicalText(t *testing.T) {
	for text, want := range map[string]string{
		" conductivity/ sqrt( viscosity ) ": "conductivity/sqrt(viscosity)",
		"(a+b)+c":                           "a + b + c",
		"a+(b+c)":                           "a + (b + c)",
		"a-(b-c)":                           "a - (b - c)",
		"(a*b)/c*(d/e)":                     "a*b/c*(d/e)",
		"-a^2":                              "-a^2",
		"(-a)^2":                            "(-a)^2",
		"-(a*b)":                            "-(a*b)",
		"-a*b":                              "-a*b",
		"2*(-a)":                            "2*-a",
		"a-(-b)":                            "a - -b",
		"-(-a)":                             "--a",
		"a^b^c":                             "a^b^c",
		"(a^b)^c":                           "(a^b)^c",
		"a^(-b)":                            "a^-b",
		"a^(-b^c)*d":                        "a^-b^c*d",
		"(a+1)^(b*c)":                       "(a + 1)^(b*c)",
		"pow( a , 1/2)":                     "a^(1/2)",
		"max(a,(b),c+1)":                    "max(a, b, c + 1)",
		"abs((a))":                          "abs(a)",
		"min(a, b,)":                        "min(a, b)", // as the parser of 0.1.0 took it
		"a<b?(c<d?1:2):(c>=d?3:4)":          "a < b ? c < d ? 1 : 2 : c >= d ? 3 : 4",
		"(a<b?1:2)+3*(a>b?1:2)":             "(a < b ? 1 : 2) + 3*(a > b ? 1 : 2)",
		"a + 1 <= b*2 ? a : b":              "a + 1 <= b*2 ? a : b",
		"1.50 + 1e0 + .5 + 1E2 + 00012":     "1.5 + 1 + 0.5 + 100 + 12",
		"0.0001+0.00001+1e14+1e15+1e300+0.0+2e-7": "0.0001 + 1e-05 + 100000000000000 + 1e+15 + 1e+300 + 0 + 2e-07",
		"1.1 * reference . price\n - price":       "1.1*reference.price - price",
		"log10(ln(exp(_a1)))":                     "log10(ln(exp(_a1)))",
	} {
		f := parse(t, text)
		if f.String() != want {
			t.Errorf("%q is written %q, want %q", text, f, want)
		}
		if again := parse(t, f.String()); again.String() != want || again.Digest() != f.Digest() {
			t.Errorf("%q is read again as %q", want, again)
		}
	}
}

// Law: the digest is that of the canonical text, for ever.
func TestDigest(t *testing.T) {
	const want = "457b659be48fb5a0c84ced1fd4e8610432739a5ae089f4f204b1da1701bc5eb9"
	if got := parse(t, "conductivity / sqrt(viscosity)").Digest(); got != want {
		t.Errorf("it is %s", got)
	}
}

// Law: names are listed once, in the order in which they first stand, with their columns.
func TestNames(t *testing.T) {
	f := parse(t, "b + a*b - reference.b < 0 ? c : a")
	if got, want := f.Names(), []string{"b", "a", "reference.b", "c"}; !slices.Equal(got, want) {
		t.Errorf("they are %v, want %v", got, want)
	}
	for name, want := range map[string]int{"b": 1, "a": 5, "reference.b": 11, "c": 29, "d": 0} {
		if got := f.Column(name); got != want {
			t.Errorf("%s stands first in column %d, want %d", name, got, want)
		}
	}
	_, err := f.Bind([]string{"a", "b", "reference.b"})
	if fault := (*Fault)(nil); !errors.As(err, &fault) || fault.Column != 29 || !strings.Contains(fault.Message, `"c"`) {
		t.Errorf("without c it says %v", err)
	}
}

// Law: what is not a formula is refused at its place, with what to do.
func TestRefused(t *testing.T) {
	for text, want := range map[string]struct {
		column int
		says   string
	}{
		"":                              {1, "is empty"},
		" \n":                           {1, "is empty"},
		"a +":                           {4, "ends too early"},
		"a b":                           {3, `"b" cannot stand here`},
		"(a":                            {3, "ends too early"},
		"a)":                            {2, `")" cannot stand here`},
		"1 + 2x":                        {5, "\"2x\" is not a number"},
		"1 + 0x1F":                      {5, "0x1F"},
		"1_000*a":                       {1, "1_000"},
		"1e400*a":                       {1, "1e400 is too large"},
		"a // 2":                        {3, `write / for`},
		"a /* two */ / 2":               {3, "remarks"},
		"a**2":                          {2, "write ^"},
		"a ≤ b":                         {3, "write <="},
		"2·a":                           {2, "write *"},
		"a == b ? 1 : 2":                {3, "never equal"},
		"a%":                            {2, "0.05"},
		"ä + 1":                         {1, `"ä"`},
		"a > 1 && b":                    {7, `"&"`},
		`a + "text"`:                    {5, "no meaning"},
		"[1, 2]":                        {1, "no meaning"},
		"let a = 1":                     {1, "meaning of its own"},
		"a and b":                       {3, `"and" cannot stand here`},
		"not a":                         {1, "meaning of its own"},
		"+a":                            {1, "leave it out"},
		"true":                          {1, "meaning of its own"},
		"a < b":                         {3, "alone is a constraint"},
		"(a < b) + 1":                   {4, "not a number"},
		"a ? 1 : 2":                     {1, "one comparison"},
		"a < b < c ? 1 : 2":             {7, "two sides"},
		"sqrt":                          {1, "is a function"},
		"sqrt(a, b)":                    {1, "one value, and has 2"},
		"2*exp()":                       {3, "one value, and has 0"},
		"min(a)":                        {1, "two or more"},
		"pow(a)":                        {1, "of two values"},
		"a + len(b)":                    {5, `no function "len"`},
		"round(a)":                      {1, "there are abs, exp, ln, log10, max, min, pow, sqrt"},
		"now()":                         {1, "no function"},
		"sum(a)":                        {1, "no function"},
		"reference":                     {1, "meaning of its own"},
		"reference.a.b":                 {13, "only reference.NAME"},
		"reference.min":                 {11, "meaning of its own"},
		"li.salt + 1":                   {4, "rename it"},
		"a.b(1)":                        {3, "rename it"},
		"a?.b":                          {1, "one comparison"},
		"min(,)":                        {5, "cannot stand here"},
		strings.Repeat("a", 2001):       {1, "at most 2000"},
		strings.Repeat("a+", 200) + "a": {1, "more than 200"},
		strings.Repeat("-", 900) + "a":  {201, "more than 200"},
	} {
		f, err := Parse(text)
		fault := (*Fault)(nil)
		if !errors.As(err, &fault) {
			t.Errorf("%q is taken as %v", text, f)
			continue
		}
		if fault.Column != want.column || !strings.Contains(err.Error(), want.says) || fault.Remedy == "" {
			t.Errorf("%.60q: column %d, %q; want column %d, %q", text, fault.Column, err, want.column, want.says)
		}
	}
}

// Law: the bounds are of length and depth, and not of breadth.
func TestBounds(t *testing.T) {
	for _, text := range []string{
		"min(" + strings.Repeat("a, ", 600) + "b)",
		strings.Repeat("a + ", 199) + "a",
		strings.Repeat("(", 500) + "a" + strings.Repeat(")", 500),
		strings.Repeat("a", 2000),
	} {
		if again := parse(t, parse(t, text).String()); again.String() == "" {
			t.Errorf("%.20q is empty", text)
		}
	}
	// The canonical text has spaces, and is bounded too.
	if f, err := Parse("min(" + strings.Repeat("a,", 900) + "b)"); err == nil {
		t.Errorf("a formula has a canonical text of %d characters", len(f.String()))
	}
	// So is the difference of the sides of a constraint.
	deep := strings.Repeat("-", 199) + "a"
	if _, err := ParseRelation(deep + " <= 1"); err == nil {
		t.Error("a constraint is deeper than any formula")
	}
	relation(t, deep[1:]+" <= 1")
}

// Law: names that mean something else to a formula are none, and neither is what has other characters.
func TestCheckName(t *testing.T) {
	for _, name := range []string{"a", "_", "capacity_100", "E5", "mean", "sum", "len", "e"} {
		if err := CheckName(name); err != nil {
			t.Error(err)
		}
		if _, err := Parse(name + " + 1"); err != nil {
			t.Errorf("%q can be a name, and is not a formula: %v", name, err)
		}
	}
	for _, name := range []string{"", "1a", "li-salt", "li.salt", "größe", "a b", "min", "ln", "reference", "in", "not", "nil"} {
		if CheckName(name) == nil {
			t.Errorf("%q can be a name", name)
		}
	}
}

// Law: operations are those of float64 in the order that is written; what is not finite goes through, and
// what is compared with it is not a number.
func TestValue(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	arguments := []string{"a", "b", "n", "x"}
	values := []float64{3, -2, nan, inf}
	for text, want := range map[string]float64{
		"a + b*a":                  -3,
		"-a^2":                     -9,
		"2^a^2":                    512,
		"a - b - 1":                4,
		"a/b/2":                    -0.75,
		"min(a, b, 1)":             -2,
		"max(b, a, 1)":             3,
		"abs(b) + sqrt(a + 1)":     4,
		"ln(exp(a))":               3,
		"log10(1000)":              math.Log10(1000),
		"pow(b, 3)":                -8,
		"b^0.5":                    nan,
		"ln(b)":                    nan,
		"1/(a - 3)":                inf,
		"a/0 - x":                  nan,
		"0.1 + 0.2":                0.1 + math.Nextafter(0.2, 0.2),
		"a <= 3 ? 1 : 2":           1,
		"a < 3 ? 1 : 2":            2,
		"a >= 3 ? 1 : 2":           1,
		"a > 3 ? 1 : 2":            2,
		"n > 3 ? 1 : 2":            nan,
		"a < n ? 1 : 2":            nan,
		"min(n, 1)":                nan,
		"max(1, n)":                nan,
		"1^n":                      nan,
		"n^0":                      nan,
		"min(x, 1)":                1,
		"a > 0 ? 1 : n":            1,
		"reference_ < 1 ? 1 : a*0": 0,
	} {
		b := must.Get(parse(t, text).Bind(append(arguments, "reference_")))(t)
		if got := b.Value(append(values, 5)); got != want && !(math.IsNaN(got) && math.IsNaN(want)) {
			t.Errorf("%s = %v, want %v", text, got, want)
		}
	}
}

// Law: affine formulas are found, with coefficients that are exact for the decimals that were written.
func TestLinear(t *testing.T) {
	for text, want := range map[string]*Linear{
		"0.1*x + 0.2*x - y/4 + 0.1 + 0.2": {0.3, []string{"x", "y"}, []float64{0.3, -0.25}},
		"-(x - 3)*2/0.1":                  {60, []string{"x"}, []float64{-20}},
		"(1 + 2)*(x - x)*1e-7 + 5":        {5, []string{"x"}, []float64{0}},
		"x^1 + 2^3 + sqrt(4)*y":           {8, []string{"x", "y"}, []float64{1, 2}},
		"x*(y - y + 3)":                   {0, []string{"x", "y"}, []float64{3, 0}},
		"7":                               {7, nil, []float64{}},
		"min(1, 2)*x":                     {0, []string{"x"}, []float64{1}},
		"(1 < 2 ? 3 : 4)*x":               {0, []string{"x"}, []float64{3}},
		"1e300*x*1e300/1e300":             {0, []string{"x"}, []float64{1e300}},
		"x*y":                             nil,
		"1/x":                             nil,
		"x^2":                             nil,
		"2^x":                             nil,
		"x^y":                             nil,
		"abs(x)":                          nil,
		"x < 1 ? x : x":                   nil,
		"x/0":                             nil,
		"x*1e300*1e300":                   nil,
		"exp(1000)*x":                     nil,
		"x/(y - y)":                       nil,
		"x^2 - x^2":                       nil,
	} {
		got, ok := parse(t, text).Linear()
		if ok != (want != nil) {
			t.Errorf("%s: %+v, %v", text, got, ok)
		} else if ok && (got.Constant != want.Constant || !slices.Equal(got.Names, want.Names) ||
			!slices.Equal(got.Coefficients, want.Coefficients)) {
			t.Errorf("%s: %+v, want %+v", text, got, *want)
		}
	}
}

// Law: a formula is affine in some arguments whatever the others are.
func TestAffine(t *testing.T) {
	for text, want := range map[string]bool{
		"a*p + exp(p)*b - 1": true, "a/p": true, "p > 1 ? a : 2*b": true, "a^1": false, "-a - b": true, "sqrt(p)": true,
		"a*b": false, "p/a": false, "a > 1 ? a : b": false, "abs(a)": false, "max(a, b)": false, "p^a": false, "a^p": false,
		"a*a": false, "7": true, "(a/p)*b": false, "p < a ? a : b": false, "-a*b": false,
	} {
		b := must.Get(parse(t, text).Bind([]string{"a", "b", "p"}))(t)
		if got := b.Affine([]bool{true, true, false}); got != want {
			t.Errorf("%s is affine in a and b: %v", text, got)
		}
	}
	b := must.Get(parse(t, "a*p").Bind([]string{"z", "a", "p"}))(t)
	if b.Uses(0) || !b.Uses(1) || !b.Uses(2) {
		t.Error("it does not use a and p alone")
	}
}

// Law: a formula in the place of a name gives what its value would give, and there is an end to how deep one
// becomes.
func TestInline(t *testing.T) {
	whole, err := parse(t, "(cost + price)*price - other").Inline(map[string]*Formula{"price": parse(t, "30*s + cost")})
	if err != nil {
		t.Fatal(err)
	}
	if got := whole.Names(); !slices.Equal(got, []string{"cost", "s", "other"}) {
		t.Fatalf("it is of %v", got)
	}
	bound := must.Get(whole.Bind([]string{"s", "cost", "other"}))(t)
	if got, want := bound.Value([]float64{2, 3, 5}), (3.0+63)*63-5; got != want {
		t.Errorf("%s is %v, want %v", whole, got, want)
	}
	deep := parse(t, strings.Repeat("1+x/(", 60)+"y"+strings.Repeat(")", 60))
	if _, err := deep.Inline(map[string]*Formula{"y": deep}); err == nil {
		t.Error("two formulas of 120 operations each are one of 240")
	}
}
