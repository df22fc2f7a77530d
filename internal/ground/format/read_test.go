package format_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/campaignd/campaignd/internal/ground/format"
)

// Law: a number is read where it can mean one thing only, with a decimal point or a decimal comma;
// what may be two numbers is refused, and the message says both.
func TestReadNumber(t *testing.T) {
	for _, c := range []struct {
		text        string
		alone, with float64 // in a table with decimal commas; 0: refused
	}{
		{"9.4", 9.4, 9.4}, {"9,4", 9.4, 9.4}, {" −9,45 ", -9.45, -9.45}, {",5", 0.5, 0.5}, {"0,125", 0.125, 0.125},
		{"1e-3", 1e-3, 1e-3}, {"1,5e3", 1500, 1500}, {"1234,567", 1234.567, 1234.567}, {"1,2345", 1.2345, 1.2345},
		{"1,234", 0, 1.234}, {"-12,345", 0, -12.345}, {"999,999e2", 0, 99999.9},
		{"1.234", 1.234, 0}, {"12.34", 12.34, 12.34}, {"0.125", 0.125, 0.125}, {"1234", 1234, 1234},
		{"1,234,567", 0, 0}, {"1.234,5", 0, 0}, {"1,234.5", 0, 0}, {"9,", 0, 0}, {",", 0, 0}, {"9,4 mS", 0, 0}, {"", 0, 0},
		{"12_5", 0, 0}, {"1_2", 0, 0}, {"1_2,5", 0, 0}, {"0_1.5", 0, 0},
		{"EC, DMC", 0, 0}, {"NaN", 0, 0}, {"inf", 0, 0}, {"1e999", 0, 0},
	} {
		for comma, want := range map[bool]float64{false: c.alone, true: c.with} {
			x, err := format.ReadNumberIn(c.text, comma)
			if x != want || (err == nil) != (want != 0) {
				t.Errorf("%q, decimal commas %t: %v, %v", c.text, comma, x, err)
			}
		}
	}
	_, err := format.ReadNumber("1,234")
	if want := `"1,234" may be 1.234 or 1234: write the one that is meant`; fmt.Sprint(err) != want {
		t.Error(err)
	}
	_, err = format.ReadNumberIn("1.234", true)
	if want := `"1.234" may be 1,234 or 1234: write the one that is meant`; fmt.Sprint(err) != want {
		t.Error(err)
	}
	if _, err := format.ReadNumber("1e999"); !errors.Is(err, format.ErrNotFinite) {
		t.Error(err)
	}
}

// Law: columns are separated by the mark that the lines have equally often; quoted names do not count, nor decimal
// commas, nor a title.
func TestSeparator(t *testing.T) {
	for header, want := range map[string]rune{
		"x": ',', "x,y": ',', "x;y": ';', "x\ty, z\tw": '\t', `"a;b;c",y`: ',', "x;y;z\n1,2,3,4,5": ';', "": ',',
		"x1;yield\n0,5;7\n0,25;8,5\n1;3": ';', "Screen, May; 2024\na;b;c\n1;2;3\n4;5;6": ';', "x;y\n1,5;2,5\n2,5;1,5\n": ';',
	} {
		if got := format.Separator(header); got != want {
			t.Errorf("%s: %q, want %q", strings.ReplaceAll(header, "\n", `\n`), got, want)
		}
	}
}
