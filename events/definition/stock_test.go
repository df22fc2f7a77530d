package definition_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/campaignd/campaignd/events/definition"
)

// Law: labels are handed out in the order in which they are written; a block of a plate is read
// column by column, and a range of one prefix counts upwards. What is not a list of labels is
// refused.
func TestParseLabels(t *testing.T) {
	for text, want := range map[string]string{
		"A1-B3":             "A1 B1 A2 B2 A3 B3",
		"A11-C12":           "A11 B11 C11 A12 B12 C12",
		"Z1-AB1":            "Z1 AA1 AB1",
		"v9-v11":            "v9 v10 v11",
		"9-11":              "9 10 11",
		"v9-11":             "v9 v10 v11",
		"A1":                "A1",
		"left, right, A1-2": "left right A1 A2",
		"D1-F1, A2":         "D1 E1 F1 A2",
		"H1-A12":            "! does not come after",
		"A12-H1":            "! counts from a number up",
		"A1-a1":             "! rows of a plate",
		"tip1-vial2":        "! rows of a plate",
		"A1, B1, A1":        "! is there twice",
		"A1-H12, D6":        "! is there twice",
		"":                  "! is not a label",
		"A 1":               "! is not a label",
		"A1,,B1":            "! is not a label",
		"1-20000":           "! is not a range",
		"A1-Z9999":          "! has more than 10000",
		"a1-a6000,b1-b6000": "! has more than 10000",
	} {
		got, err := definition.ParseLabels(text)
		if fault, refused := strings.CutPrefix(want, "! "); refused {
			if err == nil || !strings.Contains(err.Error(), fault) {
				t.Errorf("%q: %v, %v; want an error that says %q", text, got, err, fault)
			}
		} else if err != nil || strings.Join(got, " ") != want {
			t.Errorf("%q: %v, %v; want %s", text, got, err, want)
		}
	}
}

// Law: an amount is a number from 0 upwards with its unit.
func TestParseAmount(t *testing.T) {
	for text, want := range map[string]float64{
		"2000 mL": 2000, " 0.5 mg ": 0.5, "0 mL": 0,
		"2000": -1, "mL": -1, "-1 mL": -1, "Inf mL": -1, "NaN mL": -1, "": -1,
	} {
		amount, unit, err := definition.ParseAmount(text)
		if (err != nil) != (want < 0) || err == nil && (amount != want || unit == "") {
			t.Errorf("%q: %g %q, %v", text, amount, unit, err)
		}
	}
}

// Law: a number of labels may be written as a number, and is recorded as a text.
func TestDraw(t *testing.T) {
	for text, want := range map[string]string{`2`: `"2"`, `"2"`: `"2"`, `"5*x mL"`: `"5*x mL"`, `true`: "", `[2]`: "", `{}`: ""} {
		var d definition.Draw
		if err := json.Unmarshal([]byte(text), &d); (err != nil) != (want == "") {
			t.Errorf("%s: %v", text, err)
		} else if again, _ := json.Marshal(d); want != "" && string(again) != want {
			t.Errorf("%s is written as %s", text, again)
		}
	}
}
