package exchange

import (
	"fmt"
	"strings"
	"testing"

	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/unicode"

	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/ground/problem"
)

// read says how a table is read: its columns, the lines of its rows, and what was left out.
func read(text string) string {
	s, err := ReadTexts("t.csv", strings.NewReader(text))
	if err != nil {
		return err.Error()
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s;", strings.Join(s.Columns, " "))
	for _, row := range s.Rows {
		fmt.Fprintf(&b, " %d", row.Line())
	}
	for _, left := range s.Left {
		fmt.Fprintf(&b, "; %d %s", left.Line, left.Why)
	}
	return b.String()
}

// Law: what stands in a table besides its header and its rows is not a row, and is named; and a row that merely looks
// odd stays one.
func TestLayout(t *testing.T) {
	for _, c := range []struct{ what, table, want string }{
		{"a title", "Screen of May,,\nT,t,y\n1,2,3\n2,3,4\n", "T t y; 3 4; 1 a title"},
		{"what was noted above", "Operator,Ada,,\nDate,2024-05-01,,\n\nT,t,p,y\n1,2,3,4\n2,3,4,5\n", "T t p y; 5 6; 1 a title; 2 a title"},
		{"units", "T,t,y\n°C,min,%\n1,2,3\n2,3,4\n", "T t y; 3 4; 2 units"},
		{"units in brackets, of some columns", "ligand,T,y\n,(C),[a.u.]\nA,1,3\nB,2,4\n", "ligand T y; 3 4; 2 units"},
		{"types", "cat,T,y\nTYPE,DATA,DATA\nA,1,3\nB,2,4\n", "cat T y; 3 4; 2 a second header"},
		{"longer names", "T,t,y\ntemperature,duration,yield\n1,2,3\n2,3,4\n", "T t y; 3 4; 2 a second header"},
		{"types and units", "T,t,y\nfloat,float,float\nC,min,%\n1,2,3\n2,3,4\n", "T t y; 4 5; 2 a second header; 3 units"},
		{"a mean", "T,t,y\n1,2,3\n2,3,5\n\nMean,,4\n", "T t y; 2 3; 5 sums up the rows"},
		{"several", "run,T,y\nr1,2,3\nr2,3,5\nMittelwert,,4\nSD,,1\nn,,2\n", "run T y; 2 3; 4 sums up the rows; 5 sums up the rows; 6 sums up the rows"},
		{"a footnote", "T,t,y\n1,2,3\n2,3,5\n* measured twice,,\n", "T t y; 2 3; 4 a remark"},
		{"tables that were joined", "T,y\n1,2\n2,4\nT,y\n3,5\n", "T y; 2 3 5; 4 the header once more"},
		{"an index and empty columns", ",T,,y\n0,1,,2\n1,2,,4\n", "column 1 T column 3 y; 2 3"},

		{"a first row that was not measured", "T,t,y\n1,2,PENDING\n2,3,4\n3,4,5\n", "T t y; 2 3 4"},
		{"one of names that was not measured", "ligand,y\nA,gelled\nB,4\nC,5\n", "ligand y; 2 3 4"},
		{"one of two results without a value", "ligand,y,z\nA,n.d.,n.d.\nB,4,5\nC,5,6\n", "ligand y z; 2 3 4"},
		{"a first row of words of which one comes again", "ligand,p,y\nA,gelled,split\nB,2,6\nC,3,split\nD,4,5\nE,6,7\n", "ligand p y; 2 3 4 5 6"},
		{"levels by name", "level,y\nmax,3\nmin,2\nmax,4\nmin,1\n", "level y; 2 3 4 5"},
		{"a single row", "T,y\nhigh,3\n", "T y; 2"},
		{"a row without a result at the end", "T,t,y\n1,2,3\n2,3,5\n4,4,\n", "T t y; 2 3 4"},
		{"decimal commas between commas", "T,y\n0,5,1,5\n1,5,2,5\n", "t.csv:2: there are 4 cells, and 2 columns in the header; is there a number with a decimal comma between commas? Separate the columns with semicolons. Nothing was changed"},
		{"too few cells", "T,t,y\n1,2,3\n2,3\n", "t.csv:3: there are 2 cells, and 3 columns in the header; is there a number with a decimal comma between commas? Separate the columns with semicolons. Nothing was changed"},
	} {
		if got := read(c.table); got != c.want {
			t.Errorf("%s:\n%s, want\n%s", c.what, got, c.want)
		}
	}
}

// Law: units below a header are those of the campaign, or the table is refused: 70 °F is not a temperature in °C.
func TestUnitsBelowTheHeader(t *testing.T) {
	def := &definition.Campaign{
		Parameters: []definition.Parameter{{Name: "T", Unit: "°C"}}, Objective: definition.Objective{Name: "y", Unit: "mPa·s"},
	}
	for units, want := range map[string]string{
		"°C,mPa s": "", "Cel,": "", "°F,mPa s": "t.csv:2: T is in °F there, and the campaign has it in °C",
		"°C,Pa s": "t.csv:2: y is in Pa s there, and the campaign has it in mPa·s",
	} {
		_, err := ReadSheet(def, "t.csv", strings.NewReader("T,y\n"+units+"\n70,1\n80,2\n"), Form{required: []string{"y"}})
		if got := fmt.Sprint(err); got != want && !(want == "" && err == nil) {
			t.Errorf("%s: %v, want %q", units, err, want)
		}
	}
}

// Law: a word says that there is no value; a number that was mistyped, and one that is infinite, are mistakes.
func TestNoResult(t *testing.T) {
	for text, want := range map[string]bool{
		"": true, "n.d.": true, "gelled": true, "<1": true, "~50": true, "≥ 3": true, "#N/A": true,
		"1_2": false, "3 high": false, "12": false, "inf": false, "-Infinity": false,
	} {
		if got := noResult(text); got != want {
			t.Errorf("%q: %t", text, got)
		}
	}
}

// Law: a table is read in each encoding in which spreadsheets write it, and what is not text is refused with what to
// do.
func TestText(t *testing.T) {
	const table = "Zusatz (µL);Viskosität [mPa·s]\r\n1,5;3 °C\r\n"
	want := strings.ReplaceAll(table, "\r\n", "\n")
	encoded := func(text string, err error) string {
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	for what, file := range map[string]string{
		"UTF-8": table, "with a mark": "\ufeff" + table,
		"Windows-1252": encoded(charmap.Windows1252.NewEncoder().String(table)),
		"UTF-16LE":     encoded(unicode.UTF16(unicode.LittleEndian, unicode.UseBOM).NewEncoder().String(table)),
		"UTF-16BE":     encoded(unicode.UTF16(unicode.BigEndian, unicode.UseBOM).NewEncoder().String(table)),
	} {
		text, how, err := Text([]byte(file))
		if said := strings.Contains(what, "W") || strings.Contains(what, "16"); text != want || err != nil || (how != "") != said {
			t.Errorf("%s is read as %q, %q, %v", what, text, how, err)
		}
	}
	for what, file := range map[string]string{
		"a workbook": "PK\x03\x04...", "an old one": "\xd0\xcf\x11\xe0...", "a picture": "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR", "zeros": "a,b\n\x00\x00",
		"an undefined byte": "a,b\n\x81,\xe4\n", "half a UTF-16": "\xff\xfea\x00b",
	} {
		if _, _, err := Text([]byte(file)); err == nil {
			t.Errorf("%s is taken for text", what)
		}
		if _, err := ReadTexts("t.csv", strings.NewReader(file)); err == nil || !strings.Contains(err.Error(), "t.csv cannot be read: ") ||
			len(problem.RemediesOf(err)) == 0 {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// Law: a number may repeat the unit of its column, and no other.
func TestBare(t *testing.T) {
	for _, c := range [][3]string{
		{"61.2 %", "%", "61.2"}, {"61,2%", "%", "61,2"}, {"12 mPa s", "mPa·s", "12"}, {"1e-3 mol/L", "mol/L", "1e-3"}, {"5 °C", "Cel", "5"},
		{"61.2 %", "", "61.2 %"}, {"61.2 %", "g", "61.2 %"}, {"5 g", "mg", "5 g"}, {"1e5", "e5", "1e5"}, {"12_5", "", "12_5"}, {"5-6 g", "g", "5-6 g"}, {"g", "g", "g"},
	} {
		if got := Bare(c[0], c[1]); got != c[2] {
			t.Errorf("%q in %q is %q, want %q", c[0], c[1], got, c[2])
		}
	}
}
