package humans_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/campaignd/campaignd/adapters/humans"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/tests/draws"
)

var (
	conductivity = events.Scale{Quantity: "conductivity", Unit: "mS/cm", Better: events.BetterHigher}
	marks        = events.Scale{Quantity: "conductivity", Better: events.BetterHigher, Marks: events.Marks}
)

// What a person may type into a table of four rows, of which the second has a 5 and the
// third is next, and what it comes to.
func TestSheet(t *testing.T) {
	for _, c := range []struct {
		scale events.Scale
		line  string
		want  string
		rows  []int
	}{
		{conductivity, "11.2", "-, 5, 11.2, -", []int{2}},
		{conductivity, "11.2 mS/cm", "-, 5, 11.2, -", []int{2}},
		{conductivity, "−1e-3mS/cm", "-, 5, -0.001, -", []int{2}},
		{conductivity, "1 11.2", "11.2, 5, -, -", []int{0}},
		{conductivity, "2 -", "-, -, -, -", []int{1}},
		{conductivity, "4=7", "-, 5, -, 7", []int{3}},
		{conductivity, "4=7, 1=11.2 mS/cm 2=?", "11.2, -, -, 7", []int{3, 0, 1}},
		{conductivity, "9, 7", "-, 5, 9, 7", []int{2, 3}},
		{conductivity, "9.5,7.25", "-, 5, 9.5, 7.25", []int{2, 3}},
		{conductivity, ", 7", "-, 5, -, 7", []int{2, 3}},
		{conductivity, "11.2, 9, , 7", "11.2, 9, -, 7", []int{0, 1, 2, 3}},
		{conductivity, "11.2 9 - 7", "11.2, 9, -, 7", []int{0, 1, 2, 3}},
		{conductivity, "11.2; ; ; 7", "11.2, -, -, 7", []int{0, 1, 2, 3}},
		{conductivity, "?", "-, 5, -, -", []int{2}},
		{conductivity, "1, 2, 3, 4, 5", "", nil},
		{conductivity, "1 2 3", "", nil}, // two rows are left
		{conductivity, "11,2", "", nil},  // one number, or two?
		{conductivity, "11,2 9,3", "", nil},
		{conductivity, "11.2 9", "", nil}, // 11.2 is not a row
		{conductivity, "5 9", "", nil},
		{conductivity, "0=9", "", nil},
		{conductivity, "5=9", "", nil},
		{conductivity, "1.0=9", "", nil},
		{conductivity, "1=9 1=8", "", nil},
		{conductivity, "1=9 8", "", nil},
		{conductivity, "4=", "-, 5, -, -", []int{3}},
		{conductivity, "high", "", nil},
		{conductivity, "nan", "", nil},
		{conductivity, "1e101", "", nil},
		{conductivity, "mS/cm", "", nil},
		{marks, "4", "-, 5, 4, -", []int{2}},
		{marks, "4,2", "-, 5, 4, 2", []int{2, 3}},
		{marks, "4 2", "-, 5, -, 2", []int{3}},
		{marks, "6", "", nil},
		{marks, "0", "", nil},
		{marks, "4.5", "", nil},
		{marks, "3=4 4=6", "", nil}, // all or nothing
	} {
		sheet := humans.NewSheet(4, c.scale, []events.Estimate{{Option: 1, Value: 5}})
		rows, err := sheet.Fill(c.line, 2)
		if c.want == "" {
			if err == nil || sheet.String() != "-, 5, -, -" {
				t.Errorf("%q is taken for %s, %v", c.line, sheet, err)
			}
			continue
		}
		if err != nil || sheet.String() != c.want || !slices.Equal(rows, c.rows) {
			t.Errorf("%q is %s in %v, %v; want %s in %v", c.line, sheet, rows, err, c.want, c.rows)
		}
	}
}

// Law: what a sheet holds is an answer, and reads the same when it is written out.
func FuzzSheet(f *testing.F) {
	for _, line := range []string{"11.2", "3=9 2=4", "11.2, 9, , 7", "1 2 3 4", "3 11.2", "-1e-300;;;1e99", "=", "0x1p-3", "−"} {
		f.Add(line, 4, 0)
	}
	for _, n := range []int{300_000, 3_000_000} {
		f.Add(strings.Repeat("1 ", n/2), 4, 0)
		f.Add(strings.Repeat("k", n)+"="+strings.Repeat("1", n), 4, 0)
	}
	f.Fuzz(func(t *testing.T, line string, n, from int) {
		n = 2 + int(uint(n)%20)
		for _, scale := range []events.Scale{conductivity, marks} {
			sheet := humans.NewSheet(n, scale, nil)
			var err error
			draws.Answers(t, func() { _, err = sheet.Fill(line, int(uint(from)%uint(n))) })
			if err != nil {
				continue
			}
			answer := events.Answer{Estimates: sheet.Estimates()}
			if err := answer.Check(events.FormEstimate, n, &scale); err != nil {
				t.Errorf("%q is taken for %v: %v", line, answer, err)
			}
			again := humans.NewSheet(n, scale, nil)
			if _, err := again.Fill(sheet.String(), 0); err != nil || !slices.Equal(again.Estimates(), answer.Estimates) {
				t.Errorf("%q is %s, and read again %s, %v", line, sheet, again, err)
			}
		}
	})
}

// Law: cells of a table have names, its row and the letter of its column, in which it is read as it is written; numbers
// without names are taken along the rows.
func TestSheetOfColumns(t *testing.T) {
	scale := events.Scale{Quantity: "a", Columns: []events.Column{{Quantity: "a", Unit: "mS/cm"}, {Quantity: "v", Unit: "mPa·s", Positive: true}}}
	for line, want := range map[string]string{
		"1, 2, -, 4, 5, 6": "1, 2, -, 4, 5, 6",
		"2B=7 mPa·s 1a=3":  "3, -, -, 7, -, -",
		"3A 2.5":           "-, -, -, -, 2.5, -",
		"9, 8":             "9, 8, -, -, -, -",
		"3=2":              "", "4A=1": "", "1C=1": "", "1B=-1": "", "1B=1 1b=2": "",
	} {
		sheet := humans.NewSheet(3, scale, nil)
		_, err := sheet.Fill(line, 0)
		if (err == nil) != (want != "") || err == nil && sheet.String() != want {
			t.Errorf("%q is read as %s (%v), want %q", line, sheet, err, want)
		}
		again := humans.NewSheet(3, scale, sheet.Estimates())
		if again.String() != sheet.String() {
			t.Errorf("%q: the estimates of %s are those of %s", line, sheet, again)
		}
	}
}
