package formula

import (
	"strings"
	"testing"
)

var unitsOf = map[string]string{
	"conductivity": "mS/cm", "viscosity": "mPa·s", "spelt": "mPa.s", "temperature": "°C", "t0": " °C", "share": "", "price": "EUR/kg",
	"molality": "mol/kg", "molarity": "mol/L",
}

// Law: units go by their text through products, quotients and powers.
func TestUnits(t *testing.T) {
	for text, want := range map[string]string{
		"viscosity + spelt":                             "mPa·s",
		"spelt*spelt + viscosity^2":                     "(mPa.s)^2",
		"other - another + viscosity":                   "mPa·s",
		"5 > viscosity ? 1 : 2":                         "",
		"conductivity":                                  "mS/cm",
		"conductivity/sqrt(viscosity)":                  "mS/cm·(mPa·s)^-0.5",
		"2*conductivity - conductivity/3":               "mS/cm",
		"viscosity*conductivity/viscosity":              "mS/cm",
		"conductivity*viscosity":                        "mPa·s·mS/cm",
		"viscosity^2*viscosity^-0.5":                    "(mPa·s)^1.5",
		"(viscosity^(1/3))^3 + viscosity":               "mPa·s",
		"(temperature - t0)/t0":                         "",
		"share*viscosity":                               "mPa·s",
		"1 + share":                                     "1",
		"ln(viscosity) + exp(-temperature/30)":          "",
		"abs(-viscosity)":                               "mPa·s",
		"max(viscosity, 1)":                             "mPa·s",
		"viscosity > 5 ? 5 : viscosity":                 "mPa·s",
		"temperature > t0 ? price : 2*price":            "EUR/kg",
		"2 + 0.5*other/100":                             "",
		"viscosity + other*conductivity":                "mPa·s",
		"share^temperature":                             "",
		"conductivity/viscosity*viscosity/conductivity": "",
	} {
		if want == "1" {
			want = ""
		}
		u, err := parse(t, text).Units(unitsOf)
		if err != nil || u.String() != want {
			t.Errorf("%s is in %q, %v; want %q", text, u, err, want)
		}
	}
}

// Law: what differs as text is not added, subtracted, compared or chosen from; numbers are compared with
// everything and added to numbers alone.
func TestUnitsRefused(t *testing.T) {
	for text, want := range map[string]struct {
		column int
		says   string
	}{
		"viscosity + max(1, 2)":               {11, "without a unit"},
		"conductivity + viscosity":            {14, "in mS/cm and one in mPa·s"},
		"molality - molarity":                 {10, "in mol/kg and one in mol/L"},
		"1 + temperature":                     {3, "without a unit and one in °C"},
		"share + viscosity":                   {7, "without a unit"},
		"min(share, viscosity)":               {1, "without a unit"},
		"max(viscosity, 1, conductivity)":     {1, "in mPa·s and one in mS/cm"},
		"share > 1 ? viscosity : temperature": {7, "in mPa·s and one in °C"},
		"share > viscosity ? 1 : 2":           {7, "without a unit and one in mPa·s"},
		"viscosity^share":                     {10, "exponent varies"},
		"viscosity^2 + viscosity":             {13, "in (mPa·s)^2 and one in mPa·s"},
		"sqrt(1 + viscosity)":                 {8, "without a unit"},
	} {
		_, err := parse(t, text).Units(unitsOf)
		if fault, ok := err.(*Fault); !ok || fault.Column != want.column || !strings.Contains(err.Error(), want.says) {
			t.Errorf("%s: %v, want column %d, %q", text, err, want.column, want.says)
		}
	}
	for text, allowed := range map[string]bool{
		"viscosity <= 5": true, "5 >= viscosity": true, "viscosity <= share": false, "viscosity <= conductivity": false,
		"price <= 1.1*reference.price": true, "conductivity/sqrt(viscosity) >= 4": true, "viscosity <= 5*t0": false,
		"viscosity + 1 <= 5": false, "2 <= price + share": false,
	} {
		if err := relation(t, text).Units(unitsOf); (err == nil) != allowed {
			t.Errorf("%s: %v", text, err)
		}
	}
}
