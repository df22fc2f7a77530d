package units

import (
	"testing"

	"pgregory.net/rapid"

	_ "github.com/campaignd/campaignd/internal/tests/draws"
)

// Law: spellings of one unit are the same, and only those: what is a multiple, a ratio of other things, or per mass
// where the other is per volume, is another unit.
func TestSame(t *testing.T) {
	for _, same := range [][]string{
		{"mPa.s", "mPa·s", "mPa s", "mPa*s", "mPa⋅s", "s.mPa", "cP"},
		{"µS/cm", "μS/cm", "uS/cm", "µS cm⁻¹", "uS.cm-1", "uS/(cm)", "uS·cm^-1"},
		{"mS/cm", "dS/m", "mS·cm⁻¹"},
		{"°C", "Cel", "℃"},
		{"mol/kg", "mol.kg-1", "mol kg^-1"},
		{"mol/L", "mol/l", "mmol/mL", "mol/dm3", "mol·L⁻¹"},
		{"EUR/kg", "EUR.kg-1"},
		{"m2", "m²", "m^2", "m.m"},
		{"Ω", "Ohm", "Ω"},
		{"mAh", "mAh"}, {"mA.h", "mA·h"},
		{"", " ", "1"}, {"/s", "1/s", "s-1", "Hz"}, {"L/L", "L.L-1"},
	} {
		for _, a := range same {
			for _, b := range same {
				if !Same(a, b) {
					t.Errorf("%q and %q are two units", a, b)
				}
			}
		}
	}
	different := []string{
		"", "%", "mPa.s", "Pa.s", "mS/cm", "S/cm", "°C", "K", "mol/kg", "mol/L", "mmol/L", "kg/kg", "mol/mol", "L/L", "g/kg",
		"mg/kg", "mL/L", "[ppm]", "EUR/kg", "USD/kg", "EUR", "s", "S", "min", "h", "d", "mAh", "mA.h", "Mg", "mg", "m2", "m3", "wt%", "a..b",
		"m/s/s2", "m.s", "m/s", "J", "N", "kg/kg/s", "mol/mol/s", "/s",
	}
	for i, a := range different {
		for _, b := range different[:i] {
			if Same(a, b) || Same(b, a) {
				t.Errorf("%q and %q are one unit", a, b)
			}
		}
	}
}

// Law: the code of a unit is known where its atoms are UCUM's, and is the same unit.
func TestCode(t *testing.T) {
	for text, want := range map[string]string{
		"mPa·s": "mPa.s", "µS/cm": "uS/cm", "°C": "Cel", "mol/kg": "mol/kg", "%": "%", "m²": "m2", "mol kg⁻¹": "mol.kg-1",
		"EUR/kg": "", "": "", "mAh": "", "furlong": "", "m/": "", "(m": "",
	} {
		code, ok := Code(text)
		if code != want || ok != (want != "") {
			t.Errorf("%q is %q (%t), want %q", text, code, ok, want)
		}
		if ok && !Same(code, text) {
			t.Errorf("%q and its code %q are two units", text, code)
		}
	}
}

// Law: to be the same is an equivalence, and nothing that is read makes it fail.
func TestSameIsAnEquivalence(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		draw := func(name string) string {
			return rapid.StringOf(rapid.SampledFrom([]rune("mkgsPaSc./·2-^()µLl1% "))).Draw(rt, name)
		}
		a, b, c := draw("a"), draw("b"), draw("c")
		if !Same(a, a) || Same(a, b) != Same(b, a) || Same(a, b) && Same(b, c) && !Same(a, c) {
			rt.Fatalf("%q %q %q", a, b, c)
		}
	})
}
