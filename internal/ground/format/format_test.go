package format_test

import (
	"math"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/ground/format"
	_ "github.com/campaignd/campaignd/internal/tests/draws"
)

func number(x float64) *float64 { return &x }

// Numbers are written as a person would write them.
func TestNumbers(t *testing.T) {
	conductivity := definition.Objective{Name: "ionic conductivity", Unit: "mS/cm"}
	for _, c := range []struct{ got, want string }{
		{format.Short(13.4217), "13.42"},
		{format.Short(-0.34), "-0.3400"},
		{format.Short(0), "0"},
		{format.Short(1234567), "1234567"},
		{format.Short(1e-7), "1e-07"},
		{format.Rounded(0.800, 3), "0.8"},
		{format.Rounded(1200, 2), "1200"},
		{format.Rounded(1e8, 3), "1e+08"},
		{format.Setting(0.1 + 0.2), "0.3"},
		{format.Fixed(-0.001, 2), "0.00"},
		{format.Fixed(3e8, 2), "3e+08"},
		{format.Quantity(12.3, "mS/cm"), "12.30 mS/cm"},
		{format.Quantity(12.3, ""), "12.30"},
		{format.SettingIn(12.3, "µL"), "12.3 µL"},
		{format.PlusMinus(12.345, 0.43, "mS/cm"), "12.35 ± 0.43 mS/cm"},
		{format.PlusMinus(12.3456, 0, ""), "12.35 ± 0"},
		{format.Percent(0.374), "37 %"},
		{format.Heading("ionic conductivity", "mS/cm"), "ionic conductivity (mS/cm)"},
		{format.Heading("yield", ""), "yield"},
		{format.HeadingOf(conductivity), "ionic conductivity (mS/cm)"},
		{format.ValueOf(conductivity, 12.3), "12.30 mS/cm"},
		{format.Result(conductivity.Quantity(12.3, number(0.1))), "12.30 mS/cm"},
		{format.Count(1, "label"), "1 label"},
		{format.Count(0, "label"), "0 labels"},
		{format.List("a"), "a"},
		{format.List("a", "b"), "a and b"},
		{format.List("a", "b", "c"), "a, b and c"},
		{format.Settings([]float64{1, 2.5}), "1, 2.5"},
		{format.Shorten("κονδυκτ", 7), "κονδυκτ"},
		{format.Shorten("κονδυκτ", 6), "κονδυ…"},
		{format.Duration(0), "0 s"},
		{format.Duration(40 * time.Millisecond), "40 ms"},
		{format.Duration(12340 * time.Millisecond), "12.3 s"},
		{format.Duration(200 * time.Second), "3 min 20 s"},
		{format.Duration(47 * time.Hour), "47 h 0 min"},
		{format.Duration(50 * time.Hour), "2 d 2 h"},
		{format.Time(time.Time{}), ""},
		{format.Time(time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)), "2026-03-01 09:00:00"},
	} {
		if c.got != c.want {
			t.Errorf("%q, want %q", c.got, c.want)
		}
	}
	for span, want := range map[float64]int{0: 2, 0.22: 3, 9.4: 2, 10: 1, 3000: 0} {
		if got := format.DecimalsOver(span); got != want {
			t.Errorf("results over %v are written with %d decimals, want %d", span, got, want)
		}
	}
}

// Law: what is written with n significant digits reads back within half a unit of
// the n-th digit.
func TestSignificantReadsBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := rapid.Float64Range(-1e12, 1e12).Draw(t, "x")
		n := rapid.IntRange(1, 9).Draw(t, "digits")
		for _, text := range []string{format.Significant(x, n), format.Rounded(x, n)} {
			read, err := strconv.ParseFloat(text, 64)
			if err != nil || math.Abs(read-x) > 0.5001*math.Abs(x)*math.Pow10(1-n) {
				t.Fatalf("%v with %d digits is written %q", x, n, text)
			}
		}
	})
}

var salty = &definition.Campaign{
	Parameters: []definition.Parameter{
		{Name: "salt", Unit: "mol/kg", Min: number(0.2), Max: number(2.1)},
		{Name: "ec", Min: number(0.3), Max: number(0.52)},
		{Name: "dose", Unit: "µL", Min: number(0), Max: number(100)},
		{Name: "level", Values: []float64{1, 2.5}},
		{Name: "kind", Categories: []definition.CategoryDef{{Name: "LiPF6"}}},
	},
	Instrument: definition.Instrument{Steps: map[string]float64{"dose": 0.25}},
}

var mixture = definition.Point{
	"ec": definition.Number(0.34), "salt": definition.Number(1.1), "dose": definition.Number(12.5),
	"level": definition.Number(2.5), "kind": definition.Category("LiPF6"),
}

// The values of a composition stand in the campaign's order, with the decimals that
// matter: of the dosing step, of the range, or as they were listed.
func TestCompositions(t *testing.T) {
	listed := *salty
	listed.Candidates = []definition.Point{mixture}
	read := format.CompositionsOf(salty)
	for _, c := range []struct{ got, want string }{
		{read.Line(mixture), "salt 1.10, ec 0.340, dose 12.50, level 2.5, kind LiPF6"},
		{read.LineWithUnits(mixture), "salt 1.10 mol/kg, ec 0.340, dose 12.50 µL, level 2.5, kind LiPF6"},
		{read.Line(definition.Point{"salt": definition.Number(1)}), "salt 1.00"},
		{read.Number("ec", 0.5), "0.500"},
		{format.NewCompositions(salty.Parameters, salty.Instrument.Steps).Line(mixture), read.Line(mixture)},
		{format.CompositionsToMake(salty).Line(mixture), "salt 1.100, ec 0.3400, dose 12.50, level 2.5, kind LiPF6"},
		{format.CompositionsOf(&listed).Line(mixture), "salt 1.1, ec 0.34, dose 12.5, level 2.5, kind LiPF6"},
		{read.AsGiven().Assignments(mixture), "salt=1.1 ec=0.34 dose=12.5 level=2.5 kind=LiPF6"},
		{read.Region(definition.Region{Where: map[string]definition.RegionSide{
			"kind": {Is: "LiPF6"}, "ec": {Min: number(0.45), Max: number(0.52)}, "salt": {Min: number(1.0 / 3)},
		}}), "salt from 0.3333, ec 0.45 to 0.52, kind LiPF6"},
	} {
		if c.got != c.want {
			t.Errorf("%q, want %q", c.got, c.want)
		}
	}
}

// Law: compositions that differ by more than a millionth of a range are never shown
// as the same, and one alone is shown with no more decimals than matter.
func TestApart(t *testing.T) {
	parameters := salty.Parameters[:2]
	plain := format.NewCompositions(parameters, nil)
	rapid.Check(t, func(t *rapid.T) {
		salt := rapid.Float64Range(0.2, 2.1)
		ec := rapid.Float64Range(0.3, 0.52)
		a := definition.Point{"salt": definition.Number(salt.Draw(t, "salt")),
			"ec": definition.Number(ec.Draw(t, "ec"))}
		b := definition.Point{"salt": definition.Number(salt.Draw(t, "salt'")),
			"ec": definition.Number(ec.Draw(t, "ec'"))}
		apart := plain.Apart(a, b)
		different := false
		for _, p := range parameters {
			x, _ := a[p.Name].Float()
			y, _ := b[p.Name].Float()
			different = different || math.Abs(x-y) > 1e-6*(*p.Max-*p.Min)
		}
		if different && apart.Line(a) == apart.Line(b) {
			t.Fatalf("%v and %v are both %q", a, b, apart.Line(a))
		}
		if got := plain.Apart(a, a).Line(a); got != plain.Line(a) {
			t.Fatalf("alone it is %q, not %q", got, plain.Line(a))
		}
	})
	nearly := []definition.Point{{"ec": definition.Number(0.4)}, {"ec": definition.Number(0.4000003)}}
	if apart := plain.Apart(nearly...); apart.Line(nearly[0]) == apart.Line(nearly[1]) {
		t.Errorf("%v are both %q", nearly, apart.Line(nearly[0]))
	}
	close := []definition.Point{{"salt": definition.Number(1.11118)}, {"salt": definition.Number(1.10919)}}
	if got := plain.Apart(close...).Line(close[0]); got != "salt 1.111" ||
		strings.Contains(plain.Line(close[0]), "1.111") {
		t.Errorf("told apart it is %q", got)
	}
}

// A mean and its standard deviation end at the same decimal.
func TestMeanSD(t *testing.T) {
	for _, test := range []struct {
		mean, sd float64
		m, s     string
	}{
		{13.75628, 0.0721, "13.756", "0.072"},
		{1234.5, 56, "1234", "56"},
		{-0.001, 0.25, "0.00", "0.25"},
		{5, 0, "5.000", "0"},
		{2, math.NaN(), "2.000", "NaN"},
	} {
		if m, s := format.MeanSD(test.mean, test.sd); m != test.m || s != test.s {
			t.Errorf("%v ± %v is written %s ± %s, want %s ± %s", test.mean, test.sd, m, s, test.m, test.s)
		}
	}
}
